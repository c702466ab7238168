"""Sorting of integers in flat arrays: by insertion for a few, by digits for many."""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit, select
from swoop.engine.layout import SortRoom

_BY_INSERTION = 32  # so many at most
DIGITS = 256


@jit
def sort(values: Any, first: int, size: int, lowest_bit: int, room: SortRoom) -> None:
    """Sort ``values[first:first + size]``, which are not negative, ascending by their bits from ``lowest_bit`` on."""
    if size <= _BY_INSERTION:
        for a in range(first + 1, first + size):
            value = values[a]
            b = a
            while b > first and values[b - 1] > value:
                values[b] = values[b - 1]
                b -= 1
            values[b] = value
        return
    largest = int64(0)
    for p in range(first, first + size):
        largest = max(largest, int64(values[p]))
    shift = lowest_bit
    while (largest >> shift) > 0:
        _sort_by_digit(values, first, size, shift, room)
        shift += 8


@jit
def bring_smallest(values: Any, at: int, size: int) -> None:
    """Bring the smallest of ``values[at:size]`` to ``at``: where only the first few are needed, less work than sorting."""
    least, place = values[at], at
    for p in range(at + 1, size):
        value = values[p]
        place = select(value < least, p, place)
        least = min(value, least)
    values[place] = values[at]
    values[at] = least


@jit
def _sort_by_digit(values: Any, first: int, size: int, shift: int, room: SortRoom) -> None:
    for digit in range(DIGITS):
        room.counts[digit] = 0
    for p in range(size):
        value = int64(values[first + p])
        room.spare[p] = value
        room.counts[(value >> shift) & 255] += 1
    end = 0
    for digit in range(DIGITS):
        count = room.counts[digit]
        room.counts[digit] = end
        end += count
    for p in range(size):
        value = room.spare[p]
        digit = (value >> shift) & 255
        values[first + room.counts[digit]] = value
        room.counts[digit] += 1
