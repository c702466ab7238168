"""All pairs above a threshold. That they are those of brute force at every moment, ``tests/test_exactness.py`` shows; and here
what is asked for only where all pairs are: how many there may be, and similarities of one's own.

Tests of swoop.engine.all_pairs_engine, swoop.engine.all_pairs_search, swoop.engine.pair_pool.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import swoop
from swoop import oracle
from swoop.engine.thresholds import Thresholds, use
from swoop.errors import CapacityExceeded, InternalError, InvalidArgument, InvalidType
from swoop.join.feed import AllPairsFeed
from swoop.oracle import Record
from tests.support.histories import History, arrivals, histories, insert, replay
from tests.support.judge import Judge

USER_DEFINED = [
    swoop.Similarity(lambda r, s, o: o / max(r, s) if o else 0.0, "share"),
    swoop.Similarity(lambda r, s, o: o / (o + 0.5 * (r + s - 2 * o)) if o else 0.0, "tversky"),
]


@settings(max_examples=60)
@given(
    histories() | histories(all_pairs=True),
    st.sampled_from(USER_DEFINED),
    st.sampled_from([-1e300, 0.0, 0.2, 0.5, 2 / 3, 1.0, 1.0, 7.0, 1e300]),
)
def test_user_defined_similarities(history: History, similarity: swoop.Similarity, least: float) -> None:
    """A threshold may be any: from one that no pair reaches on, there are none."""
    options = {**history.options, "similarity": similarity, "min_similarity": least}
    with use(history.limits):
        join = swoop.TopKJoin(**options, track_changes=True)
    judge = Judge(**options)
    for record in history.records:
        insert(join, [record])
        judge.add(record)
    assert list(join.topk()) == judge.topk()
    assert list(join.changes()) == judge.changes
    join._check()


@settings(max_examples=200)
@given(histories(all_pairs=True), st.integers(1, 12), st.booleans())
def test_a_set_that_would_make_too_many_pairs_has_not_been_there(history: History, most: int, tracked: bool) -> None:
    """As if nobody had tried to insert it: the others go on as without it. Where copies count once, time has moved."""
    moves = history.options["copies"] == "once"
    assume(not moves or not isinstance(history.options["window"], swoop.times.WindowSpec))
    join, judge = history.join(max_pairs=most, track_changes=tracked), Judge(**history.options)
    limitless = history.join()
    arrived: list[Record] = []
    refused: CapacityExceeded | None = None
    for record in history.records:
        before = join.stats
        try:
            insert(join, [record])
        except CapacityExceeded as error:
            refused = error
            after = join.stats
            known = {"memory_bytes": after.memory_bytes, "vocabulary_size": after.vocabulary_size}
            if moves and history.options["window"] is not None:
                judge.advance(record.time)  # type: ignore[arg-type]
                limitless.advance(record.time)  # type: ignore[arg-type]
                known |= {"window_size": after.window_size, "stock_size": after.stock_size}
            assert after == replace(before, **known)
            assert len(oracle.topk([*arrived, record], **history.options)) > most
        else:
            arrived.append(record)
            judge.add(record)
            insert(limitless, [record])
        assert list(join.topk()) == judge.topk() == list(limitless.topk())
        join._check()
    assert refused is None or "max_pairs" in str(refused)
    if tracked:
        assert list(join.changes()) == judge.changes


def test_what_is_refused_is_said_with_what_to_do() -> None:
    join = swoop.TopKJoin(k=None, window=10, min_similarity=0.5, max_pairs=3)
    rows = {"tokens": [["a", "b"]] * 5, "time": [1, 2, 3, 4, 5], "id": list("vwxyz")}
    with pytest.raises(
        CapacityExceeded,
        match=r"row 3: set 3 has not arrived: with it there would be 6 pairs, more than max_pairs=3. Use .* The rows before it",
    ) as refused:
        join.insert_many(rows, id="id")
    assert join.stats.sets == refused.value.arrived == 3
    with pytest.raises(
        CapacityExceeded, match=r'min_similarity, a shorter window or a larger max_pairs; .*copies="once" or swoop.Fam'
    ):
        join.insert(["a", "b"], 4, "y")
    join.advance(12)
    join.insert(["a", "b"], 12, "y")
    assert [(pair.newer, pair.older) for pair in join.topk()] == [("y", "x")]
    join._check()


def test_a_window_of_the_last_sets_keeps_them_when_one_is_refused() -> None:
    join = swoop.TopKJoin(k=None, window=swoop.last(3), min_similarity=1, max_pairs=2, track_changes=True)
    for token in "abb":
        join.insert([token])
    with pytest.raises(CapacityExceeded, match="there would be 3 pairs"):
        join.insert(["b"])
    assert join.stats.window_size == 3
    join.insert(["c"])
    assert [pair.arrivals for pair in join.topk()] == [(2, 1)]
    assert [change.kind for change in join.changes()] == ["enter"]
    join._check()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidArgument, "say how similar with min_similarity"),
        ({"min_similarity": 1.5}, InvalidArgument, "from 0 to 1 for jaccard, not 1.5"),
        ({"min_similarity": -0.1}, InvalidArgument, "from 0 to 1 for jaccard"),
        ({"min_similarity": math.nan}, InvalidType, "min_similarity must be a number"),
        ({"min_similarity": 1, "similarity": "hamming"}, InvalidArgument, "must not be above 0 for hamming"),
        (
            {"min_similarity": 1e12, "similarity": "overlap"},
            InvalidArgument,
            "at most 33,554,431 for overlap, .*; got 1000000000000.0",
        ),
        ({"min_similarity": 2**25, "similarity": "overlap", "k": 3}, InvalidArgument, "as many tokens as a set may have"),
        ({"min_similarity": 1.01, "similarity": "cosine", "k": 3}, InvalidArgument, "from 0 to 1 for cosine, not 1.01"),
        ({"min_similarity": "0.5"}, InvalidType, "min_similarity must be a number"),
        ({"min_similarity": 10**400, "similarity": USER_DEFINED[0]}, InvalidArgument, "must be between -1e.300 and 1e.300"),
        ({"min_similarity": 0.5, "max_pairs": 0}, InvalidArgument, "max_pairs must be from 1 to 2147483647, not 0"),
        ({"min_similarity": 0.5, "max_pairs": 2**31}, InvalidArgument, "max_pairs must be from 1 to"),
        ({"min_similarity": 0.5, "max_pairs": 1.5}, InvalidType, "max_pairs must be an integer, not 1.5"),
        ({"min_similarity": 0.5, "max_pairs": True}, InvalidType, "max_pairs must be an integer, not True"),
        ({"min_similarity": 0.5, "algorithm": "swoop-minimal"}, InvalidArgument, "'swoop-minimal' finds the k most similar"),
        ({"min_similarity": 0.5, "algorithm": "base"}, InvalidArgument, "'base' finds the k most similar"),
        ({"k": 3, "max_pairs": 10}, InvalidArgument, "max_pairs=10 was given, but there are at most k=3 pairs"),
    ],
)
def test_bad_parameters(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        swoop.TopKJoin(**{"k": None, "window": 10, **options})


def test_what_a_join_says_of_itself(tmp_path: Path) -> None:
    join = swoop.TopKJoin(k=None, window=10, similarity="dice", min_similarity=0.25)
    assert (join.k, join.max_pairs) == (None, 10_000_000)
    assert join.skyband() == [swoop.SkybandStep(None, 0.25)]
    assert "k=None" in repr(join)
    limited = swoop.TopKJoin(k=None, window=10, min_similarity=0.25, max_pairs=np.int64(7))
    limited.save(tmp_path / "join")
    loaded = swoop.TopKJoin.load(tmp_path / "join")
    assert (loaded.k, loaded.max_pairs, loaded.min_similarity) == (None, 7, 0.25)


@pytest.mark.parametrize("least", [Fraction(1, 3), np.float32(1 / 3), np.float64(1 / 3), np.int8(0)])
def test_a_threshold_is_the_float_that_is_next_to_it(least: Any) -> None:
    """For brute force, too: a third is less than a third of 24 bits, and more than one of 53."""
    records = [Record(["a", "b"], 1), Record(["b", "c"], 2)]
    join = swoop.TopKJoin(None, 10, min_similarity=least)
    for record in records:
        insert(join, [record])
    assert join.min_similarity == float(least)
    assert list(join.topk()) == oracle.topk(records, None, 10, min_similarity=least)
    assert len(join.topk()) == (float(least) <= 1 / 3)


def test_memory_is_that_of_the_pairs_and_shrinks_with_them() -> None:
    join = swoop.TopKJoin(k=None, window=100, min_similarity=0.5)
    join.insert_many({"tokens": [[row // 20, 5000 + row // 20] for row in range(20_000)], "time": [0] * 20_000})
    large = join.stats
    assert large.stock_size == 20_000 // 20 * 190
    join.insert_many({"tokens": [[1], [1]], "time": [99, 99]})
    join.advance(150)
    small = join.stats
    assert (small.window_size, small.stock_size) == (2, 1)
    assert small.memory_bytes < large.memory_bytes / 10
    join._check()


def test_places_are_used_again() -> None:
    """In a window that stays as it is, the pool does not grow."""
    join = swoop.TopKJoin(k=None, window=swoop.last(500), min_similarity=0.5, track_changes=True)
    sizes = []
    for step in range(40):
        join.insert_many({"tokens": [[row % 7, row % 11] for row in range(step, step + 250)]}, time=None)
        join.changes()
        sizes.append(join.stats.memory_bytes)
    assert sizes[-1] == sizes[10]


def test_numbers_begin_anew() -> None:
    """Changes and pairs are numbered from the beginning of the stream, whatever the engine does."""
    with use(Thresholds(sets=4, last_number=20, smallest_ring=4)):
        join = swoop.TopKJoin(k=None, window=5, min_similarity=0.3, track_changes=True)
    records = [Record(["a", "bcd"[n % 3]], n) for n in range(200)]
    for record in records:
        insert(join, [record])
    assert join._engine.paths["new base"] > 5
    assert list(join.topk()) == oracle.topk(records, None, 5, min_similarity=0.3)
    changes = list(join.changes())
    assert changes == oracle.changes(records, None, 5, min_similarity=0.3)
    assert replay(changes) == arrivals(join.topk())


class _Engine:
    """Says what it is told to."""

    has_changes = True

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows

    def changes(self) -> tuple[int, np.ndarray, None]:
        return 0, self._rows, None

    def forget_changes(self, stop: int) -> None:
        pass


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([(0, 1, 0), (2, 2, 0)], "of the pairs that set 0 ends"),
        ([(2, 1, 0)], "of the pairs that set 0 ends"),
        ([(0, 1, 0), (0, 2, 0), (2, 1, 0)], "of the pairs that set 0 ends"),
        ([(0, 2, 0), (0, 1, 0)], "after others that are newer"),
        ([(0, 1, 0), (1, 1, 0)], "pairs are outranked"),
    ],
)
def test_the_feed_checks_itself(said: list[tuple[int, int, int]], message: str) -> None:
    from swoop.engine.layout import CHANGE
    from swoop.join.ids import Ids

    rows = np.zeros(len(said), CHANGE)
    for name, column in zip(("kind", "newer", "older"), zip(*said, strict=True), strict=True):
        rows[name] = column
    with pytest.raises(InternalError, match=message):
        AllPairsFeed().take(_Engine(rows), Ids())
