"""The ways in which commands are done, and a file for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.command_line import Swoop, history, posts, run, write_lines


@pytest.fixture
def default_elsewhere(spark: SparkSession) -> Iterator[None]:
    """Spark's default file system is not the disk of this machine, as on the machines of a Hadoop cluster."""
    spark.conf.set("fs.defaultFS", "nothing://host/")
    yield
    spark.conf.unset("fs.defaultFS")


@pytest.fixture(params=["in process", "on Spark"])
def swoop(request: pytest.FixtureRequest) -> Swoop:
    """A command, done in each of the ways. Names are of this machine, also where Spark would look elsewhere."""
    if request.param == "in process":
        return run
    request.getfixturevalue("default_elsewhere")
    return lambda *arguments, **options: run(*arguments, "--spark", **options)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "posts.jsonl", posts(history()))
