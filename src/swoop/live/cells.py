"""Which kind of cells a stream has."""

from __future__ import annotations

from swoop.live.cell import Cell, CellState
from swoop.live.chunks import Store
from swoop.live.family_part import FamilyPart
from swoop.live.grid import Grid
from swoop.live.record_cell import RecordCell
from swoop.live.stream_spec import StreamSpec
from swoop.spec import FamilySpec, JoinSpec


class FamilyCell(Cell):
    """A cell of families: pairs within a group are in several cells, and their links are told by each of them."""

    def _part(self, two_sides: bool) -> FamilyPart:
        assert isinstance(self._spec.join, FamilySpec)
        return FamilyPart(self._spec.join, self._spec.tokens)


def copies_count_once(spec: StreamSpec) -> bool:
    """Whether equal sets must be in the same group."""
    return isinstance(spec.join, JoinSpec) and spec.join.copies == "once"


def make_cell(spec: StreamSpec, grid: Grid, number: int, state: CellState, store: Store) -> Cell:
    """A cell, as of some state."""
    kind = FamilyCell if isinstance(spec.join, FamilySpec) else RecordCell if copies_count_once(spec) else Cell
    return kind(spec, grid, number, state, store)
