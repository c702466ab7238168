"""Brute force, for anyone who wants to check Swoop: every pair, exact fractions, plain Python.

It shares no code with the engine except the names of the similarities. It is slow, quadratic in the number of records, and
short enough to be read and trusted. Results are defined as in the documentation:

- a set with time t is valid while ``now - window < t <= now``;
- a pair counts from the time of its newer set until before the time of its older set plus the window;
- only pairs with a common token count; in a two-stream join only left-right pairs;
- order: similarity descending, end time descending, arrival number of the newer set ascending, then of the older ascending.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swoop.results import Change, Id, Kind, Pair, Stream, Token
from swoop.similarity import COSINE, DICE, HAMMING, JACCARD, OVERLAP, Similarity, find_similarity
from swoop.times import Clock, Time, find_window


@dataclass(frozen=True)
class Record:
    """A set of the stream. ``id`` None: its arrival number. ``stream``: its side in a two-stream join."""

    tokens: Iterable[Token]
    time: Time | None = None
    id: Id | None = None
    stream: Stream | None = None


@dataclass(frozen=True)
class _Candidate:
    order: tuple[Any, ...]
    start: int
    end: float
    pair: Pair


def rank(similarity: Similarity, len_r: int, len_s: int, overlap: int) -> Fraction | float:
    """An exact number that ranks like the similarity. Cosine is squared.

    >>> from swoop.similarity import find_similarity
    >>> rank(find_similarity("jaccard"), 3, 3, 2)
    Fraction(1, 2)
    """
    if similarity.kind == JACCARD:
        return Fraction(overlap, len_r + len_s - overlap)
    if similarity.kind == COSINE:
        return Fraction(overlap * overlap, len_r * len_s)
    if similarity.kind == DICE:
        return Fraction(2 * overlap, len_r + len_s)
    if similarity.kind == OVERLAP:
        return Fraction(overlap)
    if similarity.kind == HAMMING:
        return Fraction(2 * overlap - len_r - len_s)
    return similarity(len_r, len_s, overlap)


def _candidates(
    records: Sequence[Record], window: Any, similarity: str | Similarity, two_streams: bool, min_similarity: float | None
) -> tuple[list[_Candidate], Clock, list[int]]:
    """All pairs that ever count, with their start and end in ticks; the clock; and the ticks of each arrival."""
    measure = find_similarity(similarity)
    spec = find_window(window)
    clock = Clock(spec)
    ticks: list[int] = []
    for arrival, record in enumerate(records):
        kind, tick = clock.read(record.time)
        clock.moved(kind, tick)
        ticks.append(arrival if spec.kind == "count" or kind == "none" else tick)
    sets = [_distinct(record.tokens) for record in records]
    candidates = []
    for i, newer in enumerate(records):
        for j, older in enumerate(records[:i]):
            overlap = len(sets[i] & sets[j])
            end = ticks[j] + spec.duration if spec.duration else math.inf
            if overlap == 0 or end <= ticks[i] or (two_streams and newer.stream == older.stream):
                continue
            value = measure(len(sets[i]), len(sets[j]), overlap)
            if min_similarity is not None and value < min_similarity:
                continue
            pair = Pair(
                value,
                i if newer.id is None else newer.id,
                j if older.id is None else older.id,
                overlap,
                clock.result_time(ticks[i]),
                None if math.isinf(end) else clock.result_time(int(end)),
                newer.stream if two_streams else None,
                (i, j),
            )
            order = (-rank(measure, len(sets[i]), len(sets[j]), overlap), -end, i, j)
            candidates.append(_Candidate(order, ticks[i], end, pair))
    candidates.sort(key=lambda candidate: candidate.order)
    return candidates, clock, ticks


def _distinct(tokens: Iterable[Token]) -> frozenset[tuple[type, Token]]:
    """The set of tokens; 1 and "1" and b"1" are different."""
    return frozenset((str if isinstance(t, str) else bytes if isinstance(t, bytes) else int, t) for t in tokens)


def topk(
    records: Sequence[Record],
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
    two_streams: bool = False,
    min_similarity: float | None = None,
) -> list[Pair]:
    """The k most similar pairs at a time, by default the time of the last record. ``k`` None: all pairs.

    >>> topk([Record("abc", 1), Record("abd", 2), Record("xyz", 3)], k=2, window=10)
    [Pair(similarity=0.5, newer=1, older=0, overlap=2, start=2, end=11)]
    >>> topk([Record("abc", 1), Record("abd", 2)], k=2, window=10, now=11)
    []
    """
    candidates, clock, ticks = _candidates(records, window, similarity, two_streams, min_similarity)
    at = _now(clock, ticks, now)
    return [c.pair for c in candidates if c.start <= at < c.end][:k]


def _now(clock: Clock, ticks: list[int], now: Time | None) -> int:
    if now is not None and clock.window.kind != "count":
        return clock.read(now)[1]
    return ticks[-1] if ticks else 0


def stock(
    records: Sequence[Record],
    k: int,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
    two_streams: bool = False,
    min_similarity: float | None = None,
) -> list[Pair]:
    """The minimal stock: the pairs dominated by fewer than k others. A pair dominates what it precedes and outlasts.

    >>> [pair.arrivals for pair in stock([Record("abc", 1), Record("abd", 2), Record("ab", 3)], k=1, window=10)]
    [(2, 1)]
    """
    candidates, clock, ticks = _candidates(records, window, similarity, two_streams, min_similarity)
    at = _now(clock, ticks, now)
    valid = [c for c in candidates if c.start <= at < c.end]
    return [c.pair for place, c in enumerate(valid) if sum(other.end >= c.end for other in valid[:place]) < k]


def changes(
    records: Sequence[Record],
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
    two_streams: bool = False,
    min_similarity: float | None = None,
) -> list[Change]:
    """Every change of the top-k up to a time, by default that of the last record, as the change feed shows it.

    >>> for change in changes([Record("abc", 1), Record("abd", 2), Record("ab", 3)], k=1, window=10, now=13):
    ...     print(change.time, change.kind, change.pair.newer, change.pair.older)
    2 enter 1 0
    3 outranked 1 0
    3 enter 2 1
    12 expired 2 1
    """
    candidates, clock, ticks = _candidates(records, window, similarity, two_streams, min_similarity)
    until = _now(clock, ticks, now)
    ends = sorted({int(c.end) for c in candidates if c.end <= until})
    feed: list[Change] = []
    current: list[_Candidate] = []
    for arrival, tick in [*enumerate(ticks), (len(ticks), until)]:
        while ends and ends[0] <= tick:
            end = ends.pop(0)
            current = _step(feed, clock, current, _valid(candidates, k, arrival, end), end, "expired")
        if arrival < len(ticks):
            current = _step(feed, clock, current, _valid(candidates, k, arrival + 1, tick), tick, "outranked")
    return feed


def _valid(candidates: list[_Candidate], k: int | None, arrivals: int, at: int) -> list[_Candidate]:
    """The top-k at a time, after the given number of arrivals."""
    return [c for c in candidates if c.pair.arrivals is not None and c.pair.arrivals[0] < arrivals and at < c.end][:k]


def _step(
    feed: list[Change], clock: Clock, before: list[_Candidate], after: list[_Candidate], at: int, leaving: Kind
) -> list[_Candidate]:
    time = clock.result_time(at)
    feed.extend(Change(time, leaving, c.pair) for c in reversed(before) if c not in after)
    feed.extend(Change(time, "enter", c.pair) for c in after if c not in before)
    return after
