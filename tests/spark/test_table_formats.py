"""Changes as a DataFrame go on into tables of Delta and Iceberg, where these have been published for this version of Spark.

That is so for versions before the one in constraints.txt, so ``make test-spark`` runs this, and ``make test`` cannot.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import table_formats
from tests.support.processes import drive


@pytest.mark.parametrize("name", table_formats.available())
def test_changes_in_a_table(tmp_path: Path, name: str) -> None:
    """They are those in plain files, and the query goes on where it was when it is started again."""
    table_formats.fetch(name)
    ended = drive("tests.support.table_formats", name, str(tmp_path), seconds=400)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["rows"] == found["changes"] > 100
    assert found["differing"] == []
