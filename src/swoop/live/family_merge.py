"""The families of a grid: the links that all cells have found, put together in the order in which sets arrived.

A cell tells, of each arriving set, one link with each family that it touches there: the newest set of it. In another cell that
family may be larger or smaller; it does not matter, because all links together connect what is connected. A set that is linked
with nothing is never heard of. What is known are the valid sets that were linked, with their families; a family remembers its
first set, and how many it has had.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from swoop.engine.kinship import BORN, ENDED, FAMILY, FAMILY_CHANGE, GREW, MERGED
from swoop.join.family_feed import FamilyRows, make_changes, make_list
from swoop.join.family_snapshot import Order, check_view, no_family
from swoop.join.ids import read_id
from swoop.live.known_records import KnownRecords
from swoop.live.unions import check_families, unified
from swoop.live.watermark import MIN_TICK
from swoop.results import Family, FamilyChanges, FamilyList, Id
from swoop.times import Clock

KEY = ("time", "id", "copy")  # what orders sets, and tells them apart
LINK = ("newer", "older")  # the two sets of a link

Key = tuple[int, Any, int]


class _Family:
    """A family: its number, its first and its newest set, its valid sets and all that it has had; or what it is a part of."""

    __slots__ = ("first", "into", "newest", "number", "record", "size", "total")

    def __init__(self, number: int, first: Key) -> None:
        self.number, self.first, self.newest = number, first, first
        self.size = self.total = 1
        self.into: _Family | None = None
        self.record = -1  # the number of what is kept of its newest set

    def root(self) -> _Family:
        """What it is a part of, or itself."""
        family = self
        while family.into is not None:
            if family.into.into is not None:
                family.into = family.into.into
            family = family.into
        return family

    def absorb(self, other: _Family) -> None:
        """Let a family whose first set came later become part of this one."""
        self.size += other.size
        self.total += other.total
        self.newest = max(self.newest, other.newest)
        other.into = self

    def found(self) -> _Found:
        """What it is now."""
        return _Found(self.number, self.first, self.newest, self.size, self.total, self.record)


_first = attrgetter("first")


class _Found(NamedTuple):
    """What a family was at a moment."""

    number: int
    first: Key
    newest: Key
    size: int
    total: int
    record: int


@dataclass(frozen=True)
class MergedFamilies:
    """The families of a moment, to be asked by any thread; those of :class:`swoop.join.family_snapshot.FamilySnapshot`.

    Sets that are in no family are not known, so sets are told by their places among those that are.

    Attributes
    ----------
    keys, members
        Of each set that is known: who it is, and the place of its family.
    found
        The families, in the order of their first sets.
    records
        What is kept of their newest sets, if anything is.
    """

    keys: tuple[Key, ...]
    members: np.ndarray
    found: list[_Found]
    now: int
    clock: Clock
    id_type: pa.DataType
    kept_texts: Mapping[Key, str]
    records: pa.Table | None

    def __len__(self) -> int:
        return len(self.found)

    def union(self) -> pa.Table:
        """All that is needed to make the merge anew: the sets that are known. What is known of a family is with one of them."""
        told = np.full(len(self.keys), -1)
        told[np.unique(self.members, return_index=True)[1]] = np.arange(len(self.found))
        families = _table([family.first for family in self.found], self.id_type).rename_columns(
            [f"first_{name}" for name in KEY]
        )
        families = families.append_column("total", pa.array([family.total for family in self.found], pa.int64()))
        if self.records is not None and self.found:
            families = families.append_column("record", self.records.to_struct_array())
        numbers = np.array([family.number for family in self.found], np.int64)
        union = _table(self.keys, self.id_type).append_column("family", pa.array(numbers[self.members]))
        for name, column in zip(families.column_names, families.take(pa.array(told, mask=told < 0)).columns, strict=True):
            union = union.append_column(name, column)
        texts = [self.kept_texts.get(key) for key in self.keys] if self.kept_texts else [None] * len(self.keys)
        return union.append_column("text", pa.array(texts, pa.large_string()))

    def families(self, n: int | None = None, order: Order = "size") -> FamilyList:
        """At most ``n`` families, in an order; see :meth:`swoop.Families.families`."""
        most_shown = check_view(n, order)
        rows = np.zeros(len(self.found), FAMILY)
        for row, family in zip(rows, self.found, strict=True):
            row["first"], row["first_seen"] = family.number, family.first[0]
            row["size"], row["total"] = family.size, family.total
        last_seen = np.array([family.newest[0] for family in self.found], np.int64)
        most = sizes = rows["size"].astype(np.int64)
        if order == "newest":
            most = last_seen
        elif order == "growing":
            fresh = self.times > self.now - -(-self.clock.window.duration // 10)
            most = np.bincount(self.members[fresh], minlength=len(self.found))
        places = np.lexsort((np.arange(len(rows)), -sizes, -most))[:most_shown]
        shown = [self.found[place] for place in places.tolist()]
        names, newest = [family.first[1] for family in shown], [family.newest[1] for family in shown]
        records = None if self.records is None else self.records.take(places)
        return make_list(rows[places], last_seen[places], names, newest, self.clock, records)

    @cached_property
    def times(self) -> np.ndarray:
        """Of the sets that are known."""
        return np.fromiter((key[0] for key in self.keys), np.int64, len(self.keys))

    def arrivals(self, id: Id | Family) -> np.ndarray:
        """The places of the sets of a family that are in the window, in the order of their arrival."""
        name = None if isinstance(id, Family) else read_id(id)
        for place, family in enumerate(self.found):
            if (family.number == id.arrival) if isinstance(id, Family) else (family.first[1] == name):
                found = np.flatnonzero(self.members == place).tolist()
                return np.array(sorted(found, key=self.keys.__getitem__), np.int64)
        raise no_family(id)

    def named(self, arrivals: np.ndarray) -> list[Id]:
        """The ids of some sets."""
        return [self.keys[place][1] for place in arrivals.tolist()]

    def texts(self, arrivals: np.ndarray) -> list[str | None]:
        """The texts of some sets; None where there is none (any more)."""
        return [self.kept_texts.get(self.keys[place]) for place in arrivals.tolist()]

    def text_of(self, key: Key) -> str | None:
        """The text of a set that a change tells of, in the window or just out of it."""
        return self.kept_texts.get(key)


def _table(keys: Sequence[Key], id_type: pa.DataType) -> pa.Table:
    """Sets by their keys."""
    types = (pa.int64(), id_type, pa.int64())
    columns = ([key[place] for key in keys] for place in range(len(KEY)))
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(KEY, columns, types, strict=True)})


class FamilyMerge:
    """The families of all cells up to ``now``. ``union`` is all that was known of them: :meth:`MergedFamilies.union`.

    ``kept`` are the columns that are kept of sets, if there are any. Those of the newest set of each family are known: it is
    the last to leave, and any other that takes its place arrives later.
    """

    def __init__(self, clock: Clock, union: pa.Table | None = None, now: int = MIN_TICK, kept: pa.Schema | None = None) -> None:
        self._clock, self._now = clock, now
        self._of: dict[Key, _Family] = {}  # of valid sets that are linked
        self._leaving: list[Key] = []  # the same sets, as a heap
        self._texts: dict[Key, str] = {}  # of the same sets,
        self._left: list[Key] = []  # and of those that have left by the last step: changes tell of them
        self._count = 0  # families so far
        self._found: list[tuple[int, int, _Found, Id | None]] = []  # changes: time, kind, family, into
        self._id_type = pa.null()
        self._kept = None if kept is None else KnownRecords(kept)
        self._arrived: dict[Key, int] = {}  # the numbers of the records of the sets that arrive
        if union is not None and "family" in union.column_names:
            self._restore(union)

    def _restore(self, union: pa.Table) -> None:
        valid = range(self._now - self._clock.window.duration + 1, self._now + 1)
        check_families(union, KEY, valid, self._kept is not None)
        self._id_type = union.schema.field("id").type
        families: dict[int, _Family] = {}
        plain = union.drop_columns("record") if "record" in union.column_names else union
        for row in plain.sort_by([(name, "ascending") for name in KEY]).to_pylist():
            key = tuple(row[name] for name in KEY)
            family = families.setdefault(row["family"], _Family(row["family"], key))
            if row["total"] is not None:
                family.first, family.total = tuple(row[f"first_{name}"] for name in KEY), row["total"]
            family.newest = key
            self._know(key, family)
            if row.get("text") is not None:
                self._texts[key] = row["text"]
        for family, size in Counter(self._of.values()).items():
            family.size = size
        self._count = 1 + max(families, default=-1)
        if self._kept is not None:
            told = np.flatnonzero(union["total"].is_valid().to_numpy()).tolist()
            numbers = self._kept.add(union, "record", told)
            for place, number in zip(told, numbers, strict=True):
                families[union["family"][place].as_py()].record = number

    def apply(self, links: pa.Table, now: int) -> FamilyChanges:
        """Take the links that all cells have found up to a time, and give what happened to families.

        O(log n) for each link and each set, with n sets known.
        """
        for key in self._left:
            self._texts.pop(key, None)
        self._left = []
        if links.num_rows:
            known = pa.schema([("newer_id", self._id_type)])
            self._id_type = unified(known, links.schema).field("newer_id").type
            if "newer_text" in links.column_names:
                self._take_texts(links)
            if self._kept is not None:
                places = {key: place for place, key in enumerate(self._keys(links, "newer"))}
                numbers = self._kept.add(links, "newer_record", [*places.values()])
                self._arrived = dict(zip(places, numbers, strict=True))
            found = sorted(set(zip(*(self._keys(links, which) for which in LINK), strict=True)))
            for arriving, group in groupby(found, lambda link: link[0]):
                self._expire(arriving[0])
                self._arrive(arriving, [older for _, older in group])
        self._expire(now)
        self._now, self._arrived = now, {}
        changes = self._changes()
        if self._kept is not None:
            self._kept.forget_others(lambda: {family.root().record for family in self._of.values()})
        return changes

    def _keys(self, links: pa.Table, which: str) -> Iterable[Key]:
        return zip(*(links[f"{which}_{name}"].to_pylist() for name in KEY), strict=True)

    def _take_texts(self, links: pa.Table) -> None:
        for which in LINK:
            told = zip(self._keys(links, which), links[f"{which}_text"].to_pylist(), strict=True)
            self._texts.update((key, text) for key, text in told if text is not None)

    def _find(self, key: Key) -> _Family:
        """The family of a set that is known."""
        family = self._of[key] = self._of[key].root()
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
        kind = GREW if oldest.total > 1 else BORN
        for family in others:
            oldest.absorb(family)
        oldest.size += 1
        oldest.total += 1
        oldest.newest, oldest.record = key, self._arrived.get(key, -1)
        self._know(key, oldest)
        self._note(time, kind, oldest)

    def _expire(self, now: int) -> None:
        """Sets leave the window, all with the same time together; families end with their last sets, the oldest first."""
        duration = self._clock.window.duration
        while self._leaving and self._leaving[0][0] + duration <= now:
            time, ended = self._leaving[0][0], []
            while self._leaving and self._leaving[0][0] == time:
                key = heapq.heappop(self._leaving)
                family = self._find(key)
                del self._of[key]
                self._left.append(key)
                family.size -= 1
                if not family.size:
                    ended.append(family)
            for family in sorted(ended, key=_first):
                self._note(time + duration, ENDED, family)

    # results

    def _note(self, time: int, kind: int, family: _Family, into: _Family | None = None) -> None:
        self._found.append((time, kind, family.found(), None if into is None else into.first[1]))

    def _changes(self) -> FamilyChanges:
        found, self._found = self._found, []
        rows = np.zeros(len(found), FAMILY_CHANGE)
        for row, (time, kind, family, _) in zip(rows, found, strict=True):
            row["time"], row["kind"], row["family"], row["first_seen"] = time, kind, family.number, family.first[0]
            row["size"], row["total"] = family.size, family.total
        told = [family for _, _, family, _ in found]
        sets = [(family.first, family.newest) for family in told]
        names, representatives = ([key[1] for key in keys] for keys in zip(*sets, strict=True)) if sets else ([], [])
        into = [into for *_, into in found]
        return make_changes(FamilyRows(rows, names, into, representatives, sets, self._records_of(told)), self._clock)

    def _records_of(self, families: list[_Found]) -> pa.Table | None:
        """What is kept of their newest sets, if anything is."""
        return None if self._kept is None else self._kept.take(family.record for family in families)

    def snapshot(self) -> MergedFamilies:
        """The families of now. O(n) with n sets known."""
        roots = [family.root() for family in self._of.values()]
        families = sorted(set(roots), key=_first)
        places = {family: place for place, family in enumerate(families)}
        found = [family.found() for family in families]
        return MergedFamilies(
            tuple(self._of),
            np.fromiter(map(places.__getitem__, roots), np.int64, len(roots)),
            found,
            self._now,
            self._clock,
            self._id_type,
            self._texts,
            self._records_of(found),
        )
