"""Histories in one process: equal to brute force and to a join that runs in one go, whatever brings the rows and cuts the time.

Tests of swoop.join.inputs, swoop.join.keys, swoop.join.parallel, swoop.join.row_order, swoop.join.rows.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop import oracle
from swoop.errors import CapacityExceeded, InvalidArgument, InvalidData, InvalidTime, InvalidType, UnusableRows
from swoop.join import columns, parallel
from swoop.join import history as module
from swoop.join import rows as rows_module
from swoop.join.columns import take_rows
from swoop.oracle import Record
from swoop.stays import Stay
from swoop.stays import stays_of as stays_of_changes
from tests.support.histories import SIMILARITIES, reachable, records, thresholds
from tests.support.judge import judge
from tests.support.slices import stays_of

NOON = dt.datetime(2024, 1, 1, 12)


@dataclass(frozen=True)
class Case:
    """A history as a table, in any order; its records in the order in which they enter; and the parameters."""

    table: pa.Table
    records: list[Record]
    unusable: int
    options: dict[str, Any]
    tokens: Any
    stream: str | None
    keys: tuple[Any, ...] = (None,)  # of the records


FORMS: dict[str, Callable[[pa.Table, int], Any]] = {
    "table": lambda table, _: table,
    "chunked table": lambda table, size: pa.Table.from_batches(table.to_batches(size), table.schema),
    "record batch": lambda table, _: table.combine_chunks().to_batches()[0] if len(table) else table,
    "pandas": lambda table, _: table.to_pandas(integer_object_nulls=True) if len(table) else table,
    "polars": lambda table, _: pl.from_arrow(table),
    "dict": lambda table, _: {name: table[name] for name in table.column_names},
    "dict of lists": lambda table, _: {name: table[name].to_pylist() for name in table.column_names} if len(table) else table,
    "data set": lambda table, size: ds.dataset(pa.Table.from_batches(table.to_batches(size), table.schema)),
    "reader": lambda table, size: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size)),
    "batches": lambda table, size: iter(table.to_batches(size)) if len(table) else table,
    "tables": lambda table, size: [table.slice(at, size) for at in range(0, len(table), size)] if len(table) else table,
    "stream": lambda table, _: _Stream(table),
}


class _Stream:
    """Something that gives Arrow a stream, and is nothing that is known otherwise."""

    def __init__(self, table: pa.Table) -> None:
        self.__arrow_c_stream__ = table.__arrow_c_stream__


TENANTS = [("b", 1), ("b", None), (None, 1)]
"""Keys, in order."""

KINDS: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
    "integers": (int, pa.int64()),
    "small integers": (int, pa.int8()),
    "strings": (lambda number: "éa\U0001f600b\uffffz"[number % 6] * (1 + number % 2), pa.string()),
    "bytes": (lambda number: bytes([255 - number, number]), pa.binary()),
}


@st.composite
def cases(draw: st.DrawFn, size: int = 25, streams: int = 2) -> Case:
    two_streams = streams == 2 and draw(st.booleans())
    as_text = draw(st.booleans())
    id_of, id_type = draw(st.sampled_from(list(KINDS.values())))
    token_of, token_type = (str, pa.string()) if as_text else draw(st.sampled_from(list(KINDS.values())))
    unit = draw(st.sampled_from([None, "s", "ms", "us", "ns"]))
    zone = draw(st.sampled_from([None, "UTC", "Asia/Tokyo"]))
    numbers = st.integers(0, draw(st.integers(1, 12)))
    sets = st.lists(numbers.map(token_of), max_size=draw(st.integers(1, 6)))
    wrong = draw(st.sampled_from([0, 0, 3]))
    rows: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, size))):
        row = {
            "id": id_of(draw(st.integers(0, draw(st.sampled_from([2, 100]))))),
            "time": draw(st.integers(0, 30)),
            "tokens": draw(sets),
            "stream": draw(st.sampled_from(["left", "right"])) if two_streams else "up",
            "key": draw(st.integers(0, 2)),
        }
        if wrong and draw(st.integers(0, 9)) < wrong:
            name = draw(st.sampled_from(["id", "time", "tokens", *(["stream"] if two_streams else [])]))
            row[name] = [*row["tokens"], None] if name == "tokens" and not as_text and draw(st.booleans()) else None
        rows.append(row)
    if draw(st.booleans()):
        rows.sort(key=lambda row: (row["time"] is None, row["time"]))

    def key(row: dict[str, Any]) -> Any:
        tokens = " ".join(row["tokens"]) if as_text else row["tokens"]
        return row["time"], row["id"], tokens, row["stream"]

    usable = [row for row in rows if not any(row[name] is None for name in row) and None not in row["tokens"]]
    usable.sort(key=key)
    records = [Record(r["tokens"], r["time"], r["id"], r["stream"] if two_streams else None) for r in usable]
    times = pa.array([row["time"] for row in rows], pa.int64())
    if unit is not None:
        moved = pa.array([None if row["time"] is None else NOON + row["time"] * dt.timedelta(hours=1) for row in rows])
        times = moved.cast(pa.timestamp("us")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    table = pa.table(
        {
            "more": [n for n, _ in enumerate(rows)],
            "name.of": pa.array([row["id"] for row in rows], id_type),
            "at": times,
            "items": pa.array([row["tokens"] for row in rows], pa.list_(token_type)),
            "side": pa.array([row["stream"] for row in rows], pa.string()),
            "tenant": pa.array([TENANTS[row["key"]][0] for row in rows], pa.string()),
            "class": pa.array([TENANTS[row["key"]][1] for row in rows], pa.int8()),
        }
    )
    tokens: Any = "items"
    if as_text:
        texts = [None if row["tokens"] is None else row["tokens"] for row in rows]
        cut = draw(st.integers(0, 3))
        title = [None if text is None or not text[:cut] else " ".join(text[:cut]) for text in texts]
        body = [None if text is None or (not text[cut:] and text) else " ".join(text[cut:]) for text in texts]
        table = table.append_column("title", pa.array(title, pa.string())).append_column("body", pa.array(body, pa.string()))
        tokens = swoop.words("title", "body")
    similarity = draw(st.sampled_from(SIMILARITIES))
    k = draw(st.sampled_from([1, 2, 5, 100, None]))
    options = {
        "k": k,
        "window": draw(st.integers(1, 20)),
        "similarity": similarity,
        "min_similarity": draw(reachable(similarity) if k is None else thresholds(similarity)),
    }
    keys = tuple(TENANTS[row["key"]] for row in usable)
    return Case(table, records, len(rows) - len(usable), options, tokens, "side" if two_streams else None, keys)


def plain_row(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row of a result with times as integers."""
    *facts, enter, leave = row.values()
    return (*facts, hours(enter), hours(leave))


