"""Ranks: which place of the top-k a pair comes to, and which it leaves. They follow from the changes; the engine knows nothing.

A *step* is the arrival of a set, or a moment at which pairs end. The rank of a pair that enters is its place in the top-k after
the step, that of a pair that leaves is its place before the step; the first place is 1.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from swoop.engine.feed import ENTER
from swoop.similarity import COSINE, Similarity

NO_RENEWALS = np.empty((0, 3), np.int64)

_FINE = 104  # bits: two cosines, squared, of sets with fewer than 2**25 tokens each differ by more than 2**-100

PairKey: TypeAlias = "tuple[int, int]"
Place: TypeAlias = "tuple[Any, ...]"


class Ranks:
    """The top-k in the total order, from change to change.

    ``rows`` and ``seen`` are those of the top-k at the beginning, as the engine gives them. Where copies count once, pairs move
    without a change when one of their records is renewed, so renewals must be told as well.
    """

    def __init__(self, similarity: Similarity, duration: int, rows: np.ndarray, seen: np.ndarray | None) -> None:
        self._is_cosine, self._duration = similarity.kind == COSINE, duration
        self._order: list[Place] = []
        self._places: dict[PairKey, Place] = {}
        self._pairs_of: dict[int, set[PairKey]] = {}  # of records,
        self._last_seen: dict[int, int] = {}  # and when they were
        for number, row in enumerate(_items(rows)):
            self._enter(row, None if seen is None else seen[number])

    def of(self, changes: np.ndarray, seen: np.ndarray | None, renewals: np.ndarray = NO_RENEWALS) -> np.ndarray:
        """The ranks of the next changes. ``renewals``: the arrival numbers, times and identities of sets that renewed a record.

        O(k) for each change, in one move of memory.
        """
        ranks = np.zeros(len(changes), np.int64)
        rows = _items(changes)
        waiting = deque(self._relevant(changes, renewals).tolist())
        for begin, end in _steps(changes["by"], changes["time"]):
            by, time = rows[begin]["by"], rows[begin]["time"]
            while waiting and (waiting[0][0] < by if by >= 0 else waiting[0][1] < time):
                self._renew(*waiting.popleft()[1:])
            entering = [number for number in range(begin, end) if rows[number]["kind"] == ENTER]
            leaving = [number for number in range(begin, end) if rows[number]["kind"] != ENTER]
            for number in leaving:
                ranks[number] = self._rank(rows[number])
            for number in leaving:
                self._leave(rows[number])
            if waiting and waiting[0][0] == by:
                self._renew(*waiting.popleft()[1:])
            for number in entering:
                self._enter(rows[number], None if seen is None else seen[number])
            for number in entering:
                ranks[number] = self._rank(rows[number])
        for _, time, identity in waiting:
            self._renew(time, identity)
        return ranks

    def _rank(self, row: dict[str, Any]) -> int:
        return 1 + bisect_left(self._order, self._places[row["newer"], row["older"]])

    def _place(self, row: dict[str, Any], end: int) -> Place:
        strength = row["key"]
        if self._is_cosine:  # doubles cannot tell all such fractions apart, but they do tell the product of the sizes
            squared = row["overlap"] ** 2
            strength = (squared << _FINE) // round(squared / strength)
        return -strength, -end, row["newer"], row["older"]

    def _enter(self, row: dict[str, Any], seen: Any) -> None:
        pair = row["newer"], row["older"]
        self._places[pair] = place = self._place(row, row["end"])
        insort(self._order, place)
        if seen is not None:
            for identity, name in zip(pair, ("newer", "older"), strict=True):
                self._pairs_of.setdefault(identity, set()).add(pair)
                self._last_seen[identity] = int(seen[f"{name}_last_seen"])

    def _leave(self, row: dict[str, Any]) -> None:
        pair = row["newer"], row["older"]
        del self._order[bisect_left(self._order, self._places.pop(pair))]
        for identity in pair if self._pairs_of else ():
            self._pairs_of[identity].discard(pair)
            if not self._pairs_of[identity]:
                del self._pairs_of[identity], self._last_seen[identity]

    def _relevant(self, changes: np.ndarray, renewals: np.ndarray) -> np.ndarray:
        """The renewals of records that are in the top-k at some time."""
        if not len(renewals):
            return renewals
        there = np.fromiter(self._pairs_of, np.int64, len(self._pairs_of))
        return renewals[np.isin(renewals[:, 2], np.concatenate([there, changes["newer"], changes["older"]]))]

    def _renew(self, time: int, identity: int) -> None:
        """The pairs of a record end later."""
        if identity in self._last_seen:
            self._last_seen[identity] = time
        for pair in self._pairs_of.get(identity, ()):
            strength, _, *rest = self._places[pair]
            del self._order[bisect_left(self._order, self._places[pair])]
            end = min(self._last_seen[one] for one in pair) + self._duration
            self._places[pair] = place = (strength, -end, *rest)
            insort(self._order, place)


def _items(rows: np.ndarray) -> list[dict[str, Any]]:
    names = rows.dtype.names or ()
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def _steps(by: np.ndarray, times: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where steps begin and end: changes that the same set has brought about, or the same moment."""
    if not len(by):
        return
    begins = (by[1:] != by[:-1]) | ((by[1:] < 0) & (times[1:] != times[:-1]))
    borders = [0, *(np.flatnonzero(begins) + 1).tolist(), len(by)]
    yield from pairwise(borders)
