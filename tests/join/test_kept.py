"""Kept columns: results show the records of exactly the sets that they name, whatever has left the window meanwhile.

Tests of swoop.join.kept_storage, swoop.join.mixtures.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.errors import CapacityExceeded, InvalidArgument, InvalidData, InvalidFile, InvalidType
from swoop.join import payloads
from swoop.join.kept import WAITING, KeptColumns
from swoop.join.storage import EARLIER
from tests.support.faults import INTERRUPTED, Fault, interrupted_lines

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


def test_values_of_many_types_survive_saving(tmp_path: Path) -> None:
    values = {
        "when": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        "day": dt.date(2024, 5, 1),
        "price": 1.5,
        "paid": True,
        "tags": ["a", None],
        "from": {"city": "Graz", "zip": 8010},
        "raw": b"\xff",
        "nothing": None,
    }
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1, record=values)
    join.insert(["a"], 2, record={**values, "nothing": "something"})
    join.save(tmp_path / "join")
    for one in (join, swoop.TopKJoin.load(tmp_path / "join")):
        (pair,) = one.topk()
        assert pair.older_record == values
        assert pair.newer_record == {**values, "nothing": "something"}


def test_categories_and_texts_that_are_not_utf8() -> None:
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"good", b"\xff!"], pa.binary()).buffers())
    join = swoop.TopKJoin(k=1, window=10)
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "bad": bad, "kind": pa.array(["x", "y"]).dictionary_encode()}
    join.insert_many(data, keep=["bad", "kind"])
    assert join.topk()[0].newer_record == {"bad": "\N{REPLACEMENT CHARACTER}!", "kind": "y"}


def refused(join: Any, error: type[Exception], match: str, call: Any) -> None:
    before = join.stats, list(join.topk())
    with pytest.raises(error, match=match):
        call()
    assert (join.stats, list(join.topk())) == before


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
        refused(join, error, match, lambda keep=keep: join.insert_many({**data, "union": union, "short": [1]}, keep=keep))
    refused(join, InvalidType, "a record is a dict of values by name", lambda: join.insert(["a"], 1, record="text"))
    refused(join, InvalidData, "of 'x' cannot be kept", lambda: join.insert(["a"], 1, record={"x": object()}))
    join.insert_many(data, keep="text")
    clash = "'text' has type int64, but it was kept with type string before, and the two do not go together"
    refused(join, InvalidData, clash, lambda: join.insert(["a"], 3, record={"text": 7}))
    refused(join, InvalidData, clash, lambda: join.insert_many({**data, "time": [3, 3], "text": [1, 2]}, keep=["text"]))
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


MOMENT = dt.datetime(2024, 5, 1, 12)
MIXTURES: list[list[Any]] = [
    ["x", b"y"],
    [dt.date(2024, 5, 1), MOMENT],
    [MOMENT, MOMENT.replace(tzinfo=dt.UTC)],
    [dt.timedelta(1), 5],
    [["x"], [b"y"]],
    [{"inner": "x"}, {"inner": b"y"}],
]


@pytest.mark.parametrize("values", MIXTURES, ids=str)
def test_values_come_back_as_they_were_given_or_are_refused(values: list[Any]) -> None:
    """Arrow would make bytes of texts, and dates of times."""
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "x": values}
    join = swoop.TopKJoin(k=1, window=10)
    for whole in (data, pd.DataFrame(data), {**data, "x": pd.Series(values, dtype=object)}):
        why = "column 'x' (has values that would change|cannot be read)"
        refused(join, InvalidData, why, lambda whole=whole: join.insert_many(whole, keep="x"))
    join.insert(["a"], 1, record={"x": values[0]})
    refused(join, InvalidData, "'x' has type .* do not go together", lambda: join.insert(["a"], 2, record={"x": values[1]}))
    join.insert(["a"], 2, record={"x": values[0]})
    assert join.topk()[0].older_record == join.topk()[0].newer_record == {"x": values[0]}


def test_times_of_day_do_not_lose_their_zone() -> None:
    join, value = swoop.TopKJoin(k=1, window=10), dt.time(1, tzinfo=dt.UTC)
    data = {"tokens": [["a"]], "time": [1], "x": [value]}
    refused(join, InvalidData, "column 'x' has values that would change", lambda: join.insert_many(data, keep="x"))
    refused(join, InvalidData, "would change", lambda: join.insert(["a"], 1, record={"x": value}))


def test_decimals_and_floats_do_not_go_together() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1, record={"x": [Decimal("1.1")]})
    refused(join, InvalidData, "do not go together", lambda: join.insert(["a"], 2, record={"x": [0.5]}))
    join.insert(["a"], 2, record={"x": [Decimal("12345.6")]})
    assert join.topk()[0].older_record == {"x": [Decimal("1.1")]}


@settings(max_examples=40)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("ab"), st.none() | st.integers(-(2**70), 2**70) | st.floats() | st.text() | st.booleans()
        )
    )
)
def test_what_was_kept_is_what_was_given(records: list[dict[str, Any]]) -> None:
    """Whatever comes one by one: it is refused, or it comes back, also of a type that Arrow need not look at."""
    join = swoop.TopKJoin(k=1, window=swoop.last(2))
    told: dict[str, Any] = {}
    for record in records:
        try:
            join.insert(["a"], record=record)
        except InvalidData:
            continue
        told = record
        if join.stats.sets > 1:
            found = join.topk()[0].newer_record or {}
            assert found.keys() >= told.keys()
            assert all(value == told.get(name) or value != value for name, value in found.items())  # but for NaN


def test_arrays_that_the_caller_writes_to() -> None:
    """Records are what they were when they arrived."""
    numbers = np.array([10, 20])
    join = swoop.TopKJoin(k=1, window=5)
    join.insert_many({"tokens": [["a"], ["a"]], "time": [1, 2], "n": numbers}, keep="n")
    numbers[:] = 99
    (pair,) = join.topk()
    assert (pair.newer_record, pair.older_record) == ({"n": 20}, {"n": 10})


@pytest.mark.parametrize("sizes", [(2, 1), (2, 2), (6, 1)])
@pytest.mark.parametrize("values", [(2**60 + 1, float("nan")), (np.datetime64("9999-01-01", "s"), np.datetime64(1, "ns"))])
def test_values_that_the_common_type_does_not_have(values: tuple[Any, Any], sizes: tuple[int, int]) -> None:
    join = swoop.TopKJoin(k=3, window=100, track_changes=True)
    batches = [{"tokens": [["a"]] * n, "time": list(range(n)), "x": [x] * n} for n, x in zip(sizes, values, strict=True)]
    join.insert_many(batches[0], keep="x")
    with pytest.raises(InvalidData, match="column 'x'"):
        join.insert_many({**batches[1], "time": [9] * sizes[1]}, keep="x")
    assert join.stats.sets == sizes[0]
    assert len(join.changes()) > 0
    assert all(pair.newer_record == pair.older_record for pair in join.topk())


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (12, 12.99),
        (5, -0.9),
        (2.5, 7),
        ([1], [1.5, None]),
        ({"a": 1}, {"a": 1.5, "b": 2}),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))),
    ],
)
def test_single_values_are_kept_as_they_are(first: Any, then: Any) -> None:
    """Types that go together become one that has all values."""
    join = swoop.TopKJoin(k=1, window=5)
    join.insert(["a"], 1, record={"x": first})
    join.insert(["a"], 2, record={"x": then})
    (pair,) = join.topk()
    assert (pair.newer_record["x"], pair.older_record["x"]) == (
        then,
        {**dict.fromkeys(then), **first} if type(first) is dict else first,
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 15)),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1)),
        (5, True),
        (1.5, 2**60 + 1),
        (2**60 + 1, 1.5),
        (5, "five"),
    ],
)
def test_single_values_that_do_not_go_together_are_refused(first: Any, then: Any) -> None:
    join = swoop.TopKJoin(k=1, window=5)
    join.insert(["a"], 1, record={"x": first})
    for record in ({"x": then}, {"x": then}):  # a refused one changes nothing
        with pytest.raises(InvalidData, match="column 'x'"):
            join.insert(["a"], 2, record=record)
    join.insert(["a"], 2, record={"x": first})
    (pair,) = join.topk()
    assert pair.newer_record == pair.older_record == {"x": first}


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


def test_files_without_kept_columns_are_as_before(tmp_path: Path) -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1)
    join.save(tmp_path / "join")
    with zipfile.ZipFile(tmp_path / "join") as archive:
        assert json.loads(archive.read("settings.json"))["version"] == EARLIER
        assert archive.namelist() == ["settings.json", "window.arrow", "changes.arrow"]


def stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (None, "kept.arrow"),
        (pa.table({"text": ["x"]}), "1 rows instead of 2"),
        (pa.table({"copies": ["x", "y"]}), "'copies' cannot be kept"),
        (pa.table({"other": ["x", "y"]}), "kept_newer.arrow has other columns than kept.arrow"),
        (pa.table({"text": pa.array(["x", "y"]).dictionary_encode()}), "message 1 is a dictionary"),
        (pa.table({"text": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])}), "never kept"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(tmp_path: Path, rows: pa.Table | None, match: str) -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert_many({"tokens": [["a"], ["a"]], "time": [1, 2], "text": ["x", "y"]}, keep=["text"])
    join.save(tmp_path / "join")
    change_kept(tmp_path / "join", {"kept.arrow": rows})
    with pytest.raises(InvalidFile, match=match):
        swoop.TopKJoin.load(tmp_path / "join")


def change_kept(path: Path, changed: dict[str, pa.Table | None]) -> None:
    """Replace some members of a saved join, or remove them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in changed}
    members |= {name: stream_of(rows) for name, rows in changed.items() if rows is not None}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "values",
    [
        *(
            pa.array([1, 2], pa.timestamp("us", zone))
            for zone in ("Mars/Olympus", "+99:00", "-01:99", "../../etc/passwd", "\N{BULLET}")
        ),
        pa.array([[1], [2]], pa.list_(pa.timestamp("s", "Mars/Olympus"))),
        pa.array([-1, 5], pa.int32()).view(pa.time32("s")),
        pa.array([5, 2**60]).view(pa.time64("us")),
    ],
    ids=lambda values: str(values.type),
)
def test_files_with_impossible_times_are_refused(tmp_path: Path, values: pa.Array) -> None:
    """When they are loaded, not when somebody reads the results."""
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "x": ["p", "q"]}
    for join in (swoop.TopKJoin(k=1, window=10), swoop.Families(0.5, window=10, track_changes=False)):
        join.insert_many(data, keep=["x"])
        join.save(tmp_path / "join")
        with zipfile.ZipFile(tmp_path / "join") as archive:
            kept = [name for name in archive.namelist() if name.startswith("kept")]
        change_kept(tmp_path / "join", {name: pa.table({"x": values[: 2 if name == "kept.arrow" else 0]}) for name in kept})
        with pytest.raises(InvalidFile, match="never kept|not within the acceptable range"):
            type(join).load(tmp_path / "join")


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
