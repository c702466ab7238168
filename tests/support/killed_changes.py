"""A driver with changes as DataFrames that is killed with signal 9 in the middle of a batch."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from swoop.spark import families_changes, session, topk_changes, words

SCHEMA = "id long, time timestamp, text string, side string"
WAYS = ("pairs", "families")


def define(spark: SparkSession, folder: Path, way: str) -> DataFrame:
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    given: dict[str, Any] = {"tokens": words("text"), "lateness": "3 seconds", "max_ahead": "1 hour"}
    if way == "families":
        return families_changes(rows, 0.6, "20 seconds", **given)
    return topk_changes(rows, 4, "20 seconds", copies="once", by="side", **given)


def start(spark: SparkSession, folder: Path, way: str) -> Any:
    """One query, with a sink that has each row once."""
    writer = define(spark, folder, way).writeStream.format("parquet").option("checkpointLocation", f"{folder}/{way}-state")
    return writer.trigger(availableNow=True).start(f"{folder}/{way}")


def ends_of_batches(folder: Path, way: str) -> list[int]:
    """How many files each batch and those before it had, by Spark's own notes."""
    notes = sorted((folder / f"{way}-state" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    return [json.loads(file.read_text().splitlines()[-1])["logOffset"] + 1 for file in notes]


if __name__ == "__main__":
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    spark = session("local[2]", spark_sql_shuffle_partitions=2)
    queries = [start(spark, folder, way) for way in WAYS]
    begun = [folder / f"{way}-state" / "offsets" / "1" for way in WAYS]
    while not all(file.exists() for file in begun) and all(query.isActive for query in queries):
        time.sleep(0.02)
    time.sleep(random.Random(seed).random() / 2)
    if any(query.isActive for query in queries):
        os.kill(os.getpid(), signal.SIGKILL)
