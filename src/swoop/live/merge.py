"""The top-k of a grid: that of all pairs that are in the top-k of some cell, at every moment.

Cells report the changes of their own top-k. These are put in the order of the steps in which they happened, a step being an
arrival or a moment at which pairs expire; after each step the first k of all are the top-k of the whole. A pair that is among
the k best of all is among the k best of its cell, so none is missing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, ClassVar

import pyarrow as pa

from swoop.errors import InternalError
from swoop.join.feed import id_column, make_skyband, record_at, time_column
from swoop.join.restoring import demand
from swoop.live.known_records import KnownRecords
from swoop.live.part import SHARES, Part
from swoop.live.unions import check_pairs, unified
from swoop.live.watermark import MIN_TICK
from swoop.results import Change, Changes, Explanation, Kind, Pair, SkybandStep, TopK
from swoop.similarity import Similarity
from swoop.times import Clock

Row = dict[str, Any]
Order = tuple[Any, ...]

WHICH = ("newer", "older")
RECORDS = ("newer_record", "older_record")


class Entry:
    """A pair of some cell's top-k. ``order`` is its place in the total order, and no other pair has it; ``before`` is the place
    that it had before the step of now.
    """

    __slots__ = ("before", "is_top", "order", "row")

    def __init__(self, order: Order, row: Row) -> None:
        self.order = self.before = order
        self.row, self.is_top = row, False


def _by_order(entry: Entry) -> Order:
    return entry.order


def _by_order_before(entry: Entry) -> Order:
    return entry.before


class Merge:
    """The union of the cells' top-k, of which the first k are the top-k of all. ``k`` None: all of them are.

    ``now`` is the time up to which all changes are known; ``most``, how many pairs there were at once since the one before.
    ``kept`` are the columns that are kept of sets, if there are any. Those of a pair are told when it enters; they are known
    as long as it is there.
    """

    tiebreak: ClassVar = Part.TIEBREAK

    def __init__(
        self, k: int | None, similarity: Similarity, clock: Clock, two_streams: bool, kept: pa.Schema | None = None
    ) -> None:
        self._k, self._similarity, self._clock, self._two_streams = k, similarity, clock, two_streams
        self._now = MIN_TICK
        self.most = 0
        self._schema = pa.schema([])  # of rows, without what is kept
        self._kept = None if kept is None else KnownRecords(kept)
        self._entries: list[Entry] = []
        self._left: dict[Order, Row] = {}  # pairs that have left the union in the last step, by the keys of their sets

    def restore(self, union: pa.Table, now: int) -> None:
        """Go on from a union, in a new merge. Raises ValueError if it cannot have been one."""
        self._now = now
        if not union.num_rows:
            return
        check_pairs(union, self.tiebreak, self._two_streams, SHARES, self._kept is not None)
        for row in self._read(union, lambda row: True):
            self._enter(Entry(self._order(row), row), len(self._entries))
        self._entries.sort(key=_by_order)
        demand(all(a.order < b.order for a, b in pairwise(self._entries)), "a pair is there twice")
        demand(all(-entry.order[2] > now for entry in self._entries), "a pair has ended")
        for entry in self._entries[: self._k]:
            entry.is_top = True

    def union(self) -> pa.Table:
        """All that is needed to make it anew."""
        rows = self._rows()
        found = pa.Table.from_pylist(rows, self._schema)
        if rows:
            for which, records in self._records_of(rows).items():
                found = found.append_column(f"{which}_record", records.to_struct_array())
        return found

    def _rows(self) -> list[Row]:
        """The pairs of the union."""
        return [entry.row for entry in self._entries]

    def apply(self, events: pa.Table, now: int) -> Changes:
        """Take the changes of all cells up to a time, and give those of the whole.

        O(log n) comparisons for each, and a move in a list of n, with n pairs in the top-k of all cells.
        """
        self._now, self._left, self.most = now, {}, 0
        found: list[tuple[int, Kind, Row]] = []
        if events.num_rows:
            told = self._read(events, lambda row: row["kind"] == "enter")
            for step, rows in groupby(sorted(told, key=self._step), self._step):
                found += self._apply_step(step[0], step[1], list(rows))
                self.most = max(self.most, len(self._entries))
        changes = self._changes(found)
        if self._kept is not None:
            self._kept.forget_others(lambda: (entry.row[name] for entry in self._entries for name in RECORDS))
        return changes

    def _read(self, told: pa.Table, has_records: Callable[[Row], bool]) -> list[Row]:
        """What is told of pairs, as rows, which have the numbers of records instead of these, if they should have them."""
        plain = told.drop_columns([name for name in RECORDS if name in told.column_names])
        self._schema = unified(self._schema, plain.schema)
        rows: list[Row] = plain.to_pylist()
        if self._kept is not None:
            places = [place for place, row in enumerate(rows) if has_records(row)]
            for name in RECORDS:
                for place, number in zip(places, self._kept.add(told, name, places), strict=True):
                    rows[place][name] = number
        return self._note_records(rows)

    def _note_records(self, rows: list[Row]) -> list[Row]:
        """Rows of cells, of which note is taken that is needed before their steps come."""
        return rows

    def _step(self, row: Row) -> tuple[Any, ...]:
        """Which step a change belongs to. At a time, pairs expire first, then sets arrive."""
        return row["time"], row["arrival"], *(row[f"by_{name}"] for name in self.tiebreak)

    def _enter(self, entry: Entry, place: int) -> None:
        self._entries.insert(place, entry)

    def _leave(self, place: int) -> Entry:
        entry = self._entries.pop(place)
        self._left[entry.order[3:]] = self._shown(entry, self._now)
        return entry

    def _move(self, time: int, rows: list[Row]) -> tuple[list[Entry], list[Row]]:
        """Let pairs move that have another place in the total order by this step. Those, and the rows that are changes."""
        return [], rows

    def _apply_step(self, time: int, is_arrival: bool, rows: list[Row]) -> list[tuple[int, Kind, Row]]:
        """The changes of one step."""
        gone: list[Entry] = []
        new, rows = self._move(time, rows)
        near = len(new) + len(rows)  # so many places the border of the top-k moves, at most
        for row in rows:
            order = self._order(row)
            place = bisect_left(self._entries, order, key=_by_order)
            enters = row["kind"] == "enter"
            if enters == (place < len(self._entries) and self._entries[place].order == order):
                raise InternalError(
                    f"a cell reports at time {time} that the pair of {row['newer_id']!r} and {row['older_id']!r} "
                    + ("enters its top-k, where it is already" if enters else "leaves its top-k, where it is not")
                )
            if enters:
                new.append(Entry(order, row))
                self._enter(new[-1], place)
            else:
                gone.append(self._leave(place))
        k = self._k
        below: list[Entry] = []
        first = {*new}
        if k is not None:
            below = self._entries[k : k + near]
            first = {*self._entries[max(0, k - near) : k], *(e for e in new if not below or e.order < below[0].order)}
        left = sorted((entry for entry in (*gone, *below) if entry.is_top), key=_by_order_before, reverse=True)
        entered = sorted((entry for entry in first if not entry.is_top), key=_by_order)
        for entry in (*left, *entered):
            entry.is_top = not entry.is_top
        for entry in new:
            entry.before = entry.order
        why: Kind = "outranked" if is_arrival else "expired"
        then = time if is_arrival else time - 1  # what expires is told as it was
        return [
            *((time, why, self._shown(entry, then)) for entry in left),
            *((time, "enter", self._shown(entry, time)) for entry in entered),
        ]

    def _key(self, row: Row, which: str) -> tuple[Any, ...]:
        """What orders sets, and tells them apart."""
        return row[f"{which}_time"], *(row[f"{which}_{name}"] for name in self.tiebreak)

    def _order(self, row: Row) -> Order:
        """Similarity and end time descending, then newer and older ascending."""
        exact = self._similarity.rank(row["similarity"], row["overlap"])
        newer, older = self._key(row, "newer"), self._key(row, "older")
        return -row["similarity"], -exact, -self._end(row, newer, older), newer, older

    def _end(self, row: Row, newer: Any, older: Any) -> int:
        """When a pair ends; ``newer`` and ``older`` are the keys of its sets."""
        end: int = row["older_time"] + self._clock.window.duration
        return end

    def _shown(self, entry: Entry, now: int) -> Row:
        """What is told about a pair at a time."""
        return {**entry.row, "end": -entry.order[2]}

    # results

    @property
    def topk(self) -> TopK:
        top = [self._shown(entry, self._now) for entry in self._entries[: self._k]]
        return TopK(len(top), *self._makers(top))

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter, as far as the pairs of the cells' top-k tell."""
        assert self._k is not None
        pairs = ((-entry.order[2], entry.row["similarity"]) for entry in self._entries)
        return make_skyband(pairs, None, 0, self._k, self._clock)

    def explain(self, pair: Pair) -> Explanation | None:
        """What the sets of a pair share and what only one of them has, if it is in the top-k of its cell."""
        row = self._row(pair)
        return None if row is None else Explanation(pair, *(frozenset(row[name] or ()) for name in SHARES))

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set of a pair that is in the top-k of its cell, or has just left it."""
        row = self._row(pair) or self._left.get(pair.arrivals or (), {})
        return row.get("newer_text"), row.get("older_text")

    def _row(self, pair: Pair) -> Row | None:
        found = (entry for entry in self._entries if entry.order[3:] == pair.arrivals)
        return next((self._shown(entry, self._now) for entry in found), None)

    def _changes(self, found: list[tuple[int, Kind, Row]]) -> Changes:
        pair, columns_of_pairs = self._makers([row for _, _, row in found])

        def make(index: int) -> Change:
            time, kind, _ = found[index]
            return Change(self._clock.result_time(time), kind, pair(index))

        def columns() -> dict[str, Any]:
            return {
                "time": time_column([time for time, _, _ in found], self._clock),
                "kind": pa.array([kind for _, kind, _ in found], pa.string()),
                **columns_of_pairs(),
            }

        return Changes(len(found), make, columns)

    def _makers(self, rows: list[Row]) -> tuple[Callable[[int], Pair], Callable[[], dict[str, Any]]]:
        """What makes pairs and columns of rows. Their records are looked up at once, while they are known."""
        records = self._records_of(rows)

        def pair(index: int) -> Pair:
            found = self._pair(rows[index])
            kept: dict[str, Any] = {f"{which}_record": record_at(table, index) for which, table in records.items()}
            return replace(found, **kept) if kept else found

        def columns() -> dict[str, Any]:
            kept = {f"{which}_{name}": table[name] for which, table in records.items() for name in table.column_names}
            return {**self._columns(rows), **kept}

        return pair, columns

    def _records_of(self, rows: list[Row]) -> dict[str, pa.Table]:
        """What is kept of the newer and of the older sets, if anything is."""
        kept = self._kept
        return {} if kept is None else {which: kept.take(row[f"{which}_record"] for row in rows) for which in WHICH}

    def _pair(self, row: Row) -> Pair:
        return Pair(
            row["similarity"],
            row["newer_id"],
            row["older_id"],
            row["overlap"],
            self._clock.result_time(row["newer_time"]),
            self._clock.result_time(row["end"]),
            row["newer_stream"] if self._two_streams else None,
            (self._key(row, "newer"), self._key(row, "older")),
        )

    def _columns(self, rows: list[Row]) -> dict[str, Any]:
        return {
            "similarity": pa.array([row["similarity"] for row in rows], pa.float64()),
            "newer": id_column([row["newer_id"] for row in rows]),
            "older": id_column([row["older_id"] for row in rows]),
            "overlap": pa.array([row["overlap"] for row in rows], pa.int64()),
            "start": time_column([row["newer_time"] for row in rows], self._clock),
            "end": time_column([row["end"] for row in rows], self._clock),
        }
