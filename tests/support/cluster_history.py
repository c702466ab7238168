"""A history on a cluster: spark-submit tests/support/cluster_history.py FOLDER."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from swoop.spark import session, topk_history, words

SLICES = 12


def stays(spark: SparkSession, folder: Path) -> DataFrame:
    posts = spark.read.schema("id long, time timestamp, text string").json(f"{folder}/in")
    return topk_history(posts.withColumn("tokens", words("text").column()), 5, "1 minute", slices=SLICES)


def tell(spark: SparkSession, file: Path) -> None:
    """Make a file when some slices are done and others are not."""
    tracker: Any = spark.sparkContext.statusTracker()
    while not file.exists():
        time.sleep(0.02)
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and "applyInArrow" not in str(info.name) and 2 <= info.numCompletedTasks < info.numTasks - 2:
                file.touch()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    spark = session(spark_sql_shuffle_partitions=SLICES)
    (folder / "master").write_text(str(spark.sparkContext.master))
    threading.Thread(target=tell, args=(spark, folder / "running"), daemon=True).start()
    stays(spark, folder).write.parquet(str(folder / "stays"))
