"""Endless streams run in bounded memory, and arrival numbers never run out."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import swoop
from swoop.engine import thresholds
from swoop.engine.engine import Engine
from swoop.engine.settings import Settings
from swoop.engine.thresholds import Thresholds
from swoop.engine.tokens import Tokens
from swoop.errors import CapacityExceeded
from swoop.oracle import Record
from tests.support.judge import Judge

NO_SIDES = np.empty(0, np.int8)


def stream(size: int, seed: int = 1, universe: int = 300, length: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0, 3, size))
    offsets = np.arange(size + 1) * length
    return times, offsets, (rng.random(size * length) ** 3 * universe).astype(np.int64)


def run(engine: Engine, times: np.ndarray, offsets: np.ndarray, tokens: np.ndarray) -> Engine:
    engine.insert(times, offsets, Tokens(integers=tokens), NO_SIDES)
    return engine


@pytest.mark.no_cover
@pytest.mark.parametrize("texts", [False, True])
def test_memory_does_not_grow_on_ever_new_tokens(texts: bool) -> None:
    join = swoop.TopKJoin(k=10, window=swoop.last(1000))
    sizes = []
    for step in range(30):
        tokens: list[list[Any]] = [[step * 100_000 + row * 20 + t for t in range(20)] for row in range(1000)]
        if texts:
            tokens = [[f"token {token}" for token in row] for row in tokens]
        join.insert_many({"tokens": tokens}, time=None)
        sizes.append(join.stats.memory_bytes)
    assert max(sizes[15:]) <= max(sizes[:15])
    assert join.stats.vocabulary_size < 5 * 20_000 + 2**16
    join._check()


def test_everything_shrinks_when_the_window_does() -> None:
    join = swoop.TopKJoin(k=10, window=100, track_changes=True)
    burst = {"tokens": [[row % 977, row % 499, row] for row in range(50_000)], "time": [0] * 50_000}
    join.insert_many(burst)
    large = join.stats
    join.insert_many({"tokens": [[1, 2, 3], [1, 2, 4]], "time": [99, 99]})
    join.advance(150)
    small = join.stats
    assert small.window_size == 2
    assert small.memory_bytes < large.memory_bytes / 10
    assert small.sets == 50_002
    assert small.pre_candidates >= large.pre_candidates
    assert [(p.newer, p.older) for p in join.topk()] == [(50_001, 50_000)]
    join._check()
    assert {c.kind for c in join.changes()} == {"enter", "outranked", "expired"}


def test_single_insertions_shrink_too() -> None:
    join = swoop.TopKJoin(k=3, window=10)
    join.insert_many({"tokens": [[f"{row} {t}" for t in range(8)] for row in range(30_000)], "time": [0] * 30_000})
    large = join.stats.memory_bytes
    for time in range(11, 40):
        join.insert(["a", "b"], time)
    assert join.stats.memory_bytes < large / 5
    assert [(p.newer - 30_000, p.older - 30_000) for p in join.topk()] == [(28, 27), (27, 26), (28, 26)]
    join._check()


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("two_streams", [False, True])
def test_a_window_that_shrinks_in_the_middle_of_a_batch(two_streams: bool, texts: bool) -> None:
    times = np.repeat(np.arange(1200), np.where(np.arange(1200) % 400 < 2, 5000, 5))  # three bursts, and few sets after each
    rng = np.random.default_rng(4)
    tokens: list[Any] = (rng.random((len(times), 5)) ** 3 * 5000).astype(int).tolist()
    if texts:
        tokens = [[str(token) for token in row] for row in tokens]
    batch: dict[str, Any] = {"tokens": tokens, "time": times}
    if two_streams:
        batch["side"] = rng.choice(["left", "right"], len(times)).tolist()
    options: dict[str, Any] = {"stream": "side"} if two_streams else {}
    with thresholds.use(Thresholds(chunk_tokens=1024)):
        join = swoop.TopKJoin(k=20, window=100, two_streams=two_streams, track_changes=True)
    join.insert_many(batch, **options)
    assert join._engine.paths["window shrunk"] >= 3
    expected = swoop.TopKJoin(k=20, window=100, two_streams=two_streams, track_changes=True, algorithm="swoop-minimal")
    for row in range(0, len(times), 500):
        expected.insert_many({name: column[row : row + 500] for name, column in batch.items()}, **options)
    assert join.topk() == expected.topk()
    assert join.changes() == expected.changes()
    assert join.stats.window_size == expected.stats.window_size == 500
    join._check()


def test_arrival_numbers_are_rebased() -> None:
    """The numbers in the arrays are counted from a new base again and again; results stay the same."""
    times, offsets, tokens = stream(30_000)
    plain = run(Engine(Settings(k=10, duration=200, kind=0)), times, offsets, tokens)
    rebased = Engine(Settings(k=10, duration=200, kind=0, thresholds=Thresholds(last_number=3000)))
    run(rebased, times, offsets, tokens)
    assert rebased.state.base > 20_000
    assert rebased.arrivals == plain.arrivals == 30_000
    assert rebased.topk().tolist() == plain.topk().tolist()


@pytest.mark.parametrize("two_streams", [False, True])
def test_past_two_to_the_31_sets(two_streams: bool) -> None:
    """A stream that has let 2**31 - 40 sets pass goes on."""
    first = 2**31 - 40
    rng = random.Random(3)
    records = [
        Record([rng.randrange(9) for _ in range(4)], time, None, rng.choice(["left", "right"]) if two_streams else None)
        for time in range(100)
    ]
    with thresholds.use(Thresholds(last_number=2048)):
        join = swoop.TopKJoin(k=5, window=30, two_streams=two_streams)
    join._engine = Engine(join._engine.settings, first)
    judge = Judge(5, 30, two_streams=two_streams)
    for record in records:
        join.insert(record.tokens, record.time, stream=record.stream)
        judge.add(record)
        assert [(p.newer - first, p.older - first, p.similarity) for p in join.topk()] == [
            (p.newer, p.older, p.similarity) for p in judge.topk()
        ]
    assert join.stats.sets == 2**31 + 60


def test_a_window_that_is_too_large_is_refused() -> None:
    engine = Engine(Settings(k=1, duration=0, kind=0, thresholds=Thresholds(last_number=2000)))
    times, offsets, tokens = stream(3000)
    with pytest.raises(CapacityExceeded, match="sets; use a shorter window"):
        run(engine, times, offsets, tokens)


@pytest.mark.no_cover
def test_sets_of_a_hundred_thousand_tokens() -> None:
    join = swoop.TopKJoin(k=2, window=10, similarity="cosine")
    join.insert(range(100_000), 1)
    join.insert(range(1, 100_001), 2)
    join.insert(range(50_000, 150_000), 3)
    assert [(p.newer, p.older, p.overlap) for p in join.topk()] == [(1, 0, 99_999), (2, 1, 50_001)]
    join.insert_many({"tokens": [list(range(0, 200_000, 2))], "time": [4]})
    assert len(join.topk()) == 2
    join._check()


def test_k_of_any_size() -> None:
    join = swoop.TopKJoin(k=10**30, window=5)
    for time in range(6):
        join.insert([1, time], time)
    assert len(join.topk()) == 10
