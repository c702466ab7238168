"""Where a live join sends its changes, its late rows and its rejected rows.

A batch that Spark runs again gives the same results again. Folders replace those of the batch, topics and alerts leave out
what is there already, memory has forgotten it with its process; a callback gets the number of the batch and can do as it likes.
All results of an output are numbered from the beginning of the stream on, and a batch that is run again gives them the same
numbers again.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from swoop.errors import InvalidArgument, InvalidType
from swoop.live.alerts import AlertOutput, AlertSettings, Texts
from swoop.live.checkpoint import State
from swoop.live.engines import Feed
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.manifest import FolderSettings, Manifest, folder

Callback = Callable[[Any, int], object]
Results: TypeAlias = "Feed | pa.Table"

LIMIT = 1_000_000  # unread results in memory

log = logging.getLogger("swoop.live")


@dataclass(frozen=True)
class Owner:
    """Whose output something is: what the stream calls itself, which output, its checkpoint.

    ``guard`` lets only its driver write, whose lease has the number ``fence``; ``open`` finds folders.
    """

    run: str = ""
    holds: str = "results"
    checkpoint: str = ""
    guard: Callable[[], None] = lambda: None
    fence: int = 0
    open: Callable[[str], Folder] = Folder


class Output(Protocol):
    """Takes the results of a batch, which are numbered from ``first`` on.

    Some of them may be out already if ``since`` is given: not before that time.
    """

    def put(self, state: State, results: Results, first: int, since: float | None) -> None: ...


def numbered(state: State, results: Results, first: int) -> pa.Table:
    """Results with the number of their batch and their own numbers."""
    table = results if isinstance(results, pa.Table) else results.to_arrow()
    table = table.add_column(0, "sequence", pa.array(range(first, first + table.num_rows), pa.int64()))
    return table.add_column(0, "batch", pa.repeat(pa.scalar(state.batch, pa.int64()), table.num_rows))


@runtime_checkable
class TopicOutput(Output, Protocol):
    """An output that sends its results to a topic."""

    topic: str


@dataclass(frozen=True, repr=False)
class TopicSettings:
    """A topic, and how to reach it. What the options say is not shown: there may be passwords among them."""

    url: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"topic({self.url!r}, options: {', '.join(self.options) or 'none'})"


class FolderOutput:
    """Parquet files in a folder that belongs to this output."""

    def __init__(self, given: str | os.PathLike[str] | FolderSettings, owner: Owner | None = None) -> None:
        settings = given if isinstance(given, FolderSettings) else folder(given)
        owner = owner or Owner()
        mine = Manifest(owner.run, owner.holds, owner.checkpoint, 0.0)
        self.files = ResultFolder(settings, owner.open(settings.path), mine, owner.guard, owner.fence)

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
    """Results that were not read yet. The oldest are dropped when there are too many."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._parts: deque[Results] = deque()
        self._limit, self._size = limit, 0

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        self._parts.append(results)
        self._size += len(results)
        while self._size > self._limit and len(self._parts) > 1:
            dropped = len(self._parts.popleft())
            self._size -= dropped
            log.warning("dropped %d unread changes; read them more often, or use another output", dropped)

    def take(self) -> list[Results]:
        """Everything since the last call."""
        found = []
        while self._parts:
            part = self._parts.popleft()
            self._size -= len(part)
            if len(part):
                found.append(part)
        return found


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

    @property
    def alerts(self) -> AlertOutput | None:
        """The alerts, if there are any."""
        return next((output for output in self.outputs if isinstance(output, AlertOutput)), None)


def show_texts(output: Output, texts: Texts) -> None:
    """Let an output know where texts are that go with changes, if it shows any."""
    if isinstance(output, Outputs) and output.alerts is not None:
        output.alerts.texts = texts


def claim(outputs: Sequence[Outputs], checkpoint: str, batch: int, last: str | None = None) -> None:
    """See to it that each output has a place of its own; refuse all if one is not free, and change nothing then.

    ``checkpoint`` is the path of the checkpoint. ``batch`` is the last that the stream has done with a release that did not
    mark its folders, -1 if there is none. ``last``: the last step that the checkpoint knows, beyond which no folder should be.
    """
    topics = [output.topic for several in outputs for output in several.outputs if isinstance(output, TopicOutput)]
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
        files.check(batch, last)
    try:
        for files in folders:
            files.claim(batch, last)
    except BaseException:
        unclaim(outputs)
        raise


def unclaim(outputs: Sequence[Outputs]) -> None:
    """The stream was not started: what was claimed for it is free again."""
    for several in outputs:
        for files in several.folders:
            files.unclaim()


def find_output(
    given: Any,
    owner: Owner,
    make_topic: Callable[[str | TopicSettings], Output],
    make_alerts: Callable[[AlertSettings], AlertOutput],
) -> Outputs:
    """The output that the caller means: a function, "memory", a topic, a folder, an alert, or several of these."""
    if isinstance(given, list | tuple):
        if sum(isinstance(one, AlertSettings) for one in given) > 1:
            raise InvalidArgument("a stream has one alert at most; let a command tell several, or start another stream")
        return Outputs([output for one in given for output in find_output(one, owner, make_topic, make_alerts).outputs])
    if isinstance(given, AlertSettings):
        if owner.holds != "changes":
            raise InvalidArgument(f"alerts are about changes, not about {owner.holds} rows; give the alert to changes")
        return Outputs([make_alerts(given)])
    if callable(given):
        return Outputs([CallbackOutput(given)])
    if isinstance(given, str) and given == "memory":
        return Outputs([MemoryOutput()])
    if isinstance(given, TopicSettings) or (isinstance(given, str) and given.startswith("kafka:")):
        return Outputs([make_topic(given)])
    if isinstance(given, str | os.PathLike | FolderSettings):
        return Outputs([FolderOutput(given, owner)])
    raise InvalidType(
        f"{owner.holds} must be a function of results and batch number, 'memory', 'kafka://host:port/topic', a topic, a "
        f"folder, an alert, or a list of these, not {given!r}"
    )
