"""The families of a moment, to be asked by any thread while sets go on arriving."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from swoop.errors import InvalidArgument, InvalidType, NotInWindow
from swoop.join.family_feed import make_list
from swoop.join.ids import Ids, read_id
from swoop.join.payloads import TablePayloads
from swoop.results import Family, FamilyList, Id
from swoop.times import Clock

if TYPE_CHECKING:
    from swoop.join.kept import KeptColumns

Order = Literal["size", "newest", "growing"]


@dataclass(frozen=True)
class FamilySnapshot:
    """Families of at least two sets, and the sets of the window. Nothing in it changes.

    Attributes
    ----------
    numbers, rows
        The numbers of the families in the engine, and rows of ``FAMILY``.
    newest
        The arrival numbers of their newest sets.
    oldest
        The arrival number of the oldest set of the window.
    members, times
        The number of its family of each set of the window, and its time.
    now
        The index time.
    kept
        What is kept of the sets, if anything is.
    kept_texts
        Texts of the sets, if there are any, by arrival number.
    """

    numbers: np.ndarray
    rows: np.ndarray
    newest: np.ndarray
    oldest: int
    members: np.ndarray
    times: np.ndarray
    now: int
    ids: Ids
    clock: Clock
    kept: KeptColumns | None = None
    kept_texts: TablePayloads | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def families(self, n: int | None = None, order: Order = "size") -> FamilyList:
        """At most ``n`` families, in an order; see :meth:`swoop.Families.families`."""
        most = check_view(n, order)
        rows, numbers = self.rows, self.numbers
        last_seen = self.times[self.newest - self.oldest]
        first = -rows["size"].astype(np.int64)
        if order == "newest":
            first = -last_seen
        elif order == "growing":
            first = -np.bincount(self._newest_tenth(), minlength=len(numbers) and int(numbers[-1]) + 1)[numbers]
        places = np.lexsort((rows["first"], -rows["size"].astype(np.int64), first))[:most]
        names, representatives = (self.ids.get_all(of[places].tolist()) for of in (rows["first"], self.newest))
        records = None if self.kept is None else self.kept.take(self.newest[places])
        return make_list(rows[places], last_seen[places], names, representatives, self.clock, records)

    def _newest_tenth(self) -> np.ndarray:
        """The numbers of the families of the sets in the newest tenth of the window."""
        window, arrivals = self.clock.window, self.oldest + len(self.times)
        if window.duration and window.kind != "count":
            fresh = self.times > self.now - -(-window.duration // 10)
        else:
            fresh = np.arange(self.oldest, arrivals) >= arrivals - -(-(window.duration or arrivals) // 10)
        found: np.ndarray = self.members[fresh & (self.members >= 0)]
        return found

    def arrivals(self, id: Id | Family) -> np.ndarray:
        """The places in the window of the sets of a family, in the order of their arrival."""
        firsts = self.rows["first"]
        if isinstance(id, Family):
            places = np.flatnonzero(firsts == id.arrival)
        else:
            name = read_id(id)
            places = np.array([place for place, first in enumerate(firsts.tolist()) if self.ids.get(first) == name], int)
        if not len(places):
            names = [self.ids.get(first) for first in firsts.tolist()]
            raise no_family(id, are_numbered=bool(names) and all(isinstance(name, int) for name in names))
        number = self.numbers[places[firsts[places].argmin()]]
        return np.flatnonzero(self.members == number)

    def named(self, arrivals: np.ndarray) -> list[Id]:
        """The ids of the sets at some places."""
        return self.ids.get_all((self.oldest + arrivals).tolist())

    def texts(self, arrivals: np.ndarray) -> list[str | None]:
        """The texts of the sets at some places; None where there is none."""
        kept = self.kept_texts
        return [None if kept is None else kept.get(arrival, "text") for arrival in (self.oldest + arrivals).tolist()]

    def text_of(self, arrival: int) -> str | None:
        """The text of a set that a change tells of, in the window or just out of it."""
        return None if self.kept_texts is None else self.kept_texts.get(arrival, "text")


def no_family(id: object, are_numbered: bool = False) -> NotInWindow:
    """What to raise if there is none of that name. Where ids are numbers, a text may hint at a column of ids."""
    hint = '; ids here are integers, such as arrival numbers: insert_many(..., id="id") takes those of a column "id"'
    return NotInWindow(
        f"there is no family {id!r:.60} of at least two sets with one in the window: it has ended or become part "
        f"of another one, which changes() tells, or it never was{hint if are_numbered and isinstance(id, str) else ''}"
    )


def check_view(n: object, order: object) -> int | None:
    """How many families are asked for; refuses what is no number, or no order."""
    if order not in get_args(Order):
        raise InvalidArgument(f"order must be 'size', 'newest' or 'growing', not {order!r:.60}")
    if n is None:
        return None
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise InvalidType(f"n must be an integer or None, not {n!r:.60}")
    if n < 0:
        raise InvalidArgument(f"n must be at least 0, not {n}")
    return int(n)
