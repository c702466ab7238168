"""The merge of cells where copies count once: pairs end with their records, which may be renewed.

A record of the union of the cells' top-k is called after its first set. The times of its copies are known: those before it came
into the union are given with the first pair of it, and from then on every renewal is an event. So the end of a pair and the
copies of its records are known at every step, also where it is a change in another cell that brings the pair into the top-k.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import pyarrow as pa

from swoop.engine.layout import SEEN
from swoop.errors import InternalError
from swoop.join.feed import time_column
from swoop.join.restoring import demand
from swoop.live.merge import WHICH, Entry, Merge, Row
from swoop.live.record_part import RENEWED, RecordPart
from swoop.results import Changes, Pair
from swoop.similarity import Similarity
from swoop.times import Clock


class _Record:
    """The times of the copies of a record, in order, the text of the newest, and its pairs."""

    __slots__ = ("entries", "text", "times")

    def __init__(self, times: list[int], text: str | None) -> None:
        self.times, self.text = times, text
        self.entries: dict[Entry, None] = {}

    def copies(self, after: int) -> int:
        return len(self.times) - bisect_right(self.times, after)


class RecordMerge(Merge):
    """The union of the cells' top-k, and the records of its pairs."""

    tiebreak: ClassVar = RecordPart.TIEBREAK

    def __init__(
        self, k: int | None, similarity: Similarity, clock: Clock, two_streams: bool, kept: pa.Schema | None = None
    ) -> None:
        super().__init__(k, similarity, clock, two_streams, kept)
        self._records: dict[tuple[Any, ...], _Record] = {}

    def restore(self, union: pa.Table, now: int) -> None:
        """Go on from a union, in a new merge. Raises ValueError if it cannot have been one."""
        super().restore(union, now)
        duration = self._clock.window.duration
        for record in self._records.values():
            is_right = all(a <= b for a, b in pairwise(record.times)) and self._now - duration < record.times[-1] <= self._now
            demand(is_right, "the times of the copies of a record fall, or none of them is in the window")

    def _rows(self) -> list[Row]:
        """The pairs of the union. The times of copies are with the first pair of a record."""
        rows, told = [], set()
        for entry in self._entries:
            row = dict(entry.row)
            for which, key in zip(WHICH, entry.order[3:], strict=True):
                row[f"{which}_text"] = self._records[key].text
                if key not in told:
                    told.add(key)
                    row[f"{which}_times"] = self._records[key].times
            rows.append(row)
        return rows

    def apply(self, events: pa.Table, now: int) -> Changes:
        """Take the changes of all cells up to a time, and give those of the whole. Records without pairs are forgotten."""
        changes = super().apply(events, now)
        expired = now - self._clock.window.duration
        self._records = {key: record for key, record in self._records.items() if record.entries}
        for record in self._records.values():
            del record.times[: bisect_right(record.times, expired)]
        return changes

    def _note_records(self, rows: list[Row]) -> list[Row]:
        """Take note of records that were not in the union before."""
        for row in rows:
            for which in WHICH:
                times = row.pop(f"{which}_times", None)
                if times is not None:  # none: its first set has come with this step or with one before it, and is the only one
                    key = self._key(row, which)
                    self._records.setdefault(key, _Record(times or [row[f"{which}_time"]], row.get(f"{which}_text")))
        return rows

    def _move(self, time: int, rows: list[Row]) -> tuple[list[Entry], list[Row]]:
        """A set arrives and renews a record, as some cells say: its pairs may end later."""
        renewals = {self._key(row, "newer"): row.get("newer_text") for row in rows if row["kind"] == RENEWED}
        moved = []
        for key, text in renewals.items():
            if key not in self._records:
                raise InternalError(f"a cell reports at time {time} a copy of {key[1]!r}, which is in no pair of its top-k")
            record = self._records[key]
            record.times.append(time)
            record.text = text
            moved = [entry for entry in record.entries if self._order(entry.row) != entry.order]
        for entry in moved:
            del self._entries[self._place(entry.order)]
        for entry in moved:
            entry.order = self._order(entry.row)
            self._entries.insert(self._place(entry.order), entry)
        return moved, [row for row in rows if row["kind"] != RENEWED]

    def _place(self, order: Any) -> int:
        return bisect_left(self._entries, order, key=lambda entry: entry.order)

    def _enter(self, entry: Entry, place: int) -> None:
        super()._enter(entry, place)
        for key in entry.order[3:]:
            self._records[key].entries[entry] = None

    def _leave(self, place: int) -> Entry:
        entry = super()._leave(place)
        for key in entry.order[3:]:
            del self._records[key].entries[entry]
        return entry

    def _key(self, row: Row, which: str) -> tuple[Any, ...]:
        return tuple(tuple(value) if isinstance(value, list) else value for value in super()._key(row, which))

    def _end(self, row: Row, newer: Any, older: Any) -> int:
        last = (self._records[key].times[-1] if key in self._records else key[0] for key in (newer, older))
        return min(last) + self._clock.window.duration

    def _shown(self, entry: Entry, now: int) -> Row:
        row = super()._shown(entry, now)
        for which, key in zip(WHICH, entry.order[3:], strict=True):
            record = self._records[key]
            row[f"{which}_copies"] = record.copies(now - self._clock.window.duration)
            row[f"{which}_text"] = record.text
            row[f"{which}_first_seen"] = key[0]
            row[f"{which}_last_seen"] = record.times[-1]
        return row

    def _pair(self, row: Row) -> Pair:
        shown = self._clock.result_time
        seen: dict[str, Any] = {name: row[name] if name.endswith("copies") else shown(row[name]) for name in SEEN.names or ()}
        return replace(super()._pair(row), **seen)

    def _columns(self, rows: list[Row]) -> dict[str, Any]:
        columns = super()._columns(rows)
        for name in SEEN.names or ():
            values = [row[name] for row in rows]
            columns[name] = pa.array(values, pa.int64()) if name.endswith("copies") else time_column(values, self._clock)
        return columns