def run(case: Case, data: Any, **more: Any) -> swoop.History:
    options = dict(case.options)
    if pa.types.is_timestamp(case.table["at"].type):
        options["window"] = dt.timedelta(hours=options["window"])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = swoop.history(data, **options, id="name.of", time="at", tokens=case.tokens, stream=case.stream, **more)
    assert [warning.message.count for warning in warned if isinstance(warning.message, UnusableRows)] == (  # type: ignore[union-attr]
        [case.unusable] if case.unusable else []
    )
    return found


def in_one_go(case: Case) -> list[Stay]:
    """The stays of positive length, of a join that runs over all records."""
    join = swoop.TopKJoin(**case.options, two_streams=case.stream is not None, track_changes=True)
    for r in case.records:
        join.insert(r.tokens, r.time, r.id, r.stream)
    return [stay for stay in stays_of_changes(join.changes()) if stay.leave is None or stay.leave > stay.enter]  # type: ignore[operator]


def hours(time: Any) -> Any:
    """A time as an integer again."""
    if not isinstance(time, dt.datetime):
        return time
    ticks = (time.replace(tzinfo=None) - NOON) / dt.timedelta(hours=1)
    assert ticks == int(ticks)
    return int(ticks)


@settings(max_examples=300)
@given(data=st.data())
def test_equal_to_brute_force_and_to_one_go(data: st.DataObject) -> None:
    case = data.draw(cases())
    form = data.draw(st.sampled_from(list(FORMS)))
    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 1, 2, 3]))
    size = data.draw(st.integers(1, 10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BATCH_ROWS", data.draw(st.sampled_from([1, 3, 100])))
        patch.setattr(rows_module, "CHUNK_ROWS", data.draw(st.sampled_from([0, 0, 3])))
        found = run(case, FORMS[form](case.table, size), slices=slices, threads=threads)
    rows = found.to_arrow()
    assert rows.column_names == ["newer", "older", "similarity", "overlap", "enter", "leave"]
    plain = [plain_row(row) for row in rows.to_pylist()]
    two_streams = case.stream is not None
    assert sorted(plain, key=repr) == stays_of(case.records, **case.options, two_streams=two_streams)

    expected = {(stay.pair.arrivals, stay.enter): stay for stay in in_one_go(case)}
    assert len(expected) == len(found)
    places = []
    for stay, row in zip(found, plain, strict=True):
        pair = stay.pair
        single = expected[pair.arrivals, hours(stay.enter)]
        assert (pair.newer, pair.older, pair.similarity, pair.overlap, hours(stay.enter), hours(stay.leave)) == row
        assert (*row[:4], *row[4:], stay.how) == (
            single.pair.newer,
            single.pair.older,
            single.pair.similarity,
            single.pair.overlap,
            single.enter,
            single.leave,
            single.how,
        )
        assert (hours(pair.start), hours(pair.end)) == (single.pair.start, single.pair.end)
        assert pair.newer_stream == single.pair.newer_stream
        places.append((hours(stay.enter), -pair.similarity, *pair.arrivals))
    assert places == sorted(places)
    is_timed = pa.types.is_timestamp(case.table["at"].type)
    zone = "UTC" if is_timed and case.table["at"].type.tz else None
    expected_type = pa.timestamp("us", zone) if is_timed else pa.int64()
    if len(case.table):
        assert rows.schema.field("enter").type == rows.schema.field("leave").type == expected_type
    assert rows.schema.field("overlap").type == pa.int64()


@settings(max_examples=100)
@given(data=st.data())
def test_keys_are_histories_of_their_own(data: st.DataObject) -> None:
    """Equal to brute force, and to a history of the rows of each key alone, whatever cuts the time."""
    case = data.draw(cases())
    form, options = data.draw(st.sampled_from(list(FORMS))), {"copies": data.draw(st.sampled_from(["each", "once"]))}
    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 2, 3]))
    found = run(case, FORMS[form](case.table, 4), slices=slices, threads=threads, by=["tenant", "class"], **options)
    rows = found.to_arrow()
    assert rows.column_names == ["tenant", "class", "newer", "older", "similarity", "overlap", "enter", "leave"]
    stays, plain = list(found), [plain_row(row) for row in rows.to_pylist()]
    assert [stay.by for stay in stays] == [row[:2] for row in plain]
    assert len({(stay.key, stay.enter) for stay in stays}) == len(stays)
    for key in TENANTS:
        own = replace(case, records=[record for record, of in zip(case.records, case.keys, strict=True) if of == key])
        assert [stay._replace(by=()) for stay in stays if stay.by == key] == alone(own, key, **options)
        expected = stays_of(own.records, **case.options, **options, two_streams=case.stream is not None)
        assert sorted([row[2:] for row in plain if row[:2] == key], key=repr) == expected
    assert [stay.by for stay in stays] == [key for key in TENANTS for stay in stays if stay.by == key]


