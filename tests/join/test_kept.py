"""Kept columns: results show the records of exactly the sets that they name, whatever has left the window meanwhile."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.errors import CapacityExceeded, InvalidArgument, InvalidData, InvalidType
from swoop.join import payloads
from swoop.join.kept import WAITING, KeptColumns
from tests.support.faults import INTERRUPTED, Fault, interrupted_lines
from tests.support.refusals import refuses

COLUMNS = ("number", "text")
JOINS: list[dict[str, Any]] = [
    {"k": 3, "window": 6},
    {"k": 3, "window": 6, "copies": "once"},
    {"k": None, "window": 6, "min_similarity": 0.4},
    {"k": 4, "window": swoop.last(7)},
]
FILES = frozenset(INTERRUPTED | {KeptColumns.take.__code__.co_filename, payloads.TablePayloads.add.__code__.co_filename})


class Told:
    """What is known of a stream from outside: the record of each set that arrived, as results should show it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.records, self.time = rng, list[dict[str, Any]](), 0

    def set(self) -> tuple[list[str], int, dict[str, Any] | None]:
        """The next one: few tokens, so that copies are frequent, and a record or none."""
        self.time += self.rng.randrange(3)
        tokens = self.rng.choices("abc", k=self.rng.randrange(1, 4))
        record = {"number": self.rng.randrange(100), "text": self.rng.choice(["x", "y", None])}
        return tokens, self.time, self.rng.choice([None, record, record, record])

    def arrived(self, record: dict[str, Any] | None) -> None:
        self.records.append({**dict.fromkeys(COLUMNS), **(record or {})})


def insert_some(join: Any, told: Told) -> None:
    """One set, or several at once; time moves on now and then."""
    rng = told.rng
    if rng.random() < 0.4:
        tokens, time, record = told.set()
        if record is not None:
            others = {}, {"text": "z"}, {"number": record["number"] + 0.5}
            record = rng.choice([record, record, *others])
        join.insert(tokens, time, record=record)
        told.arrived(record)
    elif rng.random() < 0.8:
        sets = [told.set() for _ in range(rng.randrange(1, 6))]
        keep = rng.random() < 0.8
        records = [record if keep and record else dict.fromkeys(COLUMNS) for *_, record in sets]
        data = {"tokens": [tokens for tokens, *_ in sets], "time": [time for _, time, _ in sets]}
        typed = {name: pa.array([record[name] for record in records], kind) for name, kind in SCHEMA.items()}
        join.insert_many({**data, **typed}, keep=COLUMNS if keep else ())
        for record in records:
            told.arrived(record)
    elif told.records:
        told.time += rng.randrange(8)
        join.advance(told.time)


SCHEMA = {"number": pa.int64(), "text": pa.string()}


def check_pairs(pairs: Any, told: Told) -> None:
    """Pairs, or changes of them, have the records of the sets that they name."""
    table, rows = pairs.to_arrow(), [getattr(one, "pair", one) for one in pairs]
    for side, place in (("newer", 0), ("older", 1)):
        wanted = [told.records[pair.arrivals[place]] for pair in rows]
        found = [getattr(pair, f"{side}_record") for pair in rows]
        known = [name for name in COLUMNS if f"{side}_{name}" in table.column_names]  # others were never kept
        assert all(record[name] is None for record in wanted for name in COLUMNS if name not in known)
        assert [record if record is None else set(record) for record in found] == [set(known) or None] * len(found)
        assert [{**dict.fromkeys(COLUMNS), **(record or {})} for record in found] == wanted
        for name in known:
            assert table[f"{side}_{name}"].to_pylist() == [record[name] for record in wanted]


