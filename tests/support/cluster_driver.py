"""A live join on a cluster, in a process of its own: python -m tests.support.cluster_driver MASTER FOLDER CELLS."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from swoop.spark import StreamHandle, session, timestamps, topk_stream, words


def start(spark: SparkSession, folder: Path, cells: int) -> StreamHandle:
    posts = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    sets = posts.select("id", "text", timestamps("time").alias("time"), words("text").column().alias("tokens"))
    return topk_stream(sets, 4, "40 seconds", lateness="6 seconds", cells=cells).start(
        folder / "checkpoint",
        changes=folder / "changes",
        late=folder / "late",
        rejected=folder / "rejected",
        available_now=True,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("swoop").setLevel(logging.INFO)
    master, folder, cells = sys.argv[1:]
    spark = session(
        master,
        spark_executor_memory="700m",
        spark_executor_cores=1,
        spark_locality_wait="1s",
        spark_executor_extraJavaOptions=os.environ.get("SPARK_DAEMON_JAVA_OPTS", ""),
    )
    handle = start(spark, Path(folder), int(cells))
    assert handle.await_termination(600)
    print(repr(list(handle.topk())))
    print(handle.stats)