def alone(case: Case, key: tuple[Any, ...], **options: Any) -> list[Stay]:
    """The stays of the rows of a key alone."""
    is_own = [(row["tenant"], row["class"]) == key for row in case.table.select(["tenant", "class"]).to_pylist()]
    case = replace(case, unusable=sum(is_own) - len(case.records))
    return list(run(case, case.table.filter(pa.array(is_own, pa.bool_())), slices=1, **options))


@settings(max_examples=100)
@given(data=st.data())
def test_families_of_keys_are_those_of_each_key_alone(data: st.DataObject) -> None:
    """Equal to brute force, and to a history of the rows of each key alone, whatever cuts the time."""
    case = data.draw(cases(streams=1))
    similarity, window = case.options["similarity"], data.draw(st.sampled_from([case.options["window"], None, swoop.last(3)]))
    options = {"min_similarity": data.draw(reachable(similarity)), "window": window, "similarity": similarity}

    def families_of(table: pa.Table, **more: Any) -> swoop.FamilyHistory:
        is_timed = pa.types.is_timestamp(table["at"].type) and isinstance(window, int)
        given = {**options, "window": dt.timedelta(hours=window) if is_timed else window, "tokens": case.tokens, **more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusableRows)
            return swoop.families_history(table, id="name.of", time="at", keep="more", **given)

    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 2, 3]))
    found = families_of(case.table, slices=slices, threads=threads, by=["tenant", "class"])
    rows, labels = found.to_arrow().to_pylist(), [tuple(row.values()) for row in found.rows().to_pylist()]
    assert found.rows().column_names == ["tenant", "class", "id", "time", "family"]
    assert [(*family.by, family.id, family.total) for family in found] == [
        (row["tenant"], row["class"], row["id"], row["total"]) for row in rows
    ]
    assert [row[2] for row in labels] == [record.id for record in case.records]
    assert [family.by for family in found] == [key for key in TENANTS for family in found if family.by == key]
    for key in TENANTS:
        own = [family for family in found if family.by == key]
        is_own = [(row["tenant"], row["class"]) == key for row in case.table.select(["tenant", "class"]).to_pylist()]
        alone = families_of(case.table.filter(pa.array(is_own, pa.bool_())), slices=1)
        assert [replace(family, by=()) for family in own] == list(alone)
        assert [family.record for family in own] == [family.record for family in alone]
        assert [row[2:] for row in labels if row[:2] == key] == [tuple(row.values()) for row in alone.rows().to_pylist()]
        plain = [Record(r.tokens, r.time) for r, of in zip(case.records, case.keys, strict=True) if of == key]
        ids = [record.id for record, of in zip(case.records, case.keys, strict=True) if of == key]
        changes = oracle.family_changes(plain, **options)
        born, merged = ({change.family for change in changes if change.kind == kind} for kind in ("born", "merged"))
        assert [family.id for family in own] == [ids[first] for first in sorted(born - merged)]
        valid = sorted(oracle.families(plain, **options), key=lambda family: family.id)
        assert [(f.id, f.size, f.total, f.representative) for f in own if f.size] == [
            (ids[f.id], f.size, f.total, ids[f.representative]) for f in valid
        ]


