"""What is known of the sets of the window besides their tokens, by arrival number, until the sets have left the window.

Rows lie in segments, each from some arrival number on. A segment is forgotten as a whole, when its last set has left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

SEGMENT = 1024  # items of a list that grows
LIMIT = 64 << 20  # bytes of tables that are merged
LINGERING = 16 << 20  # bytes of what is known of sets that have left the window

Rows = TypeVar("Rows", "list[Any]", "pa.Table")


class _Payloads(Generic[Rows]):
    def __init__(self) -> None:
        self._segments: deque[tuple[int, Rows]] = deque()

    @property
    def first(self) -> int:
        """The smallest arrival number that can be asked for."""
        return self._segments[0][0]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(len(rows) for _, rows in self._segments)

    def to_forget(self, oldest: int) -> range:
        """Of which sets rows would be forgotten, if those before ``oldest`` have left the window."""
        if not self._segments:
            return range(0)
        stop = self.first
        for first, _ in self._segments:
            if first > oldest:
                break
            stop = first
        return range(self.first, stop)

    def forget(self, oldest: int) -> None:
        """Sets before ``oldest`` have left the window. The last segment stays."""
        while self._has_old(oldest):
            self._segments.popleft()

    def _has_old(self, oldest: int) -> bool:
        """Whether all sets of the first segment are before ``oldest``."""
        return len(self._segments) > 1 and self._segments[1][0] <= oldest

    def _find(self, arrival: int) -> tuple[Rows, int] | None:
        """Where the row of a set is: its segment, and the place in it."""
        number = bisect_right(self._segments, arrival, key=itemgetter(0)) - 1
        if number < 0:
            return None
        first, rows = self._segments[number]
        return (rows, arrival - first) if arrival - first < len(rows) else None


class ListPayloads(_Payloads["list[Any]"]):
    """Python objects. Lists grow in place. Interrupted at any line, what was begun can be cut off again."""

    def add(self, first: int, items: Iterable[Any]) -> None:
        """Take the items of the sets from this arrival number on, which follow those that are there."""
        if self._segments and len(self._segments[-1][1]) < SEGMENT:
            self._segments[-1][1].extend(items)
        else:
            self._segments.append((first, list(items)))

    def cut(self, stop: int) -> None:
        """Forget the sets from this arrival number on."""
        while self._segments and self._segments[-1][0] >= stop:
            self._segments.pop()
        if self._segments:
            first, items = self._segments[-1]
            del items[stop - first :]

    def frozen(self) -> ListPayloads:
        """The same as it is now, for other threads to read while more items come. Lists only grow."""
        found = ListPayloads()
        found._segments = self._segments.copy()
        return found

    def get(self, arrival: int) -> Any:
        """What belongs to a set; None if that is not known."""
        found = self._find(arrival)
        return None if found is None else found[0][found[1]]

    def between(self, first: int, stop: int) -> list[Any]:
        """What belongs to some sets, all of which are known."""
        parts = (items[max(0, first - begin) : max(0, stop - begin)] for begin, items in self._segments)
        return list(chain.from_iterable(parts))


class TablePayloads(_Payloads["pa.Table"]):
    """Arrow tables. They cannot grow, so they are merged: each is twice as long as the next, or as large as it may become.

    There are few tables then, and a row is copied a few times at most, however few rows come at a time.
    """

    def frozen(self) -> TablePayloads:
        """The same as it is now, for other threads to read while more rows come."""
        found = TablePayloads()
        found._segments = self._segments.copy()
        return found

    def add(self, first: int, rows: pa.Table) -> None:
        """Take the rows of the sets from this arrival number on, which follow those that are there.

        Interrupted at any line, they are there or not.
        """
        import pyarrow as pa

        segments = self._segments.copy()
        while segments:
            begin, last = segments[-1]
            if len(last) >= 2 * len(rows) or last.nbytes + rows.nbytes > LIMIT:
                break
            first, rows = begin, pa.concat_tables([last, rows], promote_options="permissive").combine_chunks()
            segments.pop()
        segments.append((first, rows))
        self._segments = segments

    def cut(self, stop: int) -> None:
        """Forget the sets from this arrival number on."""
        while self._segments and self._segments[-1][0] >= stop:
            self._segments.pop()
        if self._segments:
            first, rows = self._segments[-1]
            self._segments[-1] = first, rows.slice(0, stop - first)

    def tables(self) -> list[pa.Table]:
        """All rows."""
        return [rows for _, rows in self._segments]

    def knows(self, arrivals: np.ndarray) -> np.ndarray:
        """Which of some sets are known."""
        if not self._segments:
            return np.zeros(len(arrivals), bool)
        last, rows = self._segments[-1]
        found: np.ndarray = (arrivals >= self.first) & (arrivals < last + len(rows))
        return found

    def get(self, arrival: int, column: str) -> Any:
        """The value of a set in a column; None if the set is not known."""
        found = self._find(arrival)
        return None if found is None else found[0][column][found[1]].as_py()

    def take(self, arrivals: np.ndarray) -> pa.Table:
        """The rows of some sets, all of which are known, in the order given."""
        import pyarrow as pa

        starts = np.array([first for first, _ in self._segments])
        number = np.searchsorted(starts, arrivals, side="right") - 1
        tables = [self._segments[n][1].take(arrivals[number == n] - starts[n]) for n in np.unique(number).tolist()]
        together = pa.concat_tables(tables, promote_options="permissive")
        return together.take(np.argsort(np.argsort(number, kind="stable"), kind="stable"))


class LingeringPayloads(TablePayloads):
    """The same, but sets that left the window are known for a while: until the next time that some are forgotten, and longer
    as long as they are small together. So who is told that something came and went can ask what it was.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left = 0  # sets before this had left the window the last time

    def forget(self, oldest: int) -> None:
        """Sets before ``oldest`` have left the window."""
        left, self._left = self._left, oldest
        old = sum(rows.nbytes for first, rows in self._segments if first + len(rows) <= left)
        while old > LINGERING and self._has_old(left):
            old -= self._segments.popleft()[1].nbytes


