"""Saved joins and families that somebody has changed and made the checksums right: each is a function of its seed.

``python -m tests.support.crafted --files 5000`` loads so many. A file must be refused as such, or give a join that works in
every way. Arrays, those that are given to the engine too, end where memory ends, so that a stray access kills the process; and
memory is limited, so that no number in a file can ask for much of it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import struct
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import swoop
from swoop.engine import contents
from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidFile
from swoop.oracle import Record
from swoop.spec import ALGORITHMS
from swoop.times import FIRST_DATETIME, LAST_DATETIME
from tests.support.faults import guarded, guarded_memory
from tests.support.rhythms import stream

Members = dict[str, bytes]

FILES = int(os.environ.get("SWOOP_CRAFTED", "300"))
"""How many files a test crafts at random."""

FAMILIES = "families.arrow"
"""The member that saved families have, and saved joins do not."""
INTEGERS = (
    -(2**63),
    -(2**62),
    -(2**31),
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    2**25,
    2**31 - 1,
    2**31,
    2**40,
    2**62 - 1,
    2**62,
    2**63 - 1,
)
VALUES = (
    *INTEGERS,
    2**63,
    2**64,
    10**30,
    -0.5,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    None,
    True,
    False,
    "",
    "x",
    "swoop",
    [],
    {},
)
TYPES = (
    pa.int8(),
    pa.int32(),
    pa.uint64(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.string_view(),
    pa.timestamp("us"),
    pa.decimal128(38),
    pa.list_(pa.int64()),
    pa.list_(pa.large_binary()),
    pa.large_list(pa.int32()),
    pa.large_list(pa.large_string()),
    pa.list_view(pa.int64()),
    pa.dictionary(pa.int32(), pa.int64()),
    pa.dictionary(pa.int8(), pa.large_binary()),
)


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


# what can be done to them


def change_settings(rng: random.Random, members: Members) -> None:
    settings = json.loads(members["settings.json"])
    for _ in range(rng.choice([1, 1, 1, 2])):
        inside = rng.choice([settings, settings, settings, settings["window"], settings["counters"]])
        if not isinstance(inside, dict) or not inside:
            continue
        name = rng.choice(list(inside))
        match rng.randrange(10):
            case 0:
                del inside[name]
                break  # what is gone cannot be looked into
            case 1:
                inside[f"{name} too"] = rng.choice(VALUES)
            case 2 | 3 | 4:
                value = inside[name]
                inside[name] = value + rng.choice([-1, 1, 100]) if isinstance(value, int) else rng.choice(VALUES)
            case 5:
                other = json.loads(rng.choice(others(members))["settings.json"])
                inside[name] = other.get(name, inside[name])
            case _:
                inside[name] = rng.choice(VALUES)
        if not (isinstance(settings.get("window"), dict) and isinstance(settings.get("counters"), dict)):
            break
    members["settings.json"] = json.dumps(settings).encode()


def change_table(rng: random.Random, members: Members) -> None:
    name = rng.choice(["window.arrow", *(name for name in members if name.endswith(".arrow"))])
    table = read(members[name])
    for _ in range(rng.choice([1, 1, 2])):
        try:
            changed = rng.choice(TABLE_CHANGES)(rng, table)
            changed.validate(full=True)  # Arrow would not survive to write what it would refuse to read
            table = changed
        except (pa.ArrowException, ValueError, KeyError, TypeError, OverflowError, IndexError, AttributeError):
            continue  # this cannot be done to this table
    members[name] = written(table, rng.choice([None, None, None, None, "lz4", "zstd"]), rng.choice([None, None, 1, 3]))


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


def _replaced(table: pa.Table, at: int, column: Any) -> pa.Table:
    return table.set_column(at, table.column_names[at], column)


def _change_value(rng: random.Random, table: pa.Table) -> pa.Table:
    at = rng.randrange(table.num_columns)
    values = table.column(at).to_pylist()
    row = rng.randrange(len(values))
    value = values[row]
    if isinstance(value, int):
        values[row] = rng.choice([*INTEGERS, value - 1, value + 1])
    elif isinstance(value, float):
        values[row] = rng.choice([-1.0, 0.0, 2.0, 1e308, float("nan"), float("inf")])
    elif isinstance(value, list):
        pool = [0, -1, 2**63 - 1] if pa.types.is_integer(table.column(at).type.value_type) else [b"", b"\xff", b"\xed\xa0\x80"]
        values[row] = rng.choice([[], value + value, [*value, None], [*value, rng.choice(pool)], value[1:], None, value * 50])
    else:
        values[row] = rng.choice([b"", b"7", b"-0", b"\xff\xfe", b"1_0", b" 1", b"9" * 5000, b"x", None])
    return _replaced(table, at, pa.array(values, table.column(at).type))


def _change_type(rng: random.Random, table: pa.Table) -> pa.Table:
    at = rng.randrange(table.num_columns)
    column = table.column(at)
    match rng.randrange(4):
        case 0:
            return _replaced(table, at, column.dictionary_encode())
        case 1:
            return _replaced(table, at, pa.nulls(len(column), rng.choice([None, column.type])))
        case _:
            return _replaced(table, at, column.cast(rng.choice(TYPES), safe=False))


def _change_rows(rng: random.Random, table: pa.Table) -> pa.Table:
    size = table.num_rows
    match rng.randrange(5):
        case 0:
            return table.slice(rng.randrange(size), rng.randrange(size + 1))
        case 1:
            return pa.concat_tables([table, table])
        case 2:
            return table.take(list(reversed(range(size))))
        case 3:
            return table.take(rng.sample(range(size), size))
        case _:
            return table.take(sorted(rng.choices(range(size), k=rng.randrange(size + 1))))


def _change_columns(rng: random.Random, table: pa.Table) -> pa.Table:
    at, other = rng.randrange(table.num_columns), rng.randrange(table.num_columns)
    match rng.randrange(5):
        case 0:
            return table.remove_column(at)
        case 1:
            return table.add_column(at, table.column_names[other], table.column(at))
        case 2:
            return table.select(rng.sample(table.column_names, table.num_columns))
        case 3:
            return table.rename_columns([f"{name}_" if n == at else name for n, name in enumerate(table.column_names)])
        case _:
            return _replaced(table, at, table.column(other))


def _change_offsets(rng: random.Random, table: pa.Table) -> pa.Table:
    """Lists that begin later, end sooner, or are of other sizes."""
    at = table.column_names.index(rng.choice(["integers", "strings", "bytes"]))
    lists = table.column(at).combine_chunks()
    offsets = sorted(rng.choices(range(len(lists.values) + 1), k=len(lists) + 1))
    return _replaced(table, at, pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), lists.values))


def _numbers_of_a_column(rng: random.Random, table: pa.Table) -> pa.Table:
    at = rng.choice([n for n, column in enumerate(table.columns) if pa.types.is_integer(column.type)])
    lowest, highest = rng.choice([(0, 1), (-1, 2), (-100, 100), (-(2**63), 2**63)])
    bits = table.column(at).type.bit_width - 1
    values = [min(max(rng.randrange(lowest, highest), -(2**bits)), 2**bits - 1) for _ in range(table.num_rows)]
    return _replaced(table, at, pa.array(sorted(values) if rng.random() < 0.7 else values, table.column(at).type))


TABLE_CHANGES: tuple[Callable[[random.Random, pa.Table], pa.Table], ...] = (
    _change_value,
    _change_value,
    _change_value,
    _change_type,
    _change_rows,
    _change_columns,
    _change_offsets,
    _numbers_of_a_column,
)


def change_bytes(rng: random.Random, members: Members) -> None:
    """Numbers of Arrow's own: of messages, and in buffers of offsets."""
    name = rng.choice([name for name in members if name.endswith(".arrow") or rng.random() < 0.05])
    if rng.random() < 0.2 and name != "settings.json":
        table = read(members[name])
        members[name] = written(table, rng.choice(["lz4", "zstd"]))
    data = bytearray(members[name])
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(data) // 8) * 8
        match rng.randrange(8):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + rng.choice([1, 8, 64])]
            case 2:
                data[at:at] = bytes(rng.choice([1, 8, 64]))
            case 3:
                del data[at:]
            case 4:
                struct.pack_into("<i", data, min(at + rng.choice([0, 4]), len(data) - 4), rng.choice([-1, 0, 1, 7, 2**31 - 1]))
            case 5:
                (value,) = struct.unpack_from("<q", data, at)
                struct.pack_into("<q", data, at, (value + rng.choice([-8, -1, 1, 8, 64]) + 2**63) % 2**64 - 2**63)
            case _:
                struct.pack_into("<q", data, at, rng.choice(INTEGERS))
        if len(data) < 16:
            break
    members[name] = bytes(data)