def test_a_key_of_families_has_a_name_of_its_own() -> None:
    rows = {"id": [1, 2], "time": [1, 2], "tokens": [["a"], ["a"]], "first": ["x", "x"]}
    for name in ("family", "Size", "representative_first"):
        with pytest.raises(InvalidArgument, match=f"by='{name}' has the name of another column of the result"):
            swoop.families_history(rows, 0.5, 9, by=name, keep="first")
    (family,) = found = swoop.families_history(rows, 0.5, 9, by="first")
    assert (family.by, found.rows().column_names) == (("x",), ["first", "id", "time", "family"])
    empty = pa.table(rows).slice(0, 0)
    assert swoop.families_history(empty, 0.5, 9, by="first").to_arrow().column_names[:2] == ["first", "id"]


def test_keys_of_any_type() -> None:
    rows = {"id": [1, 2, 3, 4], "time": [1, 2, 3, 4], "tokens": [["a"]] * 4}
    for values in (
        pa.array([dt.date(2024, 1, 2), None] * 2),
        pa.array(["x", "y"] * 2, pa.string_view()),
        pa.array(["x", "y"] * 2).dictionary_encode(),
        pd.Series([True, False] * 2),
        [b"x", b"y"] * 2,
    ):
        found = swoop.history({**rows, "of": values}, 1, 9, by="of", keep="id")
        assert {(*stay.by, stay.pair.newer, stay.pair.older) for stay in found} == {
            (pa.array(values)[place].as_py(), place + 3, place + 1) for place in (0, 1)
        }
        assert found.to_arrow().column_names[:3] == ["of", "newer", "older"]
    assert len(swoop.history({**rows, "of": [1, 2, 3, 4]}, 1, 9, by="of")) == 0
    unreadable = pa.array([b"\xff", b"\xfe"] * 2).view(pa.string())  # not UTF-8, and yet different
    found = swoop.history({**rows, "of": unreadable}, 1, 9, by="of")
    assert sorted((stay.pair.newer, stay.pair.older) for stay in found) == [(3, 1), (4, 2)]
    assert {stay.by for stay in found} == {("\ufffd",)}
    empty = pa.table({**rows, "of": pa.array(["x"] * 4)}).slice(0, 0)
    assert swoop.history(empty, 1, 9, by="of").to_arrow().column_names[0] == "of"
    with pytest.raises(InvalidData, match="column 'of' has type double; keys are strings, bytes, integers, dates or the like"):
        swoop.history({**rows, "of": [1.5] * 4}, 1, 9, by="of")


