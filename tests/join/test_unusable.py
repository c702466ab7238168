"""Rows that cannot be used: found by column, with the first reason of each; none is missed, whatever it lies between."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swoop
from swoop.errors import InvalidData
from swoop.join import unusable
from swoop.join.unusable import why_unusable
from swoop.similarity import MAX_SET_SIZE
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST


def strings(values: list[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """Bytes that are said to be strings."""
    array = pa.array(values, pa.binary())
    return pa.Array.from_buffers(kind or pa.string(), len(array), array.buffers())


def lists(values: list[list[bytes | None] | None]) -> pa.Array:
    plain = pa.array(values, pa.list_(pa.binary()))
    tokens = strings(plain.values.to_pylist())
    return pa.ListArray.from_arrays(plain.offsets, tokens, mask=plain.is_null())


TEXTS = st.sampled_from([None, b"", b"a", "é😀".encode(), b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf"])
TIMES = st.sampled_from([None, 0, 1, LATEST, LATEST - 1, -LATEST, -LATEST + 1])


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def reason_of(row: tuple[Any, ...], as_text: bool, has_stream: bool) -> str | None:
    """The definition, one row at a time."""
    name, time, tokens, title, stream = row
    if name is None:
        return "the id is null"
    if time is None:
        return "the time is null"
    if abs(time) >= LATEST:
        return "the time is out of range"
    if not is_utf8(name):
        return "the id is not UTF-8"
    if as_text:
        if title is None and name is None:
            return "the text is null"
        if not all(is_utf8(text) for text in (title, name) if text is not None):
            return "the text is not UTF-8"
    elif tokens is None:
        return "the tokens are null"
    elif None in tokens:
        return "a token is null"
    elif not all(map(is_utf8, tokens)):
        return "a token is not UTF-8"
    if has_stream and stream not in (b"left", b"right"):
        return "the stream is neither 'left' nor 'right'"
    return None


@given(data=st.data())
def test_the_first_reason_of_every_row(data: st.DataObject) -> None:
    sides = st.sampled_from([None, b"left", b"right", b"up", b"Left"])
    row = st.tuples(TEXTS, TIMES, st.none() | st.lists(TEXTS, max_size=3), TEXTS, sides)
    rows = data.draw(st.lists(row, max_size=12))
    cut = data.draw(st.integers(0, len(rows)))
    names = ["id", "time", "tokens", "title", "stream"]

    def table(part: list[Any]) -> pa.Table:
        ids, times, tokens, titles, sides = zip(*part, strict=True) if part else ([],) * 5
        columns = [
            strings(list(ids)),
            pa.array(times, pa.int64()),
            lists(list(tokens)),
            strings(list(titles)),
            strings(list(sides)),
        ]
        return pa.table(columns, names)

    chunked = pa.concat_tables([table(rows[:cut]), table(rows[cut:])])
    for as_text in (False, True):
        for stream in (None, "stream"):
            tokens: Any = swoop.words("title", "id") if as_text else "tokens"
            found = why_unusable(chunked, tokens=tokens, stream=stream).to_pylist()
            assert found == [reason_of(row, as_text, stream is not None) for row in rows]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_beyond_those_of_python(unit: str) -> None:
    ticks = {"s": 10**6, "ms": 1000, "us": 1}[unit]
    first, last = -(-FIRST_DATETIME // ticks), LAST_DATETIME // ticks
    times = pa.array([first - 1, first, last, last + 1, 2**63 - 1, None], pa.timestamp(unit))
    rows = {"id": range(6), "time": times, "tokens": [["a"]] * 6}
    out = "the time is out of range"
    assert why_unusable(rows).to_pylist() == [out, None, None, out, out, "the time is null"]
    with pytest.warns(swoop.errors.UnusableRows, match="^4 rows"):
        assert [stay.leave for stay in swoop.history(rows, 5, dt.timedelta(days=9999 * 366))] == [None]


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int8(), pa.uint32(), pa.timestamp("ns")])
def test_times_of_other_widths(kind: pa.DataType) -> None:
    values = [1, 2**64 - 1] if kind == pa.uint64() else [1, 1]
    found = why_unusable({"id": [1, 1], "time": pa.array(values, kind), "tokens": [["a"]] * 2})
    assert found.to_pylist() == [None, "the time is out of range" if values[1] > 1 else None]


def test_sets_and_texts_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unusable, "MAX_SET_SIZE", 5)
    sets = {"id": [1, 2], "time": [1, 1], "tokens": [list(range(5)), list(range(6))]}
    assert why_unusable(sets).to_pylist() == [None, "there are more than 5 tokens"]
    texts = {"id": [1, 2, 3], "time": [1] * 3, "title": ["ab", "ab", None], "body": ["cd", "cde", "é" * 3]}
    reason = "the text is longer than 5 bytes"
    assert why_unusable(texts, tokens=swoop.words("title", "body")).to_pylist() == [None, reason, reason]
    assert MAX_SET_SIZE == 2**25 - 1


def test_columns_of_nothing() -> None:
    rows = {"id": [None], "time": [None], "tokens": [None], "stream": [None]}
    assert why_unusable(rows, stream="stream").to_pylist() == ["the id is null"]
    assert why_unusable({**rows, "id": [1], "time": [1]}).to_pylist() == ["the tokens are null"]
    assert why_unusable({**rows, "id": [1], "time": [1]}, tokens=swoop.words("tokens")).to_pylist() == ["the text is null"]
    assert why_unusable({"id": [], "time": [], "tokens": []}).to_pylist() == []


def test_columns_of_the_wrong_type() -> None:
    with pytest.raises(InvalidData, match="column 'time' has type double, but times must be timestamps or integers here"):
        why_unusable({"id": [1], "time": [1.0], "tokens": [["a"]]})
