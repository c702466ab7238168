"""What enters an engine, checked. Kernels look at no bounds, so they are never given what they do not expect.

Whoever brings sets (a batch, a saved join, the chunks of a checkpoint, the state of a cell), they come through here, once. This
costs a few passes over flat arrays, far less than the arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidData
from swoop.similarity import MAX_SET_SIZE
from swoop.times import LATEST

MAX_TEXT_SIZE = 2**32 - 1  # bytes of a token
UNNAMED = 2**63 - 1
MAX_COUNT = 2**61  # of anything that was ever counted; what is added later does not overflow


@dataclass(frozen=True)
class Contents:
    """The sets of a window, oldest first: all that what an engine says depends on."""

    first: int
    times: np.ndarray
    sides: np.ndarray
    offsets: np.ndarray
    tokens: Tokens
    names: Names | None = None


@dataclass(frozen=True)
class Names:
    """Where copies count once, of the record of each set: its identity, and when it was first seen.

    A set whose record has no name yet has the identity :data:`UNNAMED`.
    """

    identities: np.ndarray
    first_seen: np.ndarray

    def of(self, sets: slice) -> Names:
        """The same of some of the sets."""
        return Names(self.identities[sets], self.first_seen[sets])


def checked_sets(
    times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray, side_count: int
) -> tuple[np.ndarray, np.ndarray, Tokens, np.ndarray]:
    """The columns of some sets as kernels take them: contiguous and aligned. Raises InvalidData if they are not in order."""
    times = _flat("times", times, np.int64)
    offsets = _flat("offsets", offsets, np.int64)
    sides = _flat("sides", sides, np.int8)
    tokens = _checked_tokens(tokens)
    size = len(times)
    if size:
        _demand_order("times", times)
        if not -LATEST < times[0] <= times[-1] < LATEST:
            raise InvalidData(f"times must be below 2**62 in size, but they are from {times[0]} to {times[-1]}")
    if len(offsets) != size + 1:
        raise InvalidData(f"{size} sets need {size + 1} offsets, not {len(offsets)}")
    _demand_whole("tokens", len(tokens), "offsets", offsets)
    _demand_sizes("a set", "tokens", offsets, MAX_SET_SIZE)
    if len(sides) != (size if side_count == 2 else 0):
        raise InvalidData(f"{size} sets have {len(sides)} sides, in a join that has {side_count}")
    if len(sides) and not 0 <= sides.min() <= sides.max() <= 1:
        raise InvalidData(f"sides must be 0 or 1, but they are from {sides.min()} to {sides.max()}")
    return times, offsets, tokens, sides


def check_window(first: int, times: np.ndarray, now: int, duration: int) -> None:
    """Raise InvalidData unless sets with these times, the first of which has arrival number ``first``, can be a window now.

    ``duration`` 0: unbounded.
    """
    if not 0 <= first < MAX_COUNT:
        raise InvalidData(f"arrival numbers begin with {first}, which is out of range")
    if not -LATEST < now < LATEST:
        raise InvalidData(f"the index time is {now}, which is out of range")
    if len(times) == 0:
        return
    if times[-1] > now:
        raise InvalidData(f"the index time is {now}, but there is a set with time {times[-1]}")
    if duration and times[0] <= now - duration:
        raise InvalidData(f"a set with time {times[0]} is not in a window of {duration} at {now}")


def _checked_tokens(tokens: Tokens) -> Tokens:
    integers = _flat("integer tokens", tokens.integers, np.int64)
    strings, byte_strings = _checked_texts(tokens.strings), _checked_texts(tokens.byte_strings)
    counts = [len(integers), len(strings), len(byte_strings)]
    if tokens.kinds is None:
        if sum(count > 0 for count in counts) > 1:
            raise InvalidData("there are tokens of several kinds, but no order of them")
        return Tokens(integers, strings, byte_strings)
    kinds = _flat("kinds of tokens", tokens.kinds, np.int8)
    there = np.bincount(kinds.view(np.uint8), minlength=3).tolist()
    if there != counts:
        raise InvalidData(f"there are {counts} tokens of the three kinds, but their order has {there[:4]}")
    return Tokens(integers, strings, byte_strings, kinds)


def _checked_texts(texts: Texts) -> Texts:
    data, ends = _flat("bytes of tokens", texts.data, np.uint8), _flat("ends of tokens", texts.ends, np.int64)
    if len(ends) == 0:
        raise InvalidData("the ends of tokens are missing")
    _demand_whole("bytes of tokens", len(data), "ends of tokens", ends)
    _demand_sizes("a token", "bytes", ends, MAX_TEXT_SIZE)
    return Texts(data, ends)


def _flat(what: str, array: Any, dtype: type) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        given = f"{array.ndim}-dimensional {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidData(f"{what} must be a flat array of {np.dtype(dtype)}, not {given}")
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def _demand_order(what: str, array: np.ndarray) -> None:
    if len(array) < 2:
        return
    falls = array[1:] < array[:-1]
    if falls.any():
        place = int(falls.argmax())
        raise InvalidData(f"{what} fall from {array[place]} to {array[place + 1]}, at {place + 1} of {len(array)}")


def _demand_whole(of: str, count: int, what: str, ends: np.ndarray) -> None:
    """Ends of parts, from 0 on, must be in order and end where the whole does."""
    _demand_order(what, ends)
    if ends[0] != 0 or ends[-1] != count:
        raise InvalidData(f"there are {count} {of}, but {what} are from {ends[0]} to {ends[-1]}")


def _demand_sizes(part: str, of: str, ends: np.ndarray, most: int) -> None:
    if ends[-1] > most:
        largest = int(np.diff(ends).max())
        if largest > most:
            raise InvalidData(f"{part} has {largest} {of}, and {most} is the most there can be")