POSTS = {
    "id": ["a", "b", "c", "d"],
    "time": [1, 4, 9, 9],
    "text": ["Win a phone", "win a PHONE!", "Lovely morning", "lovely <b>"],
}


def test_results_are_a_sequence_and_a_data_frame() -> None:
    found = swoop.history(POSTS, 2, 6, tokens=swoop.words("text"))
    assert len(found) == 2
    assert found[0] == next(iter(found)) == found[:1][0]
    assert found[0].pair == swoop.Pair(1.0, "b", "a", 3, 4, 7)
    assert (found[0].enter, found[0].leave, found[0].how) == (4, 7, "expired")
    assert (found[1].enter, found[1].leave, found[1].how) == (9, None, None)
    assert repr(found).startswith("History([Stay(pair=Pair(similarity=1.0, newer='b'")
    assert found.to_pandas()["newer"].tolist() == found.to_polars()["newer"].to_list() == ["b", "d"]
    assert "<td>b</td><td>a</td><td>1</td>" in found._repr_html_()


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


def test_a_user_defined_similarity_on_threads() -> None:
    share = swoop.Similarity(lambda r, s, o: o / max(r, s), name="share")
    rng = np.random.default_rng(5)
    records = [Record([int(t) for t in rng.integers(0, 9, 4)], n // 3, n) for n in range(200)]
    rows = {"id": range(200), "time": [r.time for r in records], "tokens": [list(r.tokens) for r in records]}
    found = swoop.history(rows, 3, 8, share, slices=7, threads=3).to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in found), key=repr) == stays_of(records, k=3, window=8, similarity=share)


