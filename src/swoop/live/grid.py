"""A grid of cells: how the sets of one join are spread over several.

Sets are in g groups, by the hash of their id, or of their tokens where copies count once. Cell (x, y) joins group x with group
y, and cell (x, x) joins group x to itself. So every pair of sets meets in exactly one of the g(g+1)/2 cells, and every set goes
to g of them.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.engine.tokens import Tokens
from swoop.errors import InvalidArgument
from swoop.join.columns import read_sets, read_table
from swoop.text.functions import TokenFunction


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

    def groups_of(self, rows: pa.Table, tokens: str | TokenFunction) -> pa.Array:
        """In which group rows are, if equal sets must be in the same one: by a hash of the set.

        It is made of hashes of tokens in ways in which neither their order nor repetitions count. All tasks of all runs agree.
        """
        sets, _ = read_sets(read_table(rows), tokens)
        digests = np.zeros(rows.num_rows, np.uint64)  # empty sets make no pair, so any group will do
        for first, count, offsets, found in sets:
            places = np.flatnonzero(np.diff(offsets))
            hashes = _hashes(found)
            starts = offsets[:-1][places]
            if len(places):
                some = np.bitwise_or.reduceat(np.uint64(1) << (hashes & np.uint64(63)), starts)
                least, most = (found_by.reduceat(hashes, starts) for found_by in (np.minimum, np.maximum))
                digests[first : first + count][places] = _mixed(some ^ _mixed(least ^ _mixed(most)))
        return pa.array((digests % np.uint64(self.groups)).astype(np.int32))

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


def _hashes(tokens: Tokens) -> np.ndarray:
    """A hash of each token, all of which are of one kind."""
    if len(tokens.integers):
        return _mixed(tokens.integers.astype(np.uint64))
    texts = tokens.strings if len(tokens.strings) else tokens.byte_strings
    buffers = [None, pa.py_buffer(np.ascontiguousarray(texts.ends)), pa.py_buffer(np.ascontiguousarray(texts.data))]
    column = pa.Array.from_buffers(pa.large_binary(), len(texts), buffers).dictionary_encode()
    different = np.fromiter(map(zlib.crc32, column.dictionary.to_pylist()), np.uint64, len(column.dictionary))
    hashes: np.ndarray = _mixed(different)[column.indices.to_numpy()]
    return hashes


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits, of which every bit depends on all bits of those given."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = numbers ^ (numbers >> np.uint64(31))
    return mixed
