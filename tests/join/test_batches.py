"""Batches in every form give what single insertions give.

Tests of swoop.join.columns.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import swoop
from swoop import oracle
from swoop.errors import InvalidData
from swoop.oracle import Record

SETS = [["a", "b", "c"], ["b", "c", "é"], [], ["x"], ["a", "b", "c", "c"], ["", "x"]]
TIMES = [1, 1, 2, 3, 3, 5]
IDS = ["i0", "i1", "i2", "i3", "i4", "i5"]
EXPECTED = oracle.topk([Record(s, t, i) for s, t, i in zip(SETS, TIMES, IDS, strict=True)], 4, 10)


def column_forms() -> dict[str, Any]:
    columns = {"tokens": SETS, "time": TIMES, "name": IDS}
    table = pa.table(columns)
    strings = table.column("tokens").combine_chunks()
    values = strings.values

    def with_tokens(tokens: Any) -> pa.Table:
        return pa.table({"tokens": tokens, "time": TIMES, "name": IDS})

    return {
        "dict": columns,
        "dict of sets": {**columns, "tokens": [set(s) for s in SETS]},
        "dict of arrays": {"tokens": table["tokens"], "time": np.array(TIMES), "name": pl.Series(IDS)},
        "dict of an object array": {**columns, "tokens": np.array([*SETS, None], object)[:-1]},
        "table": table,
        "record batch": table.to_batches()[0],
        "sliced table": pa.concat_tables([table.slice(4), table]).slice(2),
        "chunked table": pa.concat_tables([table.slice(0, 2), table.slice(2)]),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "large lists": with_tokens(strings.cast(pa.large_list(pa.large_string()))),
        "string views": with_tokens(strings.cast(pa.list_(pa.string_view()))),
        "dictionary": with_tokens(pa.ListArray.from_arrays(strings.offsets, values.dictionary_encode())),
        "list views": with_tokens(pa.array(SETS, pa.list_view(pa.string()))),
    }


FORMS = column_forms()


@pytest.mark.parametrize("form", list(FORMS))
def test_forms_of_strings(form: str) -> None:
    join = swoop.TopKJoin(k=4, window=10)
    join.insert_many(FORMS[form], id="name")
    assert list(join.topk()) == EXPECTED
    join._check()


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.binary(), pa.large_binary(), pa.binary_view()]
)
def test_other_types_of_tokens(kind: pa.DataType) -> None:
    numbers: list[list[Any]] = [[1, 2, 3], [2, 3, 4], [], [1, 2, 3, 3]]
    if not pa.types.is_integer(kind):
        numbers = [[str(t).encode() for t in s] for s in numbers]
    join = swoop.TopKJoin(k=4, window=None)
    join.insert_many({"tokens": pa.array(numbers, pa.list_(kind))}, time=None)
    assert list(join.topk()) == oracle.topk([Record(s) for s in numbers], 4, None)
    join._check()


def test_fixed_size_lists() -> None:
    join = swoop.TopKJoin(k=4, window=None)
    join.insert_many({"tokens": pa.array([[1, 2], [2, 3]], pa.list_(pa.int32(), 2))}, time=None)
    assert join.topk()[0].overlap == 1


def test_times_as_timestamps() -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    times = [noon, noon + dt.timedelta(minutes=30)]
    for unit in ("s", "ms", "us", "ns"):
        join = swoop.TopKJoin(k=1, window="1 hour")
        join.insert_many({"tokens": [["a"], ["a"]], "time": pa.array(times, pa.timestamp(unit))})
        assert join.topk()[0].end == noon + dt.timedelta(hours=1)
    aware = swoop.TopKJoin(k=1, window="1 hour")
    aware.insert_many(pd.DataFrame({"tokens": [["a"], ["a"]], "time": pd.to_datetime(times).tz_localize("Europe/Vienna")}))
    assert aware.topk()[0].start == dt.datetime(2024, 1, 1, 11, 30, tzinfo=dt.UTC)


def test_mixed_types_in_one_batch() -> None:
    sets: list[list[Any]] = [[1, "1", b"1"], ["1", b"1"], [1], [b"1", 1, 2]]
    join = swoop.TopKJoin(k=10, window=swoop.last(10))
    join.insert_many({"tokens": sets}, time=None)
    join.insert([1, "1"])
    records = [Record(s) for s in [*sets, [1, "1"]]]
    assert list(join.topk()) == oracle.topk(records, 10, swoop.last(10))
    explanation = join.explain(join.topk()[0])
    assert explanation.shared | explanation.only_newer | explanation.only_older <= {1, "1", b"1", 2}
    join._check()


def test_empty_batches() -> None:
    join = swoop.TopKJoin(k=1, window=5, two_streams=True)
    join.insert_many({"tokens": [], "time": [], "s": []}, stream="s")
    join.insert_many(pa.table({"tokens": pa.array([], pa.list_(pa.string())), "time": [], "s": []}), stream="s")
    join.insert_many({"tokens": [[], []], "time": [1, 1], "s": ["left", "right"]}, stream="s")
    assert join.stats.sets == 2


def test_ids_of_every_kind() -> None:
    join = swoop.TopKJoin(k=10, window=swoop.last(3))
    for ids in ([7, None], ["seven", "eight"], [b"7", b"8"]):
        join.insert_many({"tokens": [["a"], ["a"]], "id": ids}, time=None, id="id")
    assert [(p.newer, p.older) for p in join.topk()] == [(b"8", b"7"), (b"7", "eight"), (b"8", "eight")]
    join.insert_many({"tokens": [["a"]], "id": pa.array(["x"]).dictionary_encode()}, time=None, id="id")
    join.insert(["a"])
    assert next((p.newer, p.older) for p in join.topk()) == (7, "x")


def test_lone_surrogates_are_tokens_too() -> None:
    join = swoop.TopKJoin(k=1, window=None)
    join.insert(["\ud800", "a"])
    join.insert(["\ud800", "b"])
    assert join.explain(join.topk()[0]).shared == {"\ud800"}


def test_many_ids_are_forgotten_with_their_sets() -> None:
    join = swoop.TopKJoin(k=1, window=swoop.last(10))
    for start in range(0, 20_000, 500):
        rows = range(start, start + 500)
        join.insert_many({"tokens": [["a", str(n)] for n in rows], "id": [f"id {n}" for n in rows]}, time=None, id="id")
    assert join._ids._given is not None
    assert join._ids._given.size < 4000
    assert join.topk()[0].newer == "id 19999"


def test_times_beyond_the_last_datetime() -> None:
    """Arrow and numpy have them, Python has not: they arrive, and what is told of them is the last datetime that there is."""
    late = [253402300800000000, 253402300800000001]  # the year 10000
    join = swoop.TopKJoin(k=1, window="1 hour")
    join.insert_many({"tokens": [["a"], ["a"]], "time": pa.array(late, pa.int64()).cast(pa.timestamp("us"))})
    (pair,) = join.topk()
    assert (pair.start, pair.end) == (dt.datetime.max, dt.datetime.max)
    assert join.topk().to_arrow().num_rows == 1
    with pytest.raises(InvalidData, match="row 0: the window is the integer 5, so times must be integers"):
        swoop.TopKJoin(k=1, window=5).insert_many(
            {"tokens": [["a"]], "time": pa.array(late[:1], pa.int64()).cast(pa.timestamp("us"))}
        )
