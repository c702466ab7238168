"""Rows for changes as DataFrames, and what comes of them."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.support.streams import NOON

SCHEMA = "id int, time timestamp, tick long, text string, side string, tenant string, tokens array<string>"


def posts(size: int, seed: int = 1) -> list[dict[str, Any]]:
    """Disordered rows with copies, some late, some unusable, one from the future."""
    rng = random.Random(seed)
    rows = []
    for number in range(size):
        tick = number // 2 - rng.choice([0, 0, 0, 1, 2, 9])
        text = " ".join(rng.choices("abcdef", k=3))
        row = {
            "id": number,
            "time": (NOON + dt.timedelta(seconds=tick)).isoformat(),
            "tick": tick,
            "text": None if number % 23 == 7 else text,
            "side": rng.choice(["left", "right"]) if number % 29 else "up",
            "tenant": rng.choice(["one", "two", None]),
            "tokens": text.split(),
        }
        rows.append(row)
    rows[size // 2] |= {"tick": 10**9, "time": "2200-01-01T00:00:00Z"}
    return rows


def source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def run(changes: DataFrame, folder: Path, sink: str = "files") -> pa.Table:
    """All rows that come to a sink with the data of now; or from a view to memory, which starts anew each time."""
    spark, out = changes.sparkSession, str(folder / "out")
    if sink == "memory":
        changes.createOrReplaceTempView("all_changes")
        changes = spark.sql("select * from all_changes")

    def take(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").parquet(f"{out}/batch={batch}")

    writer = changes.writeStream.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True)
    if sink == "files":
        writer = writer.format("parquet").option("path", out)
    else:
        writer = writer.format("memory").queryName("in_memory") if sink == "memory" else writer.foreachBatch(take)
    query = writer.start()
    assert query.awaitTermination(240)
    found = spark.table("in_memory") if sink == "memory" else spark.read.parquet(out).drop("batch")
    return found.orderBy("sequence").toArrow()
