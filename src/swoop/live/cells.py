"""Which kind of cells a stream has."""

from __future__ import annotations

from swoop.live.cell import Cell, CellState
from swoop.live.chunks import Store
from swoop.live.family_part import FamilyPart
from swoop.live.grid import Grid
from swoop.live.part import Part
from swoop.live.record_cell import RecordCell
from swoop.live.record_part import RecordPart
from swoop.live.stream_spec import StreamSpec
from swoop.spec import FamilySpec, JoinSpec


def copies_count_once(spec: StreamSpec) -> bool:
    """Whether equal sets must be in the same group."""
    return isinstance(spec.join, JoinSpec) and spec.join.copies == "once"


def make_cell(spec: StreamSpec, grid: Grid, number: int, state: CellState, store: Store) -> Cell:
    """A cell, as of some state."""
    cell = _new_cell(spec, grid, number)
    cell.restore(state, store)
    return cell


def _new_cell(spec: StreamSpec, grid: Grid, number: int) -> Cell:
    count, two_sides = grid.parts(number, spec.two_streams), spec.two_streams or not grid.is_home(number)
    if isinstance(spec.join, FamilySpec):  # pairs within a group are in several cells, and each of them tells of their links
        return Cell(spec, grid, number, [FamilyPart(spec.join, spec.tokens) for _ in range(count)])
    if copies_count_once(spec):
        return RecordCell(spec, grid, number, [RecordPart(spec, two_sides) for _ in range(count)])
    return Cell(spec, grid, number, [Part(spec, two_sides) for _ in range(count)])
