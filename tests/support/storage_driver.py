"""Live streams on stores, in a process of its own: python -m tests.support.storage_driver STORES IN FOLDER[=MOMENT=BATCH] ...

With moments it kills itself when all streams have come to theirs (see ``killed_driver``), else it prints what each has found,
and checks what the stores must do (see ``storage_checks``).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

from swoop.spark import result_files, session, timestamps, topk_changes, topk_stream, words
from swoop.spark.hadoop import open_folder
from tests.support import killed_driver, storage
from tests.support.storage_checks import check_stores


def connect(settings: dict[str, str]) -> SparkSession:
    """A session that knows HDFS and S3."""
    given: dict[str, Any] = {name.replace(".", "_"): value for name, value in settings.items()}
    return session("local[2]", spark_sql_shuffle_partitions=2, spark_jars=storage.s3_jars(), **given)


def start(spark: SparkSession, folder: str, rows: str) -> Any:
    """A live stream, or changes as a DataFrame, of which none are late, so that batches may be cut in any way."""
    posts = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(rows)
    sets = posts.select("id", "text", timestamps("time").alias("time"), words("text").column().alias("tokens"))
    if is_frame(folder):
        writer = topk_changes(sets, 4, "40 seconds", lateness="20 seconds").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", f"{folder}/check point").trigger(availableNow=True)
        return writer.start(f"{folder}/changes of it")
    cells = 3 if "/cells/" in folder else 1
    return topk_stream(sets, 4, "40 seconds", lateness="6 seconds", cells=cells).start(
        checkpoint(folder), changes=f"{folder}/changes of it", late=f"{folder}/late", available_now=True
    )


def is_frame(folder: str) -> bool:
    return "/frames/" in folder


def checkpoint(folder: str) -> str:
    """That of cells has a name that addresses need not escape."""
    return f"{folder}/state" if "/cells/" in folder else f"{folder}/check point"


def found(spark: SparkSession, folder: str) -> list[list[str]]:
    """The results in the folders of a stream."""
    if is_frame(folder):
        return [sorted(map(str, spark.read.parquet(f"{folder}/changes of it").collect()))]
    names = (f"{folder}/changes of it", f"{folder}/late", f"{checkpoint(folder)}/swoop/rejected")
    return [
        sorted(map(str, spark.read.parquet(*files).collect())) if (files := result_files(name, spark)) else [] for name in names
    ]


def wait_for_batch(spark: SparkSession, folder: str, batch: int) -> None:
    """Wait until Spark has begun a batch."""
    offsets, end = open_folder(spark, f"{checkpoint(folder)}/offsets"), time.monotonic() + 100
    while str(batch) not in offsets.names():
        assert time.monotonic() < end
        time.sleep(0.05)


if __name__ == "__main__":
    settings, rows, *given = sys.argv[1:]
    runs = [run.split("=") for run in given]
    spark = connect(json.loads(settings))
    moments = {open_folder(spark, checkpoint(run)).path: (moment[0], int(moment[1])) for run, *moment in runs if moment}
    arrive = killed_driver.die(moments) if moments else None
    handles = [start(spark, folder, f"file://{rows}") for folder, *_ in runs]
    if arrive is not None:
        for folder, _, batch in runs:
            if is_frame(folder):
                wait_for_batch(spark, folder, int(batch))
                arrive(open_folder(spark, checkpoint(folder)).path)
    for handle, (folder, *_) in zip(handles, runs, strict=True):
        if is_frame(folder):
            assert handle.awaitTermination(200)
            print(json.dumps(found(spark, folder)))
        else:
            assert handle.await_termination(200)
            print(json.dumps([list(map(repr, handle.topk())), *found(spark, folder)]))
    check_stores(spark, "/checks", f"s3a://{storage.BUCKET}/checks")
