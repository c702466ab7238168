"""The lives of families, as the page shows them: those that are there and the last of those that are over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from swoop.dashboard.wire import shown_id, shown_time
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
        self._open: dict[Id, Life] = {}
        self._over: deque[Life] = deque(maxlen=most)
        self._count = 0

    def take(self, change: FamilyChange) -> None:
        """Note what happened to a family. What is told twice counts once, but for its size."""
        life = self._open.get(change.family)
        if change.kind == "born" and life is None:
            self._begin(change.family, change.time, 2)
        elif life is None:
            return
        elif change.kind in ("born", "grew"):
            self._open[change.family] = replace(life, records=life.records + 1)
        else:
            self._end(life, change.time, change.kind, change.into)

    def compare(self, there: Iterable[Family], gone: Iterable[Id], now: Time | None) -> None:
        """Fill in what changes did not tell: the families that are shown as they are, and those that are gone."""
        for family in there:
            life = self._open.get(family.id)
            if life is None:
                if not any(life.family == family.id and life.begin == family.first_seen for life in self._over):
                    self._begin(family.id, family.first_seen, family.total)
            elif (life.begin, life.records) != (family.first_seen, family.total):
                self._open[family.id] = replace(life, begin=family.first_seen, records=family.total)
        for name in gone:
            if name in self._open:
                self._end(self._open[name], now, "ended", None)

    def last(self, family: Id) -> Life | None:
        """How the last family of this name is over, if it is."""
        return next((life for life in reversed(self._over) if life.family == family), None)

    def _begin(self, family: Id, time: Time, records: int) -> None:
        self._count += 1
        self._open[family] = Life(self._count, family, time, records)
        if len(self._open) > 2 * self._most:
            largest = sorted(self._open.values(), key=lambda life: -life.records)[: self._most]
            self._open = {life.family: life for life in sorted(largest, key=lambda life: life.number)}

    def _end(self, life: Life, time: Time | None, how: FamilyKind, into: Id | None) -> None:
        del self._open[life.family]
        self._over.append(replace(life, end=time, how=how, into=into))

    def rows(self) -> dict[str, dict[str, Any]]:
        """The lives as JSON, by their numbers."""
        largest = sorted(self._open.values(), key=lambda life: -life.records)[: self._most]
        return {str(life.number): life.row() for life in [*self._over, *largest]}
