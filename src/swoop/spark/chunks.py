"""Rows in chunks: written whole, never changed, merged now and then so that they stay few."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

MERGED = 16  # chunks of one level that become one of the next
LARGEST_MERGE = 1_000_000  # rows


@dataclass(frozen=True)
class Chunk:
    """Some rows. Level 0 holds those of one batch; ``latest`` is the time of the last of them to expire."""

    name: str
    level: int
    rows: int
    latest: int
    crc: int


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


def read_chunks(store: Store, chunks: Sequence[Chunk]) -> list[pa.Table]:
    """The rows of some chunks."""
    tables = []
    for chunk in chunks:
        try:
            data = store.read(chunk.name)
            if zlib.crc32(data) != chunk.crc:
                raise ValueError("the checksum does not match")
            tables.append(from_bytes(data))
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise Damaged(chunk.name, error) from error
    return tables


def write_chunk(store: Store, name: str, level: int, rows: pa.Table) -> Chunk:
    data = to_bytes(rows)
    store.write(name, data)
    return Chunk(name, level, rows.num_rows, pc.max(rows["time"]).as_py(), zlib.crc32(data))


def add_rows(store: Store, chunks: Sequence[Chunk], step: str, rows: pa.Table, expired: int) -> tuple[Chunk, ...]:
    """The chunks that hold what others held and some new rows, but for rows up to ``expired``. None is deleted."""
    kept = [chunk for chunk in chunks if chunk.latest > expired]
    level = 0
    while len(tail := kept[1 - MERGED :]) == MERGED - 1 and tail[0].level == tail[-1].level == level:
        if rows.num_rows + sum(chunk.rows for chunk in tail) > LARGEST_MERGE:
            break
        rows = pa.concat_tables([*read_chunks(store, tail), rows], promote_options="permissive")
        del kept[1 - MERGED :]
        level += 1
    rows = rows.filter(pc.greater(rows["time"], expired))
    if rows.num_rows:
        kept.append(write_chunk(store, f"{step}.arrow", level, rows))
    return tuple(kept)
