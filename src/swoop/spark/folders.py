"""A folder of Parquet files that belongs to one output of one stream.

The files in it with names that end with ``.parquet`` are final: each appears whole, is never changed, and has rows of its own.
So whoever lists the folder, with whatever tool, sees no row twice. What has come since the last final file was written is in
small files in the sub-folder ``_open``, which such tools pass over; ``_swoop.json`` names those that count, and says whose the
folder is. When they are large or old enough they become one final file. Rows become final only when Spark has committed their
batch: those of a batch that is run again are still open, and are replaced.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from swoop.errors import InvalidArgument, InvalidFile, InvalidType
from swoop.spark.files import Folder
from swoop.times import find_lateness, find_window

FORMAT, VERSION = "swoop results", 1
MANIFEST, OPEN = "_swoop.json", "_open"
MERGED = 16  # open files of one level that become one of the next
ROW_GROUP = 100_000  # rows
GRACE = 600.0  # seconds for which an open file stays that was replaced: somebody may be reading it
YOUNG = 0.01  # of its age: for so long results wait in a folder that is not old enough for ``final_after``

_STEP = r"(\d{12}(?:-end)?)"
_FINAL = re.compile(rf"{_STEP}_{_STEP}_(\d+)\.parquet")
_BATCH = re.compile(rf"{_STEP}\.parquet")  # as earlier releases wrote them, one per batch
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)

log = logging.getLogger("swoop.spark")


@dataclass(frozen=True)
class Part:
    """An open file: the steps whose results it has, and when the first of them were written."""

    name: str
    first: str
    last: str
    level: int
    size: int
    written: float


@dataclass(frozen=True)
class Manifest:
    """Whose a folder is, and what is in it.

    Attributes
    ----------
    run, holds, checkpoint
        The stream, which of its outputs this is, and where its checkpoint was.
    created
        When, in seconds since 1970.
    final
        All results up to this step are in final files; later files do not count yet.
    parts
        The open files that count, in order.
    """

    run: str
    holds: str
    checkpoint: str
    created: float
    final: str = ""
    parts: tuple[Part, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def read(cls, folder: Folder) -> Manifest | None:
        """That of a folder, if it has one."""
        if MANIFEST not in folder.names():
            return None
        try:
            found = json.loads(folder.read(MANIFEST).to_pybytes())
            version = found.pop("version")
            if found.pop("format") != FORMAT:
                raise ValueError("it says nothing about results")
            if version <= VERSION:
                return cls(**{**found, "parts": tuple(Part(**part) for part in found["parts"])})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidFile(
                f"{MANIFEST} of the folder {folder.path!r} cannot be read: {error}. Restore it from a copy, or use "
                "another folder"
            ) from error
        raise InvalidFile(
            f"the folder {folder.path!r} has format version {version}, made by a newer release; this one reads versions up to "
            f"{VERSION}. Upgrade with: pip install --upgrade swoop-join"
        )


@dataclass(frozen=True)
class FolderSettings:
    """A folder for results; :func:`folder` makes it."""

    path: str
    target_size: int
    final_after: float
    retention: float | None


def folder(
    path: str | os.PathLike[str],
    *,
    target_size: int | str = "64 MB",
    final_after: str | dt.timedelta = "10 minutes",
    retention: str | dt.timedelta | None = None,
) -> FolderSettings:
    """A folder for the results of a stream, with settings.

    Parameters
    ----------
    path
        The folder. It must be new, empty, or that of this very output when the stream goes on.
    target_size
        When the results that have come since the last final file have this size, they become one.
    final_after
        They also do so when the first of them is as old as this; in a young folder sooner, after a hundredth of its age.
    retention
        Final files are deleted when they are older than this, by the time at which they were written. None: never.

    Examples
    --------
    ::

        stream.start("state", changes=folder("changes", target_size="256 MB", retention="30 days"))

    >>> folder("changes", target_size="256 MB", retention="30 days").retention
    2592000.0
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidType(f"a folder for results is a path, not {path!r}")
    kept = None if retention is None else _seconds(retention, "retention")
    return FolderSettings(os.fspath(path), find_size(target_size), _seconds(final_after, "final_after"), kept)


def _seconds(given: Any, what: str) -> float:
    if not isinstance(given, str | dt.timedelta):
        raise InvalidType(f"{what} must be a duration such as '10 minutes', not {given!r}")
    try:
        return find_lateness(given, find_window("1 s")) / 1e6
    except InvalidArgument as error:
        raise InvalidArgument(str(error).replace("lateness", what)) from error


def find_size(given: int | str) -> int:
    """A number of bytes.

    >>> find_size("128 MB"), find_size("1.5g"), find_size(10)
    (134217728, 1610612736, 10)
    """
    found = _SIZE.fullmatch(str(given).strip()) if isinstance(given, int | str) else None
    size = int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " ")) if found else 0
    if size <= 0:
        raise InvalidArgument(f"cannot read the size {given!r}; write for example '128 MB' or a number of bytes")
    return size


