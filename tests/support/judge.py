"""The oracle's definition, one record at a time: what :mod:`swoop.oracle` says about every moment of a stream, in one pass.

The oracle compares every record with every other anew each time that it is asked. Here the valid pairs are kept in their order:
a record adds its pairs, time takes those away that have ended. ``tests/test_oracle.py`` holds the two against each other.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from swoop.oracle import Record, _distinct, rank
from swoop.results import Change, Kind, Pair
from swoop.similarity import Similarity, find_similarity
from swoop.spec import Copies
from swoop.times import Clock, Time, find_window


class _Copies(NamedTuple):
    """Equal sets, of which each came while the one before was valid: arrival numbers and ticks."""

    record: Record
    tokens: frozenset[Any]
    arrivals: list[int]
    ticks: list[int]


class _Compared(NamedTuple):
    """Two records that may be a pair, for as long as both are valid."""

    newer: _Copies
    older: _Copies
    overlap: int
    value: float
    key: float


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
        copies: Copies = "each",
    ) -> None:
        self.changes: list[Change] = []
        self.ranks: list[int] = []  # of the changes: places in the top-k after a step, or before it
        self._k, self._two_streams, self._least, self._copies = k, two_streams, min_similarity, copies
        self._measure, self._window = find_similarity(similarity), find_window(window)
        self._clock = Clock(self._window)
        self._sets: list[tuple[int, float, Record, frozenset[Any]]] = []  # those that are valid: arrival, end, ...
        self._records: list[_Copies] = []  # the same where copies count once
        self._compared: list[_Compared] = []
        self._arrivals = 0
        self._pairs: list[_Valid] = []
        self._current: list[_Valid] = []
        self._values: dict[tuple[int, int, int], tuple[float, float]] = {}

    def add(self, record: Record) -> None:
        """Let a record arrive."""
        kind, tick = self._clock.read(record.time)
        self._clock.advance(kind, tick)
        number, self._arrivals = self._arrivals, self._arrivals + 1
        if self._window.kind == "count" or kind == "none":
            tick = number
        self._expire(tick)
        tokens = _distinct(record.tokens)
        if self._copies == "once":
            self._renew(number, tick, record, tokens)
            self._step(tick, "outranked")
            return
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
        if (found := self._rank(newer, tokens, older, others)) is not None:
            overlap, value, key = found
            insort(self._pairs, _Valid((key, -end, i, j), end, self._pair(value, overlap, tick, end, i, newer, j, older)))

    def _rank(
        self, newer: Record, tokens: frozenset[Any], older: Record, others: frozenset[Any]
    ) -> tuple[int, float, float] | None:
        """Overlap, similarity, and a number that is the smaller the more similar they are; None if they make no pair."""
        overlap = len(tokens & others)
        if overlap == 0 or (self._two_streams and newer.stream == older.stream):
            return None
        shape = (len(tokens), len(others), overlap)
        if shape not in self._values:
            self._values[shape] = (self._measure(*shape), -_quick(rank(self._measure, *shape)))
        value, key = self._values[shape]
        return None if self._least is not None and value < self._least else (overlap, value, key)

    def _pair(
        self, value: float, overlap: int, tick: int, end: float, i: int, newer: Record, j: int, older: Record, *seen: Any
    ) -> Pair:
        return Pair(
            value,
            i if newer.id is None else newer.id,
            j if older.id is None else older.id,
            overlap,
            self._clock.result_time(tick),
            None if math.isinf(end) else self._clock.result_time(int(end)),
            newer.stream if self._two_streams else None,
            (i, j),
            *seen,
        )

    def _renew(self, number: int, tick: int, record: Record, tokens: frozenset[Any]) -> None:
        for other in self._records:
            if tokens and (other.tokens, other.record.stream) == (tokens, record.stream):
                other.arrivals.append(number)
                other.ticks.append(tick)
                break
        else:
            newer = _Copies(record, tokens, [number], [tick])
            for older in self._records:
                if (found := self._rank(record, tokens, older.record, older.tokens)) is not None:
                    self._compared.append(_Compared(newer, older, *found))
            self._records.append(newer)
        self._pair_records(tick)

    def _pair_records(self, now: int) -> None:
        """All pairs of records anew, as they are at a tick: ends and copies change all the time."""
        duration = self._window.duration or math.inf
        seen = {one.arrivals[0]: self._seen(one, now) for one in self._records}
        self._pairs = []
        for newer, older, overlap, value, key in self._compared:
            i, j = newer.arrivals[0], older.arrivals[0]
            end = min(newer.ticks[-1], older.ticks[-1]) + duration
            pair = self._pair(value, overlap, newer.ticks[0], end, i, newer.record, j, older.record, *seen[i], *seen[j])
            self._pairs.append(_Valid((key, -end, i, j), end, pair))
        self._pairs.sort()

    def _seen(self, one: _Copies, now: int) -> tuple[Any, ...]:
        """How many copies are valid at a tick, and when the first and the last one came."""
        duration = self._window.duration or math.inf
        times = (self._clock.result_time(tick) for tick in (one.ticks[0], one.ticks[-1]))
        return sum(tick + duration > now for tick in one.ticks), *times

    def _drop_records(self, now: float) -> None:
        """Forget the records that are no longer valid."""
        duration = self._window.duration or math.inf
        self._records = [one for one in self._records if one.ticks[-1] + duration > now]
        known = {one.arrivals[0] for one in self._records}
        self._compared = [one for one in self._compared if one.newer.arrivals[0] in known and one.older.arrivals[0] in known]

    def _expire_records(self, now: int) -> None:
        for end in sorted({valid.end for valid in self._pairs if valid.end <= now}):
            self._pair_records(int(end) - 1)
            self._current = self._pairs[: self._k]
            self._drop_records(end)
            self._pair_records(int(end))
            self._step(int(end), "expired")
        self._drop_records(now)
        self._pair_records(now)
        self._current = self._pairs[: self._k]

    def _expire(self, now: int) -> None:
        """Every end of a pair is a moment of its own."""
        if self._copies == "once":
            self._expire_records(now)
            return
        for end in sorted({valid.end for valid in self._pairs if valid.end <= now}):
            self._pairs = [valid for valid in self._pairs if valid.end > end]
            self._step(int(end), "expired")
        self._sets = [older for older in self._sets if older[1] > now]

    def _step(self, tick: int, leaving: Kind) -> None:
        before, self._current = self._current, self._pairs[: self._k]
        time = self._clock.result_time(tick)
        was, is_now = ({valid.pair.arrivals for valid in pairs} for pairs in (before, self._current))
        if leaving == "outranked":  # as it is now
            known = {valid.pair.arrivals: valid for valid in self._pairs}
            before = [known[valid.pair.arrivals] for valid in before]
        for place, one in reversed([*enumerate(before, 1)]):
            if one.pair.arrivals not in is_now:
                self.changes.append(Change(time, leaving, one.pair))
                self.ranks.append(place)
        for place, one in enumerate(self._current, 1):
            if one.pair.arrivals not in was:
                self.changes.append(Change(time, "enter", one.pair))
                self.ranks.append(place)


def _quick(rank: Fraction | float) -> float:
    """A number that orders like a rank, and is compared sooner than a fraction.

    Two fractions that differ do so by at least one divided by both denominators, which are below 2**128.
    """
    return (rank.numerator << 256) // rank.denominator if isinstance(rank, Fraction) else rank


def judge(records: Iterable[Record], *arguments: Any, now: Time | None = None, **options: Any) -> Judge:
    """The judge of a whole stream, at a time, by default that of the last record."""
    found = Judge(*arguments, **options)
    found.add_all(records)
    if now is not None:
        found.advance(now)
    return found
