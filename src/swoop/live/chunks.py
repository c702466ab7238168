"""Rows in chunks: written whole, never changed, merged now and then so that they stay few.

What is read is not believed because its checksum is right: rows and states must have the types and sizes that were written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from types import NoneType
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.columns import is_text
from swoop.join.ipc import from_stream
from swoop.live.pieces import concatenated
from swoop.times import LATEST

MERGED = 16  # chunks of one level that become one of the next
LARGEST_MERGE = 1_000_000  # rows
LARGEST = 64 << 20  # bytes of a chunk before it is compressed; more rows become several

SETS = ("id", "time", "tokens", "stream")
"""Columns of rows that are sets."""

_MAGIC = 8  # bytes at the beginning of a file, before the stream that it holds

State = TypeVar("State")


@dataclass(frozen=True)
class Chunk:
    """Some rows, and how many ``bytes`` they take. Level 0 holds those of one batch; ``latest`` is the time of the last of them
    to expire. Where a file has several chunks, this one begins ``at`` a byte of it and takes ``size`` bytes; else that is 0.
    """

    name: str
    level: int
    rows: int
    latest: int
    crc: int
    bytes: int = 0
    at: int = 0
    size: int = 0


class Store(Protocol):
    """Where chunks lie, by name."""

    def read(self, name: str) -> Any: ...

    def write(self, name: str, data: Any) -> None: ...


class Damaged(Exception):
    """A chunk is missing, or is not what was written: its name, and what is wrong."""

    def __init__(self, name: str, why: object) -> None:
        super().__init__(name, why)
        self.name, self.why = name, why


def to_bytes(rows: pa.Table) -> pa.Buffer:
    """A table in Arrow's file format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def from_bytes(data: Any) -> pa.Table:
    """The table that :func:`to_bytes` has written."""
    return pa.ipc.open_file(pa.BufferReader(data)).read_all()


NAMES_IN_FILES = {"max_event_time": "highest", "metrics": "figures"}
"""Fields of states that have another name in files, where names stay."""


def seal(state: Any) -> str:
    """A dataclass as JSON, with a checksum."""
    text = json.dumps({NAMES_IN_FILES.get(name, name): value for name, value in asdict(state).items()})
    return json.dumps({"state": text, "crc": zlib.crc32(text.encode())}, indent=1)


def unseal(text: str | bytes, kind: type[State]) -> State:
    """The dataclass that was sealed. Raises ValueError, KeyError or TypeError if that is not what it was."""
    found = sealed(text)
    if wrong := NAMES_IN_FILES.keys() & found.keys():
        raise ValueError(f"no field is called {', '.join(sorted(wrong))}")
    fields = {name: field for field, name in NAMES_IN_FILES.items()}
    state: State = _made(kind, {fields.get(name, name): value for name, value in found.items()})
    for name in ("max_event_time", "watermark", "ended_at", "reached"):
        ticks = getattr(state, name, None)
        if ticks is not None and abs(ticks) >= 2 * LATEST:
            raise ValueError(f"{name} is {ticks}, which is out of range")
    return state


def sealed(text: str | bytes) -> dict[str, Any]:
    """The fields of what was sealed, whatever they are. Raises ValueError, KeyError or TypeError if it is damaged."""
    outer = json.loads(text)
    if zlib.crc32(outer["state"].encode()) != outer["crc"]:
        raise ValueError("the checksum does not match")
    return dict(json.loads(outer["state"]))


