"""All changes that the page was told of, for people who take them away. They are on disk, so memory stays bounded."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from swoop.dashboard.wire import shown_id
from swoop.results import FamilyChange

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("swoop.dashboard")

MOST = 256 * 1024 * 1024  # bytes on disk
PART = 2_000  # changes that are written together


@dataclass(frozen=True)
class Kept:
    """The changes at a moment, in parts of one schema; ``complete`` is whether none is missing since the page began."""

    schema: pa.Schema
    rows: int
    complete: bool
    parts: Iterator[pa.Table]


class ChangeLog:
    """Changes in an unnamed file, which is gone with the process. If there are too many, the oldest are dropped.

    Parameters
    ----------
    most
        The maximum number of bytes in the file.
    part
        How many changes are written together; fewer wait in memory.

    Examples
    --------
    >>> import swoop
    >>> join, changes = swoop.TopKJoin(k=1, window=10, track_changes=True), ChangeLog()
    >>> for time in range(2):
    ...     join.insert(["apple"], time)
    >>> changes.put(join.changes())
    >>> [table["kind"].to_pylist() for table in changes.read().parts]
    [['enter']]
    """

    def __init__(self, most: int = MOST, part: int = PART) -> None:
        self._most, self._part = most, part
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._written: list[tuple[int, int, int]] = []  # where parts are in the file: begin, end, changes
        self._waiting: list[pa.Table] = []
        self._schema: pa.Schema | None = None
        self._complete = True

    def put(self, changes: Sequence[Any]) -> None:
        """Append changes. Those that cannot be kept are missing, and nothing else happens: the stream must not stop."""
        if not len(changes):
            return
        with self._lock:
            try:
                self._append(table_of(changes))
            except Exception as error:  # a full disk, or ids of which Arrow knows no type
                if self._complete:
                    log.warning("changes are missing in what can be downloaded from the page: %s", error)
                self._complete = False

    def read(self) -> Kept | None:
        """All changes; None if there are none."""
        with self._lock:
            if self._schema is None:
                return None
            file, written, waiting, schema = self._file, list(self._written), list(self._waiting), self._schema
            rows = sum(count for _, _, count in written) + sum(table.num_rows for table in waiting)
            return Kept(schema, rows, self._complete, self._parts(file, written, waiting, schema))

    def _append(self, table: pa.Table) -> None:
        import pyarrow as pa

        if self._schema is None:
            self._schema = table.schema
        try:
            self._schema = pa.unify_schemas([self._schema, table.schema], promote_options="permissive")
        except pa.ArrowException:  # another stream, whose ids or times are of another type
            self._file, self._written, self._waiting = None, [], []
            self._schema, self._complete = table.schema, False
        self._waiting.append(table)
        if sum(waiting.num_rows for waiting in self._waiting) >= self._part:
            self._write()

    def _write(self) -> None:
        """Write what waits."""
        import pyarrow as pa

        table = pa.concat_tables(self._waiting, promote_options="permissive")
        self._waiting = []
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        if self._written and self._written[-1][1] + data.size > self._most:
            self._drop_oldest()
        file, begin = self._file or _new_file(), self._written[-1][1] if self._written else 0
        _write_at(file, memoryview(data), begin)
        self._file = file
        self._written.append((begin, begin + data.size, table.num_rows))

    def _drop_oldest(self) -> None:
        """Go on in another file with the newer half. Who reads the old one still has it."""
        assert self._file is not None
        old, half = self._file, self._written[-1][1] // 2
        new, begin, moved = _new_file(), 0, []
        for first, last, rows in self._written:
            if first >= half:
                _write_at(new, memoryview(os.pread(old.fileno(), last - first, first)), begin)
                moved.append((begin, begin + last - first, rows))
                begin = moved[-1][1]
        self._file, self._written, self._complete = new, moved, False

    @staticmethod
    def _parts(
        file: IO[bytes] | None, written: list[tuple[int, int, int]], waiting: list[pa.Table], schema: pa.Schema
    ) -> Iterator[pa.Table]:
        import pyarrow as pa

        def same(table: pa.Table) -> pa.Table:
            return pa.concat_tables([schema.empty_table(), table], promote_options="permissive").cast(schema)

        for begin, end, _ in written:
            assert file is not None
            with pa.ipc.open_stream(os.pread(file.fileno(), end - begin, begin)) as reader:
                yield same(reader.read_all())
        for table in waiting:
            yield same(table)


def _new_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="swoop-changes-")


def _write_at(file: IO[bytes], data: memoryview, begin: int) -> None:
    while data:
        written = os.pwrite(file.fileno(), data, begin)
        data, begin = data[written:], begin + written


def table_of(items: Sequence[Any]) -> pa.Table:
    """Results as an Arrow table: as they say themselves, or, of a plain list, with ids as text."""
    if hasattr(items, "to_arrow"):
        return items.to_arrow()
    import pyarrow as pa

    return pa.Table.from_pylist([_row(item) for item in items])


def _row(item: Any) -> dict[str, Any]:
    if isinstance(item, FamilyChange):
        names = {name: None if (of := getattr(item, name)) is None else shown_id(of) for name in ("family", "into")}
        return {"time": item.time, "kind": item.kind, **names, "size": item.size, "total": item.total}
    change = {"time": item.time, "kind": item.kind} if hasattr(item, "kind") else {}
    pair = getattr(item, "pair", item)
    facts = {name: getattr(pair, name) for name in ("similarity", "overlap", "start", "end")}
    return {**change, "newer": shown_id(pair.newer), "older": shown_id(pair.older), **facts}
