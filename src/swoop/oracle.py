"""Brute force, for anyone who wants to check Swoop: every pair, exact fractions, plain Python.

It shares no code with the engine except the names of the similarities. It is slow, quadratic in the number of records, and
short enough to be read and trusted. Results are defined as in the documentation:

- a set with time t is valid while ``now - window < t <= now``;
- a pair counts from the time of its newer set until before the time of its older set plus the window;
- only pairs with a common token count; in a two-stream join only left-right pairs;
- order: similarity descending, end time descending, arrival number of the newer set ascending, then of the older ascending;
- where copies count once, a set that equals a valid one renews it: the record keeps its arrival number and gets the new time;
- two sets are linked if they are valid at the same time, have a common token, and are equal or similar enough; a family is a
  connected component of all links so far that has a valid set. It is named after its first set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swoop.results import Change, Family, FamilyChange, FamilyKind, Id, Kind, Pair, Stream, Token
from swoop.similarity import COSINE, DICE, HAMMING, JACCARD, OVERLAP, Similarity, find_similarity
from swoop.spec import Copies
from swoop.times import Clock, Time, find_window


@dataclass(frozen=True)
class Record:
    """A set of the stream. ``id``: by default its arrival number. ``stream``: its side in a two-stream join."""

    tokens: Iterable[Token]
    time: Time | None = None
    id: Id | None = None
    stream: Stream | None = None


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


@dataclass(frozen=True)
class _Candidate:
    """A pair of the window, by arrival numbers; ``order``: its place in the total order; ``end`` in ticks."""

    arrivals: tuple[int, int]
    order: tuple[Any, ...]
    end: float
    pair: Pair


@dataclass
class _Set:
    """A set, or several equal ones of which each came while the one before was valid: arrival numbers."""

    tokens: frozenset[Any]
    stream: Stream | None
    copies: list[int]


class _Stream:
    """A stream as it is after some of its arrivals, at some tick."""

    def __init__(
        self,
        records: Sequence[Record],
        window: Any,
        similarity: str | Similarity,
        two_streams: bool,
        min_similarity: float | None,
        copies: Copies,
    ) -> None:
        self.records, self.two_streams, self.copies = records, two_streams, copies
        self.least = None if min_similarity is None else float(min_similarity)
        self.measure, spec = find_similarity(similarity), find_window(window)
        self.clock, self.duration = Clock(spec), spec.duration
        self.ticks: list[int] = []
        for arrival, record in enumerate(records):
            kind, tick = self.clock.read(record.time)
            self.clock.advance(kind, tick)
            self.ticks.append(arrival if spec.kind == "count" or kind == "none" else tick)
        self.sets = [_distinct(record.tokens) for record in records]

    def ticks_of(self, now: Time | None) -> int:
        """A time in ticks, by default that of the last record."""
        if now is not None and self.clock.window.kind != "count":
            return self.clock.read(now)[1]
        return self.ticks[-1] if self.ticks else 0

    def end(self, arrival: int) -> float:
        """When a set leaves the window."""
        return self.ticks[arrival] + self.duration if self.duration else math.inf

    def is_valid(self, arrival: int, at: int) -> bool:
        return at < self.end(arrival)

    def sets_of(self, arrivals: int, at: int) -> list[_Set]:
        """What is in the window. Where copies count once, a set that equals a valid one of its side renews it."""
        found: list[_Set] = []
        for arrival, record in enumerate(self.records[:arrivals]):
            tokens, stream = self.sets[arrival], record.stream if self.two_streams else None
            for other in found if self.copies == "once" and tokens else ():
                is_equal = (other.tokens, other.stream) == (tokens, stream)
                if is_equal and self.is_valid(other.copies[-1], self.ticks[arrival]):
                    other.copies.append(arrival)
                    break
            else:
                found.append(_Set(tokens, stream, [arrival]))
        return [one for one in found if self.is_valid(one.copies[-1], at)]

    def valid(self, arrivals: int, at: int) -> list[_Candidate]:
        """The pairs that count, in the total order."""
        found: list[_Candidate] = []
        sets = self.sets_of(arrivals, at)
        for place, newer in enumerate(sets):
            for older in sets[:place]:
                candidate = self.compare(newer, older, at)
                if candidate is not None:
                    found.append(candidate)
        return sorted(found, key=lambda candidate: candidate.order)

    def compare(self, newer: _Set, older: _Set, at: int) -> _Candidate | None:
        overlap = len(newer.tokens & older.tokens)
        if overlap == 0 or (self.two_streams and newer.stream == older.stream):
            return None
        sizes = len(newer.tokens), len(older.tokens)
        value = self.measure(*sizes, overlap)
        if self.least is not None and value < self.least:
            return None
        i, j = newer.copies[0], older.copies[0]
        end = min(self.ticks[one.copies[-1]] for one in (newer, older)) + self.duration if self.duration else math.inf
        pair = Pair(
            value,
            self.name(i),
            self.name(j),
            overlap,
            self.time(i),
            None if math.isinf(end) else self.clock.result_time(int(end)),
            newer.stream,
            (i, j),
            **({**self.seen("newer", newer, at), **self.seen("older", older, at)} if self.copies == "once" else {}),
        )
        return _Candidate((i, j), (-rank(self.measure, *sizes, overlap), -end, i, j), end, pair)

    def seen(self, name: str, one: _Set, at: int) -> dict[str, Any]:
        return {
            f"{name}_copies": sum(self.is_valid(arrival, at) for arrival in one.copies),
            f"{name}_first_seen": self.time(one.copies[0]),
            f"{name}_last_seen": self.time(one.copies[-1]),
        }

    def name(self, arrival: int) -> Id:
        given = self.records[arrival].id
        return arrival if given is None else given

    def time(self, arrival: int) -> Time:
        return self.clock.result_time(self.ticks[arrival])


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
    copies: Copies = "each",
) -> list[Pair]:
    """The k most similar pairs at the time ``now``, by default that of the last record. ``k=None``: all pairs.

    >>> topk([Record("abc", 1), Record("abd", 2), Record("xyz", 3)], k=2, window=10)
    [Pair(similarity=0.5, newer=1, older=0, overlap=2, start=2, end=11)]
    >>> topk([Record("abc", 1), Record("abd", 2)], k=2, window=10, now=11)
    []
    >>> topk([Record("abc", 1), Record("abd", 2), Record("abc", 3)], k=2, window=10, copies="once")
    [Pair(similarity=0.5, newer=1, older=0, overlap=2, start=2, end=12)]
    """
    stream = _Stream(records, window, similarity, two_streams, min_similarity, copies)
    return [candidate.pair for candidate in stream.valid(len(records), stream.ticks_of(now))[:k]]


def stock(
    records: Sequence[Record],
    k: int,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
    two_streams: bool = False,
    min_similarity: float | None = None,
    copies: Copies = "each",
) -> list[Pair]:
    """The minimal stock: the pairs dominated by fewer than k others. A pair dominates what it precedes and outlasts.

    >>> [pair.arrivals for pair in stock([Record("abc", 1), Record("abd", 2), Record("ab", 3)], k=1, window=10)]
    [(2, 1)]
    """
    stream = _Stream(records, window, similarity, two_streams, min_similarity, copies)
    valid = stream.valid(len(records), stream.ticks_of(now))
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
    copies: Copies = "each",
) -> list[Change]:
    """Every change of the top-k up to the time ``now``, by default that of the last record, as in the change feed.

    >>> for change in changes([Record("abc", 1), Record("abd", 2), Record("ab", 3)], k=1, window=10, now=13):
    ...     print(change.time, change.kind, change.pair.newer, change.pair.older)
    2 enter 1 0
    3 outranked 1 0
    3 enter 2 1
    12 expired 2 1
    """
    stream = _Stream(records, window, similarity, two_streams, min_similarity, copies)
    until = stream.ticks_of(now)
    ends = sorted({tick + stream.duration for tick in stream.ticks}) if stream.duration else []
    feed: list[Change] = []
    for arrival, tick in [*enumerate(stream.ticks), (len(records), until)]:
        while ends and ends[0] <= tick:
            end = ends.pop(0)
            before, after = stream.valid(arrival, end - 1)[:k], stream.valid(arrival, end)[:k]
            feed += _step(stream.clock.result_time(end), "expired", before, after)
        if arrival < len(records):
            known = {candidate.arrivals: candidate for candidate in stream.valid(arrival + 1, tick)}
            before = [known[candidate.arrivals] for candidate in stream.valid(arrival, tick)[:k]]
            feed += _step(stream.clock.result_time(tick), "outranked", before, list(known.values())[:k])
    return feed


def _step(time: Time, leaving: Kind, before: list[_Candidate], after: list[_Candidate]) -> Iterator[Change]:
    """The changes at one moment: who leaves, the last first; then who enters. Pairs are as they are then, or were."""
    was, is_now = ({candidate.arrivals for candidate in top} for top in (before, after))
    yield from (Change(time, leaving, c.pair) for c in reversed(before) if c.arrivals not in is_now)
    yield from (Change(time, "enter", c.pair) for c in after if c.arrivals not in was)


def families(
    records: Sequence[Record],
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
    order: str = "size",
) -> list[Family]:
    """The families of at least two sets at the time ``now``, by default that of the last record, in the requested order.

    >>> families([Record("abc", 1), Record("abd", 2), Record("xyz", 3)], 0.5, window=10)
    [Family(id=0, size=2, total=2, first_seen=1, last_seen=2, representative=1)]
    >>> families([Record("abc", 1), Record("abd", 2), Record("xyz", 3)], 0.5, window=10, now=11)
    [Family(id=0, size=1, total=2, first_seen=1, last_seen=2, representative=1)]
    """
    stream = _Stream(records, window, similarity, False, min_similarity, "each")
    at = stream.ticks_of(now)
    found, _ = _grow_families(stream, at)

    def place(first: int) -> tuple[Any, ...]:
        """Its place in the order: ties by size, then by first set."""
        valid = [arrival for arrival in found[first] if stream.is_valid(arrival, at)]
        if stream.duration:
            fresh = sum(10 * (at - stream.ticks[arrival]) < stream.duration for arrival in valid)
        else:
            fresh = sum(10 * (len(records) - 1 - arrival) < len(records) for arrival in valid)
        most = {"size": len(valid), "newest": stream.ticks[found[first][-1]], "growing": fresh}[order]
        return -most, -len(valid), first

    return [
        Family(
            stream.name(first),
            sum(stream.is_valid(arrival, at) for arrival in found[first]),
            len(found[first]),
            stream.time(first),
            stream.time(found[first][-1]),
            stream.name(found[first][-1]),
            first,
        )
        for first in sorted(found, key=place)
        if len(found[first]) > 1
    ]


def family_changes(
    records: Sequence[Record],
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    now: Time | None = None,
) -> list[FamilyChange]:
    """Everything that happened to families up to the time ``now``, by default that of the last record.

    >>> for change in family_changes([Record("abc", 1), Record("abd", 2), Record("abe", 3)], 0.5, window=10, now=13):
    ...     print(change.time, change.kind, change.family)
    2 born 0
    3 grew 0
    13 ended 0
    """
    stream = _Stream(records, window, similarity, False, min_similarity, "each")
    return _grow_families(stream, stream.ticks_of(now))[1]


def _grow_families(stream: _Stream, until: int) -> tuple[dict[int, list[int]], list[FamilyChange]]:
    """The families of a stream at some tick, those of one set too, by their first sets: arrival numbers. And what happened."""
    found: dict[int, list[int]] = {}
    feed: list[FamilyChange] = []
    for arrival, tick in [*enumerate(stream.ticks), (len(stream.ticks), until)]:
        ended = sorted((end, first) for first, members in found.items() if (end := stream.end(members[-1])) <= tick)
        gone = [(int(end), first) for end, first in ended if len(found[first]) > 1]
        feed += [_family_change(stream, end, "ended", found[first]) for end, first in gone]
        for _, first in ended:
            del found[first]
        if arrival == len(stream.ticks):
            break
        linked = [first for first in sorted(found) if any(_is_linked(stream, arrival, other) for other in found[first])]
        into = min([*linked, arrival])
        merged = [first for first in linked[1:] if len(found[first]) > 1]
        feed += [_family_change(stream, tick, "merged", found[first], into) for first in merged]
        kind: FamilyKind = "grew" if linked and len(found[into]) > 1 else "born"
        found[into] = [*sorted(other for first in linked for other in found.pop(first)), arrival]
        if linked:
            feed.append(_family_change(stream, tick, kind, found[into]))
    return found, feed


def _family_change(stream: _Stream, tick: int, kind: FamilyKind, members: list[int], into: int | None = None) -> FamilyChange:
    """What happens at a time to the family of these sets."""
    return FamilyChange(
        stream.clock.result_time(tick),
        kind,
        stream.name(members[0]),
        None if into is None else stream.name(into),
        sum(stream.is_valid(member, tick) for member in members),
        len(members),
        stream.time(members[0]),
        stream.name(members[-1]),
        arrival=members[0],
        into_arrival=into,
    )


def _is_linked(stream: _Stream, newer: int, older: int) -> bool:
    one, other = stream.sets[newer], stream.sets[older]
    if not one & other or not stream.is_valid(older, stream.ticks[newer]):
        return False
    return one == other or stream.least is None or stream.measure(len(one), len(other), len(one & other)) >= stream.least
