"""A history in slices of time: where it is cut, what is replayed for a slice, and how stays that were cut are joined again.

The slice [a, b) replays the sets from a - w on, so that at time a it has the window that a single run would have, and reports
what it sees in [a, b): segments of stays. All of it is columns; what a stay is, :mod:`swoop.stays` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from swoop.engine.contents import Names
from swoop.engine.feed import ENTER
from swoop.engine.layout import CHANGE
from swoop.errors import InternalError
from swoop.join.algorithms import make_engine
from swoop.join.arrivals import NO_SIDES
from swoop.join.columns import find_column, read_sets, read_streams, read_table, read_times
from swoop.similarity import Similarity
from swoop.spec import JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import Clock, WindowSpec

SEGMENT = np.dtype(
    [
        ("newer", "i8"),
        ("older", "i8"),
        ("key", "f8"),
        ("overlap", "i8"),
        ("enter", "i8"),
        ("leave", "i8"),
        ("end", "i8"),
        ("is_cut", "?"),
    ]
)
"""A part of a stay, or all of it. Its sets are told by their arrival numbers. ``end``: of the pair, when it changed last.
``is_cut``: whether the slice saw it begin before its start."""

NEVER = int(np.iinfo(np.int64).max)
"""When a stay ends that goes on at the end of the history."""


@dataclass(frozen=True)
class Extent:
    """How many rows there are, and when: the first, the last, and quantiles with about equally many rows between them."""

    rows: int
    first: int
    last: int
    quantiles: list[int]

    def cuts(self, duration: int, slices: int | None, cores: int) -> list[int]:
        """The times at which slices begin, and the end of the last. A burst is not cut: its slices would replay each other."""
        least = 1 if slices else max(1, duration // 2)
        if slices is None:
            widest = max(1, (self.last - self.first) // duration)  # slices shorter than the window replay more than they report
            slices = max(1, min(2 * cores, 2 * widest, self.rows // 10_000 + 1))  # more would begin without a floor too often
        steps = len(self.quantiles) - 1
        cuts = [self.first]
        for n in range(1, slices):
            cut = self.quantiles[steps * n // slices]  # on Spark by doubles, so it may lie beyond the last
            if cut - cuts[-1] >= least and cut <= self.last:
                cuts.append(cut)
        return [*cuts, self.last + 1]


def steps_of(slices: int | None) -> int:
    """How many quantiles cuts are chosen from."""
    return 1000 if slices is None else slices


def replay(
    batches: Iterable[Any],
    spec: JoinSpec,
    tokens: str | TokenFunction,
    start: int,
    stop: int,
    is_last: bool,
    first: int = 0,
    names: Names | None = None,
) -> Iterator[tuple[np.ndarray, int]]:
    """Let the sets of a slice arrive, in order, and give the segments of stays within ``[start, stop)``. Times are ticks.

    The arrival number of the first set is ``first``. Where copies count once, ``names`` has the records of all these sets,
    which may be older than that.

    After each batch: the segments that have ended, as rows of ``SEGMENT``, and the arrival number of the oldest set that may be
    named later. ``leave`` is the time at which a stay ends or is cut, and ``NEVER`` if the history ends.
    """
    engine = make_engine(spec, first)
    segments = Segments(start)
    for _ in arrive(engine, batches, spec.window, tokens, spec.two_streams, names):
        yield segments.take(take_changes(engine)), engine.first_needed
    if not is_last:
        engine.advance(stop - 1)
    yield segments.take(take_changes(engine)), engine.first_needed
    yield segments.end(NEVER if is_last else stop, engine.topk()), engine.first_needed


def arrive(
    engine: Any,
    batches: Iterable[Any],
    window: WindowSpec,
    tokens: str | TokenFunction,
    two_streams: bool = False,
    names: Names | None = None,
) -> Iterator[np.ndarray]:
    """Let sets arrive, in order, with the names of their records if they are known; after each batch, its times."""
    clock, arrived = Clock(window), 0
    for batch in batches:
        columns = read_table(batch)
        sets, _ = read_sets(columns, tokens)
        kind, ticks = read_times(find_column(columns, "time", "time"), "time", clock)
        sides = read_streams(find_column(columns, "stream", "stream"), "stream") if two_streams else NO_SIDES
        for first, rows, offsets, found in sets:
            places = slice(first, first + rows)
            known = None if names is None else names.of(slice(arrived, arrived + rows))
            engine.insert(ticks[places], offsets, found, sides[places], known)
            arrived += rows
            if rows:
                clock.advance(kind, int(ticks[first + rows - 1]))
        yield ticks


def take_changes(engine: Any) -> np.ndarray:
    """The changes since the last call."""
    if not engine.has_changes:
        return np.empty(0, CHANGE)
    first, rows, _ = engine.changes()
    engine.forget_changes(first + len(rows))
    return rows  # type: ignore[no-any-return]


class Segments:
    """From changes to the part of stays that lies in a slice, many at a time: what :class:`swoop.stays.Stays` does one by one.

    A segment has a positive length, or it is what is left of a stay that ends where it is cut: that tells the end of its pair.

    Like the feed of a join, it knows who is in the top-k, and never passes on a change that cannot be.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self._open = np.empty(0, CHANGE)  # the entries of those who are in the top-k

    def take(self, changes: np.ndarray) -> np.ndarray:
        """The segments that these changes end."""
        if len(changes) == 0:
            return np.empty(0, SEGMENT)
        known = np.concatenate((self._open, changes))
        known = known[np.lexsort((known["older"], known["newer"]))]  # stable: the changes of a pair stay in order
        enters = known["kind"] == ENTER
        is_next = (known["newer"][1:] == known["newer"][:-1]) & (known["older"][1:] == known["older"][:-1])
        should_enter = np.append(True, ~is_next | ~enters[:-1])
        if (enters != should_enter).any():
            wrong = known[np.flatnonzero(enters != should_enter)[0]]
            raise InternalError(
                f"the change feed says at time {wrong['time']} that the pair of sets {wrong['newer']} and {wrong['older']} "
                + ("enters the top-k, where it is already" if wrong["kind"] == ENTER else "leaves the top-k, where it is not")
            )
        ends = np.flatnonzero(~enters)
        goes_on = enters.copy()
        goes_on[ends - 1] = False
        self._open = known[goes_on]
        return self._segments(known[ends - 1], known["time"][ends], known["end"][ends])

    def end(self, leave: int, topk: np.ndarray) -> np.ndarray:
        """The segments that the end of the slice cuts, or that go on at that of the history. The top-k tells when pairs end."""
        there, known = (rows[np.lexsort((rows["older"], rows["newer"]))] for rows in (topk, self._open))
        return self._segments(known, leave, there["end"])

    def _segments(self, entries: np.ndarray, leave: np.ndarray | int, end: np.ndarray) -> np.ndarray:
        found = np.empty(len(entries), SEGMENT)
        for name in ("newer", "older", "key", "overlap"):
            found[name] = entries[name]
        found["enter"] = np.maximum(entries["time"], self._start)
        found["is_cut"] = entries["time"] < self._start
        found["leave"] = leave
        found["end"] = end
        is_told = (found["leave"] > found["enter"]) | found["is_cut"] & (found["leave"] == self._start)
        return found[is_told]  # type: ignore[no-any-return]


def join_segments(segments: np.ndarray) -> np.ndarray:
    """Stays from the segments of all slices, whose sets are called alike in all of them.

    Where copies count once, a pair may leave and come back at once, also at a cut: these are two stays.
    """
    segments = segments[np.lexsort((~segments["is_cut"], segments["enter"], segments["older"], segments["newer"]))]
    before, after = segments[:-1], segments[1:]
    is_same = (before["newer"] == after["newer"]) & (before["older"] == after["older"])
    goes_on = is_same & after["is_cut"] & (before["leave"] == after["enter"])
    begins = np.append(True, ~goes_on)[: len(segments)]
    stays = segments[begins]
    is_last = np.append(~goes_on, True)[: len(segments)]
    stays["leave"] = segments["leave"][is_last]
    stays["end"] = segments["end"][is_last]
    return stays[stays["leave"] > stays["enter"]]  # type: ignore[no-any-return]


def similarities(keys: np.ndarray, similarity: Similarity) -> np.ndarray:
    """The similarities for ranking keys."""
    different, places = np.unique(keys, return_inverse=True)
    shown = np.array([similarity.shown(key) for key in different.tolist()], np.float64)
    return np.take(shown, places)
