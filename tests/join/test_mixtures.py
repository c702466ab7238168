"""Kept values of many types: each comes back as it was given, or is refused, whatever came before."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.errors import InvalidData
from tests.support.refusals import refuses

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
        refuses(join, InvalidData, why, lambda whole=whole: join.insert_many(whole, keep="x"))
    join.insert(["a"], 1, record={"x": values[0]})
    refuses(join, InvalidData, "'x' has type .* do not go together", lambda: join.insert(["a"], 2, record={"x": values[1]}))
    join.insert(["a"], 2, record={"x": values[0]})
    assert join.topk()[0].older_record == join.topk()[0].newer_record == {"x": values[0]}


def test_times_of_day_do_not_lose_their_zone() -> None:
    join, value = swoop.TopKJoin(k=1, window=10), dt.time(1, tzinfo=dt.UTC)
    data = {"tokens": [["a"]], "time": [1], "x": [value]}
    refuses(join, InvalidData, "column 'x' has values that would change", lambda: join.insert_many(data, keep="x"))
    refuses(join, InvalidData, "would change", lambda: join.insert(["a"], 1, record={"x": value}))


def test_decimals_and_floats_do_not_go_together() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1, record={"x": [Decimal("1.1")]})
    refuses(join, InvalidData, "do not go together", lambda: join.insert(["a"], 2, record={"x": [0.5]}))
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
