"""Another Spark goes on from a checkpoint: ``make test-upgrade VERSION=4.0.1``.

Not part of ``make test``, since the earlier Spark has to be installed beside this one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support import upgraded_driver
from tests.support.processes import drive
from tests.support.streams import posts, rows_of, write_files

EARLIER = os.environ.get("SWOOP_EARLIER_PYTHON", "")
ROWS, FILES = 400, 8


def test_upgrade(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream takes half of its files with an earlier Spark and the rest with this one; nobody sees it in the results."""
    rows = posts(ROWS, seed=7, disorder=12)
    write_files(tmp_path / "whole/in", rows, FILES)
    upgraded_driver.follow(spark, tmp_path / "whole")
    write_files(tmp_path / "upgraded/in", rows[: ROWS // 2], FILES // 2)
    with monkeypatch.context() as patch:
        patch.delenv("SPARK_SUBMIT_OPTS")  # which name the classes of this Spark
        begun = drive("tests.support.upgraded_driver", str(tmp_path / "upgraded"), python=EARLIER)
    assert begun.returncode == 0, begun.stderr[-4000:]
    for way in upgraded_driver.WAYS:
        assert 0 < len(rows_of(tmp_path / "upgraded" / way)) < len(rows_of(tmp_path / "whole" / way)), way
    write_files(tmp_path / "upgraded/in", rows[ROWS // 2 :], FILES // 2, first=FILES // 2)
    upgraded_driver.follow(spark, tmp_path / "upgraded")
    for way in upgraded_driver.WAYS:
        assert rows_of(tmp_path / "upgraded" / way) == rows_of(tmp_path / "whole" / way), way
