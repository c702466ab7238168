"""All changes that the page was told of, for people who take them away. They are on disk, so memory stays bounded."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import IO, TYPE_CHECKING, Any

from swoop.dashboard.wire import shown_id
from swoop.results import FamilyChange

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("swoop.dashboard")

MOST = 256 * 1024 * 1024  # bytes on disk
PART = 2_000  # changes that are written together
_IDS = ("newer", "older", "family", "into", "representative")  # columns of ids


@dataclass(frozen=True)
class LoggedChanges:
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
        self._waiting: list[Sequence[Any]] = []
        self._waiting_rows = 0
        self._schema: pa.Schema | None = None
        self._complete = True

    def put(self, changes: Sequence[Any]) -> None:
        """Append changes. They wait until there are enough of them to be written."""
        if not len(changes):
            return
        with self._lock:
            self._waiting.append(changes if hasattr(changes, "to_arrow") else list(changes))
            self._waiting_rows += len(changes)
            if self._waiting_rows >= self._part:
                self._flush()

    def read(self) -> LoggedChanges | None:
        """All changes; None if there are none."""
        with self._lock:
            self._flush()
            if self._schema is None or self._file is None:
                return None
            rows = sum(count for _, _, count in self._written)
            return LoggedChanges(self._schema, rows, self._complete, _parts(self._file, list(self._written), self._schema))

    def _flush(self) -> None:
        """Write what waits. What cannot be written is missing, and nothing else happens: the stream must not stop."""
        waiting, rows = self._waiting, self._waiting_rows
        self._waiting, self._waiting_rows = [], 0
        if not rows:
            return
        try:
            for table in _tables(waiting):
                self._append(table)
        except Exception as error:  # a full disk, or ids of which Arrow knows no type
            if self._complete:
                log.warning("changes are missing in what can be downloaded from the page: %s", error)
            self._complete = False

    def _append(self, table: pa.Table) -> None:
        import pyarrow as pa

        try:
            schema = table.schema if self._schema is None else _together(self._schema, table.schema)
        except pa.ArrowException:  # another stream, whose ids or times are of another type
            self._file, self._written, self._complete = None, [], False
            schema = table.schema
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        if self._written and self._written[-1][1] + data.size > self._most:
            self._drop_oldest()
        file, begin = self._file or _new_file(), self._written[-1][1] if self._written else 0
        _write_at(file, memoryview(data), begin)
        self._file, self._schema = file, schema
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


def _together(known: pa.Schema, more: pa.Schema) -> pa.Schema:
    """Columns of earlier and of later changes. Ids that are of one type now and of another then become texts."""
    import pyarrow as pa

    for name in _IDS:
        if name in known.names and name in more.names and known.field(name).type != more.field(name).type:
            known, more = (one.set(one.get_field_index(name), pa.field(name, pa.string())) for one in (known, more))
    return pa.unify_schemas([known, more], promote_options="permissive")


def _as_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of earlier changes as one of all changes."""
    import pyarrow as pa

    from swoop.join.feed import id_as_text

    if column.type == kind or not pa.types.is_string(kind):
        return column.cast(kind)
    return pa.chunked_array([[None if name is None else id_as_text(name) for name in column.to_pylist()]], kind)


def _parts(file: IO[bytes], written: list[tuple[int, int, int]], schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    for begin, end, _ in written:
        with pa.ipc.open_stream(os.pread(file.fileno(), end - begin, begin)) as reader:
            table = reader.read_all()
            columns = [
                _as_type(table[field.name], field.type)
                if field.name in table.column_names
                else pa.nulls(len(table), field.type)
                for field in schema
            ]
            yield pa.table(columns, schema)


def _tables(changes: list[Sequence[Any]]) -> list[pa.Table]:
    """Changes as few tables: those that are lists are put together, and tables of the same columns, too."""
    import pyarrow as pa

    found: list[pa.Table] = []
    for is_list, several in groupby(changes, lambda one: isinstance(one, list)):
        parts = [part for part in several if len(part)]
        found += map(table_of, [list(chain.from_iterable(parts))] if is_list and parts else parts)
    return [pa.concat_tables(same) for _, same in groupby(found, lambda table: table.schema)]


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
        facts = {"size": item.size, "total": item.total, "first_seen": item.first_seen}
        newest = None if item.representative is None else shown_id(item.representative)
        return {"time": item.time, "kind": item.kind, **names, **facts, "representative": newest}
    change = {"time": item.time, "kind": item.kind} if hasattr(item, "kind") else {}
    pair = getattr(item, "pair", item)
    facts = {name: getattr(pair, name) for name in ("similarity", "overlap", "start", "end")}
    return {**change, "newer": shown_id(pair.newer), "older": shown_id(pair.older), **facts}
