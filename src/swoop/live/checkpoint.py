"""What a live join keeps under its checkpoint: parameters, the rows of the window in chunks, and one state per batch.

A state names the chunks that hold the window after its batch; the small ones of a batch are in one file. Chunks and states are
written whole and never changed, the state last, so a process that is killed at any moment leaves the state of the batch before,
or that of the batch. A batch that is done again writes its chunks under new names, for it may have its rows in another order,
and its old state counts until the new one is there. What no state needs any more is deleted when the next batch begins: only
then is it certain that Spark will not run this batch again.

The name of a state has the number of the lease under which it was written. Of several states of a batch that with the highest
number counts, so a driver that has lost the lease and does not know it yet, because the store was slow, changes nothing.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.chunks import Chunk, Damaged, add_rows, read_chunks, seal, unseal
from swoop.live.files import Folder
from swoop.live.lease import Lease
from swoop.live.parameters import check_same

FORMAT, VERSION = "swoop stream", 3
SMALL = 1 << 20  # bytes of a chunk that has no file of its own
ALIGNED = 64  # where chunks begin in a file, in bytes
PARAMETERS, QUERY = "parameters.json", "query.json"

_STATE = re.compile(r"(\d{12})(?:-idle-(\d{6}))?(-end)?(?:~(\d{12}))?\.json")

_MARK = re.compile(r"~(\d{12})-")  # of a chunk

Key: TypeAlias = "tuple[int, int, bool]"


def _step(key: Key) -> str:
    """Names of steps are in the order of the steps."""
    batch, idle, ended = key
    return f"{batch:012}{f'-idle-{idle:06}' if idle else ''}{'-end' if ended else ''}"


@dataclass(frozen=True)
class Counters:
    """Rows of all batches by what became of them, and changes of the top-k."""

    rows: int = 0
    late: int = 0
    rejected: int = 0
    sets: int = 0
    changes: int = 0


SIZES = ("held", "window_size", "stock_size", "vocabulary_size", "memory_bytes")
"""The metrics of cells."""


@dataclass(frozen=True)
class State:
    """A live join after a batch.

    Attributes
    ----------
    batch
        The number of the batch; -1 before the first.
    ended
        The stream ended after this batch, and the rows that were held have entered.
    max_event_time
        The time of the latest row so far, in ticks.
    ahead
        How many rows were too far ahead of it since the last that was not.
    watermark
        Rows before it have entered the join; those that come now are late.
    written
        When the state was written, in seconds since 1970.
    ended_at
        The watermark at the last end of the stream.
    metrics
        Sizes of all cells together, if there are cells.
    idle
        How often time has moved on by the clock since the batch.
    reached
        Where time has come to by the clock, in ticks.
    origins
        Chunks of what the rows of the window do not tell: which sets have left it that others are called after.
    """

    batch: int
    k: int | None
    ended: bool = False
    max_event_time: int | None = None
    watermark: int | None = None
    counters: Counters = Counters()
    chunks: tuple[Chunk, ...] = ()
    written: float = 0.0
    ended_at: int | None = None
    metrics: dict[str, int] = field(default_factory=dict)
    ahead: int = 0
    idle: int = 0
    reached: int | None = None
    origins: tuple[Chunk, ...] = ()

    @property
    def now(self) -> int | None:
        """Where time has come to, by rows and by the clock, in ticks; None before the first row."""
        return (
            self.max_event_time
            if self.max_event_time is None or self.reached is None
            else max(self.max_event_time, self.reached)
        )

    @property
    def key(self) -> Key:
        """What tells states apart, and orders them."""
        return self.batch, self.idle, self.ended

    @property
    def step(self) -> str:
        """What files and messages of this state are called."""
        return _step(self.key)

    @property
    def names(self) -> set[str]:
        """The names of all chunks that it needs."""
        return {chunk.name for chunk in (*self.chunks, *self.origins)}

    def to_json(self) -> bytes:
        return seal(self).encode()

    @classmethod
    def from_json(cls, data: bytes) -> State:
        """A state from its file. Raises ValueError, KeyError or TypeError if that is damaged."""
        state = unseal(data, cls)
        if (state.max_event_time is None) != (state.watermark is None):
            raise ValueError("the watermark and the time of the latest row do not belong together")
        if unknown := state.metrics.keys() - set(SIZES):
            raise ValueError(f"cells have no metrics {', '.join(sorted(unknown))}")
        return state


class ChunkFolder:
    """The chunks of a checkpoint. Small ones of a step are written together, as one file."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._small: dict[str, pa.Buffer] = {}  # of this step, not written yet

    def read(self, name: str) -> pa.Buffer:
        return self._small[name] if name in self._small else self.folder.read(name)

    def write(self, name: str, data: pa.Buffer) -> None:
        if data.size > SMALL:
            self.folder.write(name, data)
        else:
            self._small[name] = data

    def write_small(self, needed: Set[str]) -> dict[str, dict[str, Any]]:
        """Write those that are needed, and say where each is now."""
        small, self._small = {name: data for name, data in self._small.items() if name in needed}, {}
        if len(small) < 2:
            for name, data in small.items():
                self.folder.write(name, data)
            return {}
        file, together, places = next(iter(small)), bytearray(), {}
        for name, data in small.items():
            together += bytes(-len(together) % ALIGNED)
            places[name] = {"name": file, "at": len(together), "size": data.size}
            together += data
        self.folder.write(file, pa.py_buffer(together))
        return places


