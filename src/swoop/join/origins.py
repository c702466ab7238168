"""Origins: what the sets of a window do not tell about themselves, for a run that resumes with them.

A record, where copies count once, is called after its first set, also when that has left the window. So what a join says is a
function of its window and of the *origins* of the records in it: of each that began before the window, the first valid set, the
set that it began with, and the id and the time of that one.

Origins are written as they come about. A row is as good as the set that it names is valid. When that leaves the window and its
record goes on, there is a new row; so there are no more rows than copies, and each is forgotten with its set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.engine.contents import Names, check_window
from swoop.engine.tokens import Tokens
from swoop.join.feed import id_column
from swoop.join.kept import read_records
from swoop.join.restoring import demand
from swoop.join.topk_join import TopKJoin
from swoop.times import LATEST


@dataclass(frozen=True)
class Window:
    """Of a window that is to arrive again: the number of its first set, the times of all in order, and the time that it is."""

    first: int
    times: np.ndarray
    now: int


class RecordOrigins:
    """Which origins of a join's records have been told, so that each is told once."""

    def __init__(self, join: TopKJoin) -> None:
        self._join = join
        self._oldest, self._told = -1, np.empty(0, np.int64)

    def news(self) -> pa.Table:
        """The origins that came about since the last call. O(window), unless no set has left it since."""
        engine, ids = self._join._engine, self._join._ids
        if self._join.copies == "each" or engine.oldest == self._oldest:
            return NO_ORIGINS
        self._oldest = engine.oldest
        names = engine.names()
        old = np.flatnonzero(names.identities < engine.oldest)
        origins, places = np.unique(names.identities[old], return_index=True)
        arrivals = engine.oldest + old[places]
        is_new = ~np.isin(arrivals, self._told)
        self._told = arrivals
        at = old[places][is_new]
        origins = origins[is_new]
        found = origins_table(
            engine.times()[at], arrivals[is_new], origins, names.first_seen[at], ids.get_all(origins.tolist())
        )
        kept = self._join._kept
        return found if kept is None else found.append_column("record", kept.take(origins).to_struct_array())

    @contextmanager
    def replay(self, window: Window, origins: pa.Table) -> Iterator[None]:
        """Let the sets of a window arrive at the join, which is new, in this context, with the origins of their records.

        Raises ValueError if these cannot be right.
        """
        join, engine, first, count = self._join, self._join._engine, window.first, len(window.times)
        check_window(first, window.times, window.now, join.window.duration)
        arrivals, begun, first_seen = (origins[name].to_numpy() for name in ("arrival", "origin", "first_time"))
        _check_origins(window, origins["time"].to_numpy(), arrivals, begun, first_seen)
        names = Names(np.arange(first, first + count), window.times.copy())
        names.identities[arrivals - first] = begun
        names.first_seen[arrivals - first] = first_seen
        join._ids.keep(begun.tolist(), origins["id"].to_pylist())
        if join._kept is not None and len(begun):
            demand("record" in origins.column_names, "origins have no records")
            join._kept.name(np.sort(begun), read_records(origins["record"].take(np.argsort(begun)), join._kept.schema))

        def insert(times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray) -> None:
            rows = slice(engine.arrivals - first, engine.arrivals - first + len(times))
            engine.insert(times, offsets, tokens, sides, names.of(rows))

        with engine.replaying(first):
            join._replay = insert if len(begun) else None
            yield
            join._replay = None
        if join.track_changes:
            join._feed.restore(None, engine.topk())
        if len(begun):
            demand(bool(np.isin(begun, engine.identities()).all()), "records are not called as they should be")
            self._told = arrivals


def _check_origins(window: Window, times: np.ndarray, arrivals: np.ndarray, begun: np.ndarray, first_seen: np.ndarray) -> None:
    """Origins of some sets of a window, all of which began before it."""
    first, count = window.first, len(window.times)
    demand(bool(((arrivals >= first) & (arrivals < first + count)).all()), "a set of an origin is not in the window")
    demand(bool(((begun >= 0) & (begun < first)).all()), "an origin is not before the window")
    is_unique = all(len(np.unique(numbers)) == len(numbers) for numbers in (arrivals, begun))
    demand(is_unique and np.array_equal(times, window.times[arrivals - first]), "origins are not those of the sets")
    if len(begun):
        is_right = (first_seen <= window.times[0]) & (first_seen > -LATEST)
        is_right &= (first_seen[np.argsort(begun)][1:] >= first_seen[np.argsort(begun)][:-1]).all()
        demand(bool(is_right.all()), "a record was not first seen when its first set arrived")


def origins_table(times: Any, arrivals: Any, origins: Any, first_seen: Any, ids: list[Any], total: Any = None) -> pa.Table:
    """Origins as rows, of families with how many sets they had."""
    columns = {"time": times, "arrival": arrivals, "origin": origins, "first_time": first_seen}
    columns |= {} if total is None else {"total": total}
    return pa.table({**{name: pa.array(column, pa.int64()) for name, column in columns.items()}, "id": id_column(ids)})


NO_ORIGINS = origins_table([], [], [], [], [])
