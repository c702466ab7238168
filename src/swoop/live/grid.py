"""A grid of cells: how the sets of one join are spread over several.

Sets are in g groups, by the hash of their id. Cell (x, y) joins group x with group y, and cell (x, x) joins group x to itself.
So every pair of sets meets in exactly one of the g(g+1)/2 cells, and every set goes to g of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument


@dataclass(frozen=True)
class Grid:
    """The grid of so many groups."""

    groups: int

    @classmethod
    def of(cls, cells: object) -> Grid:
        """The grid with so many cells.

        >>> Grid.of(6).cells
        [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        """
        if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
            raise InvalidArgument(f"cells must be 1, 3, 6, 10, ... (g groups have g(g+1)/2 cells) or 'auto', not {cells!r}")
        groups = (math.isqrt(8 * cells + 1) - 1) // 2
        if groups * (groups + 1) // 2 != cells:
            below, above = (n * (n + 1) // 2 for n in (groups, groups + 1))
            raise InvalidArgument(
                f"g groups have g(g+1)/2 cells, so cells must be 1, 3, 6, 10, ...: {below} or {above}, not {cells}"
            )
        return cls(groups)

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(x, y) for x in range(self.groups) for y in range(x, self.groups)]

    def rows_of(self, cell: int, rows: pa.Table) -> pa.Table:
        """Those rows that go to a cell, by their column ``group``."""
        x, y = self.cells[cell]
        return rows.filter(pc.or_(pc.equal(rows["group"], x), pc.equal(rows["group"], y)))

    def is_home(self, cell: int) -> bool:
        """Whether this is a cell of one group only. Each set goes to one such cell, which reports what is reported once."""
        x, y = self.cells[cell]
        return x == y

    def parts(self, cell: int, two_streams: bool) -> int:
        """How many joins a cell has: two where both the groups and the streams must differ."""
        return 1 if self.is_home(cell) or not two_streams else 2

    def roles(self, cell: int, rows: pa.Table, two_streams: bool) -> tuple[np.ndarray, pa.Array | None]:
        """In which of the cell's joins each row is, and on which side of it; None if the join has one side only."""
        x, _ = self.cells[cell]
        in_x = rows["group"].to_numpy() == x
        if self.is_home(cell):
            return np.zeros(len(in_x), np.int64), rows["stream"].combine_chunks() if two_streams else None
        if not two_streams:
            return np.zeros(len(in_x), np.int64), pc.if_else(pa.array(in_x), "left", "right")
        left = pc.equal(rows["stream"], "left").to_numpy()
        return (left != in_x).astype(np.int64), rows["stream"].combine_chunks()
