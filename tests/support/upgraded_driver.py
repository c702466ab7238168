"""Live streams in a process with another Spark: ``python -m tests.support.upgraded_driver FOLDER``, by that Spark's Python."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from swoop.spark import families_changes, session, timestamps, topk_changes, topk_stream, words

WAYS = ("one engine", "cells", "changes", "families")


def follow(spark: SparkSession, folder: Path) -> None:
    """Each way takes the files that it has not yet taken, one by one, and leaves its results under its name."""
    posts = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    rows = posts.withColumn("time", timestamps("time"))
    for way, cells in (("one engine", 1), ("cells", 3)):
        stream = topk_stream(rows, 4, "40 seconds", lateness="6 seconds", tokens=words("text"), cells=cells)
        handle = stream.start(f"{folder}/{way} state", changes=f"{folder}/{way}", available_now=True, flush=False)
        assert handle.await_termination(240)
    for way, changes in (
        ("changes", topk_changes(rows, 4, "40 seconds", lateness="6 seconds", tokens=words("text"))),
        ("families", families_changes(rows, 0.6, "40 seconds", lateness="6 seconds", tokens=words("text"))),
    ):
        writer = changes.writeStream.format("parquet").option("checkpointLocation", f"{folder}/{way} state")
        assert writer.trigger(availableNow=True).start(f"{folder}/{way}").awaitTermination(240)


if __name__ == "__main__":
    follow(session("local[2]", spark_sql_shuffle_partitions=2), Path(sys.argv[1]))
