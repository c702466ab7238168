"""Arrays grow and keep what is in them, whether they are copied or mapped, and whatever interrupts that.

Tests of swoop.engine.layout.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import swoop
from swoop.engine import memory, thresholds
from swoop.engine.layout import ARRAYS
from swoop.engine.memory import Arrays
from swoop.engine.thresholds import Thresholds


def arrays(large: int) -> Arrays:
    found = Arrays()
    found.thresholds = Thresholds(large=large)
    found._start_arrays()
    return found


def is_pointed(found: Arrays, name: str) -> bool:
    """Whether kernels see the array that Python sees."""
    array = found._arrays[name]
    return bool(found._state[name] == array.ctypes.data and found._state[name + "_size"] == array.size)


@pytest.mark.parametrize("large", [0, 1 << 40])
@pytest.mark.parametrize("name", ["ranks", "pairs"])
def test_what_is_there_stays_and_what_is_new_is_zero(large: int, name: str) -> None:
    found = arrays(large)
    for size in (3, 1000, 50_000, 50_001, 200_000):
        old = found._arrays[name].copy()
        found._resize(name, size)
        array = found._arrays[name]
        assert array.size == size
        assert array.dtype == ARRAYS[name]
        assert np.array_equal(array[: old.size], old)
        assert not array[old.size :].view(np.uint8).any()
        assert is_pointed(found, name)
        array.view(np.uint8)[:] = np.arange(array.nbytes, dtype=np.uint8) + 1
        del array  # memory that somebody looks at is not moved


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_an_array_that_cannot_grow_stays(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = arrays(large)
    found._resize("ranks", 10)
    found._arrays["ranks"][:] = range(10)

    def refuse(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(memory, "allocate", refuse)
    monkeypatch.setattr(memory, "extend", refuse)
    with pytest.raises(MemoryError):
        found._resize("ranks", 10_000_000)
    found._repair()
    assert found._arrays["ranks"].tolist() == list(range(10))
    assert is_pointed(found, "ranks")


def test_an_array_that_somebody_looks_at_is_copied() -> None:
    """Such as the traceback of an interruption, which a notebook keeps."""
    found = arrays(0)
    found._resize("ranks", 10)
    look = found._arrays["ranks"]
    look[:] = range(10)
    found._resize("ranks", 10_000_000)
    assert found._arrays["ranks"][:10].tolist() == look.tolist() == list(range(10))
    assert is_pointed(found, "ranks")


def test_what_is_noted_is_done_later() -> None:
    """Interrupted after it was noted: arrays, numbers and attributes change together, when it is gone on with."""
    found = arrays(1 << 40)
    found._noted = {"ranks": np.arange(5, dtype=np.int32)}, {"now": 7}, {"mark": "x"}
    found._repair()
    assert is_pointed(found, "ranks")
    assert found._arrays["ranks"].size == 5
    assert found._state["now"] == 7
    assert found.__dict__["mark"] == "x"
    assert found._noted is None


def test_a_join_in_mapped_memory() -> None:
    chance = random.Random(4)
    with thresholds.use(Thresholds(large=0)):
        mapped = swoop.TopKJoin(5, 700)
    copied = swoop.TopKJoin(5, 700)
    for time in range(3000):
        tokens = [chance.randrange(100 + 5 * time) for _ in range(chance.randrange(12))]
        mapped.insert(tokens, time)
        copied.insert(tokens, time)
    assert mapped.topk() == copied.topk()
    mapped._check()
