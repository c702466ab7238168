"""Bad input gives a clear error, and a refused call changes nothing.

Tests of swoop.errors, swoop.join.ids, swoop.join.sets, swoop.spec.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidTime, InvalidType, NotInWindow
from tests.support.refusals import refuses

NOON = dt.datetime(2024, 1, 1, 12)


def filled(window: Any = 10, **options: Any) -> swoop.TopKJoin:
    join = swoop.TopKJoin(k=3, window=window, track_changes=True, **options)
    times = [NOON, NOON] if join.window.kind == "duration" else [1, 2]
    for time in times:
        join.insert(["a", "b"], time, stream=None if not join.two_streams else "left" if time == 1 else "right")
    return join


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (1, "time goes backwards: 1 comes after 2; insert sets in the order"),
        (None, "time is None, but a window of 10 needs times"),
        (math.nan, "the time is missing: got nan"),
        (pd.NaT, "the time is missing: got NaT"),
        (np.datetime64("NaT"), "the time is missing"),
        (NOON, "the window is the integer 10, so times must be integers"),
        (2.0, "a datetime or an integer, not 2.0 of type float"),
        ("3", "a datetime or an integer, not '3' of type str"),
        (True, "not True"),
        (2**62, "out of range"),
    ],
)
def test_times(time: Any, message: str) -> None:
    join = filled()
    refuses(join, InvalidTime, message, lambda: join.insert(["a"], time))
    refuses(join, InvalidTime, message, lambda: join.advance(time))


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (5, "the window is a duration, so times must be datetimes; got 5"),
        (NOON.replace(tzinfo=dt.UTC), "datetimes without a time zone so far, but now .* do not mix"),
        (NOON - dt.timedelta(microseconds=1), "time goes backwards"),
        (pd.Timestamp("2024-01-01 12:00:00.000000001"), "finer than a microsecond"),
        (np.datetime64("2024-01-01T12:00:00.000000001"), "finer than a microsecond"),
        (dt.date(2024, 1, 2), "a datetime or an integer"),
    ],
)
def test_datetimes(time: Any, message: str) -> None:
    join = filled("1 hour")
    refuses(join, InvalidTime, message, lambda: join.insert(["a"], time))


def test_aware_then_naive() -> None:
    join = swoop.TopKJoin(window="1 hour")
    join.insert(["a"], NOON.replace(tzinfo=dt.UTC))
    refuses(join, InvalidTime, "with a time zone so far", lambda: join.insert(["a"], NOON))


def test_integers_then_datetimes_in_an_unbounded_window() -> None:
    join = swoop.TopKJoin(window=None)
    join.insert(["a"], 1)
    refuses(join, InvalidTime, "times were integers so far", lambda: join.insert(["a"], NOON))
    refuses(join, InvalidTime, "times were integers so far", lambda: join.insert(["a"]))
    refuses(join, InvalidTime, "times were integers so far", lambda: join.insert_many({"tokens": [["a"]]}, time=None))


@pytest.mark.parametrize(
    ("window", "error", "message"),
    [
        (0, InvalidArgument, "longer than 0, got 0"),
        (-1, InvalidArgument, "longer than 0, got -1"),
        ("0 s", InvalidArgument, "longer than 0"),
        (dt.timedelta(0), InvalidArgument, "longer than 0"),
        (dt.timedelta(-1), InvalidArgument, "longer than 0"),
        ("", InvalidArgument, "cannot parse the window ''"),
        ("soon", InvalidArgument, "cannot parse the window 'soon'; write for example '90 s'"),
        ("5 lightyears", InvalidArgument, "unknown unit 'lightyears'"),
        ("-5 s", InvalidArgument, "cannot parse the window"),
        ("0.1 us", InvalidArgument, "not a whole number of microseconds"),
        (2**62, InvalidArgument, "too long"),
        (1.5, InvalidType, "a window is a duration"),
        (True, InvalidType, "a window is a duration"),
    ],
)
def test_windows(window: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        swoop.TopKJoin(window=window)


@pytest.mark.parametrize(("n", "error"), [(0, InvalidArgument), (-3, InvalidArgument), (1.5, InvalidType), (True, InvalidType)])
def test_count_windows(n: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="takes a number of sets"):
        swoop.last(n)


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, InvalidArgument, "k must be at least 1, not 0"),
        (-5, InvalidArgument, "k must be at least 1, not -5"),
        (1.0, InvalidType, "k must be an integer, or None for all pairs from min_similarity on, not 1.0"),
        ("10", InvalidType, "k must be an integer"),
        (None, InvalidArgument, "k=None asks for all pairs that are similar enough; say how similar with min_similarity"),
        (True, InvalidType, "k must be an integer"),
    ],
)
def test_k(k: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        swoop.TopKJoin(k=k)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        ("jacard", "one of jaccard, cosine, dice, overlap, hamming; did you mean 'jaccard'"),
        ("Hamming", "did you mean 'hamming'"),
        ("xyz", "there is no similarity 'xyz': it must be one of jaccard, cosine, dice, overlap, hamming$"),
        (3, "must be one of"),
    ],
)
def test_similarities(similarity: Any, message: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        swoop.TopKJoin(similarity=similarity)


@pytest.mark.parametrize(
    ("similarity", "value"),
    [("jaccard", 1.5), ("cosine", -0.1), ("hamming", 1), ("dice", math.nan), ("overlap", "2"), ("overlap", True)],
)
def test_min_similarity(similarity: str, value: Any) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match="min_similarity must"):
        swoop.TopKJoin(similarity=similarity, min_similarity=value)


def test_algorithm() -> None:
    with pytest.raises(InvalidArgument, match="there is no algorithm 'magic': it must be one of swoop"):
        swoop.TopKJoin(algorithm="magic")


@pytest.mark.parametrize(
    ("tokens", "error", "message"),
    [
        ("a post", InvalidType, r"not the single str 'a post'; split it first"),
        (b"a post", InvalidType, "not the single bytes"),
        (None, InvalidType, "a collection of str, bytes or int, not None"),
        (5, InvalidType, "a collection of str, bytes or int, not 5"),
        ([["a"]], InvalidType, r"must be str, bytes or int, not \['a'\] of type list"),
        ([{"a": 1}], InvalidType, "of type dict"),
        ([1.5], InvalidType, "of type float"),
        ([None], InvalidType, "of type NoneType"),
        (["a", None], InvalidType, "of type NoneType"),
        ([True], InvalidType, "of type bool"),
        ([2**63], InvalidArgument, "does not fit into 64 bits"),
        (["a", -(2**63) - 1], InvalidArgument, "does not fit into 64 bits"),
    ],
)
def test_tokens(tokens: Any, error: type[Exception], message: str) -> None:
    join = filled()
    refuses(join, error, message, lambda: join.insert(tokens, 3))
    refuses(
        join,
        InvalidData,
        f"column 'tokens', row 1: .*{message.rstrip('$')}.*no rows were inserted",
        lambda: join.insert_many({"tokens": [["a"], tokens], "time": [3, 3]}),
    )


def test_a_set_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swoop.join.sets.MAX_SET_SIZE", 3)
    monkeypatch.setattr("swoop.join.columns.MAX_SET_SIZE", 3)
    join = filled()
    refuses(join, InvalidArgument, "a set can have at most 3 tokens, not 4", lambda: join.insert([1, 2, 3, 4], 3))
    batch = pa.table({"tokens": [["a"], ["a", "b", "c", "d"]], "time": [3, 3]})
    refuses(join, InvalidData, "row 1: the set has 4 tokens; the maximum is 3", lambda: join.insert_many(batch))


@pytest.mark.parametrize("identifier", [1.5, ("a", 1), True, object()])
def test_ids(identifier: Any) -> None:
    join = filled()
    refuses(join, InvalidType, "an id is an int, a str or bytes", lambda: join.insert(["a"], 3, id=identifier))


def test_streams() -> None:
    one = filled()
    refuses(one, InvalidArgument, "not a two-stream join", lambda: one.insert(["a"], 3, stream="left"))
    refuses(
        one,
        InvalidArgument,
        "not a two-stream join",
        lambda: one.insert_many({"tokens": [["a"]], "time": [3], "s": ["left"]}, stream="s"),
    )
    two = filled(two_streams=True)
    refuses(two, InvalidArgument, "must be 'left' or 'right', not None", lambda: two.insert(["a"], 3))
    refuses(two, InvalidArgument, "not 'up'", lambda: two.insert(["a"], 3, stream="up"))  # type: ignore[arg-type]
    refuses(two, InvalidData, "name the column", lambda: two.insert_many({"tokens": [["a"]], "time": [3]}))
    for streams, message in (
        (["left", "up"], "row 1: the stream is 'up'"),
        (["left", None], "row 1: the stream is null"),
        ([1, 2], "the stream must be 'left' or 'right'"),
    ):
        batch = {"tokens": [["a"], ["b"]], "time": [3, 3], "s": streams}
        refuses(two, InvalidData, message, lambda batch=batch: two.insert_many(batch, stream="s"))  # type: ignore[misc]
    with pytest.raises(InvalidArgument, match="only known in a two-stream join"):
        _ = one.topk()[0].left


BATCH = {"tokens": [["a"]] * 600, "time": list(range(3, 603))}


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("tokens", 500, None, "column 'tokens', row 500: .*None"),
        ("tokens", 500, "abc", "column 'tokens', row 500: .*split it first"),
        ("tokens", 500, [None], "column 'tokens', row 500"),
        ("time", 500, None, "column 'time', row 500: the time is missing"),
        ("time", 500, 1, "column 'time', row 500: time goes backwards, from 502 to 1"),
        ("time", 0, 1, "column 'time', row 0: time goes backwards, from 2 to 1"),
        ("time", 599, 2**62, "column 'time', row 599: the time is out of range"),
    ],
)
def test_one_bad_row_refuses_the_batch(column: str, row: int, value: Any, message: str) -> None:
    join = filled()
    values = list(BATCH[column])
    values[row] = value
    batch: dict[str, Any] = {**BATCH, column: values}
    refuses(join, InvalidData, message, lambda: join.insert_many(batch))


def test_a_bad_row_in_arrow() -> None:
    join = filled()
    sets = [["a"]] * 600
    for bad, message in ((None, "row 500: tokens is null"), ([None], "row 500: a token is null")):
        table = pa.table({"tokens": pa.array([*sets[:500], bad, *sets[501:]]), "time": BATCH["time"]})
        refuses(join, InvalidData, message, lambda table=table: join.insert_many(table))  # type: ignore[misc]
        part = pa.table({"tokens": pa.array([["x"]] * 7 + sets[:500] + [bad]), "time": [1] * 7 + BATCH["time"][:501]})
        refuses(join, InvalidData, message, lambda part=part: join.insert_many(part.slice(7)))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"words": [["a"]], "time": [3]}, {}, "no column 'tokens' for tokens; columns: 'words', 'time'. Name it with tokens="),
        ({"tokens": [["a"]]}, {}, "no column 'time' for time; columns: 'tokens'"),
        ({}, {}, "columns: none"),
        ({"tokens": [["a"]], "time": [3]}, {"id": "key"}, "no column 'key' for id"),
        ({"tokens": pa.array(["a"]), "time": [3]}, {}, "column 'tokens' has type string; tokens must be lists"),
        ({"tokens": pa.array([[1.5]]), "time": [3]}, {}, "tokens of type double; tokens must be strings"),
        ({"tokens": pa.array([[2**63]], pa.list_(pa.uint64())), "time": [3]}, {}, "do not fit into 64 bits"),
        ({"tokens": [["a"]], "time": ["3"]}, {}, "column 'time' has type string; times must be timestamps or integers"),
        ({"tokens": [["a"]], "time": [3.0]}, {}, "column 'time' has type double"),
        ({"tokens": [["a"]], "time": [math.nan]}, {}, "row 0: the time is missing"),
        ({"tokens": [["a"]], "time": [NOON]}, {}, "so times must be integers"),
        ({"tokens": [["a"]], "time": pa.array([2**63], pa.uint64())}, {}, "out of range"),
        ({"tokens": [["a"]], "time": [3, 4]}, {}, "columns differ in length: 'tokens' has 1 rows, 'time' has 2 rows"),
        ({"tokens": [["a"]], "time": [3], "i": [1.5]}, {"id": "i"}, "column 'i' has type double; ids must be integers"),
        ({"tokens": [["a"]], "time": [3], "i": [[], 1]}, {"id": "i"}, "column 'i' cannot be read as ids"),
    ],
)
def test_columns(data: Any, options: dict[str, Any], message: str) -> None:
    join = filled()
    refuses(join, InvalidData, message, lambda: join.insert_many(data, **options))


def test_times_finer_than_a_microsecond_in_a_column() -> None:
    join = filled("1 hour")
    times = np.array(["2024-01-01T12:00:00.000000001"], "datetime64[ns]")
    refuses(join, InvalidData, "finer than a microsecond", lambda: join.insert_many({"tokens": [["a"]], "time": times}))


def test_what_is_not_a_table() -> None:
    join = filled()
    refuses(join, InvalidType, "a batch must be an Arrow table", lambda: join.insert_many([(["a"], 3)]))
    frame = pd.DataFrame({"tokens": [["a"], [object()]], "time": [3, 3]})
    refuses(join, InvalidData, "cannot be read as an Arrow table", lambda: join.insert_many(frame))
    refuses(join, InvalidData, "no column 'tokens'", lambda: join.insert_many(pl.DataFrame({"a": [1]})))


def test_asking_for_what_is_not_there() -> None:
    join = filled()
    pair = join.topk()[0]
    refuses(join, InvalidType, "a pair from topk", lambda: join.explain("nonsense"))  # type: ignore[arg-type]
    with pytest.raises(InvalidType, match="a pair from topk"):
        join.explain(swoop.Pair(0.5, 1, 0, 1, 1, 2))
    with pytest.raises(IndexError, match=re.escape("index 1 of 1 results")):
        _ = join.topk()[1]
    join.advance(100)
    with pytest.raises(NotInWindow, match="set 1 is no longer in the window"):
        join.explain(pair)
    with pytest.raises(InvalidArgument, match="track_changes=True"):
        swoop.TopKJoin().changes()
    with pytest.raises(InvalidType, match="advance needs a time"):
        swoop.TopKJoin(window=None).advance(None)  # type: ignore[arg-type]


def test_legal_oddities() -> None:
    """Repeated tokens count once; empty sets form no pair; ids may repeat; an int is not its decimal string."""
    join = swoop.TopKJoin(k=10, window=100)
    join.insert(["a", "a", "b", "a"], 1, id="x")
    join.insert([], 1, id="x")
    join.insert(["a", "b", "b"], 1, id="x")
    join.insert([], 2)
    assert [(p.similarity, p.newer, p.older, p.overlap) for p in join.topk()] == [(1.0, "x", "x", 2)]
    join.insert([1, 2], 3)
    join.insert(["1", "2"], 3)
    join.insert([b"1", b"2"], 3)
    assert len(join.topk()) == 1
    assert join.stats.window_size == 7