@settings(max_examples=300)
@given(data=st.data())
def test_copies_that_count_once_in_slices(data: st.DataObject) -> None:
    """What a record is called, and so how ties are broken, depends on sets that left the window long before a slice begins."""
    size, tokens = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    times = sorted(data.draw(st.lists(st.integers(0, 40), min_size=size, max_size=size)))
    sets = data.draw(st.lists(st.sets(st.integers(0, tokens), max_size=3), min_size=size, max_size=size))
    found = [Record(sorted(own), time, number) for number, (own, time) in enumerate(zip(sets, times, strict=True))]
    rows = pa.table(
        {"id": range(size), "time": times, "tokens": pa.array([list(record.tokens) for record in found], pa.list_(pa.int64()))}
    )
    k = data.draw(st.sampled_from([None, 1, 2, 5]))
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    least = data.draw(reachable(similarity)) if k is None else None
    options = {"k": k, "window": data.draw(st.integers(1, 12)), "similarity": similarity, "min_similarity": least}
    expected = swoop.history(rows, **options, copies="once", slices=1)
    assert sorted((tuple(row.values()) for row in expected.to_arrow().to_pylist()), key=repr) == stays_of(
        found, **options, copies="once"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BATCH_ROWS", data.draw(st.sampled_from([1, 3, 100])))
        sliced = swoop.history(
            rows, **options, copies="once", slices=data.draw(st.integers(2, 12)), threads=data.draw(st.sampled_from([1, 2]))
        )
    assert list(sliced) == list(expected)


@settings(max_examples=80)
@given(data=st.data())
def test_too_many_pairs_are_too_many_in_any_slices(data: st.DataObject) -> None:
    """Where there are more than ``max_pairs`` at a time, by brute force, and only there."""
    found = [Record(r.tokens, r.time, number) for number, r in enumerate(data.draw(records(False)))]
    tokens = [[str(token) for token in record.tokens] for record in found]
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    options = {
        "k": None,
        "window": data.draw(st.integers(1, 12)),
        "similarity": similarity,
        "min_similarity": data.draw(reachable(similarity)),
        "copies": data.draw(st.sampled_from(["each", "once"])),
    }
    judged = judge([Record(own, r.time, r.id) for own, r in zip(tokens, found, strict=True)], **options)
    pairs = [*accumulate(1 if change.kind == "enter" else -1 for change in judged.changes)]
    most, allowed = max(pairs, default=0), data.draw(st.integers(1, 12))
    rows = {"id": [r.id for r in found], "time": [r.time for r in found], "tokens": pa.array(tokens, pa.list_(pa.string()))}
    slices = data.draw(st.integers(1, 8))
    with pytest.raises(CapacityExceeded, match=f"max_pairs={allowed}") if most > allowed else nullcontext():
        swoop.history(rows, **options, max_pairs=allowed, slices=slices, threads=1)


def test_an_error_in_a_slice_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), []
    replayed = module.replay

    def replay(batches: Iterator[Any], *arguments: Any) -> Iterator[Any]:
        if arguments[2] == 0:  # the first slice
            assert begun.wait(60)
            raise InvalidTime("nothing works today")
        for number, _ in enumerate(batches):
            begun.set()
            if number == 0:
                assert stopped.wait(60)
        ended.append(number)
        yield from replayed([], *arguments)

    stopped = threading.Event()
    shut_down = parallel.ThreadPoolExecutor.shutdown

    def shutdown(*arguments: Any, **named: Any) -> None:
        stopped.set()
        shut_down(*arguments, **named)

    monkeypatch.setattr(module, "replay", replay)
    monkeypatch.setattr(rows_module, "BATCH_ROWS", 1)
    monkeypatch.setattr(parallel.ThreadPoolExecutor, "shutdown", shutdown)
    rows = {"id": range(100), "time": range(100), "tokens": [["a"]] * 100}
    with pytest.raises(InvalidTime, match="nothing works today"):
        swoop.history(rows, 1, 5, slices=2, threads=2)
    assert ended == [0]  # after its first batch


MEMORY = """
import sys
import pyarrow as pa
import pyarrow.dataset as ds
import swoop

def peak():  # of this program; that of getrusage begins with its parent's
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))

swoop.warmup()
swoop.history({"id": [2, 1], "time": [1, 1], "text": ["a", "b"]}, 1, 5, tokens=swoop.words("text"), threads=2)
before = peak()
found = swoop.history(ds.dataset(sys.argv[1]), 5, 1000, tokens=swoop.words("text"), threads=2)
assert len(found)
print(peak() - before, pa.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize("in_order", [True, False])
def test_memory(tmp_path: Path, in_order: bool) -> None:
    """At most twice the columns that are used; what is not used is not read. Arrow's reader of files takes more for itself."""
    rows = 100_000
    rng = np.random.default_rng(3)
    words = pa.array([f"word{n}" * 20 for n in range(5000)])
    texts = pa.array([" ".join(words.take(pa.array(rng.integers(0, 5000, 12))).to_pylist()) for _ in range(1000)])
    used = pa.table(
        {
            "id": pa.array(range(rows)),
            "time": pa.array(range(rows) if in_order else rng.permutation(rows)),
            "text": texts.take(pa.array(rng.integers(0, 1000, rows))),
        }
    )
    table = used.append_column("unused", pa.array(["x" * 1000]).take(pa.array(np.zeros(rows, int))))
    pq.write_table(table, tmp_path / "history.parquet", row_group_size=10_000)
    size = used.nbytes
    assert size > 120e6
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], check=True, capture_output=True, text=True, timeout=300
    )
    peak, in_arrow = map(int, done.stdout.split())
    assert in_arrow < 2 * size, f"{in_arrow / 1e6:.0f} MB in Arrow for {size / 1e6:.0f} MB in use"
    assert peak < 3 * size + 60e6, f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB in use"


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
