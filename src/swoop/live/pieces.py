"""Rows piece by piece: however many there are, what is put together, sorted or inserted at once stays small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.join import columns

LIMIT = 64 << 20  # bytes of a piece, unless more rows than that have the same time


@dataclass(frozen=True)
class Backlog:
    """The rows of a batch in pieces, of which one at a time is in memory.

    Attributes
    ----------
    times
        Of all rows that can be used.
    pieces
        Rows that can be used follow one another in time from piece to piece, and those of the same time are in the same piece.
    """

    times: np.ndarray
    pieces: Iterator[pa.Table]

    @classmethod
    def of(cls, rows: pa.Table) -> Backlog:
        """One piece."""
        return cls(rows["time"].filter(pc.is_null(rows["reason"])).to_numpy(), iter([rows]))


def in_pieces(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """All rows in pieces that follow one another in time; those of the same time are in the same piece.

    So rows in the order of pieces, and within pieces in the order of time, id and whatever else tells them apart, are in order.
    Rows are let go as soon as they are given.
    """
    found = [table for table in tables if table.num_rows]
    if sum(table.nbytes for table in found) <= LIMIT:
        if found:
            yield concatenated(found)
        return
    batches: list[Any] = [batch for table in drained(found) for batch in table.to_batches() if batch.num_rows]
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    left = np.diff(starts)
    times = np.concatenate([batch["time"].to_numpy() for batch in batches])
    sizes = np.repeat([batch.nbytes / batch.num_rows for batch in batches], left)
    order = np.argsort(times, kind="stable")
    for begin, end in _cuts(times[order], np.cumsum(sizes[order])):
        places = np.sort(order[begin:end])
        numbers = np.unique(np.searchsorted(starts, places, side="right") - 1)
        parts = []
        for number in numbers.tolist():
            first, stop = np.searchsorted(places, starts[number : number + 2])
            batch = batches[number]
            whole = stop - first == batch.num_rows
            parts.append(pa.Table.from_batches([batch if whole else batch.take(places[first:stop] - starts[number])]))
            left[number] -= stop - first
            if not left[number]:
                batches[number] = None
            del batch
        yield _safe(concatenated(parts))


def _cuts(times: np.ndarray, bytes_: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where to cut rows that are in the order of time, by the bytes up to each of them."""
    borders = np.append(np.flatnonzero(times[1:] != times[:-1]) + 1, len(times))
    begin, before = 0, 0.0
    while begin < len(times):
        after = max(int(np.searchsorted(bytes_, before + LIMIT, side="right")), begin + 1)
        place = int(np.searchsorted(borders, after, side="right")) - 1
        if place < 0 or borders[place] <= begin:  # one time, and too much of it
            place += 1
        end = int(borders[place])
        yield begin, end
        begin, before = end, bytes_[end - 1]


def _safe(rows: pa.Table) -> pa.Table:
    """Rows that can be sorted: with 64-bit offsets if those of 32 bits would not do."""
    if rows.nbytes <= columns.SMALL:
        return rows
    return rows.cast(pa.schema([field.with_type(columns.large_type(field.type)) for field in rows.schema]))


def concatenated(tables: list[pa.Table]) -> Any:
    """All rows in one table, none of them copied; None if there is no table."""
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def drained(tables: list[pa.Table]) -> Iterator[pa.Table]:
    """Tables one after the other, each forgotten by the list when it is given."""
    tables.reverse()
    while tables:
        yield tables.pop()
