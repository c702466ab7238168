"""Rows of histories: whatever brings them and of whatever types their columns are, they are read, or it is said what is wrong.

Tests of swoop.join.row_order, swoop.join.rows.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidType, UnusableRows
from swoop.join import columns
from swoop.join import rows as rows_module
from swoop.join.columns import take_rows


def test_the_warning_tells_the_reasons() -> None:
    rows = {"id": [1, None, 3, None], "time": [1, 2, 3, 4], "tokens": [["a"], ["a"], [None], ["a"]]}
    with pytest.warns(
        UnusableRows, match=r"^3 rows are unusable and left out; reasons: the id is null \(2\), a token is null \(1\)"
    ) as all_:
        assert len(swoop.history(rows, 1, 5)) == 0
    assert all_[0].filename == __file__


def test_no_rows_at_all() -> None:
    kinds = pa.schema([("id", pa.string()), ("time", pa.timestamp("us", "UTC")), ("tokens", pa.list_(pa.string()))])
    found = swoop.history(kinds.empty_table(), 1, "1 day")
    assert len(found) == 0
    assert found.to_arrow().schema.types[0] == pa.string()
    assert found.to_arrow().schema.types[4:] == [pa.timestamp("us", "UTC")] * 2
    assert len(swoop.history(iter([]), 1, "1 day")) == len(swoop.history(iter([]), 1, 5)) == 0
    with pytest.warns(UnusableRows, match="^2 rows"):
        assert len(swoop.history({"id": [None, None], "time": [None, None], "tokens": [None, None]}, 1, 5)) == 0


IDS: list[tuple[list[Any], pa.DataType]] = [
    ([2.5, float("nan"), 1.0, float("nan")], pa.float64()),
    ([True, False, True, True], pa.bool_()),
    ([dt.date(2024, 1, day) for day in (2, 1, 2, 2)], pa.date32()),
    ([b"bb", b"aa", b"bb", b"aa"], pa.binary(2)),
    (["b", "a", "b", "a"], pa.dictionary(pa.int32(), pa.string())),
    (["b", "a", "b", "a"], pa.string_view()),
    ([b"b", b"a", b"b", b"a"], pa.binary_view()),
]


@pytest.mark.parametrize(("ids", "kind"), IDS, ids=lambda given: str(given) if isinstance(given, pa.DataType) else "")
def test_ids_of_any_type_with_an_order(ids: list[Any], kind: pa.DataType) -> None:
    sets = [["x"], ["x", "y"], ["a"], ["x", "y", "z"]]
    found = swoop.history(pa.table({"id": pa.array(ids, kind), "time": [1] * 4, "tokens": sets}), 1, 5)
    numbers = np.array([repr(name) for name in ids])
    (row,) = found.to_arrow().to_pylist()
    assert {repr(row["newer"]), repr(row["older"])} == {numbers[1], numbers[3]}
    assert row["overlap"] == 2
    with pytest.raises(InvalidData, match="column 'id' has type struct<a: int64>, of which there is no order"):
        swoop.history(pa.table({"id": [{"a": 1}], "time": [1], "tokens": [["a"]]}), 1, 5)


@pytest.mark.parametrize(
    "sets",
    [
        pa.array([["a", "b"], ["a", "b"]], pa.list_view(pa.string())),
        pa.array([["a", "b"], ["a", "b"]], pa.large_list_view(pa.string_view())),
        pa.array([["a", "b"], ["a", "b"]], pa.list_(pa.string(), 2)),
        pa.array([["a", "b"], ["a", "b"]], pa.large_list(pa.string_view())),
        pa.array([[b"a", b"b"], [b"a", b"b"]], pa.list_(pa.binary_view())),
        pa.array([[1, 2], [1, 2]], pa.list_(pa.uint8())),
        pa.ListArray.from_arrays([0, 2, 4], pa.array(["a", "b", "a", "b"]).dictionary_encode()),
        pa.ListArray.from_arrays(
            [0, 2, 4], pa.DictionaryArray.from_arrays([0, 1, 0, 1], pa.array(["a", "b"], pa.string_view()))
        ),
        [{"a", "b"}, {"a", "b"}],
        [("a", "b"), ("a", "b")],
        pd.Series([[1, 2], [1, 2]]),
    ],
    ids=lambda sets: str(sets.type) if isinstance(sets, pa.Array) else type(sets).__name__,
)
@pytest.mark.parametrize("times", [[1, 2], [2, 1]])
def test_tokens_of_any_type(sets: Any, times: list[int]) -> None:
    (stay,) = swoop.history({"id": [1, 2], "time": times, "tokens": sets}, 1, 5)
    assert stay.pair.overlap == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
@pytest.mark.parametrize("times", [[1, 2, 3], [3, 2, 1]])
def test_texts_of_any_type(kind: pa.DataType, times: list[int]) -> None:
    texts = pa.chunked_array([pa.array(["Win a phone", None], kind), pa.array(["win a PHONE!"], kind)])
    with pytest.warns(UnusableRows, match="the text is null"):
        (stay,) = swoop.history(pa.table({"id": [1, 2, 3], "time": times, "text": texts}), 1, 5, tokens=swoop.words("text"))
    assert stay.pair.overlap == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": 0}, InvalidArgument, "k must be at least 1, not 0"),
        ({"slices": 0}, InvalidArgument, "slices must be at least 1, not 0"),
        ({"by": "tenant"}, InvalidData, "there is no column 'tenant' for by"),
        ({"by": ["id", "ID"]}, InvalidArgument, "by names a column twice: 'id', 'ID'"),
        ({"by": "newer"}, InvalidArgument, "by='newer' has the name of another column of the result; rename it first"),
        ({"by": []}, InvalidType, r"by is the name of a column, or a list of names, not \[\]"),
        ({"threads": 0}, InvalidArgument, "threads must be at least 1, not 0"),
        ({"threads": 1.5}, InvalidType, "threads must be an integer, not 1.5"),
        ({"window": None}, InvalidArgument, "the window of a history must be a duration or an integer, not None"),
        ({"window": "1 hour"}, InvalidData, "column 'time' has type int64, but times must be timestamps here"),
        (
            {"id": "key"},
            InvalidData,
            "Name it with id=..., or, where rows have no ids, add a column with one for each, such as row",
        ),
        ({"time": "when"}, InvalidData, "no column 'when' for time; columns: 'id', 'time', 'tokens'. Name it with time="),
        ({"tokens": "id"}, InvalidData, "column 'id' has type int64; tokens must be lists"),
        ({"tokens": ["id"]}, InvalidType, "tokens must be the name of a column or a token function"),
        ({"tokens": swoop.words("id")}, InvalidData, "column 'id' has type int64; words are made from strings"),
        ({"stream": "id"}, InvalidData, "column 'id' has type int64; the stream must be 'left' or 'right'"),
        ({"data": 5}, InvalidType, "a history is read from an Arrow table, .*, not int"),
        ({"data": "posts.csv"}, InvalidType, "not str"),
        ({"data": pa.table([[1], [2]], ["id", "id"])}, InvalidData, "there is more than one column 'id' for id"),
        ({"data": {"id": [1], "time": [1, 2], "tokens": [["a"]]}}, InvalidData, "columns differ in length"),
        ({"data": {"id": [1], "time": [1], "tokens": [["a", 1]]}}, InvalidData, "cannot be read as lists of tokens"),
        ({"data": {"id": [1], "time": ["1"], "tokens": [["a"]]}}, InvalidData, "times must be integers here"),
        (
            {"data": [pa.table({"id": [n], "time": [1], "tokens": [["a"]]}) for n in (1, b"1")]},
            InvalidData,
            "the batches do not go together",
        ),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[Exception], message: str) -> None:
    given = {"data": {"id": [1], "time": [1], "tokens": [["a"]]}, "k": 1, "window": 5}
    with pytest.raises(error, match=message):
        swoop.history(**{**given, **change})


def test_times_finer_than_a_microsecond() -> None:
    rows = {"id": [1], "time": pa.array([1], pa.timestamp("ns")), "tokens": [["a"]]}
    with pytest.raises(InvalidData, match="column 'time' has times that are finer than a microsecond"):
        swoop.history(rows, 1, "1 s")


def test_data_frames_with_an_index_and_more_columns() -> None:
    frame = pd.DataFrame({"id": [5, 6], "time": [1, 2], "tokens": [["a"], ["a"]], "odd": [object(), object()]}, index=[7, 7])
    (stay,) = swoop.history(frame, 1, 5)
    assert (stay.pair.newer, stay.pair.older) == (6, 5)


@given(st.lists(st.lists(st.text(max_size=2), max_size=4), max_size=5), st.data())
def test_rows_are_taken_from_chunks(chunks: list[list[str]], data: st.DataObject) -> None:
    column = pa.chunked_array(chunks, pa.string())
    flat = [text for chunk in chunks for text in chunk]
    places = data.draw(st.lists(st.integers(0, len(flat) - 1))) if flat else []
    assert take_rows(column, np.array(places, np.int64)).to_pylist() == [flat[place] for place in places]


@pytest.mark.parametrize("times", [[1, 2, 3, 4], [4, 3, 2, 1]])
def test_columns_beyond_32_bit_offsets(times: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large for one array of the type it has gets a larger one. Here everything is too large."""
    monkeypatch.setattr(columns, "SMALL", 0)
    rows = pa.table(
        {"id": ["a", "b", "c", "d"], "time": times, "text": ["x y", "y", "x y", "z"], "tokens": [["x"], ["y"], ["x"], []]}
    )
    for tokens in ("tokens", swoop.words("text")):
        for chunk_rows in (1, 1000):
            monkeypatch.setattr(rows_module, "CHUNK_ROWS", chunk_rows)
            found = swoop.history(pa.Table.from_batches(rows.to_batches(2)), 1, 9, tokens=tokens)
            assert {found[-1].pair.newer, found[-1].pair.older} == {"a", "c"}


def test_rows_as_dicts_and_lazy_frames() -> None:
    rows = [{"id": "a", "time": 1, "tokens": ["x"]}, {"id": "b", "time": 2, "tokens": ["x"], "more": 1}]
    columns = {name: [row[name] for row in rows] for name in ("id", "time", "tokens")}
    found = swoop.history(columns, k=1, window=5)
    assert len(found) == 1
    for data in (rows, [columns], pl.DataFrame(columns).lazy()):
        assert swoop.history(data, k=1, window=5) == found
