"""Arrays grow and keep what is in them, whether they are copied or mapped, and whatever interrupts that.

Tests of swoop.engine.layout.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import swoop
from swoop.engine import memory, thresholds
from swoop.engine.layout import ARRAYS, State
from swoop.engine.memory import Memory
from swoop.engine.thresholds import Thresholds
from swoop.errors import InternalError

RANKS = "stock.ranks"


def is_pointed(found: Memory, path: str) -> bool:
    """Whether kernels see the array that Python sees."""
    array, (structure, name) = found[path], path.split(".")
    place = getattr(getattr(found.state, structure), name)
    return bool(place.address == array.ctypes.data and place.size == array.size)


@pytest.mark.parametrize("large", [0, 1 << 40])
@pytest.mark.parametrize("name", [RANKS, "spare.pairs"])
def test_what_is_there_stays_and_what_is_new_is_zero(large: int, name: str) -> None:
    found = Memory(State, large)
    for size in (3, 1000, 50_000, 50_001, 200_000):
        old = found[name].copy()
        found.resize((name,), size)
        array = found[name]
        assert array.size == size
        assert array.dtype == ARRAYS[name]
        assert np.array_equal(array[: old.size], old)
        assert not array[old.size :].view(np.uint8).any()
        assert is_pointed(found, name)
        array.view(np.uint8)[:] = np.arange(array.nbytes, dtype=np.uint8) + 1
        del array  # memory that somebody looks at is not moved


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_an_array_that_cannot_grow_stays(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Memory(State, large)
    found.resize((RANKS,), 10)
    found[RANKS][:] = range(10)

    def refuse(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(memory, "allocate", refuse)
    monkeypatch.setattr(memory, "extend", refuse)
    with pytest.raises(MemoryError):
        found.resize((RANKS,), 10_000_000)
    found.repair()
    assert found[RANKS].tolist() == list(range(10))
    assert is_pointed(found, RANKS)


def test_an_array_that_somebody_looks_at_is_copied() -> None:
    """Such as the traceback of an interruption, which a notebook keeps."""
    found = Memory(State, 0)
    found.resize((RANKS,), 10)
    look = found[RANKS]
    look[:] = range(10)
    found.resize((RANKS,), 10_000_000)
    assert found[RANKS][:10].tolist() == look.tolist() == list(range(10))
    assert is_pointed(found, RANKS)


def test_what_is_noted_is_done_later() -> None:
    """Interrupted after it was noted: arrays and numbers change together, when it is gone on with."""
    found = Memory(State, 1 << 40)
    found._noted = {RANKS: np.arange(5, dtype=np.int32)}, {"now": 7, "floor.steps": 3}
    found.repair()
    assert is_pointed(found, RANKS)
    assert found[RANKS].size == 5
    assert found.state.now == 7
    assert found.state.floor.steps == 3
    assert found._noted is None


@pytest.mark.parametrize("array", [np.zeros(4, np.int64), np.zeros(8, np.int32)[::2]])
def test_an_array_of_another_kind_is_refused(array: np.ndarray) -> None:
    found = Memory(State, 1 << 40)
    with pytest.raises(InternalError, match="stock.ranks is a contiguous array of int32"):
        found.replace(RANKS, array)
    found.repair()
    assert found[RANKS].size == 0


def test_a_join_in_mapped_memory() -> None:
    rng = random.Random(4)
    with thresholds.use(Thresholds(large=0)):
        mapped = swoop.TopKJoin(5, 700)
    copied = swoop.TopKJoin(5, 700)
    for time in range(3000):
        tokens = [rng.randrange(100 + 5 * time) for _ in range(rng.randrange(12))]
        mapped.insert(tokens, time)
        copied.insert(tokens, time)
    assert mapped.topk() == copied.topk()
    mapped._check()
