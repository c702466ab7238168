"""Where a live join sends its changes, its late rows and its rejected rows.

A batch that Spark runs again gives the same results again. Folders replace those of the batch, topics leave out what is there
already, memory has forgotten it with its process; a callback gets the number of the batch and can do as it likes. All results
of an output are numbered from the beginning of the stream on, and a batch that is run again gives them the same numbers again.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument, InvalidType
from swoop.pairs import Changes
from swoop.spark.checkpoint import State
from swoop.spark.folders import ResultFolder
from swoop.spark.manifest import FolderSettings, folder

Callback = Callable[[Any, int], object]
Results: TypeAlias = "Changes | pa.Table"

LIMIT = 1_000_000  # results in memory that nobody has asked for
CLOCKS = 60  # seconds by which the clocks of machines may differ

log = logging.getLogger("swoop.spark")


@dataclass(frozen=True)
class Owner:
    """Whose output something is: what the stream calls itself, which output, its checkpoint; ``guard`` lets only it write."""

    run: str = ""
    holds: str = "results"
    checkpoint: str = ""
    guard: Callable[[], None] = lambda: None


class Output(Protocol):
    """Takes the results of a batch, which are numbered from ``first`` on.

    Some of them may be out already if ``since`` is given: not before that time.
    """

    def put(self, state: State, results: Results, first: int, since: float | None) -> None: ...


def numbered(state: State, results: Results, first: int) -> pa.Table:
    """Results with the number of their batch and their own numbers."""
    table = results.to_arrow() if isinstance(results, Changes) else results
    table = table.add_column(0, "sequence", pa.array(range(first, first + table.num_rows), pa.int64()))
    return table.add_column(0, "batch", pa.repeat(pa.scalar(state.batch, pa.int64()), table.num_rows))


class FolderOutput:
    """Parquet files in a folder that belongs to this output."""

    def __init__(self, given: str | os.PathLike[str] | FolderSettings, owner: Owner | None = None) -> None:
        settings = given if isinstance(given, FolderSettings) else folder(given)
        owner = owner or Owner()
        self.files = ResultFolder(settings, owner.run, owner.holds, owner.checkpoint, owner.guard)

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        self.files.put(state.step, numbered(state, results, first) if len(results) else None)


class CallbackOutput:
    """A function of the user's: it gets the results and the number of their batch."""

    def __init__(self, function: Callback) -> None:
        self._function = function

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        if len(results):
            self._function(results, state.batch)


class MemoryOutput:
    """What was given since somebody asked. The oldest is forgotten when there is too much of it."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._parts: deque[Results] = deque()
        self._limit, self._size = limit, 0

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
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


def keyed(results: pa.Table, prefix: str, there: AbstractSet[str]) -> pa.Table:
    """The results that the topic does not have, with their keys."""
    keys = [f"{prefix}{number:06}" for number in range(results.num_rows)]
    missing = [number for number, key in enumerate(keys) if key not in there]
    return results.append_column("key", pa.array(keys, pa.string())).take(pa.array(missing, pa.int64()))


class TopicOutput:
    """A topic of Kafka: one message per result, in JSON, under a key that no other result has."""

    def __init__(self, url: str, spark: SparkSession, run: str) -> None:
        self._servers, self._topic = find_topic(url)
        self._spark, self._run = spark, run
        self.place = f"{self._servers}/{self._topic}"

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        if not len(results):
            return
        prefix = f"{self._run}/{state.step}/"
        there = set() if since is None else self._keys(prefix, since)
        table = keyed(numbered(state, results, first), prefix, there)
        if table.num_rows:
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

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        for output in self.outputs:
            output.put(state, results, first, since)

    @property
    def folders(self) -> list[ResultFolder]:
        return [output.files for output in self.outputs if isinstance(output, FolderOutput)]


def claim(outputs: Sequence[Outputs], checkpoint: str, batch: int) -> None:
    """See to it that each output has a place of its own; refuse all if one is not free, and change nothing then.

    ``checkpoint`` is the path of the checkpoint. ``batch`` is the last that the stream has done with a release that did not
    mark its folders, -1 if there is none.
    """
    topics = [output.place for several in outputs for output in several.outputs if isinstance(output, TopicOutput)]
    for topic in topics:
        if topics.count(topic) > 1:
            raise InvalidArgument(f"two outputs of this stream go to the topic {topic!r}; give each a topic of its own")
    folders = [files for several in outputs for files in several.folders]
    for number, files in enumerate(folders):
        if f"{checkpoint}/".startswith(f"{files.path}/"):
            raise InvalidArgument(
                f"the folder {files.path!r} for {files.holds} has the checkpoint in it; use a folder of its own"
            )
        for other in folders[number + 1 :]:
            if f"{files.path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(f"{files.path}/"):
                raise InvalidArgument(
                    f"two outputs of this stream, {files.holds} and {other.holds}, go to the same folder or one into that of "
                    f"the other: {files.path!r} and {other.path!r}; give each a folder of its own"
                )
        files.check(batch)
    try:
        for files in folders:
            files.claim(batch)
    except BaseException:
        unclaim(outputs)
        raise


def unclaim(outputs: Sequence[Outputs]) -> None:
    """The stream was not started: what was claimed for it is free again."""
    for several in outputs:
        for files in several.folders:
            files.unclaim()


def find_output(given: Any, spark: SparkSession, owner: Owner) -> Outputs:
    """The output that the caller means: a function, "memory", a topic, a folder, or several of these."""
    if isinstance(given, list | tuple):
        return Outputs([output for one in given for output in find_output(one, spark, owner).outputs])
    if callable(given):
        return Outputs([CallbackOutput(given)])
    if isinstance(given, str) and given == "memory":
        return Outputs([MemoryOutput()])
    if isinstance(given, str) and given.startswith("kafka:"):
        return Outputs([TopicOutput(given, spark, owner.run)])
    if isinstance(given, str | os.PathLike | FolderSettings):
        return Outputs([FolderOutput(given, owner)])
    raise InvalidType(
        f"{owner.holds} must be a function of results and batch number, 'memory', 'kafka://host:port/topic', a folder, "
        f"or a list of these, not {given!r}"
    )
