"""Live streams on stores, in a process of its own: python -m tests.support.storage_driver STORES IN FOLDER[=MOMENT=BATCH] ...

With moments it kills itself when all streams have come to theirs (see ``killed_driver``), else it prints what each has found,
and checks what the stores must do (see ``storage_checks``).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from swoop.spark import result_files, session, timestamps, topk_stream, words
from swoop.spark.hadoop import open_folder
from tests.support import killed_driver, storage
from tests.support.storage_checks import check_stores


def connect(settings: dict[str, str]) -> SparkSession:
    """A session that knows HDFS and S3."""
    given: dict[str, Any] = {name.replace(".", "_"): value for name, value in settings.items()}
    return session("local[2]", spark_sql_shuffle_partitions=2, spark_jars=storage.s3_jars(), **given)


def start(spark: SparkSession, folder: str, rows: str) -> Any:
    posts = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(rows)
    sets = posts.select("id", "text", timestamps("time").alias("time"), words("text").column().alias("tokens"))
    return topk_stream(sets, 4, "40 seconds", lateness="6 seconds").start(
        f"{folder}/check point", changes=f"{folder}/changes of it", late=f"{folder}/late", available_now=True
    )


def found(spark: SparkSession, folder: str) -> list[list[str]]:
    """The results in the folders of a stream."""
    names = ("changes of it", "late", "check point/swoop/rejected")
    return [
        sorted(map(str, spark.read.parquet(*files).collect())) if (files := result_files(f"{folder}/{name}", spark)) else []
        for name in names
    ]


if __name__ == "__main__":
    settings, rows, *given = sys.argv[1:]
    runs = [run.split("=") for run in given]
    spark = connect(json.loads(settings))
    if moments := {
        open_folder(spark, f"{folder}/check point").path: (moment[0], int(moment[1])) for folder, *moment in runs if moment
    }:
        killed_driver.die(moments)
    handles = [start(spark, folder, f"file://{rows}") for folder, *_ in runs]
    for handle, (folder, *_) in zip(handles, runs, strict=True):
        assert handle.await_termination(200)
        print(json.dumps([list(map(repr, handle.topk())), *found(spark, folder)]))
    check_stores(spark, "/checks", f"s3a://{storage.BUCKET}/checks")
