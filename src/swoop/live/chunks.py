"""Rows in chunks: written whole, never changed, merged now and then so that they stay few."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from swoop.live.pieces import concatenated

MERGED = 16  # chunks of one level that become one of the next
LARGEST_MERGE = 1_000_000  # rows
LARGEST = 64 << 20  # bytes of a chunk before it is compressed; more rows become several


@dataclass(frozen=True)
class Chunk:
    """Some rows, and how many ``bytes`` they take. Level 0 holds those of one batch; ``latest`` is the time of the last of them
    to expire.
    """

    name: str
    level: int
    rows: int
    latest: int
    crc: int
    bytes: int = 0


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


def seal(state: Any) -> str:
    """A dataclass as JSON, with a checksum."""
    text = json.dumps(asdict(state))
    return json.dumps({"state": text, "crc": zlib.crc32(text.encode())}, indent=1)


def unseal(text: str | bytes) -> dict[str, Any]:
    """The fields of what was sealed, its chunks as such."""
    outer = json.loads(text)
    if zlib.crc32(outer["state"].encode()) != outer["crc"]:
        raise ValueError("the checksum does not match")
    found: dict[str, Any] = json.loads(outer["state"])
    return {**found, "chunks": tuple(Chunk(**chunk) for chunk in found["chunks"])}


def read_chunks(store: Store, chunks: Iterable[Chunk]) -> Iterator[pa.Table]:
    """The rows of some chunks, each when it is asked for."""
    for chunk in chunks:
        try:
            data = store.read(chunk.name)
            if zlib.crc32(data) != chunk.crc:
                raise ValueError("the checksum does not match")
            rows = from_bytes(data)
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise Damaged(chunk.name, error) from error
        del data
        yield rows
        del rows


def write_chunk(store: Store, name: str, level: int, rows: pa.Table) -> Chunk:
    data = to_bytes(rows.combine_chunks())
    store.write(name, data)
    return Chunk(name, level, rows.num_rows, pc.max(rows["time"]).as_py(), zlib.crc32(data), rows.nbytes)


def add_rows(store: Store, chunks: Sequence[Chunk], step: str, rows: pa.Table, expired: int) -> tuple[Chunk, ...]:
    """The chunks that hold what others held and some new rows, but for rows up to ``expired``. None is deleted."""
    kept = [chunk for chunk in chunks if chunk.latest > expired]
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