@pytest.mark.parametrize("options", JOINS, ids=str)
@settings(max_examples=25)
@given(st.integers(0, 2**32).map(random.Random))
def test_pairs_and_changes_show_their_records(options: dict[str, Any], tmp_path_factory: Any, rng: random.Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "LIMIT", rng.choice([1, 200, 1 << 20]))
        join: Any = swoop.TopKJoin(**options, track_changes=True)
        told, widest = Told(rng), 0
        for _ in range(rng.randrange(40)):
            insert_some(join, told)
            widest = max(widest, join.stats.window_size)
            if rng.random() < 0.3:
                check_pairs(join.topk(), told)
            if rng.random() < 0.2:
                check_pairs(join.changes(), told)
            if rng.random() < 0.1:
                path = tmp_path_factory.mktemp("kept") / "join"
                join.save(path)
                join = swoop.TopKJoin.load(path)
        check_pairs(join.topk(), told)
        check_pairs(join.changes(), told)
        if join._kept is not None:  # and no more is kept than the widest window and what it is called after
            assert join._kept._sets.size <= 3 * widest + 12 + WAITING


@settings(max_examples=25)
@given(st.integers(0, 2**32).map(random.Random))
def test_families_show_the_records_of_their_newest_sets(tmp_path_factory: Any, rng: random.Random) -> None:
    waves, told = swoop.Families(0.5, window=5), Told(rng)

    def check(found: Any) -> None:
        table = found.to_arrow()
        for place, one in enumerate(found):
            wanted = told.records[one.representative]
            known = [name for name in COLUMNS if f"representative_{name}" in table.column_names]  # others were never kept
            assert one.record == ({name: wanted[name] for name in known} or None)
            assert all(wanted[name] is None for name in COLUMNS if name not in known)
            assert all(table[f"representative_{name}"][place].as_py() == wanted[name] for name in known)

    for _ in range(rng.randrange(40)):
        insert_some(waves, told)
        if rng.random() < 0.3:
            check(waves.families())
        if rng.random() < 0.2:
            check(waves.changes())
        if rng.random() < 0.1:
            path = tmp_path_factory.mktemp("kept") / "families"
            waves.save(path)
            waves = swoop.Families.load(path)
    check(waves.families())
    check(waves.changes())


@pytest.mark.parametrize("options", JOINS[:2], ids=str)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32).map(random.Random))
def test_interrupted_at_any_line(options: dict[str, Any], rng: random.Random) -> None:
    """What has arrived has its record, and what has not leaves none behind."""
    join, told = swoop.TopKJoin(**options, track_changes=True), Told(rng)
    for _ in range(25):
        fault = Fault(rng.choice([0, rng.randrange(1, 150)]), KeyboardInterrupt)
        tokens, time, record = told.set()
        before = join.stats.sets
        try:
            with interrupted_lines(fault, FILES):
                join.insert(tokens, time, record=record)
        except KeyboardInterrupt:
            pass
        if join.stats.sets > before:
            told.arrived(record)
        check_pairs(join.topk(), told)
    check_pairs(join.changes(), told)


POSTS = {"text": ["Win a phone", "win a car"], "author": ["ann", "bob"], "time": [1, 2]}


@pytest.mark.parametrize(
    "data", [POSTS, pa.table(POSTS), pd.DataFrame(POSTS), pl.DataFrame(POSTS)], ids=lambda d: type(d).__module__
)
def test_whatever_brings_the_columns(data: Any) -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert_many(data, swoop.words("text"), keep=["text", "author"])
    (pair,) = join.topk()
    assert pair.newer_record == {"text": "win a car", "author": "bob"}
    assert pair.older_record == {"text": "Win a phone", "author": "ann"}
    found = join.topk()
    names = ["newer_text", "newer_author", "older_text", "older_author"]
    assert found.to_arrow().column_names[-4:] == list(found.to_pandas().columns[-4:]) == found.to_polars().columns[-4:] == names
    assert "<td>win a car</td><td>bob</td><td>Win a phone</td><td>ann</td>" in found._repr_html_()


def test_categories_and_texts_that_are_not_utf8() -> None:
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"good", b"\xff!"], pa.binary()).buffers())
    join = swoop.TopKJoin(k=1, window=10)
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "bad": bad, "kind": pa.array(["x", "y"]).dictionary_encode()}
    join.insert_many(data, keep=["bad", "kind"])
    assert join.topk()[0].newer_record == {"bad": "\N{REPLACEMENT CHARACTER}!", "kind": "y"}