def change_offsets(rng: random.Random, members: Members) -> None:
    """Offsets of lists and of texts that fall, or lead out of their buffer; patched where they are, in the bytes."""
    name = rng.choice([name for name in members if name.endswith(".arrow")])
    table = read(members[name])
    column = rng.choice([column for column in table.columns if not pa.types.is_primitive(column.type)]).combine_chunks()
    _, offsets, *_ = (column if not pa.types.is_large_list(column.type) or rng.random() < 0.5 else column.values).buffers()
    data = bytearray(members[name])
    at = data.find(offsets.to_pybytes()) if offsets else -1
    if at < 0:
        return
    at += 8 * rng.randrange(offsets.size // 8)
    (value,) = struct.unpack_from("<q", data, at)
    changed = rng.choice([*INTEGERS, value - 1, value + 1, value + 8])
    struct.pack_into("<q", data, at, min(changed, 2**63 - 1))
    members[name] = bytes(data)


def mix(rng: random.Random, members: Members) -> None:
    """A member of another join."""
    other = rng.choice(others(members))
    name = rng.choice([name for name in members if name in other])
    members[name] = other[name]


def change_archive(rng: random.Random, members: Members) -> bytes:
    """Members that are missing, double, compressed in other ways, or larger than they can be."""
    sink = io.BytesIO()
    kind = rng.randrange(6)
    method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]) if kind == 0 else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(sink, "w", method) as archive:
        names = rng.sample(list(members), len(members))
        if kind == 1:
            names = names[1:]
        for name in names:
            archive.writestr(name, members[name])
        if kind == 2:
            archive.writestr("more", b"x" * 1000)
    data = bytearray(sink.getvalue())
    if kind in (3, 4):  # sizes in the central directory
        at = data.rfind(b"PK\x01\x02", 0, rng.choice([len(data), data.rfind(b"PK\x01\x02") or None]))
        for offset in rng.sample([20, 24], rng.choice([1, 2])):
            struct.pack_into("<I", data, at + offset, rng.choice([0, 1, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 2]))
    if kind == 5:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


