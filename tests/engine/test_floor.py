"""The floor under stress: similarity that collapses, duplicates, silences, bursts; with and without it the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import swoop
from swoop import oracle
from swoop.engine import thresholds
from swoop.engine.thresholds import Thresholds
from swoop.oracle import Record

pytestmark = pytest.mark.no_cover  # thousands of times the same lines


def stream(seed: int, size: int, gap: int) -> Iterator[Record]:
    """Times of duplicates, of edited copies, of nothing alike, of silence and of bursts, in turns."""
    rng = random.Random(seed)
    time, mood, originals = 0, "copies", [tuple(rng.sample(range(60), 8)) for _ in range(6)]
    for number in range(size):
        if number % 40 == 0:
            mood = rng.choice(["copies", "edits", "noise", "noise", "common", "burst", "silence"])
            originals = [tuple(rng.sample(range(60), 8)) for _ in range(6)]
        if mood == "silence" and number % 40 == 7:
            time += rng.choice([3, 20, 60]) * gap
        elif mood != "burst":
            time += rng.choice([0, gap, gap, 2 * gap])
        tokens = list(rng.choice(originals))
        if mood == "noise":
            tokens = [1000 * number + n for n in range(7)] + [rng.randrange(60)]
        elif mood == "common":
            tokens = [5, *(rng.randrange(100, 10_000) for _ in range(rng.randrange(9)))]
        elif mood != "copies":
            tokens[rng.randrange(8)] = rng.randrange(200)
        yield Record(tokens, time, None, rng.choice(["left", "right"]))


@pytest.mark.parametrize("seed", range(24))
def test_with_and_without_a_floor(seed: int) -> None:
    rng = random.Random(seed)
    part = rng.choice([1, 1, 5, Thresholds.part])
    gap = rng.choice([1, 10, 100])
    options = {
        "k": rng.choice([1, 2, 5, 20, 120]),
        "window": rng.choice([1, 3, 20, 60, 200]) * gap,
        "similarity": rng.choice(["jaccard", "cosine", "dice", "overlap", "hamming"]),
        "two_streams": rng.random() < 0.4,
        "min_similarity": None,
    }
    with thresholds.use(Thresholds(part=part)):
        fast, minimal = (
            swoop.TopKJoin(**options, track_changes=True, algorithm=algorithm) for algorithm in ("swoop", "swoop-minimal")
        )
    records = list(stream(seed, 500, gap))
    for number, record in enumerate(records):
        for join in (fast, minimal):
            join.insert(record.tokens, record.time, stream=record.stream if options["two_streams"] else None)
        assert list(fast.changes()) == list(minimal.changes())
        assert fast.topk() == minimal.topk()
        if number % 25 == 0:
            fast._check()
    assert list(fast.topk()) == oracle.topk(records, **options)
    last = records[-1].time
    for step in (0, 1, options["window"] // 3, options["window"] // 3, options["window"]):
        last += step
        for join in (fast, minimal):
            join.advance(last)
        assert list(fast.changes()) == list(minimal.changes())
        assert fast.topk() == minimal.topk()
        fast._check()


@pytest.fixture
def small_parts() -> Iterator[None]:
    """Completions that are spread over many arrivals."""
    with thresholds.use(Thresholds(part=1)):
        yield


@pytest.mark.usefixtures("small_parts")
def test_completions_happen_at_once_and_spread_over_arrivals() -> None:
    """That the stress is stress: floors are lowered, the spare stock is at work, and what it expects comes true or does not."""
    lowered = spread = held = mistaken = 0
    for seed in range(6):
        join = swoop.TopKJoin(3, 20_000)
        state = join._engine.state
        floor, expects = None, False
        for record in stream(seed, 1500, 100):
            join.insert(record.tokens, record.time)
            expected = expects
            expects = bool(state.floor.completing and state.spare.threshold > state.lowest)
            held += expected and not state.floor.completing
            mistaken += expected and not expects and state.floor.completing
            now = join._engine.floor
            lowered += floor is not None and (now is None or now < floor)
            floor = now
            spread += bool(state.floor.completing)
    assert lowered > 8
    assert spread > 20
    assert held > 3
    assert mistaken > 1


def test_an_unbounded_window_has_the_kth_similarity_as_its_floor() -> None:
    join = swoop.TopKJoin(4, None)
    for record in stream(3, 300, 1):
        join.insert(record.tokens)
        if len(join.topk()) == 4 and join._engine.floor is not None:
            assert join.stats.stock_size >= 4
    assert join._engine.floor == join.topk()[3].similarity


@pytest.mark.usefixtures("small_parts")
def test_saved_in_the_middle_of_a_completion(tmp_path: Path) -> None:
    saved = 0
    for seed in range(6):
        join, other = (
            swoop.TopKJoin(3, 20_000, track_changes=True, algorithm=algorithm) for algorithm in ("swoop", "swoop-minimal")
        )
        for record in stream(seed, 800, 100):
            join.insert(record.tokens, record.time)
            other.insert(record.tokens, record.time)
            if join._engine.state.floor.completing:
                join.save(tmp_path / "join")
                join = swoop.TopKJoin.load(tmp_path / "join")
                saved += 1
            assert list(join.changes()) == list(other.changes())
        assert join.topk() == other.topk()
    assert saved > 3
