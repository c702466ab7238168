"""Saved joins and families of all kinds, as the members of their archives: to be read, changed and written again."""

from __future__ import annotations

import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import swoop
from swoop.oracle import Record
from tests.support.rhythms import stream

Members = dict[str, bytes]

FAMILIES = "families.arrow"
"""The member that saved families have, and saved joins do not."""


@cache
def valid_files() -> tuple[Members, ...]:
    """Small joins of all kinds: in some, copies count once, all pairs are asked for, or columns are kept."""
    found = []
    for seed in range(24):
        rng = random.Random(seed)
        two_streams = seed % 3 == 0
        window = (rng.choice([5, 30, 2000]), swoop.last(8), None, "30 s")[seed % 4]
        algorithm = "swoop" if seed < 16 else ("swoop-minimal", "base", "static", "scase")[seed % 4]
        similarity = ("jaccard", "cosine", "dice", "overlap", "hamming")[seed % 5]
        k = rng.choice([1, 3, 50])
        least = rng.choice([None, None, 0])
        if algorithm == "swoop" and seed % 5 == 2:
            k, least = None, 0.1
        join = swoop.TopKJoin(
            k,
            window,
            similarity,
            two_streams=two_streams,
            min_similarity=least,
            track_changes=algorithm.startswith("swoop") and seed != 5,
            copies="once" if algorithm.startswith("swoop") and seed // 2 % 3 == 1 else "each",
            algorithm=algorithm,
        )
        untimed = seed % 4 in (1, 2) and seed % 8 < 4
        for record in stream(rng, 0 if seed == 7 else 14, two_streams):
            time = None if untimed else record.time if window != "30 s" else np.datetime64(1000 * int(record.time), "ms")
            join.insert(
                record.tokens, time, record.id, record.stream, record=kept_of(record) if seed % 8 in (0, 3, 6) else None
            )
        found.append(members_of(join))
    return tuple(found)


def kept_of(record: Record) -> dict[str, Any]:
    return {"number": int(record.time), "text": str(record.id)}


@cache
def valid_families() -> tuple[Members, ...]:
    """The same for families: of all kinds, and some of them older than their sets."""
    found = []
    for seed in range(16):
        rng = random.Random(seed)
        window = (rng.choice([5, 30, 2000]), swoop.last(8), None, "30 s")[seed % 4]
        name, least = (("jaccard", 0.5), ("cosine", 0.6), ("dice", 0.0), ("overlap", 2), ("hamming", -2))[seed % 5]
        families = swoop.Families(least, window, name, track_changes=seed != 5)
        untimed = seed % 4 in (1, 2) and seed % 8 < 4
        for record in stream(rng, 0 if seed == 7 else 25, False):
            time = None if untimed else record.time if window != "30 s" else np.datetime64(1000 * int(record.time), "ms")
            families.insert(record.tokens, time, record.id, record=kept_of(record) if seed % 5 == 1 else None)
        found.append(members_of(families))
    return tuple(found)


def members_of(join: swoop.TopKJoin | swoop.Families) -> Members:
    with tempfile.TemporaryDirectory() as folder:
        join.save(Path(folder) / "join")
        with zipfile.ZipFile(Path(folder) / "join") as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def others(members: Members) -> tuple[Members, ...]:
    """Files of the same kind."""
    return valid_families() if FAMILIES in members else valid_files()


def read(data: bytes) -> pa.Table:
    table = pa.ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def written(table: pa.Table, compression: str | None = None, rows: int | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, rows)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def put(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def with_settings(**changes: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members["settings.json"] = json.dumps({**json.loads(members["settings.json"]), **changes}).encode()

    return change


def with_column(
    member: str, name: str, values: Callable[[list[Any]], list[Any]], kind: Any = None
) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        table = read(members[member])
        column = table.column(name)
        changed = pa.array(values(column.to_pylist()), kind or column.type)
        members[member] = written(table.set_column(table.column_names.index(name), name, changed))

    return change
