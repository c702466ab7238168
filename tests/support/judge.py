"""The oracle's definition, one record at a time: what :mod:`swoop.oracle` says about every moment of a stream, in one pass.

The oracle compares every record with every other anew each time that it is asked. Here the valid pairs are kept in their order:
a record adds its pairs, time takes those away that have ended. ``tests/test_oracle.py`` holds the two against each other.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable
from typing import Any, NamedTuple

from swoop.oracle import Record, _distinct, rank
from swoop.results import Change, Kind, Pair
from swoop.similarity import Similarity, find_similarity
from swoop.times import Clock, Time, find_window


class _Valid(NamedTuple):
    order: tuple[Any, ...]  # no two are equal, so that nothing else is ever compared
    end: float
    pair: Pair


class Judge:
    """The top-k after each record, and every change of it so far. The parameters are those of the oracle."""

    def __init__(
        self,
        k: int | None,
        window: Any,
        similarity: str | Similarity = "jaccard",
        *,
        two_streams: bool = False,
        min_similarity: float | None = None,
    ) -> None:
        self.changes: list[Change] = []
        self._k, self._two_streams, self._least = k, two_streams, min_similarity
        self._measure, self._window = find_similarity(similarity), find_window(window)
        self._clock = Clock(self._window)
        self._sets: list[tuple[int, float, Record, frozenset[Any]]] = []  # those that are valid: arrival, end, ...
        self._arrivals = 0
        self._pairs: list[_Valid] = []
        self._current: list[_Valid] = []
        self._values: dict[tuple[int, int, int], tuple[float, Any]] = {}

    def add(self, record: Record) -> None:
        """Let a record arrive."""
        kind, tick = self._clock.read(record.time)
        self._clock.moved(kind, tick)
        number, self._arrivals = self._arrivals, self._arrivals + 1
        if self._window.kind == "count" or kind == "none":
            tick = number
        self._expire(tick)
        tokens = _distinct(record.tokens)
        for older in self._sets:
            self._compare(number, tick, record, tokens, *older)
        end = tick + self._window.duration if self._window.duration else math.inf
        self._sets.append((number, end, record, tokens))
        self._step(tick, "outranked")

    def add_all(self, records: Iterable[Record]) -> None:
        """Let records arrive one after the other."""
        for record in records:
            self.add(record)

    def advance(self, now: Time) -> None:
        """Let time move on without a record; a count window knows no time."""
        if self._window.kind != "count":
            self._expire(self._clock.read(now)[1])

    def topk(self) -> list[Pair]:
        """The k most similar pairs."""
        return [valid.pair for valid in self._current]

    def _compare(
        self,
        i: int,
        tick: int,
        newer: Record,
        tokens: frozenset[Any],
        j: int,
        end: float,
        older: Record,
        others: frozenset[Any],
    ) -> None:
        overlap = len(tokens & others)
        if overlap == 0 or (self._two_streams and newer.stream == older.stream):
            return
        shape = (len(tokens), len(others), overlap)
        if shape not in self._values:
            self._values[shape] = (self._measure(*shape), -rank(self._measure, *shape))
        value, key = self._values[shape]
        if self._least is not None and value < self._least:
            return
        pair = Pair(
            value,
            i if newer.id is None else newer.id,
            j if older.id is None else older.id,
            overlap,
            self._clock.result_time(tick),
            None if math.isinf(end) else self._clock.result_time(int(end)),
            newer.stream if self._two_streams else None,
            (i, j),
        )
        insort(self._pairs, _Valid((key, -end, i, j), end, pair))

    def _expire(self, now: int) -> None:
        """Every end of a pair is a moment of its own."""
        for end in sorted({valid.end for valid in self._pairs if valid.end <= now}):
            self._pairs = [valid for valid in self._pairs if valid.end > end]
            self._step(int(end), "expired")
        self._sets = [older for older in self._sets if older[1] > now]

    def _step(self, tick: int, leaving: Kind) -> None:
        before, self._current = self._current, self._pairs[: self._k]
        time = self._clock.result_time(tick)
        was, is_now = ({valid.pair.arrivals for valid in pairs} for pairs in (before, self._current))
        self.changes.extend(Change(time, leaving, v.pair) for v in reversed(before) if v.pair.arrivals not in is_now)
        self.changes.extend(Change(time, "enter", v.pair) for v in self._current if v.pair.arrivals not in was)


def judge(records: Iterable[Record], *arguments: Any, now: Time | None = None, **options: Any) -> Judge:
    """The judge of a whole stream, at a time, by default that of the last record."""
    found = Judge(*arguments, **options)
    found.add_all(records)
    if now is not None:
        found.advance(now)
    return found
