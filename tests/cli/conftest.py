from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from swoop.oracle import Record

WORDS = ["win", "free", "phone", "car", "fire", "police", "court", "storm", "rain", "match", "goal", "team"]
BEGIN = dt.datetime(2024, 5, 1, 12)


def history(size: int = 60, seed: int = 1) -> list[Record]:
    """Short texts, some at the same time, in the order of time and id."""
    rng = random.Random(seed)
    seconds = sorted(rng.choices(range(size), k=size))
    return [
        Record(rng.sample(WORDS, rng.randint(1, 5)), BEGIN + dt.timedelta(seconds=second), number)
        for number, second in enumerate(seconds)
    ]


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def posts(records: list[Record]) -> list[dict[str, object]]:
    return [{"id": r.id, "time": str(r.time), "text": " ".join(map(str, r.tokens)).capitalize() + "!"} for r in records]


@pytest.fixture
def default_elsewhere(spark: SparkSession) -> Iterator[None]:
    """Spark's default file system is not the disk of this machine, as on the machines of a Hadoop cluster."""
    spark.conf.set("fs.defaultFS", "nothing://host/")
    yield
    spark.conf.unset("fs.defaultFS")
