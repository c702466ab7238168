"""Rows in groups, as a task has them: one group after the other, each as an iterator of batches, whatever its size.

Spark's own way to do this is ``applyInArrow``, which before 4.1 has a whole group in memory. Rows that are in the right
partition and sorted need no more than ``mapInArrow``, which all versions have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Key = tuple[pa.Scalar, ...]
GroupTask = Callable[[Key, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What is made of the key of a group, and of its rows."""


def for_each_group(names: list[str], task: GroupTask) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What ``mapInArrow`` is given: a group has equal values in the columns of these names. Rows must be sorted by them."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, found in groupby(_parts(batches, names), key=itemgetter(0)):
            yield from task(key, (batch for _, batch in found))

    return run


def _parts(batches: Iterable[pa.RecordBatch], names: list[str]) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Batches that are of one group each: its key, and rows."""
    for batch in batches:
        if batch.num_rows:
            columns = [batch.column(name) for name in names]
            for begin, end in pairwise([0, *_changes(columns, batch.num_rows), batch.num_rows]):
                yield tuple(column[begin] for column in columns), batch.slice(begin, end - begin)


def _changes(columns: list[pa.Array], rows: int) -> list[int]:
    """The rows that are of another group than the row before. A null is a value like others, as for SQL."""
    differs = np.zeros(rows - 1, bool)
    for column in columns:
        before, after = column.slice(0, rows - 1), column.slice(1)
        is_other = pc.if_else(
            pc.or_(pc.is_null(before), pc.is_null(after)),
            pc.xor(pc.is_null(before), pc.is_null(after)),
            pc.not_equal(before, after),
        )
        differs |= is_other.to_numpy(zero_copy_only=False).astype(bool)
    return [int(place) + 1 for place in np.flatnonzero(differs)]


def with_key(batch: pa.RecordBatch, names: list[str], key: Key) -> pa.RecordBatch:
    """A batch with the values of its group as first columns."""
    columns = [pa.repeat(value, batch.num_rows) if value.is_valid else pa.nulls(batch.num_rows, value.type) for value in key]
    return pa.RecordBatch.from_arrays([*columns, *batch.columns], names=[*names, *batch.schema.names])
