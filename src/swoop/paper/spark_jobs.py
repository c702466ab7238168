"""The jobs that measurements on Spark run: a session, posts in files, and live streams of them."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from swoop.paper.data_sets import DataSet
from swoop.spark import session, topk_changes, topk_stream, words

K = 10
WINDOW = 10_000  # sets, on average
FILE = 50_000  # rows of a file; a batch takes two
ROUNDS = 3


@contextmanager
def quiet_session() -> Iterator[SparkSession]:
    """A session of two cores, for measurements alone."""
    spark = session("local[2]", spark_ui_showConsoleProgress="false", memory="4g")
    try:
        yield spark
    finally:
        spark.stop()


def part(data_set: DataSet, start: int, stop: int) -> DataSet:
    """Some sets of a data set."""
    offsets = data_set.offsets[start : stop + 1]
    return DataSet(data_set.name, data_set.times[start:stop], offsets - offsets[0], data_set.tokens[offsets[0] : offsets[-1]])


def write(posts: pa.Table, folder: Path, first: int = 0, size: int | None = None) -> None:
    """Write rows as Parquet files, which a stream reads in order."""
    folder.mkdir(parents=True, exist_ok=True)
    size = size or FILE
    for number, start in enumerate(range(0, posts.num_rows, size), first):
        write_file(posts.slice(start, size), folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (1_700_000_000 + number,) * 2)


def write_file(posts: pa.Table, path: Path) -> None:
    """Write a file that appears whole."""
    unfinished = path.with_name(f".{path.name}")
    pq.write_table(posts, unfinished)
    unfinished.rename(path)


def with_tokens(rows: DataFrame, way: str) -> DataFrame:
    """Rows as a job takes them whose tokens are made in this ``way``: by Spark's expressions, or where the engine is."""
    return rows.select("id", "time", words("text").column().alias("tokens")) if way == "expressions" else rows


def tokens_of(way: str) -> Any:
    """What such a job is told of the tokens."""
    return "tokens" if way in ("expressions", "tokens") else words("text")


def stream_of_posts(spark: SparkSession, source: Path, way: str, files: int = 2) -> DataFrame:
    """Posts as a stream, so many files per batch. With the way ``tokens``, the files have tokens and no texts."""
    kept = "tokens array<string>" if way == "tokens" else "text string"
    rows = spark.readStream.schema(f"id long, time timestamp, {kept}").option("maxFilesPerTrigger", files)
    return with_tokens(rows.parquet(str(source)), way)


def live(spark: SparkSession, source: Path, window: dt.timedelta, way: str = "texts", files: int = 2) -> Any:
    """A live stream of posts, to be started."""
    return topk_stream(stream_of_posts(spark, source, way, files), K, window, tokens=tokens_of(way), lateness=0)


def write_changes(spark: SparkSession, source: Path, window: dt.timedelta, way: str, checkpoint: Path) -> Any:
    """Run the same stream as a DataFrame of changes to its end. Gives the query."""
    changes = topk_changes(stream_of_posts(spark, source, way), K, window, tokens=tokens_of(way), lateness=0)
    writer = changes.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def batches_of(query: Any) -> list[tuple[dt.datetime, int]]:
    """When each batch of a query was done, and how many rows it had."""
    return [
        (
            dt.datetime.fromisoformat(batch["timestamp"]) + dt.timedelta(milliseconds=batch["durationMs"]["triggerExecution"]),
            int(batch["numInputRows"]),
        )
        for batch in query.recentProgress
        if batch["numInputRows"]
    ]


def rate_of(query: Any) -> float:
    """Rows per second from the end of the first batch to the end of the last."""
    batches = batches_of(query)
    return sum(rows for _, rows in batches[1:]) / (batches[-1][0] - batches[0][0]).total_seconds()