class RecordPayloads(TablePayloads):
    """The same where copies count once: the first sets of valid records are still known when they have left the window."""

    def __init__(self) -> None:
        super().__init__()
        self._identities = np.empty(0, np.int64)  # of these records, in order,
        self._first_sets: Any = None  # and their rows

    def frozen(self) -> RecordPayloads:
        """The same as it is now, for other threads to read while more rows come."""
        found = RecordPayloads()
        found._segments = self._segments.copy()
        found.keep(self._identities, self._first_sets)
        return found

    def keep(self, identities: np.ndarray, rows: pa.Table | None) -> None:
        """Keep the rows of sets that have left the window, in their order, and no others."""
        self._identities, self._first_sets = identities, rows

    def forget_unnamed(self, oldest: int, identities: Callable[[], np.ndarray]) -> None:
        """Sets before ``oldest`` have left the window. ``identities`` gives those of all valid records, in order.

        To ask for these takes its time, so it is done when there is as much to forget as was kept.
        """
        old = self.to_forget(oldest)
        if len(old) > len(self._identities):
            named = identities()
            named = named[(named < old.stop) & self.knows(named)]
            self.keep(named, self.take(named) if len(named) else None)
            self.forget(oldest)

    def tables(self) -> list[pa.Table]:
        """All rows."""
        return super().tables() if self._first_sets is None else [self._first_sets, *super().tables()]

    def knows(self, arrivals: np.ndarray) -> np.ndarray:
        """Which of some sets are known."""
        found: np.ndarray = super().knows(arrivals) | np.isin(arrivals, self._identities)
        return found

    def take(self, arrivals: np.ndarray) -> pa.Table:
        """The rows of some sets, all of which are known, in the order given."""
        import pyarrow as pa

        left = ~super().knows(arrivals)
        if not left.any():
            return super().take(arrivals)
        kept = self._first_sets.take(np.searchsorted(self._identities, arrivals[left]))
        if left.all():
            return kept
        order = np.argsort(np.argsort(~left, kind="stable"), kind="stable")
        return pa.concat_tables([kept, super().take(arrivals[~left])], promote_options="permissive").take(order)

    def columns(self, names: Iterable[str]) -> tuple[int, pa.Table]:
        """Some columns of all sets that are there since they arrived, and the arrival number of the first of them."""
        import pyarrow as pa

        return self.first, pa.concat_tables([rows.select(list(names)) for _, rows in self._segments])