def test_what_cannot_be_kept_is_refused_and_changes_nothing() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "text": ["x", "y"]}
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    for error, match, keep in (
        (InvalidData, r"there is no column 'txt' for keep; columns: 'tokens', 'time', 'text'", ["txt"]),
        (InvalidArgument, "keep names the column 'text' twice", ["text", "text"]),
        (InvalidArgument, "'copies' cannot be kept: results have a column newer_copies already", ["copies"]),
        (InvalidType, "keep must be the name of a column or a list of names", [1]),
        (InvalidType, "keep must be the name of a column or a list of names", {"text": 1}),
        (InvalidData, "'union' has type sparse_union.*, which cannot be kept; cast it first", ["union"]),
        (InvalidData, "columns differ in length: .*'short' has 1 rows", ["short"]),
    ):
        refuses(join, error, match, lambda keep=keep: join.insert_many({**data, "union": union, "short": [1]}, keep=keep))
    refuses(join, InvalidType, "a record is a dict of values by name", lambda: join.insert(["a"], 1, record="text"))
    refuses(join, InvalidData, "of 'x' cannot be kept", lambda: join.insert(["a"], 1, record={"x": object()}))
    join.insert_many(data, keep="text")
    clash = "'text' has type int64, but it was kept with type string before, and the two do not go together"
    refuses(join, InvalidData, clash, lambda: join.insert(["a"], 3, record={"text": 7}))
    refuses(join, InvalidData, clash, lambda: join.insert_many({**data, "time": [3, 3], "text": [1, 2]}, keep=["text"]))
    assert join.topk()[0].newer_record == {"text": "y"}


def test_sets_that_do_not_arrive_leave_no_columns_behind() -> None:
    join = swoop.TopKJoin(k=None, window=10, min_similarity=0.5, max_pairs=1)
    two = {"tokens": [["a"], ["a"]], "time": [1, 1], "x": [1, 2]}
    with pytest.raises(CapacityExceeded):
        join.insert_many({"tokens": [["b"], ["a"], ["a"], ["a"]], "time": [1] * 4, "x": [0, 1, 2, 3]}, keep="x")
    refusals: list[Any] = [
        lambda: join.insert_many({**two, "y": ["p", "q"]}, keep=["x", "y"]),
        lambda: join.insert(["a"], 1, record={"x": 1.5, "z": None}),
        lambda: join.insert(["a"], 1, record={"x": 9}),
    ]
    for refusal in refusals:
        with pytest.raises(CapacityExceeded):
            refusal()
        table = join.topk().to_arrow()
        assert table.select(["newer_x", "older_x"]).to_pylist() == [{"newer_x": 2, "older_x": 1}]
        assert table.column_names[-2:] == ["newer_x", "older_x"]
        assert table.schema.field("newer_x").type == pa.int64()
    fresh = swoop.TopKJoin(k=None, window=10, min_similarity=0.5, max_pairs=1)
    fresh.insert_many({**two, "time": [0, 0]})
    with pytest.raises(CapacityExceeded):
        fresh.insert_many(two, keep="x")
    assert "newer_x" not in fresh.topk().to_arrow().column_names


def test_arrays_that_the_caller_writes_to() -> None:
    """Records are what they were when they arrived."""
    numbers = np.array([10, 20])
    join = swoop.TopKJoin(k=1, window=5)
    join.insert_many({"tokens": [["a"], ["a"]], "time": [1, 2], "n": numbers}, keep="n")
    numbers[:] = 99
    (pair,) = join.topk()
    assert (pair.newer_record, pair.older_record) == ({"n": 20}, {"n": 10})


