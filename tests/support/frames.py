"""Histories as DataFrames."""

from __future__ import annotations

import random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from swoop.oracle import Record

SCHEMA = "id long, time long, tokens array<string>, stream string"


def history(size: int, seed: int, two_streams: bool = False) -> list[Record]:
    """In the order of time and id, as Spark lets them enter."""
    rng = random.Random(seed)
    times = sorted(rng.choices(range(size // 2), k=size))
    return [
        Record(
            [f"word {rng.randrange(12)}" for _ in range(rng.randrange(6))],
            time,
            None,
            rng.choice(["left", "right"]) if two_streams else None,
        )
        for time in times
    ]


def frame(spark: SparkSession, records: list[Record], seed: int = 1) -> DataFrame:
    rows = [(n, r.time, list(r.tokens), r.stream or "left") for n, r in enumerate(records)]
    random.Random(seed).shuffle(rows)
    return spark.createDataFrame(rows, SCHEMA)


def collected(stays: DataFrame) -> list[Any]:
    return sorted((tuple(row) for row in stays.collect()), key=repr)
