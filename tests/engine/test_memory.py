"""Arrays grow and keep what is in them, whether they are copied or mapped."""

from __future__ import annotations

import random

import numpy as np
import pytest

import swoop
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