def test_results_stay_as_they_were_when_sets_leave() -> None:
    join = swoop.TopKJoin(k=1, window=3)
    join.insert(["a"], 1, record={"text": "first"})
    join.insert(["a"], 2, record={"text": "second"})
    found = join.topk()
    for time in range(3, 3000):
        join.insert([str(time)], time, record={"text": "other"})
    assert found[0].older_record == {"text": "first"}
    assert found.to_arrow()["newer_text"].to_pylist() == ["second"]
    assert join._kept is not None
    assert join._kept._sets.size < 20 + WAITING


def test_many_small_batches_stay_few_tables() -> None:
    kept = KeptColumns(pa.schema([("text", pa.string())]))
    for number in range(3000):
        kept.add(number, pa.table({"text": [str(number)]}), 1)
        kept.forget(number - 500, None)
    assert len(kept._sets._segments) <= 13
    assert kept.take(np.array([2999, 2600, 5000, 1]))["text"].to_pylist() == ["2999", "2600", None, None]


def history_rows(rng: random.Random) -> tuple[pa.Table, dict[int, dict[str, Any]]]:
    """Rows in any order, some of which cannot be used; ids are unique, so that they tell which record is meant."""
    count = rng.randrange(1, 40)
    rows = [
        {"id": number, "time": rng.randrange(30), "tokens": rng.choices("abc", k=rng.randrange(1, 4)), **told_of(number, rng)}
        for number in rng.sample(range(100), count)
    ]
    if rng.random() < 0.5:
        rows[rng.randrange(count)]["time"] = None
    kinds = {"id": pa.int64(), "time": pa.int64(), "tokens": pa.list_(pa.string()), **SCHEMA}
    table = pa.Table.from_pylist(rows, pa.schema(kinds))
    return table, {row["id"]: {name: row[name] for name in COLUMNS} for row in rows}


def told_of(number: int, rng: random.Random) -> dict[str, Any]:
    return {"number": 1000 + number, "text": rng.choice([f"text {number}", None])}


@pytest.mark.filterwarnings("ignore::swoop.errors.UnusableRows")
@pytest.mark.parametrize("copies", ["each", "once"])
@given(st.integers(0, 2**32).map(random.Random))
def test_histories_show_their_records(copies: Any, rng: random.Random) -> None:
    table, told = history_rows(rng)
    options: dict[str, Any] = {"k": 3, "window": 6, "copies": copies, "slices": rng.randrange(1, 4), "threads": 1}
    batches = pa.Table.from_batches(table.to_batches(rng.randrange(1, 9)))
    found = swoop.history(batches, keep=COLUMNS, **options)
    assert list(found) == list(swoop.history(table, **options))
    for stay in found:
        assert (stay.pair.newer_record, stay.pair.older_record) == (told[stay.pair.newer], told[stay.pair.older])  # type: ignore[index]
    frame = found.to_arrow()
    assert frame.column_names[:6] == ["newer", "older", "similarity", "overlap", "enter", "leave"]
    for side in ("newer", "older"):
        rows = frame.select([f"{side}_{name}" for name in COLUMNS]).to_pylist()
        shown = [dict(zip(COLUMNS, row.values(), strict=True)) for row in rows]
        assert shown == [told[name] for name in frame[side].to_pylist()]
    families = swoop.families_history(batches, 0.5, 6, keep="text", threads=1)
    assert families.to_arrow()["representative_text"].to_pylist() == [told[f.representative]["text"] for f in families]  # type: ignore[index]
    assert all(family.record == {"text": told[family.representative]["text"]} for family in families)  # type: ignore[index]


def test_histories_refuse_what_they_cannot_keep() -> None:
    rows = {"id": [1, 2], "time": [1, 2], "tokens": [["a"], ["a"]], "short": ["x"]}
    for error, match, keep in (
        (InvalidData, "there is no column 'text' for keep", "text"),
        (InvalidArgument, "'last_seen' cannot be kept", ["last_seen"]),
        (InvalidData, "'short' has 1 rows", ["short"]),
    ):
        with pytest.raises(error, match=match):
            swoop.history(rows, 1, 5, keep=keep)
    assert swoop.history(rows, 1, 5, keep=["id", "time"])[0].pair.newer_record == {"id": 2, "time": 2}
