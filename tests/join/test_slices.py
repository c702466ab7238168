"""Segments of stays by column: what :mod:`swoop.stays` says, whatever the batches and cuts.

The tests of slices as a whole, against brute force, are in tests/spark/test_slices.py and tests/join/test_history.py.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.engine.feed import ENTER, EXPIRED, OUTRANKED
from swoop.engine.layout import CHANGE
from swoop.errors import InternalError
from swoop.join.feed import KINDS
from swoop.join.slices import NEVER, SEGMENT, Extent, Segments, join_segments
from swoop.results import Change, Pair
from swoop.stays import stays_of

Rows = list[tuple[int, int, int, int]]


@st.composite
def feeds(draw: st.DrawFn) -> Rows:
    """Time, kind, newer and older of changes that can be."""
    time, rows, there = 0, Rows(), set[tuple[int, int]]()
    for _ in range(draw(st.integers(0, 40))):
        time += draw(st.sampled_from([0, 0, 1, 3]))
        pair = draw(st.integers(1, 3)), draw(st.integers(0, 2))
        kind = draw(st.sampled_from([OUTRANKED, EXPIRED])) if pair in there else ENTER
        there ^= {pair}
        rows.append((time, kind, *pair))
    return rows


def changes(rows: Rows) -> np.ndarray:
    found = np.zeros(len(rows), CHANGE)
    for name, values in zip(("time", "kind", "newer", "older"), zip(*rows, strict=True), strict=False):
        found[name] = values
    found["key"] = found["newer"] / 7
    found["overlap"] = found["older"] + 10
    return found


@given(rows=feeds(), data=st.data())
def test_segments_are_stays(rows: Rows, data: st.DataObject) -> None:
    """Of positive length, cut at the start of the slice, whatever the batches."""
    start = data.draw(st.integers(0, 20))
    is_last = data.draw(st.booleans())
    end = max([start, *(row[0] for row in rows)]) + 1
    segments = Segments(start)
    parts, at = [], 0
    while at < len(rows):
        size = data.draw(st.integers(1, 15))
        parts.append(segments.take(changes(rows[at : at + size])))
        at += size
    parts += [segments.take(np.empty(0, CHANGE)), segments.end(NEVER if is_last else end, segments._open[::-1])]
    found = np.concatenate(parts)
    assert all(row["is_cut"] and row["leave"] == start for row in found if row["leave"] <= row["enter"])
    found = found[found["leave"] > found["enter"]]
    told = [
        Change(time, KINDS[kind], Pair(newer / 7, newer, older, older + 10, 0, None, arrivals=(newer, older)))
        for time, kind, newer, older in rows
    ]
    expected = []
    for stay in stays_of(told):
        assert isinstance(stay.enter, int)
        assert not isinstance(stay.leave, float)
        enter, leave = max(stay.enter, start), stay.leave if stay.how else NEVER if is_last else end
        if leave > enter:  # type: ignore[operator]
            expected.append((stay.pair.newer, stay.pair.older, stay.pair.similarity, stay.pair.overlap, enter, leave))
    assert sorted(row[:6] for row in found.tolist()) == sorted(expected)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, ENTER, 5, 3), (2, ENTER, 5, 3)], "at time 2 that the pair of sets 5 and 3 enters the top-k, where it is already"),
        ([(1, EXPIRED, 5, 3)], "at time 1 that the pair of sets 5 and 3 leaves the top-k, where it is not"),
        ([(1, ENTER, 5, 3), (2, EXPIRED, 5, 3), (2, OUTRANKED, 5, 3)], "leaves the top-k, where it is not"),
        ([(1, ENTER, 5, 3), (2, EXPIRED, 5, 2)], "the pair of sets 5 and 2 leaves the top-k, where it is not"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_what_cannot_be_is_noticed(rows: Rows, message: str, at_once: bool) -> None:
    segments = Segments(0)
    for row in [] if at_once else rows[:-1]:
        segments.take(changes([row]))
    with pytest.raises(InternalError, match=message):
        segments.take(changes(rows if at_once else rows[-1:]))


@given(rows=feeds(), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_stays_that_were_cut_are_joined(rows: Rows, cuts: list[int]) -> None:
    """A pair that leaves and enters at the same time has two stays, also where it is cut."""
    segments = Segments(-1)
    whole = np.concatenate([segments.take(changes(rows)), segments.end(NEVER, segments._open)])
    stays = join_segments(whole)
    parts = []
    for stay in stays:
        inside = [cut for cut in sorted(set(cuts)) if stay["enter"] < cut < stay["leave"]]
        bounds = [stay["enter"], *inside, stay["leave"]]
        for enter, leave in pairwise(bounds):
            part = stay.copy()
            part["enter"], part["leave"], part["is_cut"] = enter, leave, enter > stay["enter"]
            parts.append(part)
    together = np.array(parts, SEGMENT)
    np.random.default_rng(len(parts)).shuffle(together)
    assert sorted(join_segments(together).tolist()) == sorted(stays.tolist())


def test_a_burst_is_not_cut() -> None:
    steps = [0] * 500 + list(range(0, 1002, 2))
    assert Extent(100_000, 0, 1000, steps).cuts(100, None, 4) == [0, 250, 500, 750, 1001]
    assert Extent(100_000, 0, 1000, steps).cuts(100, 1, 2) == [0, 1001]
    assert Extent(5, 7, 7, [7] * 4).cuts(100, 3, 2) == [7, 8]
