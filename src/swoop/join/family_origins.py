"""The origins of families: what the sets of a window do not tell about them, for a run that resumes with these sets.

A family never splits, and is called after its first set, also when that has left the window. So which family a set is of cannot
be told from the window alone. A row says that a set is of the family of another one, its *origin*: it is written once for each
set that is in a family of several, and once more for a family that becomes part of another one, in the name of its first set.
From row to row one comes to the set that a family is called after. A row also has the id and the time of the origin, and how
many sets the family had then; the latest counts. It is as good as one of the sets is valid that it leads further.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.engine.contents import MAX_COUNT, check_window
from swoop.engine.family_engine import Known
from swoop.engine.kinship import FAMILY
from swoop.engine.tokens import Tokens
from swoop.join.families import Families
from swoop.join.family_storage import check_families
from swoop.join.origins import Window, origins_table
from swoop.join.restoring import demand

NO_FAMILY_ORIGINS = origins_table([], [], [], [], [], [])


class FamilyOrigins:
    """Which origins of families have been told, so that each is told once.

    ``_labels`` are the first sets of the families of the sets from ``_first`` on, as they were told: a set in no family of
    several has its own number.
    """

    def __init__(self, families: Families) -> None:
        self._families = families
        self._first, self._labels = 0, np.empty(0, np.int64)

    def news(self) -> pa.Table:
        """The origins that came about since the last call. O(window), unless no set has arrived since."""
        engine, ids = self._families._engine, self._families._ids
        if engine.arrivals == self._first + len(self._labels):
            return NO_FAMILY_ORIGINS
        times, oldest = engine.times(), engine.oldest
        own = np.arange(oldest, engine.arrivals)
        entries = np.append(engine.entries(), np.zeros(1, FAMILY))[engine.members()]  # the last is that of sets without tokens
        labels = np.where(entries["total"] > 1, entries["first"], own)
        before = self._labels[oldest - self._first :]  # of the sets that were there
        moved = np.flatnonzero(before != labels[: len(before)])[::-1]  # the last of each family first
        merged, places = np.unique(before[moved], return_index=True)
        joined = np.flatnonzero(labels != own)
        joined = joined[joined >= len(before)]
        at = np.concatenate((moved[places], joined))
        self._first, self._labels = oldest, labels
        return origins_table(
            times[at],
            np.concatenate((merged, own[joined])),
            labels[at],
            entries["first_seen"][at],
            ids.get_all(labels[at].tolist()),
            entries["total"][at],
        )

    @contextmanager
    def replay(self, window: Window, origins: pa.Table) -> Iterator[None]:
        """Let the sets of a window arrive at the families, which are new, in this context, with these origins.

        Raises ValueError or InvalidData if these cannot be right.
        """
        families, engine, first = self._families, self._families._engine, window.first
        check_window(first, window.times, window.now, families.window.duration)
        known, names = _read_families(window, origins)
        check_families(known, first, window.times)
        is_old = known.families["first"] < first
        families._ids.keep(
            known.families["first"][is_old].tolist(), [name for name, old in zip(names, is_old, strict=True) if old]
        )

        def insert(times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray) -> None:
            at = engine.arrivals - first
            engine.give(known.members[at : at + len(times)])
            engine.insert(times, offsets, tokens, sides)

        with engine.replaying(first, known.families, len(window.times)):
            families._replay = insert
            yield
            families._replay = None
        families._feed.restore(None, engine.families()[1]["first"].tolist())
        own = np.arange(first, first + len(window.times))
        firsts = np.append(known.families["first"], 0)[known.members]
        self._first, self._labels = first, np.where(known.members >= 0, firsts, own)


def _read_families(window: Window, origins: pa.Table) -> tuple[Known, list[Any]]:
    """The families of several sets, the place of its family among them for each set of the window, and the ids of families."""
    arrivals, begun, first_seen, total = (origins[name].to_numpy() for name in ("arrival", "origin", "first_time", "total"))
    stop = window.first + len(window.times)
    is_right = (begun >= 0) & (begun < arrivals) & (arrivals < stop) & (total > 1) & (total < MAX_COUNT)
    demand(bool(is_right.all()) and len(np.unique(arrivals)) == len(arrivals), "origins are not those of the sets")
    root: dict[int, int] = {}
    for place in np.argsort(arrivals).tolist():  # an origin came first, so it is known already what that is of
        origin = int(begun[place])
        root[int(arrivals[place])] = root.get(origin, origin)
    valid = np.array(sorted(arrival for arrival in root if arrival >= window.first), np.int64)
    labels = np.array([root[arrival] for arrival in valid.tolist()], np.int64)
    firsts, numbers = np.unique(labels, return_inverse=True)
    latest = {int(begun[place]): place for place in np.argsort(total, kind="stable").tolist()}
    places = [latest[label] for label in firsts.tolist()]
    rows = np.zeros(len(firsts), FAMILY)
    rows["first"], rows["first_seen"], rows["total"] = firsts, first_seen[places], total[places]
    members = np.full(len(window.times), -1, np.int64)
    members[valid - window.first] = numbers
    is_here = firsts >= window.first
    members[firsts[is_here] - window.first] = np.flatnonzero(is_here)
    return Known(rows, members), origins["id"].take(pa.array(places, pa.int64())).to_pylist()
