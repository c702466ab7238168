"""The families of a grid: the links that all cells have found, put together in the order in which sets arrived.

A cell tells, of each arriving set, one link with each family that it touches there: the newest set of it. In another cell that
family may be larger or smaller; it does not matter, because all links together connect what is connected. A set that is linked
with nothing is never heard of. What is known are the valid sets that were linked, with their families; a family remembers its
first set, and how many it has had.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.engine.families import BORN, ENDED, FAMILY, FAMILY_CHANGE, GREW, MERGED
from swoop.errors import NotInWindow
from swoop.join.family_feed import FamilyRows, make_changes, make_list
from swoop.live.watermark import MIN_TICK
from swoop.results import Family, FamilyChanges, FamilyList, Id
from swoop.times import Clock

KEY = ("time", "id", "copy")  # what orders sets, and tells them apart
LINK = ("newer", "older")  # the two sets of a link
UNION = (*KEY, "family", *(f"first_{name}" for name in KEY), "total")

Key = tuple[int, Any, int]


class _Family:
    """A family: its number, its first and its newest set, its valid sets and all that it has had; or what it is a part of."""

    __slots__ = ("first", "into", "newest", "number", "size", "total")

    def __init__(self, number: int, first: Key) -> None:
        self.number, self.first, self.newest = number, first, first
        self.size = self.total = 1
        self.into: _Family | None = None

    def absorb(self, other: _Family) -> None:
        """Let a family whose first set came later become part of this one."""
        self.size += other.size
        self.total += other.total
        self.newest = max(self.newest, other.newest)
        other.into = self


_first = attrgetter("first")


class FamilyMerge:
    """The families of all cells up to ``now``. ``union`` is all that is known of them, as :meth:`union` has given it."""

    def __init__(self, clock: Clock, union: pa.Table | None = None, now: int = MIN_TICK) -> None:
        self._clock, self._now = clock, now
        self._of: dict[Key, _Family] = {}  # of valid sets that are linked
        self._leaving: list[Key] = []  # the same sets, as a heap
        self._count = 0  # families so far
        self._found: list[tuple[int, int, Id, Id | None]] = []  # changes: time, kind, family, into
        self._id_type = pa.null()
        if union is not None and "family" in union.column_names:
            self._restore(union)

    def _restore(self, union: pa.Table) -> None:
        self._id_type = union.schema.field("id").type
        families: dict[int, _Family] = {}
        for row in union.sort_by([(name, "ascending") for name in KEY]).to_pylist():
            key = tuple(row[name] for name in KEY)
            family = families.setdefault(row["family"], _Family(row["family"], key))
            if row["total"] is not None:
                family.first, family.total = tuple(row[f"first_{name}"] for name in KEY), row["total"]
            family.newest = key
            self._know(key, family)
        for family, size in Counter(self._of.values()).items():
            family.size = size
        self._count = 1 + max(families, default=-1)

    def union(self) -> pa.Table:
        """All that is needed to make it anew: the sets that are known. What is known of a family is with one of its sets."""
        rows, told = [], set()
        for key in self._of:
            family = self._find(key)
            about = (None,) * 4 if family in told else (*family.first, family.total)
            told.add(family)
            rows.append((*key, family.number, *about))
        columns = zip(*rows, strict=True) if rows else ((),) * len(UNION)
        types = (self._id_type if name.endswith("id") else pa.int64() for name in UNION)
        return pa.table({name: pa.array(column, kind) for name, column, kind in zip(UNION, columns, types, strict=True)})

    def apply(self, links: pa.Table, now: int) -> FamilyChanges:
        """Take the links that all cells have found up to a time, and give what happened to families.

        O(log n) for each link and each set, with n sets known.
        """
        if links.num_rows:
            self._id_type = links.schema.field("newer_id").type
            found = sorted(set(zip(*(self._keys(links, which) for which in LINK), strict=True)))
            for arriving, group in groupby(found, lambda link: link[0]):
                self._expire(arriving[0])
                self._arrive(arriving, [older for _, older in group])
        self._expire(now)
        self._now = now
        return self._changes()

    def _keys(self, links: pa.Table, which: str) -> Iterable[Key]:
        return zip(*(links[f"{which}_{name}"].to_pylist() for name in KEY), strict=True)

    def _find(self, key: Key) -> _Family:
        """The family of a set that is known."""
        family = self._of[key]
        while family.into is not None:
            if family.into.into is not None:
                family.into = family.into.into
            family = family.into
        self._of[key] = family
        return family

    def _know(self, key: Key, family: _Family) -> None:
        self._of[key] = family
        heapq.heappush(self._leaving, key)

    def _arrive(self, key: Key, linked: list[Key]) -> None:
        """A set arrives that is linked with others: all their families become part of the oldest."""
        for other in linked:
            if other not in self._of:
                self._know(other, _Family(self._count, other))
                self._count += 1
        oldest, *others = sorted({self._find(other) for other in linked}, key=_first)
        time = key[0]
        for family in others:
            if family.total > 1:
                self._note(time, MERGED, family, oldest)
        self._note(time, GREW if oldest.total > 1 else BORN, oldest)
        for family in others:
            oldest.absorb(family)
        oldest.size += 1
        oldest.total += 1
        oldest.newest = key
        self._know(key, oldest)

    def _expire(self, now: int) -> None:
        """Sets leave the window, all with the same time together; families end with their last sets, the oldest first."""
        duration = self._clock.window.duration
        while self._leaving and self._leaving[0][0] + duration <= now:
            time, ended = self._leaving[0][0], []
            while self._leaving and self._leaving[0][0] == time:
                key = heapq.heappop(self._leaving)
                family = self._find(key)
                del self._of[key]
                family.size -= 1
                if not family.size:
                    ended.append(family)
            for family in sorted(ended, key=_first):
                self._note(time + duration, ENDED, family)

    # results

    def _note(self, time: int, kind: int, family: _Family, into: _Family | None = None) -> None:
        self._found.append((time, kind, family.first[1], None if into is None else into.first[1]))

    def _changes(self) -> FamilyChanges:
        found, self._found = self._found, []
        rows = np.zeros(len(found), FAMILY_CHANGE)
        for name, place in (("time", 0), ("kind", 1)):
            rows[name] = [change[place] for change in found]
        return make_changes(FamilyRows(rows, [change[2] for change in found], [change[3] for change in found]), self._clock)

    def __len__(self) -> int:
        """How many families there are."""
        return len(self._families())

    def _families(self) -> set[_Family]:
        return {self._find(key) for key in self._of}

    def families(self, n: int | None = None, order: str = "size") -> FamilyList:
        """As :meth:`swoop.Families.families`. O(n log n) with n sets known."""
        since = self._now - -(-self._clock.window.duration // 10) if order == "growing" else self._now
        fresh = Counter(self._find(key) for key in self._of if key[0] > since)

        def place(family: _Family) -> tuple[int, int, Key]:
            most = {"size": family.size, "newest": family.newest[0], "growing": fresh[family]}[order]
            return -most, -family.size, family.first

        found = sorted(self._families(), key=place)[:n]
        rows = np.zeros(len(found), FAMILY)
        for row, family in zip(rows, found, strict=True):
            row["first"], row["first_seen"] = family.number, family.first[0]
            row["size"], row["total"] = family.size, family.total
        last_seen = np.array([family.newest[0] for family in found], np.int64)
        names, newest = [family.first[1] for family in found], [family.newest[1] for family in found]
        return make_list(rows, last_seen, names, newest, self._clock)

    def members(self, id: Id | Family) -> list[Id]:
        """As :meth:`swoop.Families.members`. O(n) with n sets known."""
        if isinstance(id, Family):
            found = [family for family in self._families() if family.number == id.arrival]
        else:
            found = [family for family in self._families() if family.first[1] == id]
        if not found:
            raise NotInWindow(
                f"there is no family {id!r:.60} of at least two sets with one in the window: it has ended or become part "
                "of another one, which changes tell, or it never was"
            )
        family = min(found, key=_first)
        return [key[1] for key in sorted(key for key in self._of if self._find(key) is family)]
