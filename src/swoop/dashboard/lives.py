"""The lives of families, as the page shows them: those that are there and the last of those that are over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from swoop.dashboard.wire import family_key, shown_id, shown_time
from swoop.results import Family, FamilyChange, FamilyKind, Id
from swoop.times import Time


@dataclass(frozen=True, slots=True)
class Life:
    """When a family began, how many records it has had, and how it is over; ``how`` None while it is there."""

    number: int
    family: Id
    begin: Time
    records: int
    end: Time | None = None
    how: FamilyKind | None = None
    into: Id | None = None

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "family": shown_id(self.family),
            "from": shown_time(self.begin),
            "to": shown_time(self.end),
            "records": self.records,
            "how": self.how,
            "into": None if self.into is None else shown_id(self.into),
        }


class Lives:
    """Lives, made from changes; where none come, from which families are there from time to time.

    Parameters
    ----------
    most
        How many lives are kept that are over, and how many that are not; of these, the largest families.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, Life] = {}  # by the keys of their families
        self._over: deque[Life] = deque(maxlen=most)
        self._count = 0

    def take(self, change: FamilyChange) -> None:
        """Note what happened to a family. What is told twice counts once."""
        key = family_key(change)
        begin, total = change.first_seen, change.total
        if begin is None or total is None:  # an earlier release has saved it
            known = self._open.get(key)
            begin, total = (change.time, 2) if known is None else (known.begin, known.records)
        if change.kind in ("born", "grew"):
            self._note(key, change.family, begin, total)
        elif key in self._open or not self._is_over(change.family, begin):
            self._note(key, change.family, begin, total)
            self._end(key, change.time, change.kind, change.into)

    def compare(self, there: Iterable[Family], gone: Iterable[Family], now: Time | None) -> None:
        """Fill in what changes did not tell: the families that are shown as they are, and those that are gone."""
        for family in there:
            key = family_key(family)
            if key in self._open or not self._is_over(family.id, family.first_seen):
                self._note(key, family.id, family.first_seen, family.total)
        for family in gone:
            if (key := family_key(family)) in self._open:
                self._end(key, now, "ended", None)

    def _is_over(self, family: Id, begin: Time) -> bool:
        return any((life.family, life.begin) == (family, begin) for life in self._over)

    def last(self, family: Family) -> Life | None:
        """How a family is over, if it is."""
        own = (family.id, family.first_seen)
        return next((life for life in reversed(self._over) if (life.family, life.begin) == own), None)

    def _note(self, key: str, family: Id, begin: Time, records: int) -> None:
        """A family is there, with so many records so far."""
        if (life := self._open.get(key)) is not None:
            if (life.begin, life.records) != (begin, records):
                self._open[key] = replace(life, begin=begin, records=records)
            return
        self._count += 1
        self._open[key] = Life(self._count, family, begin, records)
        if len(self._open) > 2 * self._most:
            largest = sorted(self._open.items(), key=lambda item: -item[1].records)[: self._most]
            self._open = dict(sorted(largest, key=lambda item: item[1].number))

    def _end(self, key: str, time: Time | None, how: FamilyKind, into: Id | None) -> None:
        if (life := self._open.pop(key, None)) is not None:
            self._over.append(replace(life, end=time, how=how, into=into))

    def rows(self) -> dict[str, dict[str, Any]]:
        """The lives as JSON, by their numbers."""
        largest = sorted(self._open.values(), key=lambda life: -life.records)[: self._most]
        return {str(life.number): life.row() for life in [*self._over, *largest]}
