"""What enters an engine, checked. Kernels look at no bounds, so they are never given what they do not expect.

Whoever brings sets (a bulk, a saved join, the chunks of a checkpoint, the state of a cell), they come through here, once. This
costs a few passes over flat arrays, far less than the arrivals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.rank import MAX_SET_SIZE
from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidData
from swoop.times import LATEST

MAX_TEXT_SIZE = 2**32 - 1  # bytes of a token
MAX_COUNT = 2**61  # of anything that was ever counted; what is added later does not overflow


def checked_sets(
    times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray, streams: int
) -> tuple[np.ndarray, np.ndarray, Tokens, np.ndarray]:
    """The columns of some sets as kernels take them: contiguous and aligned. Raises InvalidData if they are not in order."""
    times = _flat("times", times, np.int64)
    offsets = _flat("offsets", offsets, np.int64)
    sides = _flat("sides", sides, np.int8)
    tokens = _checked_tokens(tokens)
    size = len(times)
    if size:
        _demand_range("times", times, -LATEST + 1, LATEST - 1)
        _demand_order("times", times)
    _demand(len(offsets) == size + 1, f"{size} sets need {size + 1} offsets, not {len(offsets)}")
    _demand_order("offsets", offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    _demand(first == 0 and last == len(tokens), f"{len(tokens)} tokens were given, but offsets are from {first} to {last}")
    if size:
        largest = int(np.diff(offsets).max())
        _demand(largest <= MAX_SET_SIZE, f"a set has {largest} tokens, and {MAX_SET_SIZE} is the most there can be")
    if streams == 2:
        _demand(len(sides) == size, f"{size} sets need {size} sides, not {len(sides)}")
        if size:
            _demand_range("sides", sides, 0, 1)
    else:
        _demand(len(sides) == 0, f"in a self join sets have no sides, but {len(sides)} were given")
    return times, offsets, tokens, sides


def check_window(first: int, times: np.ndarray, now: int, duration: int) -> None:
    """Raise InvalidData unless sets with these times, the first of which has arrival number ``first``, can be a window now.

    ``duration`` 0: unbounded.
    """
    _demand(0 <= first < MAX_COUNT, f"arrival numbers begin with {first}, which is out of range")
    _demand(-LATEST < now < LATEST, f"the index time is {now}, which is out of range")
    if len(times):
        earliest, latest = int(times[0]), int(times[-1])
        _demand(latest <= now, f"the index time is {now}, but there is a set with time {latest}")
        is_valid = duration == 0 or earliest > now - duration
        _demand(is_valid, f"a set with time {earliest} is not in a window of {duration} at {now}")


def _checked_tokens(tokens: Tokens) -> Tokens:
    integers = _flat("integer tokens", tokens.integers, np.int64)
    strings, byte_strings = _checked_texts(tokens.strings), _checked_texts(tokens.byte_strings)
    counts = [len(integers), len(strings), len(byte_strings)]
    if tokens.kinds is None:
        _demand(sum(count > 0 for count in counts) <= 1, "there are tokens of several kinds, but no order of them")
        return Tokens(integers, strings, byte_strings)
    kinds = _flat("kinds of tokens", tokens.kinds, np.int8)
    if len(kinds):
        _demand_range("kinds of tokens", kinds, 0, 2)
    there = np.bincount(kinds, minlength=3).tolist()
    _demand(there == counts, f"there are {counts} tokens of the three kinds, but their order has {there}")
    return Tokens(integers, strings, byte_strings, kinds)


def _checked_texts(texts: Texts) -> Texts:
    data, ends = _flat("bytes of tokens", texts.data, np.uint8), _flat("ends of tokens", texts.ends, np.int64)
    _demand(len(ends) > 0, "the ends of tokens are missing")
    _demand_order("ends of tokens", ends)
    first, last = int(ends[0]), int(ends[-1])
    _demand(first == 0 and last == len(data), f"tokens have {len(data)} bytes, but their ends are from {first} to {last}")
    if last > MAX_TEXT_SIZE:
        largest = int(np.diff(ends).max())
        _demand(largest <= MAX_TEXT_SIZE, f"a token has {largest} bytes, and {MAX_TEXT_SIZE} is the most there can be")
    return Texts(data, ends)


def _flat(what: str, array: Any, dtype: type) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        given = f"{array.ndim}-dimensional {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidData(f"{what} must be a flat array of {np.dtype(dtype)}, not {given}")
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy()


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvalidData(otherwise)


def _demand_order(what: str, array: np.ndarray) -> None:
    falls = array[1:] < array[:-1]
    if falls.any():
        place = int(falls.argmax())
        raise InvalidData(f"{what} fall from {array[place]} to {array[place + 1]}, at {place + 1} of {len(array)}")


def _demand_range(what: str, array: np.ndarray, least: int, most: int) -> None:
    lowest, highest = int(array.min()), int(array.max())
    if lowest < least or highest > most:
        raise InvalidData(f"{what} must be from {least} to {most}, but they are from {lowest} to {highest}")
