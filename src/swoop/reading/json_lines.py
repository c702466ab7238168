"""Rows in JSON: their types from a sample, and columns from lines. One wrong line costs one row, not the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.json

from swoop.reasons import NOT_JSON

BLOCK = 4 << 20  # bytes that are read at once
SHOWN = 80  # characters of a wrong line that are told
DEEPEST = 8  # levels of nesting that are columns; what is deeper is text

INT64 = range(-(2**63), 2**63)


def blocks(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file, cut at the ends of lines."""
    rest = b""
    while data := file.read(BLOCK):
        end = data.rfind(b"\n") + 1
        if end == 0:
            rest += data
            continue
        yield rest + data[:end]
        rest = data[end:]
    if rest:
        yield rest


def parse(lines: Iterable[bytes], errors: str = "strict") -> Iterator[Any]:
    """The values of lines; an error for a line that is not JSON. Empty lines are none."""
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line.decode("utf-8", errors))
            except (ValueError, RecursionError) as error:
                yield error


def elements(data: bytes) -> list[Any]:
    """The elements of a file that is one array."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return found if isinstance(found, list) else [found]


def type_of(values: Sequence[Any], depth: int = 0) -> pa.DataType:
    """The type that all of these values have; what has none is text. A few that are no arrays among arrays do not count."""
    counts = Counter(type(value) for value in values if value is not None)
    for nested in (list, dict):
        if counts[nested] > 0.5 * counts.total():
            values, counts = [value for value in values if isinstance(value, nested)], Counter({nested: 1})
    kinds = set(counts)
    if kinds == {int} and all(value in INT64 for value in values if value is not None):
        return pa.int64()
    if kinds in ({float}, {int, float}):
        return pa.float64()
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {list} and depth < DEEPEST:
        return pa.list_(type_of([element for value in values if value is not None for element in value], depth + 1))
    if kinds == {dict} and depth < DEEPEST:
        objects = [value for value in values if value is not None]
        names = [name for name in dict.fromkeys(name for value in objects for name in value) if not is_half(name)]
        if names:
            return pa.struct({name: type_of([value.get(name) for value in objects], depth + 1) for name in names})
    return pa.string()


def is_half(text: str) -> bool:
    """Whether there are halves of characters in a text, which cannot be written."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def schema_of(rows: Iterable[Any]) -> pa.Schema:
    """The columns of a sample, those that are no objects left out."""
    found = type_of([row for row in rows if isinstance(row, dict)])
    return pa.schema(list(found)) if pa.types.is_struct(found) else pa.schema([])


def read_block(data: bytes, schema: pa.Schema) -> tuple[pa.Table, pa.Array, pa.Array]:
    """The rows of a block of lines, what is wrong with each, and the lines that are no rows; null if nothing is.

    Arrow reads a block at once, if every line is an object, and every value has the type of its column; else each line is
    looked at.
    """
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pa.json.read_json(pa.BufferReader(data), pa.json.ReadOptions(block_size=len(data) + 1), options)
        if table.schema.equals(schema) and table.num_rows == _count_lines(data):
            return table, *(pa.nulls(table.num_rows, pa.string()) for _ in range(2))
    except pa.ArrowInvalid:
        pass
    lines = data.split(b"\n")
    return read_values(list(parse(lines)), schema, lines)


def _count_lines(data: bytes) -> int:
    """How many lines there are, if each begins with an object; -1 if one does not."""
    begun = data.count(b"\n{") + data.startswith(b"{")
    return begun if begun == data.count(b"\n") + (not data.endswith(b"\n")) else -1


def read_values(values: Sequence[Any], schema: pa.Schema, lines: Sequence[bytes] = ()) -> tuple[pa.Table, pa.Array, pa.Array]:
    """Values as rows, what is wrong with each, and the lines of those that are no rows."""
    texts = [line for line in lines if line.strip()]
    reasons: list[str | None] = []
    raw: list[str | None] = []
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for place, value in enumerate(values):
        wrong: list[str] = []
        raw.append(None)
        if not isinstance(value, dict):
            shown = texts[place].decode("utf-8", "backslashreplace") if texts else json.dumps(value, ensure_ascii=False)
            what = NOT_JSON if isinstance(value, Exception) else "row: not an object"
            wrong.append(f'{what} "{shown.strip()[:SHOWN]}"')
            value, raw[-1] = {}, shown
        for field in schema:
            columns[field.name].append(_convert(value.get(field.name), field.type, field.name, wrong))
        reasons.append(wrong[0] if wrong else None)
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema), pa.array(reasons, pa.string()), pa.array(raw, pa.string())


def _convert(value: Any, kind: pa.DataType, name: str, wrong: list[str]) -> Any:
    """A value as one of this type, or null and a word about it."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if not is_half(text):
            return text
        wrong.append(f'{name}: half of a character in "{text[:SHOWN].encode("utf-8", "replace").decode()}"')
        return None
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_convert(element, kind.value_type, name, wrong) for element in value]
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return {field.name: _convert(value.get(field.name), field.type, f"{name}.{field.name}", wrong) for field in kind}
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    if pa.types.is_floating(kind) and (isinstance(value, float) or (type(value) is int and value in INT64)):
        return float(value)
    if pa.types.is_integer(kind) and isinstance(value, int) and not isinstance(value, bool) and value in INT64:
        return value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    wrong.append(f'{name}: cannot read "{shown[:SHOWN]}" as {_word(kind)}')
    return None


def _word(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "an integer"
    return "a number" if pa.types.is_floating(kind) else "an array" if pa.types.is_list(kind) else str(kind)
