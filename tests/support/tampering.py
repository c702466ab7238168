"""What somebody may do to a saved file: each function changes it as a random generator says, and the checksums are right."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tests.support.saved_files import Members, others, read, written

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


def _replaced(table: pa.Table, at: int, column: Any) -> pa.Table:
    return table.set_column(at, table.column_names[at], column)


def change_value(rng: random.Random, table: pa.Table) -> pa.Table:
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


def change_type(rng: random.Random, table: pa.Table) -> pa.Table:
    at = rng.randrange(table.num_columns)
    column = table.column(at)
    match rng.randrange(4):
        case 0:
            return _replaced(table, at, column.dictionary_encode())
        case 1:
            return _replaced(table, at, pa.nulls(len(column), rng.choice([None, column.type])))
        case _:
            return _replaced(table, at, column.cast(rng.choice(TYPES), safe=False))


def change_rows(rng: random.Random, table: pa.Table) -> pa.Table:
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


def change_columns(rng: random.Random, table: pa.Table) -> pa.Table:
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
    change_value,
    change_value,
    change_value,
    change_type,
    change_rows,
    change_columns,
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
