"""Arrow's streams of bytes, read with suspicion: what a file says about itself is not believed.

Arrow checks that buffers lie inside of their message. It does not look into them unless ``Table.validate`` is called, and it
takes the size of a compressed buffer from the buffer itself and asks for so much memory. So sizes are looked at first, and
offsets afterwards. That is not all: a valid column may have nulls, or numbers that mean nothing; these are for the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

MAX_RATIO = 256  # how much smaller LZ4 can make something

_HEADER = 2  # number of the field of a message that describes it
_BUFFERS, _COMPRESSION = 2, 3  # numbers of fields of a record batch
_CODEC, _LZ4 = 0, 0


def to_stream(table: pa.Table) -> pa.Buffer:
    """A table in Arrow's stream format, not compressed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_stream(data: Any, types: Mapping[str, pa.DataType] | None = None, *, compressed: bool = False) -> pa.Table:
    """The table of a stream, with these columns in any order, or with any if there are no ``types``.

    Raises ValueError, or an error of Arrow's, if it is not in order. Nothing beyond ``data`` is read, and no more memory is
    asked for than the bytes can stand for.
    """
    source = pa.py_buffer(data)
    for number, message in enumerate(pa.ipc.MessageReader.open_stream(source)):
        expected = "record batch" if number else "schema"
        if message.type != expected:
            raise ValueError(f"message {number} is a {message.type}, not a {expected}")
        if number:
            _check_sizes(message, compressed)
    reader = pa.ipc.open_stream(source)
    if types is not None:
        _check_types(reader.schema, types)
    table = reader.read_all()
    table.validate(full=True)
    return table


def _check_types(schema: pa.Schema, types: Mapping[str, pa.DataType]) -> None:
    if sorted(schema.names) != sorted(types):
        raise ValueError(f"the columns are {', '.join(schema.names)}, but should be {', '.join(types)}")
    for name, wanted in types.items():
        found = schema.field(name).type
        is_right = found == wanted
        if pa.types.is_large_list(wanted):  # what their elements are called does not matter
            is_right = pa.types.is_large_list(found) and found.value_type == wanted.value_type
        if not is_right:
            raise ValueError(f"column {name!r} has type {found}, but should have {wanted}")


def _check_sizes(message: Any, compressed: bool) -> None:
    """Refuse a record batch that is compressed but should not be, or whose buffers claim to be larger than they can be.

    A message is a flatbuffer. One that is not in order is refused by Arrow, so it does not matter what is found in it here.
    """
    data = memoryview(message.metadata)
    try:
        batch = _target(data, _field(data, _target(data, 0), _HEADER))
        compression = _field(data, batch, _COMPRESSION)
        if not compression:
            return
        codec = _field(data, _target(data, compression), _CODEC)
        if not compressed or (codec and data[codec] != _LZ4):
            raise ValueError("rows are compressed in a way in which Swoop does not compress them")
        buffers = _field(data, batch, _BUFFERS)
        if not buffers:
            return
        first = _target(data, buffers)
        (count,) = struct.unpack_from("<I", data, first)
        body = memoryview(message.body)
        for number in range(count):
            offset, size = struct.unpack_from("<qq", data, first + 4 + 16 * number)
            if size > 0:
                (declared,) = struct.unpack_from("<q", body, offset)
                if declared > MAX_RATIO * size:
                    raise ValueError(f"a buffer of {size} bytes cannot hold {declared}")
    except (struct.error, IndexError) as error:
        raise ValueError(f"the description of a record batch cannot be read: {error}") from error


def _target(data: memoryview, at: int) -> int:
    """Where an offset leads to."""
    return int(at + struct.unpack_from("<I", data, at)[0])


def _field(data: memoryview, table: int, number: int) -> int:
    """Where a field of a table is; 0 if the table does not have it."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, table - back + 4 + 2 * number)
    return int(table + offset) if offset else 0