CHANGES: tuple[Callable[[random.Random, Members], None], ...] = (
    change_settings,
    change_table,
    change_table,
    change_bytes,
    change_offsets,
    mix,
)


def crafted(seed: int, files: Callable[[], tuple[Members, ...]] = valid_files) -> tuple[str, bytes]:
    """What was done, and the bytes of the file."""
    rng = random.Random(f"crafted {seed}")
    members = dict(rng.choice(files()))
    if rng.random() < 0.08:
        return "change_archive", change_archive(rng, members)
    done = rng.choices(CHANGES, k=rng.choice([1, 1, 1, 2]))
    for change in done:
        try:
            change(rng, members)
        except (pa.ArrowException, OSError, ValueError, KeyError, IndexError):
            continue  # it was destroyed before, or has nothing to change
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return ", ".join(change.__name__ for change in done), sink.getvalue()


# what must be possible then


def try_out(path: Path) -> bool:
    """Whether the file was loaded; then the join works in every way."""
    try:
        join = swoop.TopKJoin.load(path)
    except InvalidFile:
        return False
    rng = random.Random(1)
    has_invariants = ALGORITHMS[join.algorithm].has_feed
    if has_invariants:
        join._check()
    for step in range(3):
        look(join)
        insert(join, rng, step)
    look(join)
    join.save(path)
    again = swoop.TopKJoin.load(path)
    assert again.topk() == join.topk()
    if has_invariants:
        join._check()
        again._check()
    return True


