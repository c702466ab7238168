"""Records: equal sets, where copies count once. Brute force judges them in tests/test_exactness.py and tests/test_trials.py.

Tests of swoop.engine.marks.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import swoop
from swoop import oracle
from swoop.errors import InvalidArgument, NotInWindow
from swoop.oracle import Record
from swoop.stays import stays_of


def test_a_copy_renews_its_record() -> None:
    join = swoop.TopKJoin(k=5, window=10, copies="once")
    for time, (name, text) in enumerate(
        [("a", "win a phone"), ("b", "win a car"), ("c", "phone win a"), ("d", "a win phone a")]
    ):
        join.insert(text.split(), time, name)
    (pair,) = join.topk()
    assert (pair.newer, pair.older, pair.start, pair.end) == ("b", "a", 1, 11)
    assert (pair.newer_copies, pair.newer_first_seen, pair.newer_last_seen) == (1, 1, 1)
    assert (pair.older_copies, pair.older_first_seen, pair.older_last_seen) == (3, 0, 3)
    assert join.explain(pair).shared == {"win", "a"}
    assert join.topk().to_arrow()["older_copies"].to_pylist() == [3]
    assert join.stats.window_size == 4


def test_a_record_outlives_its_first_set() -> None:
    """Its id does, and its place in the order; copies that have left are not counted."""
    join = swoop.TopKJoin(k=5, window=10, copies="once", track_changes=True)
    for time in range(0, 5000, 5):
        join.insert(["x", "y"], time, f"wave {time}")
        join.insert(["x", time], time, f"other {time}")
    pair = join.topk()[0]
    assert (pair.older, pair.older_copies, pair.older_first_seen) == ("wave 0", 2, 0)
    assert {change.pair.older for change in list(join.changes())[-4:]} >= {"wave 0"}
    join.advance(6000)
    with pytest.raises(NotInWindow, match="is no longer in the window"):
        join.explain(pair)
    join.insert(["x", "y"], 6000, "again")
    join.insert(["y"], 6000, "last")
    assert join.topk()[0].older == "again"


def test_sides_have_their_own_records() -> None:
    join = swoop.TopKJoin(k=5, window=10, two_streams=True, copies="once")
    for time, side in enumerate(["left", "right", "left", "right", "right"]):
        join.insert(["a"], time, stream=side)  # type: ignore[arg-type]
    (pair,) = join.topk()
    assert (pair.right, pair.newer_copies, pair.left, pair.older_copies) == (1, 3, 0, 2)


@pytest.mark.no_cover  # a million times the same lines of brute force
def test_a_wave_in_one_tick_and_in_many() -> None:
    """A thousand copies among others are one record, whose lists do not grow with them."""
    for step in (0, 1):
        join = swoop.TopKJoin(k=3, window=500, copies="once")
        records = []
        for number in range(1000):
            tokens = ["wave", "of", "spam"] if number % 10 else ["wave", f"other {number}"]
            records.append(Record(tokens, step * number))
            join.insert(tokens, step * number)
        assert list(join.topk()) == oracle.topk(records, 3, 500, copies="once")
        join._check()


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_a_renewal_looks_at_less_than_an_arrival(similarity: str) -> None:
    """Than if the same set came where no copy of it is, but all else is the same."""
    rng, window = random.Random(1), 60
    weights = [1 / (token + 1) for token in range(40)]
    sets = [frozenset(rng.choices(range(40), weights, k=rng.randrange(2, 8))) for _ in range(40)]
    stream = [rng.choice(sets) for _ in range(300)]

    def looked_at(join: swoop.TopKJoin, time: int) -> int:
        before = join.stats.pre_candidates
        join.insert(stream[time], time)
        return join.stats.pre_candidates - before

    def new_join() -> swoop.TopKJoin:
        return swoop.TopKJoin(k=5, window=window, similarity=similarity, copies="once")

    join, found = new_join(), []
    for time, tokens in enumerate(stream):
        valid = range(max(0, time - window + 1), time)
        if tokens not in stream[valid.start : time]:
            join.insert(tokens, time)
            continue
        without = new_join()
        for other in valid:
            if stream[other] != tokens:
                without.insert(stream[other], other)
        found.append((looked_at(join, time), looked_at(without, time)))
    renewals, arrivals = (sum(counts) for counts in zip(*found, strict=True))
    assert len(found) > 200
    assert renewals < 0.75 * arrivals
    assert sum(one > other for one, other in found) < 0.15 * len(found)  # other pairs are in the stock, so seldom it is more


def test_saved_names(tmp_path: Path) -> None:
    join = swoop.TopKJoin(k=2, window=4, copies="once")
    for time in range(20):
        join.insert(["a", "b"], time, f"set {time}")
        join.insert(["a", str(time)], time)
    join.save(tmp_path / "join")
    loaded = swoop.TopKJoin.load(tmp_path / "join")
    assert loaded.copies == "once"
    assert loaded.topk() == join.topk()
    assert loaded.topk()[0].older == "set 0"
    loaded.insert(["a", "b"], 20)
    assert loaded.topk()[0].older == "set 0"


def test_wrong_ways() -> None:
    with pytest.raises(InvalidArgument, match="copies must be 'each' .* or 'once' .* not 'twice'"):
        swoop.TopKJoin(copies="twice")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="algorithm 'base' has no copies='once'; leave out copies, or use 'swoop'"):
        swoop.TopKJoin(copies="once", algorithm="base")


def test_names_that_only_records_have(tmp_path: Path) -> None:
    """No set in the window has an id, but their records do."""
    join = swoop.TopKJoin(k=1, window=10, copies="once", track_changes=True)
    join.insert(["a"], 0, id="A")
    join.insert(["a", "b"], 0, id="B")
    join.insert(["a"], 5)
    join.insert(["a", "b"], 5)
    join.advance(10)
    join.save(tmp_path / "join")
    loaded = swoop.TopKJoin.load(tmp_path / "join")
    assert [(pair.newer, pair.older) for pair in loaded.topk()] == [("B", "A")]
    loaded.changes()
    loaded.advance(15)
    assert [(change.pair.newer, change.pair.older) for change in loaded.changes()] == [("B", "A")]


def test_a_pair_that_comes_back_at_once_has_two_stays() -> None:
    sets = [(0, "ab"), (0, "abc"), (5, "xy"), (5, "xyz"), (5, "ab"), (5, "abc"), (8, "q"), (30, "r")]
    columns = {"id": list(range(8)), "time": [time for time, _ in sets], "tokens": [list(text) for _, text in sets]}
    found = [
        (stay.pair.newer, stay.pair.older, stay.enter, stay.leave, stay.how)
        for stay in swoop.history(columns, 1, 10, copies="once")
    ]
    expected = stays_of(oracle.changes([Record(text, time) for time, text in sets], 1, 10, copies="once"))
    assert found == [
        (*(stay.pair.arrivals or ()), stay.enter, stay.leave, stay.how) for stay in expected if stay.leave != stay.enter
    ]
