"""A folder of Parquet files that belongs to one output of one stream.

The files in it with names that end with ``.parquet`` are final: each appears whole, is never changed, and has rows of its own.
So whoever lists the folder, with whatever tool, sees no row twice. What has come since the last final file was written is in
small files in the sub-folder ``_open``, which such tools pass over; ``_swoop.json`` says whose the folder is, and a manifest
names those that count. When they are large or old enough they become one final file. Rows become final only when Spark has
committed their batch: those of a batch that is run again are still open, and are replaced.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from swoop.errors import InvalidArgument
from swoop.live.files import Folder
from swoop.live.manifest import (
    FINAL,
    MANIFEST,
    OF_BATCH,
    OPEN,
    VERSION,
    FolderSettings,
    Manifest,
    Part,
    final_name,
    manifest_name,
    manifests,
    steps_of,
)

MERGED = 16  # open files of one level that become one of the next
ROW_GROUP = 100_000  # rows
GRACE = 600.0  # seconds for which an open file stays that was replaced: somebody may be reading it
YOUNG, PATIENCE = 0.1, 600.0  # results wait for this part of the age of their folder, but not for more seconds than these

log = logging.getLogger("swoop.live")


class ResultFolder:
    """The files of one output. What comes is open; what is committed becomes final when there is enough of it.

    Parameters
    ----------
    folder
        Where it is.
    mine
        The manifest of a new folder of this output.
    guard
        Raises an error if another driver has taken over; then nothing is deleted or replaced.
    fence
        The number of the lease of this driver, higher than those of all before; 0 if there is none.
    """

    def __init__(
        self, settings: FolderSettings, folder: Folder, mine: Manifest, guard: Callable[[], None], fence: int = 0
    ) -> None:
        self._settings, self._guard = settings, guard
        self._folder, self._mine = folder, mine
        self._opened = self._folder.inner(OPEN)
        self._version = (fence, 0)  # of the last manifest that this driver has written
        self._is_first = True  # this driver has written none
        self._manifest: Manifest | None = None
        self._replaced: deque[tuple[float, str]] = deque()
        self._lock = threading.RLock()
        self._claimed: Manifest | None = None
        self._failed = False
        self._drop_at = math.inf  # when a final file will be too old

    @property
    def path(self) -> str:
        return str(self._folder.path)

    @property
    def holds(self) -> str:
        return self._mine.holds

    # whose it is

    def check(self, batch: int, last: str | None = None) -> Manifest | None:
        """Refuse a folder that belongs to somebody else. ``batch`` is the last that the stream has done, -1 if none.

        ``last`` is the last step that the checkpoint knows, if that is to be compared. A folder never knows a later one, unless
        the checkpoint is an older copy: Spark may cut the rows since then into other batches, of which some would be missing.
        """
        found = Manifest.read(self._folder)
        mine = self._mine
        if found is None:
            others = [name for name in self._folder.names() if name[0] not in "._"]
            steps = [OF_BATCH.fullmatch(name) for name in others]
            if others and not all(step and int(step[1][:12]) <= batch for step in steps):
                raise InvalidArgument(
                    f"the folder {self.path!r} for {mine.holds} contains foreign files, such as {others[0]!r}; nothing is "
                    "started. Use a new folder, or move its contents away"
                )
            if others:
                log.info("the files of the folder %s, written by an earlier release, are those of this stream", self.path)
            return None
        if found.run != mine.run:
            whose = f"the checkpoint {found.checkpoint!r}" if found.checkpoint else "a temporary checkpoint"
            way = "resume with that checkpoint, " if found.checkpoint else ""
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
        known = max([found.final, self._last(), *(part.last for part in found.parts)])
        if last is not None and known > last:
            raise InvalidArgument(
                f"the folder {self.path!r} has the {mine.holds} up to batch {int(known[:12])}, but the checkpoint goes "
                f"{f'only to batch {int(last[:12])}' if last else 'nowhere'}: it is an older copy. Nothing is started. Put the "
                "folder of the same moment back as well, or use a new one"
            )
        return found

    def claim(self, batch: int, last: str | None = None) -> None:
        """Make the folder that of this output, if it is free. Of several streams that try, one succeeds."""
        found = self.check(batch, last)
        if found is None:
            now = time.time()
            mine = replace(self._mine, created=now, final=self._last())
            if self._folder.create(MANIFEST, mine.to_json()):
                found = self._claimed = mine
            else:
                found = self.check(batch, last)
                assert found is not None
        self._load(found)

    def unclaim(self) -> None:
        """The stream was not started after all: a folder that was claimed for it, and got nothing, is free."""
        if self._claimed is not None and self._manifest in (None, self._claimed):
            self._folder.delete(MANIFEST)

    def _load(self, found: Manifest) -> None:
        """Resume from what is there. Whoever died after it had written a final file has not said so."""
        self._manifest, self._is_first = found, True
        names = self._folder.names()
        # never below what counts, even if the checkpoint is a copy that knows nothing of the driver that wrote it
        self._version = max([version for version, _ in manifests(names)] + [self._version])
        last = self._last()
        if last > found.final:
            parts = (self._split(part)[-1] if part.has_before(last) else part for part in found.parts if part.last > last)
            self._save(found, replace(found, final=last, parts=tuple(parts)))
        counting = {part.name for part in self._manifest.parts}
        finals = [float(match[3]) for name in names if (match := FINAL.fullmatch(name))]
        now, closed = time.time(), max(finals, default=0.0)
        self._note_ages(self._ages(found.created, names))

        def since(name: str) -> float:
            """When a file was replaced that counts no more: with the last final file, or we do not know."""
            last_step = name.rpartition("-")[0].rpartition("_")[2]
            return closed if finals and last_step <= last else now

        self._replaced = deque(sorted((since(name), name) for name in self._opened.names() if name not in counting))

    def _last(self) -> str:
        """The last step that final files have."""
        return max((steps_of(name)[1] for name in self._folder.names()), default="")

    # results

    def put(self, step: str, rows: pa.Table | None) -> None:
        """Take the results of a step, in place of those that are there of it. Earlier steps are committed now."""
        with self._change() as before:
            old = f"{step}.parquet"
            if step <= before.final and old not in self._folder.names():
                if not step.endswith("-end"):  # the end of a stream is done again at each start
                    log.warning("the results of batch %s are final in %s already, and are not written again", step, self.path)
                return
            manifest = replace(before, parts=tuple(part for part in before.parts if part.last < step))
            mixed = next((part for part in before.parts if part.first < step <= part.last), None)
            if mixed is None:
                manifest = self._close(manifest, False)
                parts = manifest.parts if rows is None else self._add(manifest.parts, step, rows)
            else:
                parts = (*manifest.parts, self._replace_last(mixed, step, rows))
            self._save(before, replace(manifest, parts=parts, final=min(manifest.final, _before(step))))
            if step <= before.final:
                self._guard()
                self._folder.delete(old)
            self._clean()

    def is_due(self) -> bool:
        """Whether there is something to do before the next batch: what is open should become final, if it is committed, or what
        is final is too old.
        """
        with self._lock:
            return self._manifest is not None and (self._is_due(self._manifest) or time.time() >= self._drop_at)

    def commit(self, step: str, force: bool) -> None:
        """Everything up to a step is committed; make it final if there is enough of it, or at any rate."""
        with self._change() as before:
            committed = tuple(part for part in before.parts if part.last <= step)
            later = before.parts[len(committed) :]
            if later and later[0].has_before(step) and (force or self._is_due(before)):
                done, *rest = self._split(later[0])
                committed, later = (*committed, done), (*rest, *later[1:])
            manifest = self._close(replace(before, parts=committed), force)
            self._save(before, replace(manifest, parts=manifest.parts + later))
            if time.time() >= self._drop_at:
                self._drop_old(before.created, time.time())
            self._clean()

    @contextmanager
    def _change(self) -> Iterator[Manifest]:
        """One change at a time, of what is there: after one that has failed, that may not be what it was meant to be."""
        with self._lock:
            if self._manifest is None:
                self.claim(-1)
            elif self._failed:
                self._load(self.check(-1) or self._manifest)
            self._failed = True
            assert self._manifest is not None
            yield self._manifest
            self._failed = False

    def _is_due(self, manifest: Manifest) -> bool:
        parts, now = manifest.parts, time.time()
        if not parts:
            return False
        patience = self._settings.final_after
        if patience is None:
            patience = min(PATIENCE, abs(now - manifest.created) * YOUNG)
        age = abs(now - parts[0].written)  # somebody may have set the clock back meanwhile
        return sum(part.size for part in parts) >= self._settings.target_size or age >= patience

    def _close(self, manifest: Manifest, force: bool) -> Manifest:
        """Make one final file of the open ones, if it is time for that."""
        parts = manifest.parts
        if not parts or not (force or self._is_due(manifest)):
            return manifest
        self._guard()
        first, last, now = parts[0].first, parts[-1].last, time.time()
        self._folder.write(final_name(first, last, now), _parquet(self._read(parts)))
        self._drop_old(manifest.created, now)
        return replace(manifest, final=last, parts=())

    def _drop_old(self, created: float, now: float) -> None:
        """Delete final files that are too old. Those of an earlier release are taken for as old as the manifest."""
        if self._settings.retention is None:
            return
        ages = self._ages(created, self._folder.names())
        for name in [name for name, written in ages.items() if now - written > self._settings.retention]:
            log.info("deleting %s/%s, which is older than its retention", self.path, name)
            self._guard()
            self._folder.delete(name)
            del ages[name]
        self._note_ages(ages)

    def _ages(self, created: float, names: Sequence[str]) -> dict[str, float]:
        """When final files were written."""
        found = {name: float(match[3]) for name in names if (match := FINAL.fullmatch(name))}
        return {**dict.fromkeys(filter(OF_BATCH.fullmatch, names), created), **found}

    def _note_ages(self, ages: dict[str, float]) -> None:
        if self._settings.retention is not None:
            self._drop_at = min(ages.values(), default=math.inf) + self._settings.retention + 1  # names have whole seconds

    def _add(self, parts: Sequence[Part], step: str, rows: pa.Table) -> tuple[Part, ...]:
        """Parts with the rows of one more step. Open files are kept few: with every so many, one file has them all."""
        kept, tables = list(parts), [rows]
        first, written, level, former = step, time.time(), 0, ""
        while len(tail := kept[1 - MERGED :]) == MERGED - 1 and all(part.level == level for part in tail):
            tables[:0] = self._read(tail)
            first, written, level, former = tail[0].first, tail[0].written, level + 1, former or tail[-1].last
            del kept[1 - MERGED :]
        return (*kept, self._write(first, step, level, tables, written, rows.num_rows, former))

    def _replace_last(self, part: Part, step: str, rows: pa.Table | None) -> Part:
        """A file of several steps, the last of which was done again."""
        assert part.last == step, (part, step)
        before, _ = self._read_split(part)
        tables, of_last = ([before], 0) if rows is None else ([before, rows], rows.num_rows)
        return self._write(part.first, step, part.level, tables, part.written, of_last, part.former)

    def _split(self, part: Part) -> tuple[Part, Part]:
        """A file of several steps as two: one of the steps before the last, and one of that."""
        before, last = self._read_split(part)
        return (
            self._write(part.first, part.former, part.level, [before], part.written),
            self._write(part.last, part.last, 0, [last], part.written, part.of_last),
        )

    def _read_split(self, part: Part) -> tuple[pa.Table, pa.Table]:
        (table,) = self._read([part])
        return table.slice(0, stop := table.num_rows - part.of_last), table.slice(stop)

    def _read(self, parts: Sequence[Part]) -> list[pa.Table]:
        return [pq.read_table(pa.BufferReader(self._opened.read(part.name))) for part in parts]

    def _write(
        self, first: str, last: str, level: int, tables: list[pa.Table], written: float, of_last: int = 0, former: str = ""
    ) -> Part:
        data = _parquet(tables)
        name = f"{first}_{last}-{uuid.uuid4().hex[:8]}.parquet"  # a name of its own: somebody may be reading the one before
        self._opened.write(name, data)
        return Part(name, first, last, level, data.size, written, of_last, former)

    def _save(self, before: Manifest, after: Manifest) -> None:
        if after == before:
            return
        self._guard()
        former, self._version = self._version, (self._version[0], self._version[1] + 1)
        self._folder.write(manifest_name(self._version), after.to_json())
        self._manifest = after
        if self._is_first:
            if not self._refuses_earlier():
                self._folder.write(MANIFEST, after.to_json())
            olds = [name for version, name in manifests(self._folder.names()) if (0, 0) < version < self._version]
        else:
            olds = [manifest_name(former)]
        for name in olds:
            self._folder.delete(name)
        self._is_first = False
        known = {part.name for part in after.parts}
        self._replaced.extend((time.time(), part.name) for part in before.parts if part.name not in known)

    def _refuses_earlier(self) -> bool:
        """Whether earlier releases learn that they cannot read this folder: they look at the first manifest."""
        try:
            return bool(json.loads(self._folder.read(MANIFEST).to_pybytes())["version"] == VERSION)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _clean(self) -> None:
        """Delete open files that were replaced, when nobody can be reading them any more."""
        while self._replaced and time.time() - self._replaced[0][0] >= GRACE:
            self._guard()
            self._opened.delete(self._replaced.popleft()[1])


def _before(step: str) -> str:
    """What lies between this step and the one before it, in the order of steps.

    >>> steps = ["000000000007", "000000000007-idle-000001", "000000000007-idle-000001-end", "000000000007-idle-000002-end"]
    >>> [_before(step) for step in steps]
    ['000000000006-z', '000000000007-f', '000000000007-idle-000001-', '000000000007-idle-000002-']
    """
    if step.endswith("-end"):
        return step.removesuffix("end")
    batch, _, idle = step.partition("-idle-")
    if idle:
        return f"{batch}-idle-{int(idle) - 1:06}-z" if int(idle) > 1 else f"{batch}-f"
    return f"{int(batch) - 1:012}-z" if int(batch) else ""


def _parquet(tables: Sequence[pa.Table]) -> pa.Buffer:
    """One Parquet file with the rows of some tables, in large row groups."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), sink, row_group_size=ROW_GROUP)
    return sink.getvalue()
