"""Lines of JSON as columns: what Arrow reads at once equals what is read line by line, and wrong lines cost one row each."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from swoop.reading.json_lines import blocks, parse, read_block, read_values, schema_of, type_of

scalars = st.none() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
values = scalars | st.lists(st.text(max_size=4), max_size=3) | st.dictionaries(st.sampled_from("xy"), scalars, max_size=2)
rows = st.lists(st.dictionaries(st.sampled_from(["id", "text", "meta"]), values, max_size=3), min_size=1, max_size=8)


@given(rows)
def test_both_ways_to_read_agree(found: list[dict[str, Any]]) -> None:
    schema = schema_of(found)
    data = "".join(json.dumps(row) + "\n" for row in found).encode()
    table, reasons, _ = read_block(data, schema)
    again, wrong, _ = read_values(found, schema)
    assert table.num_rows == len(found) or not schema.names
    if schema.names:
        assert table.to_pylist() == again.to_pylist()
        assert reasons.to_pylist() == wrong.to_pylist()


def test_types() -> None:
    assert type_of([1, None, 2]) == pa.int64()
    assert type_of([1, 2.5]) == pa.float64()
    assert type_of([1, "a"]) == pa.string()
    assert type_of([2**70]) == pa.string()
    assert type_of([]) == pa.string()
    assert type_of([["a"], [None]]) == pa.list_(pa.string())
    assert type_of([["a"], ["b"], "oops"]) == pa.list_(pa.string())  # one wrong row does not make texts of all
    assert type_of(["a", ["b"], "oops"]) == pa.string()
    assert type_of([{"a": 1}, {"b": "x"}]) == pa.struct({"a": pa.int64(), "b": pa.string()})
    assert schema_of([3, {"id": 1}, ValueError()]) == pa.schema({"id": pa.int64()})
    assert schema_of(["a"]).names == []


SCHEMA = pa.schema({"id": pa.int64(), "text": pa.string(), "tags": pa.list_(pa.string())})


def test_wrong_lines_cost_one_row_each() -> None:
    lines = [
        b'{"id": 1, "text": 5}',
        b"[3]",
        b"oh no",
        b'{"id": "x"}',
        b'{"id": 2, "tags": "a"}',
        b'{"id": 99999999999999999999}',
        b'{"id": 3, "text": "\\ud800"}',
        b'{"id": 4, "text": "\xff"}',
        b'{"id": 5, "text": "fine", "other": {}}',
        b"",
    ]
    table, reasons, _ = read_block(b"\n".join(lines), SCHEMA)
    assert table.column("id").to_pylist() == [1, None, None, None, 2, None, 3, None, 5]
    assert table.column("text").to_pylist() == ["5", *[None] * 7, "fine"]
    assert reasons.to_pylist() == [
        None,
        'row: not an object "[3]"',
        'row: not JSON "oh no"',
        'id: cannot read "x" as an integer',
        'tags: cannot read "a" as an array',
        'id: cannot read "99999999999999999999" as an integer',
        'text: half of a character in "?"',
        'row: not JSON "{"id": 4, "text": "\\xff"}"',
        None,
    ]


def test_bytes_that_are_not_utf8_are_kept_for_whoever_checks_them() -> None:
    table, _, _ = read_block(b'{"id": 4, "text": "\xff"}\n', SCHEMA)
    assert table.column("text").cast(pa.binary()).to_pylist() in ([b"\xff"], [None])


@given(st.lists(st.binary(max_size=9)), st.integers(1, 7))
def test_blocks_end_with_lines(lines: list[bytes], size: int) -> None:
    from unittest.mock import patch

    data = b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines) + b"rest"
    with patch("swoop.reading.json_lines.BLOCK", size):
        found = list(blocks(io.BytesIO(data)))
    assert b"".join(found) == data
    assert all(block.endswith(b"\n") for block in found[:-1])


def test_deep_nesting_is_no_crash() -> None:
    (found,) = parse([b"[" * 100_000])
    assert isinstance(found, Exception)
    for depth in (20, 500, 900):
        (deep,) = parse([b'{"id": 1, "x": ' + b"[" * depth + b"]" * depth + b"}"])
        assert read_values([deep], schema_of([deep]))[0].column("id").to_pylist() == [1]


def test_odd_names_and_numbers() -> None:
    """Names that cannot be written are no columns; numbers that are too large cost their row."""
    rows = list(parse([b'{"id": 1, "x\\ud800": 2, "n": 1.5}', b'{"id": 2, "n": 1' + b"0" * 400 + b"}"]))
    schema = schema_of(rows)
    assert schema.names == ["id", "n"]
    table, reasons, _ = read_values(rows, schema)
    assert table.column("id").to_pylist() == [1, 2]
    assert reasons.null_count == 1


def test_a_line_is_one_row() -> None:
    """Whatever else is in its block: two objects on a line are none, and neither is a part of one."""
    for more in (b"", b"oops\n"):
        table, _, lines = read_block(b'{"id": 1}{"id": 2}\n{"id":\n3}\n\n{"id": 4}\n' + more, SCHEMA)
        assert [row for row in table.column("id").to_pylist() if row is not None] == [4]
        assert lines.to_pylist()[:3] == ['{"id": 1}{"id": 2}', '{"id":', "3}"]
