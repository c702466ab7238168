"""Families of a history: those that a stream has, whatever cuts the time.

Tests of swoop.join.links.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

import swoop
from swoop.results import Family
from tests.support.family_trials import FamilyTrial, run_as_history


@pytest.mark.no_cover
def test_a_history_has_the_families_that_a_stream_has() -> None:
    taken: Counter[str] = Counter()
    assert sum(run_as_history(FamilyTrial.draw(seed, 120), taken) for seed in range(100)) > 500
    assert taken["cut"] > 30


def test_a_family_over_many_slices() -> None:
    """One that goes on, one that pauses for as long as it may, one that pauses for too long; whatever the cuts."""
    rows = [(f"on {n}", n, ["on", "and"]) for n in range(0, 1000, 7)]
    rows += [(f"{pause} {n}", n, [str(pause)]) for pause in (29, 30) for n in range(0, 1000, pause)]
    table = dict(zip(("id", "time", "tokens"), map(list, zip(*rows, strict=True)), strict=True))
    for slices in (None, 1, 2, 5, 40, 500):
        found = swoop.families_history(table, 0.5, window=30, slices=slices, threads=2)
        assert list(found) == [Family("29 0", 1, 35, 0, 986, "29 986"), Family("on 0", 5, 143, 0, 994, "on 994")]


def test_rows_of_a_window_of_the_last_sets_have_their_own_times() -> None:
    times = [dt.datetime(2024, 5, day) for day in (1, 2, 9)]
    found = swoop.families_history({"id": [1, 2, 3], "time": times, "tokens": [["a"], ["a"], ["b"]]}, 1.0, swoop.last(2))
    assert found.rows().column("time").to_pylist() == times
    assert list(found) == [Family(1, 1, 2, 0, 1, 2)]  # like Families itself


def test_a_history_leaves_out_rows_that_cannot_be_used() -> None:
    rows = {"id": ["a", None, "c"], "time": [1, 2, 3], "text": ["win a phone", "win a phone", "win a phone now"]}
    with pytest.warns(swoop.errors.UnusableRows, match="1 rows are unusable"):
        found = swoop.families_history(rows, 0.5, window=5, tokens=swoop.words("text"))
    assert list(found) == [Family("a", 2, 2, 1, 3, "c")]
    assert not swoop.families_history({"id": [], "time": [], "tokens": []}, 0.5, window=5)