def try_out_families(path: Path) -> bool:
    """The same for families."""
    try:
        families = swoop.Families.load(path)
    except InvalidFile:
        return False
    rng = random.Random(1)
    families._check()
    for step in range(3):
        for family in families.families(3, order="growing"):
            assert len(families.members(family)) == family.size
        if families.track_changes:
            repr(list(families.changes()))
        insert(families, rng, step)
        families._check()
    families.save(path)
    again = swoop.Families.load(path)
    again._check()
    assert again.families() == families.families()
    return True


def look(join: swoop.TopKJoin) -> None:
    pairs = list(join.topk())
    for pair in pairs[:2]:
        join.explain(pair)
    join.stats  # noqa: B018
    join.skyband()
    if join.track_changes:
        repr(list(join.changes()))


def insert(join: swoop.TopKJoin | swoop.Families, rng: random.Random, step: int) -> None:
    clock, two_streams = join._clock, isinstance(join, swoop.TopKJoin) and join.two_streams
    now = (clock.now or 0) + (step if (clock.now or 0) < 2**61 else 0)
    size = rng.choice([1, 5])
    tokens: list[list[Any]] = [rng.choices([1, 2, "a", "b", b"a", f"new {step}"], k=4) for _ in range(size)]
    kind = clock.kind or {"duration": "naive", "integer": "integer"}.get(join.window.kind, "none")
    time: Any = None if kind == "none" else now
    if kind in ("naive", "aware"):
        if not FIRST_DATETIME <= now <= LAST_DATETIME:
            return  # there are no datetimes that could follow
        time = clock.time(now) if clock.kind else np.datetime64(now, "us")
    if size == 1:
        join.insert(tokens[0], time, **({"stream": rng.choice(["left", "right"])} if two_streams else {}))
        return
    columns: dict[str, Any] = {"tokens": tokens}
    if time is not None:
        columns["time"] = [time] * size
    if two_streams:
        columns["side"] = rng.choices(["left", "right"], k=size)
    join.insert_many(columns, time=None if time is None else "time", **({"stream": "side"} if two_streams else {}))


def guarded_sets(*arguments: Any) -> Any:
    """What was checked, in memory of which nothing outside may be touched."""

    def copy(array: np.ndarray) -> np.ndarray:
        new = guarded(array.size, array.dtype, 0)
        new[:] = array
        return new

    times, offsets, tokens, sides = contents.checked_sets(*arguments)
    texts = (Texts(copy(part.data), copy(part.ends)) for part in (tokens.strings, tokens.byte_strings))
    kinds = None if tokens.kinds is None else copy(tokens.kinds)
    return copy(times), copy(offsets), Tokens(copy(tokens.integers), *texts, kinds), copy(sides)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500, help="how many (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    parser.add_argument("--families", action="store_true", help="families instead of joins")
    options = parser.parse_args()
    files, attempt = (valid_families, try_out_families) if options.families else (valid_files, try_out)
    files()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), used + (1 << 29)))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, guarded_memory(), patch("swoop.engine.engine.checked_sets", guarded_sets):
        path = Path(folder) / "crafted"
        for seed in range(options.seed, options.seed + options.files):
            done, data = crafted(seed, files)
            path.write_bytes(data)
            print(f"\r{seed} {done}", end=" " * 20, flush=True)  # known, should this process die of it
            try:
                counts["loaded" if attempt(path) else "refused"] += 1
            except Exception:
                counts["failed"] += 1
                print(f"\rseed {seed}, {done}:\n{traceback.format_exc(limit=-5)}")
    print("\r" + ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())) + " " * 40)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
