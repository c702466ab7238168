"""Streams of posts for Spark, in files that it takes one after the other, and their results."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from swoop.spark import words

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
SCHEMA = "id long, time timestamp, text string"
LETTERS = "abcdefgh"


def posts(size: int, seed: int = 1, disorder: int = 5) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "id": number,
            "time": (NOON + dt.timedelta(seconds=number // 2 - rng.randrange(disorder))).isoformat(),
            "text": " ".join(rng.choices(LETTERS, k=4)),
        }
        for number in range(size)
    ]


def write_files(folder: Path, rows: list[dict[str, Any]], parts: int, first: int = 0) -> None:
    """JSON lines, in files that Spark takes one after the other."""
    size = -(-len(rows) // parts)
    lines = [json.dumps(row) + "\n" for row in rows]
    write_batches(folder, [lines[part * size : part * size + size] for part in range(parts)], first)


def write_batches(folder: Path, batches: list[list[str]], first: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, lines in enumerate(batches, first):
        file = folder / f"{number:03}.json"
        file.write_text("".join(lines))
        os.utime(file, (1_700_000_000 + number,) * 2)


def read_stream(spark: SparkSession, folder: Path, form: str = "json") -> DataFrame:
    found = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).format(form).load(str(folder))
    return found.select("id", "time", "text", words("text").column().alias("tokens"))


def read_rows(spark: SparkSession, folder: Path, name: str) -> list[Any]:
    if not (folder / name).exists():
        return []
    rows = spark.read.parquet(str(folder / name))
    return sorted((tuple(map(str, row)) for row in rows.collect()), key=repr)


def wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.05)


def rows_of(folder: Path) -> list[str]:
    return sorted(map(repr, pq.read_table(folder).to_pylist()))