def _made(kind: Any, value: Any) -> Any:
    """A value of some type, from what JSON has of it."""
    parts, origin = get_args(kind), get_origin(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        types = get_type_hints(kind)
        return kind(**{name: _made(types[name], part) for name, part in value.items()})  # type: ignore[operator]
    if origin is tuple and isinstance(value, list):
        return tuple(_made(parts[0], part) for part in value)
    if origin is dict and isinstance(value, dict):
        return {name: _made(parts[1], part) for name, part in value.items()}
    if NoneType in parts:
        return None if value is None else _made(parts[0], value)
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    raise TypeError(f"{value!r:.60} is there instead of {getattr(kind, '__name__', kind)}")


def read_chunks(store: Store, chunks: Iterable[Chunk], needed: Sequence[str] = ("time",)) -> Iterator[pa.Table]:
    """The rows of some chunks, each when it is asked for, with the columns that are needed and perhaps others."""
    for chunk in chunks:
        try:
            data = store.read(chunk.name)
            if chunk.size:
                data = memoryview(data)[chunk.at : chunk.at + chunk.size]
            if zlib.crc32(data) != chunk.crc:
                raise ValueError("the checksum does not match")
            rows = from_stream(pa.py_buffer(data)[_MAGIC:], compressed=True)
            _check_rows(rows, chunk, needed)
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise Damaged(chunk.name, error) from error
        del data
        yield rows
        del rows


def _is_key(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) or kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _is_set(kind: pa.DataType) -> bool:
    is_list: bool = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and _is_key(kind.value_type)


_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    "id": _is_key,
    "time": pa.types.is_int64,
    "tokens": lambda kind: _is_set(kind) or is_text(kind),  # texts, if tokens are made of them by the join
    "stream": is_text,
    "group": pa.types.is_integer,
    "number": pa.types.is_int64,
    "copy": pa.types.is_int64,
    "numbers": lambda kind: pa.types.is_list(kind) and pa.types.is_int64(kind.value_type),
    **dict.fromkeys(("arrival", "origin", "total"), pa.types.is_int64),
}
_TYPES |= {f"first_{name}": _TYPES[name] for name in ("number", "time", "id", "tokens", "copy", "stream")}  # of a record


def _check_rows(rows: pa.Table, chunk: Chunk, needed: Sequence[str]) -> None:
    """Raise ValueError unless these can be the rows of the chunk: so many, with these columns, none of which may be null."""
    if rows.num_rows != chunk.rows:
        raise ValueError(f"there are {rows.num_rows} rows instead of {chunk.rows}")
    for name in needed:
        if rows.column_names.count(name) != 1 or not _TYPES[name](rows[name].type):
            raise ValueError(f"there is no column {name!r} as it should be, but {', '.join(map(str, rows.schema))}")
        column = rows[name]
        if column.null_count or (_is_set(column.type) and pc.list_flatten(column).null_count):
            raise ValueError(f"column {name!r} has nulls")
    first, last = pc.min_max(rows["time"]).as_py().values()
    if last != chunk.latest or (last is not None and not -LATEST < first <= last < LATEST):
        raise ValueError(f"times are from {first} to {last}, and the last should be {chunk.latest}")


def write_chunk(store: Store, name: str, level: int, rows: pa.Table) -> Chunk:
    data = to_bytes(rows.combine_chunks())
    store.write(name, data)
    return Chunk(name, level, rows.num_rows, pc.max(rows["time"]).as_py(), zlib.crc32(data), rows.nbytes)


def add_rows(store: Store, chunks: Sequence[Chunk], step: str, rows: pa.Table, expired: int) -> tuple[Chunk, ...]:
    """The chunks that hold what others held and some new rows, but for rows up to ``expired``. None is deleted."""
    kept = [chunk for chunk in chunks if chunk.latest > expired]
    if not rows.num_rows:
        return tuple(kept)
    level = 0
    while len(tail := kept[1 - MERGED :]) == MERGED - 1 and tail[0].level == tail[-1].level == level:
        together = rows.num_rows + sum(chunk.rows for chunk in tail), rows.nbytes + sum(chunk.bytes for chunk in tail)
        if together[0] > LARGEST_MERGE or together[1] > LARGEST:
            break
        rows = concatenated([*read_chunks(store, tail), rows])
        del kept[1 - MERGED :]
        level += 1
    rows = rows.filter(pc.greater(rows["time"], expired))
    size = max(1, int(rows.num_rows * min(1.0, LARGEST / max(rows.nbytes, 1))))
    for number, first in enumerate(range(0, rows.num_rows, size)):
        part = rows.slice(first, size)
        kept.append(write_chunk(store, f"{step}-{number}.arrow" if number else f"{step}.arrow", level, part))
    return tuple(kept)
