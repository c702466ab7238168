"""Arrays grow and keep what is in them, whether they are copied or mapped."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import swoop
from swoop import oracle
from swoop.engine import memory
from swoop.engine.state import PAIR


@pytest.mark.parametrize("large", [0, 1 << 40])
@pytest.mark.parametrize("dtype", [np.dtype("i4"), PAIR])
def test_what_is_there_stays_and_what_is_new_is_zero(large: int, dtype: np.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LARGE", large)
    arrays = {"x": np.zeros(0, dtype)}
    for size in (3, 1000, 50_000, 50_001):
        old = arrays["x"].copy()
        memory.enlarge(arrays, "x", size, dtype)
        assert arrays["x"].size == size
        assert np.array_equal(arrays["x"][: old.size], old)
        assert not arrays["x"][old.size :].view(np.uint8).any()
        arrays["x"].view(np.uint8)[:] = np.arange(arrays["x"].nbytes, dtype=np.uint8) + 1


def test_a_join_in_mapped_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LARGE", 0)
    chance = random.Random(4)
    mapped = swoop.TopKJoin(5, 700)
    monkeypatch.undo()
    copied = swoop.TopKJoin(5, 700)
    for time in range(3000):
        tokens = [chance.randrange(100 + 5 * time) for _ in range(chance.randrange(12))]
        monkeypatch.setattr(memory, "LARGE", 0)
        mapped.insert(tokens, time)
        monkeypatch.undo()
        copied.insert(tokens, time)
    assert mapped.topk() == copied.topk()
    mapped._check()


TINY = {
    **dict.fromkeys(("ring", "tally", "side"), 2),
    **dict.fromkeys(("touched", "list_newest", "list_size", "list_order", "list_from"), 3),
    **dict.fromkeys(("pending", "pending_ends", "spare_pending", "spare_pending_ends"), 2),
    **dict.fromkeys(("pairs", "ends", "ranks", "spare_pairs", "spare_ends", "spare_ranks"), 2),
    **dict.fromkeys(("draft", "draft_ends", "draft_ranks", "moved", "feed"), 2),
    "arena": 4,
    "pool": 4,
}


@pytest.mark.parametrize("two_streams", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_an_arrival_for_which_there_is_no_memory_can_be_tried_again(seed: int, two_streams: bool) -> None:
    """Wherever in an arrival memory runs out, the set has not arrived, and nothing else has changed."""
    chance = random.Random(seed)
    window = chance.choice([5, 30, 100])
    join = swoop.TopKJoin(4, window, two_streams=two_streams, track_changes=seed % 2 == 1)
    inside = join._engine
    for name, size in TINY.items():
        inside._replace(name, np.zeros(size, inside._arrays[name].dtype))
    grow, failed, trying = inside._grow, set(), False

    def fail_at_times(code: int, needed: int) -> None:
        if trying and chance.random() < 0.5:
            failed.add(code)
            raise MemoryError
        grow(code, needed)

    inside._grow = fail_at_times  # type: ignore[method-assign]
    records: list[oracle.Record] = []
    for time in range(150):
        universe = 4 if 40 < time < 60 else 30
        tokens = [chance.randrange(universe) for _ in range(chance.randrange(8))]
        stream: Any = chance.choice(["left", "right"]) if two_streams else None
        records.append(oracle.Record(tokens, time // 2, time, stream))
        before = join.stats.sets
        while join.stats.sets == before:
            trying = True
            with suppress(MemoryError):
                join.insert(tokens, time // 2, stream=stream)
            trying = False
            join._check()
        assert list(join.topk()) == oracle.topk(records, k=4, window=window, two_streams=two_streams)
    assert len(failed) >= 3, "memory never ran out"
