"""Windows and times, as people give them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

import swoop
from swoop.times import find_window

NOON = dt.datetime(2024, 1, 1, 12)
VIENNA = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("window", "seconds"),
    [
        ("90 s", 90),
        ("90s", 90),
        ("1.5 min", 90),
        ("1 hour", 3600),
        ("2 Hours", 7200),
        ("1 h 30 min", 5400),
        ("7 days", 604800),
        ("1 week", 604800),
        ("250 ms", 0.25),
        ("5 us", 5e-6),
        (dt.timedelta(days=1), 86400),
    ],
)
def test_durations(window: Any, seconds: float) -> None:
    assert find_window(window).duration == round(seconds * 1e6)


def test_windows_are_shown_as_they_are_meant() -> None:
    shown = [str(find_window(w)) for w in ("90 s", 5, swoop.last(3), None)]
    assert shown == ["0:01:30", "5", "last(3)", "None"]
    assert "window=0:01:30" in repr(swoop.TopKJoin(window="90 s"))


def test_naive_datetimes() -> None:
    join = swoop.TopKJoin(k=1, window="1 hour")
    join.insert(["a", "b"], NOON)
    join.insert(["a", "b"], pd.Timestamp("2024-01-01 12:30"))
    pair = join.topk()[0]
    assert (pair.start, pair.end) == (NOON + dt.timedelta(minutes=30), NOON + dt.timedelta(hours=1))
    join.advance(NOON + dt.timedelta(minutes=59, seconds=59))
    assert len(join.topk()) == 1
    join.advance(np.datetime64("2024-01-01T13:00"))
    assert len(join.topk()) == 0


def test_aware_datetimes_come_back_in_utc() -> None:
    join = swoop.TopKJoin(k=1, window="1 day", track_changes=True)
    join.insert(["a"], NOON.replace(tzinfo=VIENNA))
    join.insert(["a"], NOON.replace(tzinfo=dt.UTC))
    pair = join.topk()[0]
    assert pair.start == NOON.replace(tzinfo=dt.UTC)
    assert pair.end == NOON.replace(tzinfo=VIENNA) + dt.timedelta(days=1)
    assert pair.start.tzinfo is dt.UTC
    assert join.changes()[0].time == NOON.replace(tzinfo=dt.UTC)


def test_numpy_integers() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(np.array([1, 2]), np.int64(5))
    join.insert([np.int32(1)], np.uint8(6), id=np.int64(77))
    assert join.topk()[0].newer == 77
    assert join.topk()[0].start == 6


def test_a_set_is_valid_for_exactly_the_window() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 0)
    join.insert(["a"], 9)
    assert len(join.topk()) == 1
    join.advance(10)
    assert len(join.topk()) == 0
    join.insert(["a"], 18)
    assert [(p.newer, p.older) for p in join.topk()] == [(2, 1)]


def test_count_windows_move_with_arrivals() -> None:
    join = swoop.TopKJoin(k=5, window=swoop.last(2))
    for _ in range(4):
        join.insert(["a"])
    assert [(p.newer, p.older, p.start, p.end) for p in join.topk()] == [(3, 2, 3, 4)]
    timed = swoop.TopKJoin(k=5, window=swoop.last(2), track_changes=True)
    for hour in (1, 1, 9):
        timed.insert(["a"], NOON.replace(hour=hour))
    timed.advance(NOON)
    assert [(p.newer, p.older) for p in timed.topk()] == [(2, 1)]
    assert [(c.time, c.kind) for c in timed.changes()] == [(1, "enter"), (2, "expired"), (2, "enter")]


def test_unbounded_windows_never_expire() -> None:
    join = swoop.TopKJoin(k=2, window=None)
    for time in (0, 10**6, 10**12):
        join.insert(["a"], time)
    join.advance(10**15)
    assert [(p.newer, p.older, p.end) for p in join.topk()] == [(1, 0, None), (2, 0, None)]
    assert join.topk().to_arrow()["end"].null_count == 2


def test_dates_far_away() -> None:
    join = swoop.TopKJoin(k=1, window="400 days")
    join.insert(["a"], dt.datetime(1, 1, 1))
    join.insert(["a"], dt.datetime(2, 1, 1))
    assert join.topk()[0].end == dt.datetime(1, 1, 1) + dt.timedelta(days=400)
