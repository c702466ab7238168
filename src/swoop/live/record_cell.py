"""A cell where copies count once: beside its rows, it keeps the names of records that have outlived their first sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.live.cell import Cell, CellState, CellStore, with_copies
from swoop.live.chunks import Damaged, Store, read_chunks
from swoop.live.grid import Grid
from swoop.live.pieces import concatenated
from swoop.live.record_part import NAMED, FirstSets, RecordPart
from swoop.live.row_order import equal_to_before
from swoop.live.stream_spec import StreamSpec


class RecordCell(Cell):
    """A cell whose sets are numbered in the order in which they enter, whichever worker has it."""

    def __init__(self, spec: StreamSpec, grid: Grid, number: int, parts: Sequence[RecordPart]) -> None:
        super().__init__(spec, grid, number, parts)
        self._entered = 0  # how many have
        self._first_sets: FirstSets | None = None  # of sets that enter again

    def _restore(self, entered: list[pa.Table], store: Store) -> None:
        """Only sets of the window arrive: for others, names may be missing."""
        expired = self._expired(self.state.watermark)
        valid = [rows.filter(pc.greater(rows["time"], expired)) for rows in entered]
        entered.clear()
        self._entered = self.state.entered - sum(rows.num_rows for rows in valid)
        names = concatenated(list(read_chunks(store, self.state.names, NAMED)))
        if names is not None:
            names = self._with_records(names, "names", "first_record")
        self._first_sets = FirstSets(names, self._entered)
        for part in self._parts:
            part.restore(self._first_sets)
        super()._restore(valid, store)
        self._first_sets = None
        begun = np.concatenate([part.records_begun_elsewhere() for part in self._parts])
        if len(np.unique(begun)) < len(begun):
            raise Damaged("names", "different sets are of the same record")

    def _number_rows(self, rows: pa.Table) -> pa.Table:
        numbers = np.arange(self._entered, self._entered + rows.num_rows)
        self._entered += rows.num_rows
        return with_copies(rows, equal_to_before(rows)).append_column("number", pa.array(numbers))

    def _insert(self, part: RecordPart, rows: pa.Table, sides: pa.Array | None) -> None:
        part.insert(rows, sides, self._first_sets)

    def _write_state(self, store: CellStore, after: CellState, sets: pa.Table | None, step: str) -> CellState:
        names = concatenated([rows for part in self._parts for rows in part.take_names()])
        chunks = self._write_chunks(store, self.state.names, f"names-{step}", names, self._expired(after.watermark))
        return replace(super()._write_state(store, after, sets, step), names=chunks, entered=self._entered)