class Checkpoint:
    """The files of a live join. ``parameters`` are those that a later run must share."""

    def __init__(self, where: str | os.PathLike[str] | Folder, parameters: dict[str, Any]) -> None:
        self._spark = where if isinstance(where, Folder) else Folder(where)
        self._folder = self._spark.inner("swoop")
        self._states = self._folder.inner("states")
        self._chunks = ChunkFolder(self._folder.inner("chunks"))
        self._lease: Lease | None = None
        self._new = self._abandoned = False
        self._known: dict[str, Any] = {}  # what the file of parameters should say
        self.run = self._agree(parameters)
        self._check_query()

    def hold(self) -> None:
        """Let no other driver use this checkpoint, until it is released or this process is gone."""
        fences = [fence for _, fence, _ in self._state_files()]
        self._lease = Lease(self._folder, max(fences, default=0))
        found = self._folder.names()
        if PARAMETERS not in found or self._known["version"] < VERSION:
            # somebody has made this checkpoint and given it up meanwhile; or an earlier release, which cannot go on from now on
            self._known["version"] = VERSION
            self._folder.write(PARAMETERS, json.dumps(self._known, indent=1).encode())

    @property
    def fence(self) -> int:
        """What tells files of this driver from those of earlier ones, whose number is lower; 0 if there is no lease."""
        return 0 if self._lease is None else self._lease.number

    @property
    def _mark(self) -> str:
        """What names of files bear, so that they can be told from those of other drivers."""
        return f"~{self.fence:012}" if self.fence else ""

    def check(self) -> None:
        """Refuse to go on if another driver has taken this checkpoint over."""
        if self._lease is not None:
            self._lease.check()

    @property
    def lost(self) -> bool:
        """The heartbeat has found that another driver has taken this checkpoint over."""
        return self._lease is not None and self._lease.lost

    def release(self) -> None:
        if self._lease is not None:
            self._lease.release(self._abandoned)

    def abandon(self) -> None:
        """The stream was not started after all: a checkpoint that was made for it is none."""
        if self._new and self._lease is not None and not self.known() and not self._query():
            self._folder.delete(PARAMETERS)
            self._abandoned = True

    @property
    def path(self) -> str:
        return str(self._folder.path)

    def beside(self, name: str) -> Folder:
        """A folder for what goes with this checkpoint."""
        return self._folder.inner(name)

    def _agree(self, parameters: dict[str, Any]) -> str:
        """Compare the parameters with those of the run before, or note them. Gives what this checkpoint calls itself."""
        if PARAMETERS not in self._folder.names():
            self._check_new()
            run = uuid.uuid4().hex
            self._known = {"format": FORMAT, "version": VERSION, "run": run, "parameters": parameters}
            self._new = self._folder.create(PARAMETERS, json.dumps(self._known, indent=1).encode())
            if self._new:
                return run
        try:
            known = json.loads(self._folder.read(PARAMETERS).to_pybytes())
            run, version, before = known["run"], int(known["version"]), dict(known["parameters"])
            self._known = known
        except (ValueError, KeyError, TypeError) as error:
            raise self.damaged(PARAMETERS, error) from error
        if version > VERSION:
            raise InvalidFile(
                f"the checkpoint {self.path!r} has format version {version}, made by a newer release; this one reads versions "
                f"up to {VERSION}. Upgrade Swoop"
            )
        check_same(f"the checkpoint {self.path!r}", before, parameters)
        return str(run)

    def _check_new(self) -> None:
        """Refuse a folder that has something of a stream, but not its parameters."""
        inner = {name: self._folder.inner(name).names() for name in ("states", "chunks", "late", "rejected")}
        left = [f"{name}/" for name, found in inner.items() if any(file[0] != "." for file in found)]
        if left or QUERY in self._folder.names():
            raise InvalidFile(
                f"{PARAMETERS} is missing in the checkpoint {self.path!r}, which has {', '.join(left) or QUERY}: what it was "
                "made with is not known any more. Restore the file from a copy, or begin with a new checkpoint"
            )
        if self._query() or self._spark.inner("offsets").names() or self._spark.inner("commits").names():
            raise InvalidArgument(
                f"{self._spark.path!r} is the checkpoint of another query of Spark's, not of a stream of Swoop; use a folder "
                "of its own as checkpoint"
            )

    def _query(self) -> str | None:
        """What Spark's part of the checkpoint calls its query."""
        if "metadata" not in self._spark.names():
            return None
        try:
            return str(json.loads(self._spark.read("metadata").to_pybytes())["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise self.damaged("Spark's file 'metadata'", error) from error

    def _check_query(self) -> None:
        """Refuse if Spark's part of the checkpoint is not the one that goes with ours."""
        if QUERY not in self._folder.names():  # Spark was not started, or this process died before it could be noted
            return
        try:
            noted = json.loads(self._folder.read(QUERY).to_pybytes())["id"]
        except (ValueError, KeyError, TypeError) as error:
            raise self.damaged(QUERY, error) from error
        found = self._query()
        if found != noted:
            what = "gone" if found is None else f"that of another query, {found}"
            raise InvalidFile(
                f"Spark's part of the checkpoint {self._spark.path!r} is {what}, but the folder 'swoop' belongs to the query "
                f"{noted}: one of them was replaced. Restore it from a copy, or begin with a new checkpoint"
            )

    @property
    def unmarked(self) -> int:
        """The last batch if it was done by an earlier release, which did not mark its folders; else -1."""
        done = self.known()
        return done[-1][0] if done and QUERY not in self._folder.names() else -1

    @property
    def last_step(self) -> str:
        """The last step that was done; nothing if there is none."""
        return max((_step(key) for key in self.known()), default="")

    def note_query(self, query: str) -> None:
        """Spark has started: note which query of its goes with this checkpoint."""
        if QUERY not in self._folder.names():
            self._folder.write(QUERY, json.dumps({"id": query}).encode())

    def committed(self) -> int:
        """The number of the last batch that Spark has committed, and will not run again; -1 if there is none."""
        return max((int(name) for name in self._spark.inner("commits").names() if name.isdecimal()), default=-1)

    def damaged(self, name: str, why: object) -> InvalidFile:
        """What to raise if a part of the checkpoint is not what was written."""
        return InvalidFile(
            f"the checkpoint {self.path!r} is damaged: {name}: {why}. Restore it from a copy, or begin with a new checkpoint"
        )

    def known(self) -> list[Key]:
        """The keys of the states that are there, in order."""
        return sorted({key for key, _, _ in self._state_files()})

    def _state_files(self) -> list[tuple[Key, int, str]]:
        """The files of states: key, number of the lease, name."""
        found = (_STATE.fullmatch(name) for name in self._states.names())
        return [((int(match[1]), int(match[2] or 0), bool(match[3])), int(match[4] or 0), match[0]) for match in found if match]

    def state(self, key: Key) -> State:
        files = ((fence, name) for found, fence, name in self._state_files() if found == key)
        _, name = max(files, default=(0, f"{_step(key)}.json"))
        try:
            return State.from_json(self._states.read(name).to_pybytes())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self.damaged(f"states/{name}", error) from error

    def read(self, chunks: Sequence[Chunk], needed: Sequence[str] = ("time",)) -> Iterator[pa.Table]:
        """The rows of some chunks, each when it is asked for, with the columns that are needed."""
        try:
            yield from read_chunks(self._chunks, chunks, needed)
        except Damaged as error:
            raise self.damaged(f"chunks/{error.name}", error.why) from error

    def add(self, state: State, rows: pa.Table, expired: int) -> State:
        """Keep rows, but for those up to ``expired``. The state that is given back names them; it counts when it is written."""
        return replace(state, chunks=self._add_rows(state, state.chunks, rows, expired))

    def add_origins(self, state: State, rows: pa.Table, expired: int) -> State:
        """The same with origins."""
        return replace(state, origins=self._add_rows(state, state.origins, rows, expired))

    def _add_rows(self, state: State, chunks: tuple[Chunk, ...], rows: pa.Table, expired: int) -> tuple[Chunk, ...]:
        self.check()
        try:
            return add_rows(self._chunks, chunks, f"{state.step}{self._mark}-{uuid.uuid4().hex[:12]}", rows, expired)
        except Damaged as error:
            raise self.damaged(f"chunks/{error.name}", error.why) from error

    def write(self, state: State) -> State:
        """Keep a state, which is given back as it was written, and the chunks that it names."""
        self.check()
        places = self._chunks.write_small(state.names)
        chunks, origins = (
            tuple(replace(chunk, **places.get(chunk.name, {})) for chunk in found) for found in (state.chunks, state.origins)
        )
        state = replace(state, chunks=chunks, origins=origins, written=time.time())
        self._states.write(f"{state.step}{self._mark}.json", state.to_json())
        return state

    def collect(self, state: State) -> None:
        """Delete what a run that resumes from this state does not need.

        Later states stay: they tell that their batches were run before, and that results of them may be out. Files of a driver
        that has taken over meanwhile stay, too.
        """
        needed, files = state.names, self._state_files()
        for key, fence, name in files:
            if fence > self.fence:
                needed |= self.state(key).names
            elif key < state.key or any(key == other and fence < later for other, later, _ in files):
                self.check()
                self._states.delete(name)
            elif key > state.key:
                needed |= self.state(key).names
        for name in self._chunks.folder.names():
            mark = _MARK.search(name)
            if name not in needed and (int(mark[1]) if mark else 0) <= self.fence:
                self.check()
                self._chunks.folder.delete(name)
