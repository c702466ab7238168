"""Where a live join sends its changes, its late rows and its rejected rows.

A batch that Spark runs again gives the same results again. Folders replace those of the batch, topics leave out what is there
already, memory has forgotten it with its process; a callback gets the number of the batch and can do as it likes.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument, InvalidType
from swoop.pairs import Changes
from swoop.spark.checkpoint import State
from swoop.spark.files import Folder

Callback = Callable[[Any, int], object]
Results: TypeAlias = "Changes | pa.Table"

LIMIT = 1_000_000  # results in memory that nobody has asked for
CLOCKS = 60  # seconds by which the clocks of machines may differ

log = logging.getLogger("swoop.spark")


class Output(Protocol):
    """Takes the results of a batch. Some of them may be out already if ``since`` is given: not before that time."""

    def put(self, state: State, results: Results, since: float | None) -> None: ...


def with_batch(state: State, results: Results) -> pa.Table:
    table = results.to_arrow() if isinstance(results, Changes) else results
    return table.add_column(0, "batch", pa.repeat(pa.scalar(state.batch, pa.int64()), table.num_rows))


class FolderOutput:
    """Parquet files, one per batch that has results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._folder = Folder(path)

    def put(self, state: State, results: Results, since: float | None) -> None:
        name = f"{state.step}.parquet"
        if len(results):
            sink = pa.BufferOutputStream()
            pq.write_table(with_batch(state, results), sink)
            self._folder.write(name, sink.getvalue())
        elif since is not None:
            self._folder.delete(name)


class CallbackOutput:
    """A function of the user's: it gets the results and the number of their batch."""

    def __init__(self, function: Callback) -> None:
        self._function = function

    def put(self, state: State, results: Results, since: float | None) -> None:
        if len(results):
            self._function(results, state.batch)


class MemoryOutput:
    """What was given since somebody asked. The oldest is forgotten when there is too much of it."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._parts: deque[Results] = deque()
        self._limit, self._size = limit, 0

    def put(self, state: State, results: Results, since: float | None) -> None:
        self._parts.append(results)
        self._size += len(results)
        while self._size > self._limit and len(self._parts) > 1:
            forgotten = len(self._parts.popleft())
            self._size -= forgotten
            log.warning("%d changes that nobody asked for were forgotten; ask more often, or use another output", forgotten)

    def take(self) -> list[Results]:
        """Everything since the last call."""
        found = []
        while self._parts:
            part = self._parts.popleft()
            self._size -= len(part)
            if len(part):
                found.append(part)
        return found


def find_topic(url: str) -> tuple[str, str]:
    """The servers and the topic that an address of Kafka names."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise InvalidArgument(f"{url!r} names no topic; write kafka://host:port/topic")
    return parts.netloc, topic


class TopicOutput:
    """A topic of Kafka: one message per result, in JSON, under a key that no other result has."""

    def __init__(self, url: str, spark: SparkSession, run: str) -> None:
        self._servers, self._topic = find_topic(url)
        self._spark, self._run = spark, run

    def put(self, state: State, results: Results, since: float | None) -> None:
        table = with_batch(state, results)
        if not table.num_rows:
            return
        prefix = f"{self._run}/{state.step}/"
        there = set() if since is None else self._keys(prefix, since)
        keys = [f"{prefix}{number:06}" for number in range(table.num_rows)]
        missing = [number for number, key in enumerate(keys) if key not in there]
        if missing:
            table = table.append_column("key", pa.array(keys)).take(missing)
            rows = self._spark.createDataFrame(table)
            value = F.to_json(F.struct(*[c for c in rows.columns if c != "key"]), {"ignoreNullFields": "false"})
            to = rows.select("key", value.alias("value")).coalesce(1).write.format("kafka")
            to.option("kafka.bootstrap.servers", self._servers).option("topic", self._topic).save()

    def _keys(self, prefix: str, since: float) -> set[str]:
        """The keys of this batch that the topic has."""
        milliseconds = max(0, int((since - CLOCKS) * 1000))
        source = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._servers)
        source = source.option("subscribe", self._topic).option("startingTimestamp", str(milliseconds))
        source = source.option("startingOffsetsByTimestampStrategy", "latest")
        try:
            found = source.load().select(F.col("key").cast("string")).filter(F.col("key").startswith(prefix)).collect()
        except Exception as error:  # Java's, in one wrapping or another
            if "UnknownTopicOrPartition" in str(error):
                return set()
            raise
        return {row.key for row in found}


class Outputs:
    """Several outputs of one thing."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self.outputs = outputs

    def put(self, state: State, results: Results, since: float | None) -> None:
        for output in self.outputs:
            output.put(state, results, since)


def find_output(given: Any, spark: SparkSession, run: str, argument: str) -> Outputs:
    """The output that the caller means: a function, "memory", a topic, a folder, or several of these."""
    if isinstance(given, list | tuple):
        return Outputs([output for one in given for output in find_output(one, spark, run, argument).outputs])
    if callable(given):
        return Outputs([CallbackOutput(given)])
    if isinstance(given, str) and given == "memory":
        return Outputs([MemoryOutput()])
    if isinstance(given, str) and given.startswith("kafka:"):
        return Outputs([TopicOutput(given, spark, run)])
    if isinstance(given, str | os.PathLike):
        return Outputs([FolderOutput(given)])
    raise InvalidType(
        f"{argument} must be a function of results and batch number, 'memory', 'kafka://host:port/topic', a folder, "
        f"or a list of these, not {given!r}"
    )
