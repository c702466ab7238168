"""The top-k of a grid: that of all pairs that are in the top-k of some cell, at every moment.

Cells report the changes of their own top-k. These are put in the order of the steps in which they happened, a step being an
arrival or a moment at which pairs expire; after each step the first k of all are the top-k of the whole. A pair that is among
the k best of all is among the k best of its cell, so none is missing.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby
from typing import Any

import pyarrow as pa

from swoop.errors import InternalError
from swoop.join.feed import id_column, make_skyband, time_column
from swoop.live.cell import SHARES, TIEBREAK
from swoop.results import Change, Changes, Explanation, Kind, Pair, SkybandStep, TopK
from swoop.similarity import Similarity
from swoop.times import Clock

SET_KEY = ("time", *TIEBREAK)  # what orders sets, and tells them apart


class _Entry:
    """A pair of some cell's top-k. ``order`` is its place in the total order, and no other pair has it."""

    __slots__ = ("is_top", "order", "row")

    def __init__(self, order: tuple[Any, ...], row: dict[str, Any]) -> None:
        self.order, self.row, self.is_top = order, row, False


def _by_order(entry: _Entry) -> tuple[Any, ...]:
    return entry.order


def _step(row: dict[str, Any]) -> tuple[Any, ...]:
    """Which step a change belongs to. At a time, pairs expire first, then sets arrive."""
    return row["time"], row["arrival"], *(row[f"by_{name}"] for name in TIEBREAK)


class Merge:
    """The union of the cells' top-k, of which the first k are the top-k of all. ``k`` None: all of them are."""

    def __init__(
        self, k: int | None, similarity: Similarity, clock: Clock, two_streams: bool, union: pa.Table | None = None
    ) -> None:
        self._k, self._similarity, self._clock, self._two_streams = k, similarity, clock, two_streams
        self._schema = union.schema if union is not None else pa.schema([])
        self._entries = [_Entry(self._order(row), row) for row in (union.to_pylist() if union is not None else ())]
        self._entries.sort(key=_by_order)
        for entry in self._entries[:k]:
            entry.is_top = True

    def union(self) -> pa.Table:
        """All that is needed to make it anew."""
        return pa.Table.from_pylist([entry.row for entry in self._entries], self._schema)

    def apply(self, events: pa.Table) -> Changes:
        """Take the changes of all cells in a batch, and give those of the whole.

        O(log n) comparisons for each, and a move in a list of n, with n pairs in the top-k of all cells.
        """
        found: list[tuple[int, Kind, _Entry]] = []
        if events.num_rows:
            self._schema = pa.unify_schemas([self._schema, events.schema], promote_options="permissive")
            for step, rows in groupby(sorted(events.to_pylist(), key=_step), _step):
                found += self._apply_step(step[0], step[1], list(rows))
        return self._changes(found)

    def _apply_step(self, time: int, is_arrival: bool, rows: list[dict[str, Any]]) -> list[tuple[int, Kind, _Entry]]:
        """The changes of one step."""
        gone, new = [], []
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
                new.append(_Entry(order, row))
                self._entries.insert(place, new[-1])
            else:
                gone.append(self._entries.pop(place))
        k, near = self._k, len(rows)
        below: list[_Entry] = []
        first = {*new}
        if k is not None:
            below = self._entries[k : k + near]
            first = {*self._entries[max(0, k - near) : k], *(e for e in new if not below or e.order < below[0].order)}
        left = sorted((entry for entry in (*gone, *below) if entry.is_top), key=_by_order, reverse=True)
        entered = sorted((entry for entry in first if not entry.is_top), key=_by_order)
        for entry in (*left, *entered):
            entry.is_top = not entry.is_top
        why: Kind = "outranked" if is_arrival else "expired"
        return [*((time, why, entry) for entry in left), *((time, "enter", entry) for entry in entered)]

    def _order(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """Similarity and end time descending, then newer and older ascending."""
        exact = self._similarity.rank(row["similarity"], row["overlap"])
        newer, older = (tuple(row[f"{which}_{name}"] for name in SET_KEY) for which in ("newer", "older"))
        return -row["similarity"], -exact, -row["older_time"], newer, older

    # results

    @property
    def topk(self) -> TopK:
        top = [entry.row for entry in self._entries[: self._k]]
        return TopK(len(top), lambda index: self._pair(top[index]), lambda: self._columns(top))

    def __len__(self) -> int:
        """How many pairs the top-k of all cells have."""
        return len(self._entries)

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter, as far as the pairs of the cells' top-k tell."""
        assert self._k is not None
        pairs = ((row["older_time"] + self._clock.window.duration, row["similarity"]) for row in (e.row for e in self._entries))
        return make_skyband(pairs, None, 0, self._k, self._clock)

    def explain(self, pair: Pair) -> Explanation | None:
        """What the sets of a pair share and what only one of them has, if it is in the top-k of its cell."""
        row = self._row(pair)
        return None if row is None else Explanation(pair, *(frozenset(row[name] or ()) for name in SHARES))

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        row = self._row(pair) or {}
        return row.get("newer_text"), row.get("older_text")

    def _row(self, pair: Pair) -> dict[str, Any] | None:
        return next((entry.row for entry in self._entries if self._pair(entry.row) == pair), None)

    def _changes(self, found: list[tuple[int, Kind, _Entry]]) -> Changes:
        def make(index: int) -> Change:
            time, kind, entry = found[index]
            return Change(self._clock.result_time(time), kind, self._pair(entry.row))

        def columns() -> dict[str, Any]:
            return {
                "time": time_column([time for time, _, _ in found], self._clock),
                "kind": pa.array([kind for _, kind, _ in found], pa.string()),
                **self._columns([entry.row for _, _, entry in found]),
            }

        return Changes(len(found), make, columns)

    def _pair(self, row: dict[str, Any]) -> Pair:
        start, end = row["newer_time"], row["older_time"] + self._clock.window.duration
        return Pair(
            row["similarity"],
            row["newer_id"],
            row["older_id"],
            row["overlap"],
            self._clock.result_time(start),
            self._clock.result_time(end),
            row["newer_stream"] if self._two_streams else None,
        )

    def _columns(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        length = self._clock.window.duration
        return {
            "similarity": pa.array([row["similarity"] for row in rows], pa.float64()),
            "newer": id_column([row["newer_id"] for row in rows]),
            "older": id_column([row["older_id"] for row in rows]),
            "overlap": pa.array([row["overlap"] for row in rows], pa.int64()),
            "start": time_column([row["newer_time"] for row in rows], self._clock),
            "end": time_column([row["older_time"] + length for row in rows], self._clock),
        }
