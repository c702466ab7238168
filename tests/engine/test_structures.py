"""Structures are seen alike by Python and by kernels."""

from __future__ import annotations

import ctypes
from typing import Annotated, Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from swoop.engine.compile import jit
from swoop.engine.layout import ARRAYS, State
from swoop.engine.structures import arrays_of, as_words, structure, view_of
from swoop.paper.baselines.layout import BaselineState

ENTRY = np.dtype([("key", "f8"), ("count", "i4")], align=True)


@structure
class Part(ctypes.Structure):
    size: int
    bound: float
    entries: Annotated[Any, ENTRY]
    ends: Annotated[Any, np.dtype(np.int32)]


@structure
class Whole(ctypes.Structure):
    chosen: int
    first: Part
    second: Part
    texts: Annotated[Any, np.dtype(np.uint8)]


@structure
class Extended(Whole):
    more: int


whole_of, extended_of = view_of(Whole), view_of(Extended)


@jit
def append(part: Part, end: int) -> None:
    part.entries[part.size].key = part.bound
    part.entries[part.size].count += 2
    part.ends[part.size] = end
    part.size += 1


@njit
def fill(memory: Any, count: int) -> int:
    whole = whole_of(memory)
    part = whole.second if whole.chosen else whole.first
    part.bound = 1  # becomes a float
    for end in range(count):
        append(part, 10 * end)
        part.bound /= 2
    return int(as_words(whole.texts)[1])


@njit
def extend(memory: Any) -> int:
    extended = extended_of(memory)
    extended.more += extended.first.ends.size
    return extended.more


@njit
def misspell(memory: Any) -> int:
    return int(whole_of(memory).chosne)  # type: ignore[attr-defined]


def attach(place: Any, array: np.ndarray) -> np.ndarray:
    place.address, place.size = array.ctypes.data, array.size
    return array


def words(structure: Any) -> np.ndarray:
    return np.frombuffer(structure, np.int64)


@pytest.mark.parametrize("chosen", [0, 1])
def test_what_a_kernel_writes_python_reads(chosen: int) -> None:
    whole = Whole(chosen=chosen)
    parts = (whole.first, whole.second)
    entries = [attach(part.entries, np.zeros(5, ENTRY)) for part in parts]
    ends = [attach(part.ends, np.zeros(5, np.int32)) for part in parts]
    texts = attach(whole.texts, np.arange(16, dtype=np.uint8))
    assert fill(words(whole), 3) == texts.view(np.int64)[1]
    assert (parts[chosen].size, parts[chosen].bound) == (3, 0.125)
    assert entries[chosen].tolist() == [(1.0, 2), (0.5, 2), (0.25, 2), (0.0, 0), (0.0, 0)]
    assert ends[chosen].tolist() == [0, 10, 20, 0, 0]
    assert parts[1 - chosen].size == 0
    assert not ends[1 - chosen].any()


def test_a_structure_is_extended_behind() -> None:
    extended = Extended(more=4)
    ends = attach(extended.first.ends, np.zeros(3, np.int32))
    assert extend(words(extended)) == extended.more == 4 + ends.size
    assert Extended.first.offset == Whole.first.offset


def test_a_name_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(TypingError, match="chosne"):
        misspell(words(Whole()))


def test_paths_of_arrays() -> None:
    """Those of an extended structure have the same numbers: kernels ask for room by number."""
    assert list(arrays_of(Whole)) == ["first.entries", "first.ends", "second.entries", "second.ends", "texts"]
    assert list(arrays_of(BaselineState))[: len(ARRAYS)] == list(ARRAYS) == list(arrays_of(State))