def result_files(path: str | os.PathLike[str]) -> list[str]:
    """The files that hold all results of an output folder as of now, each row once.

    Listing the folder gives the final files only. These are also those that the stream has written since, so that nothing is
    missing; they can be read for ten minutes at least, whatever the stream does meanwhile.

    Examples
    --------
    ::

        spark.read.parquet(*result_files("changes"))
        pd.read_parquet(result_files("changes"))
    """
    where = Folder(path)
    manifest = Manifest.read(where)  # first: final files of later steps do not count then
    names = where.names()
    if manifest is None:
        return [where.address(name) for _, name in sorted((_steps(name), name) for name in names if _BATCH.fullmatch(name))]
    final = sorted((steps, name) for name in names if (steps := _steps(name))[1] and steps[1] <= manifest.final)
    opened = where.inner(OPEN)
    return [where.address(name) for _, name in final] + [opened.address(part.name) for part in manifest.parts]


def _steps(name: str) -> tuple[str, str]:
    """The first and the last step of a final file; nothing if it is none."""
    found = _FINAL.fullmatch(name) or _BATCH.fullmatch(name)
    return (found[1], found[2] if found.re is _FINAL else found[1]) if found else ("", "")


class ResultFolder:
    """The files of one output. What comes is open; what is settled becomes final when there is enough of it.

    Parameters
    ----------
    run, holds, checkpoint
        As in its manifest.
    guard
        Raises an error if another driver has taken over; then nothing is deleted or replaced.
    """

    def __init__(self, settings: FolderSettings, run: str, holds: str, checkpoint: str, guard: Callable[[], None]) -> None:
        self._settings, self._guard = settings, guard
        self._folder = Folder(settings.path)
        self._opened = self._folder.inner(OPEN)
        self._mine = Manifest(run, holds, checkpoint, 0.0)
        self._manifest: Manifest | None = None
        self._replaced: deque[tuple[float, str]] = deque()
        self._lock = threading.RLock()
        self._claimed: Manifest | None = None

    @property
    def path(self) -> str:
        return str(self._folder.path)

    @property
    def holds(self) -> str:
        return self._mine.holds

    # whose it is

    def check(self, batch: int) -> Manifest | None:
        """Refuse a folder that belongs to somebody else. ``batch`` is the last that the stream has done, -1 if none."""
        found = Manifest.read(self._folder)
        mine = self._mine
        if found is None:
            others = [name for name in self._folder.names() if name[0] not in "._"]
            steps = [_BATCH.fullmatch(name) for name in others]
            if others and not all(step and int(step[1][:12]) <= batch for step in steps):
                raise InvalidArgument(
                    f"the folder {self.path!r} for {mine.holds} has files of somebody else, such as {others[0]!r}; nothing is "
                    "started. Use a new folder, or move what is in it away"
                )
            if others:
                log.info("the files of the folder %s, written by an earlier release, are those of this stream", self.path)
            return None
        if found.run != mine.run:
            whose = f"the checkpoint {found.checkpoint!r}" if found.checkpoint else "a temporary checkpoint"
            way = "go on with that checkpoint, " if found.checkpoint else ""
            raise InvalidArgument(
                f"the folder {self.path!r} for {mine.holds} belongs to another stream: it holds the {found.holds} of the one "
                f"with {whose}. Nothing is started, and its files stay as they are. Use a new folder, {way}or delete this "
                "one if nobody needs it"
            )
        if found.holds != mine.holds:
            raise InvalidArgument(
                f"the folder {self.path!r} holds the {found.holds} of this stream, so it cannot hold its {mine.holds} too; use "
                "another folder"
            )
        return found

    def claim(self, batch: int) -> None:
        """Make the folder that of this output, if it is free. Of several streams that try, one succeeds."""
        found = self.check(batch)
        if found is None:
            now = time.time()
            mine = replace(self._mine, created=now, final=self._last())
            if self._folder.create(MANIFEST, mine.to_json()):
                found = self._claimed = mine
            else:
                found = self.check(batch)
                assert found is not None
        self._manifest = found
        self._save(found, self._adopted(found))
        known = {part.name for part in found.parts}
        self._replaced.extend((time.time(), name) for name in self._opened.names() if name not in known)

    def unclaim(self) -> None:
        """The stream was not started after all: a folder that was claimed for it, and got nothing, is free."""
        if self._claimed is not None and self._manifest in (None, self._claimed):
            self._folder.delete(MANIFEST)

    def _adopted(self, found: Manifest) -> Manifest:
        """A process that died after it had written a final file has not said so."""
        last = self._last()
        if last <= found.final:
            return found
        return replace(found, final=last, parts=tuple(part for part in found.parts if part.last > last))

    def _last(self) -> str:
        """The last step that final files have."""
        return max((_steps(name)[1] for name in self._folder.names()), default="")

    # results

    def put(self, step: str, rows: pa.Table | None) -> None:
        """Take the results of a step, in place of those that are there of it. Earlier steps are settled now."""
        with self._lock:
            if self._manifest is None:
                self.claim(-1)
            before = manifest = self._found()
            old = f"{step}.parquet"
            if step <= manifest.final and old not in self._folder.names():
                return  # final files have them: this is the end of a stream, done again
            settled = [part for part in manifest.parts if part.last < step]
            manifest = self._close(replace(manifest, parts=tuple(settled)), False)
            parts = self._merge(manifest.parts)
            if rows is not None:
                parts = (*parts, self._write(step, step, 0, [rows], time.time()))
            self._save(before, replace(manifest, parts=parts, final=min(manifest.final, _before(step))))
            if step <= before.final:
                self._guard()
                self._folder.delete(old)
            self._clean()

    def is_due(self) -> bool:
        """Whether there is something to do before the next batch: what is open should become final, if it is settled."""
        with self._lock:
            return self._manifest is not None and self._is_due(self._manifest)

    def settle(self, step: str, force: bool) -> None:
        """Everything up to a step is settled; make it final if there is enough of it, or at any rate."""
        with self._lock:
            if self._manifest is not None:
                before = self._manifest
                later = tuple(part for part in before.parts if part.last > step)
                known = replace(before, parts=tuple(part for part in before.parts if part.last <= step))
                after = self._close(known, force)
                self._save(before, replace(after, parts=after.parts + later))
                self._clean()

    def _found(self) -> Manifest:
        assert self._manifest is not None
        return self._manifest

    def _is_due(self, manifest: Manifest) -> bool:
        parts, now = manifest.parts, time.time()
        if not parts:
            return False
        patience = min(self._settings.final_after, (now - manifest.created) * YOUNG)
        return sum(part.size for part in parts) >= self._settings.target_size or now - parts[0].written >= patience

    def _close(self, manifest: Manifest, force: bool) -> Manifest:
        """Make one final file of the open ones, if it is time for that."""
        parts = manifest.parts
        if not parts or not (force or self._is_due(manifest)):
            return manifest
        self._guard()
        first, last, now = parts[0].first, parts[-1].last, time.time()
        self._folder.write(f"{first}_{last}_{int(now)}.parquet", _parquet(self._read(parts)))
        self._drop_old(now)
        return replace(manifest, final=last, parts=())

    def _drop_old(self, now: float) -> None:
        if self._settings.retention is None:
            return
        for name in self._folder.names():
            found = _FINAL.fullmatch(name)
            written = float(found[3]) if found else self._found().created if _BATCH.fullmatch(name) else now
            if now - written > self._settings.retention:
                log.info("deletes %s/%s, which is older than its retention", self.path, name)
                self._guard()
                self._folder.delete(name)

    def _merge(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Keep open files few."""
        kept, level = list(parts), 0
        while len(tail := kept[-MERGED:]) == MERGED and all(part.level == level for part in tail):
            kept[-MERGED:] = [self._write(tail[0].first, tail[-1].last, level + 1, self._read(tail), tail[0].written)]
            level += 1
        return tuple(kept)

    def _read(self, parts: Sequence[Part]) -> list[pa.Table]:
        return [pq.read_table(pa.BufferReader(self._opened.read(part.name))) for part in parts]

    def _write(self, first: str, last: str, level: int, tables: list[pa.Table], written: float) -> Part:
        data = _parquet(tables)
        name = f"{first}_{last}-{uuid.uuid4().hex[:8]}.parquet"  # a name of its own: somebody may be reading the one before
        self._opened.write(name, data)
        return Part(name, first, last, level, data.size, written)

    def _save(self, before: Manifest, after: Manifest) -> None:
        if after == before:
            return
        self._guard()
        self._folder.write(MANIFEST, after.to_json())
        self._manifest = after
        known = {part.name for part in after.parts}
        self._replaced.extend((time.time(), part.name) for part in before.parts if part.name not in known)

    def _clean(self) -> None:
        """Delete open files that were replaced, when nobody can be reading them any more."""
        while self._replaced and time.time() - self._replaced[0][0] >= GRACE:
            self._guard()
            self._opened.delete(self._replaced.popleft()[1])


def _before(step: str) -> str:
    """A step between this one and the one before it."""
    return step[:12] + "-" if step.endswith("-end") else f"{int(step) - 1:012}-end" if int(step) else ""


def _parquet(tables: Sequence[pa.Table]) -> pa.Buffer:
    """One Parquet file with the rows of some tables, in large row groups."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), sink, row_group_size=ROW_GROUP)
    return sink.getvalue()
