"""What is kept of the sets that the merge of cells knows: rows by numbers, as long as somebody needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from swoop.join.kept import KeptColumns, read_records


class KnownRecords:
    """Kept columns of some sets. Values stay in Arrow: Python does not have all of them."""

    def __init__(self, schema: pa.Schema) -> None:
        self._kept, self._count = KeptColumns(schema), 0

    def add(self, told: pa.Table, column: str, places: Sequence[int]) -> range:
        """Take the records of rows at some places. Gives their numbers, which nothing else ever has.

        Raises ValueError if they are not what they should be.
        """
        first = self._count
        if places:
            records = told[column].take(pa.array(places, pa.int64()))  # a copy, else all that was told would stay in memory
            self._kept.add(first, read_records(records, self._kept.schema), len(places))
            self._count += len(places)
        return range(first, self._count)

    def take(self, numbers: Iterable[int]) -> pa.Table:
        """Records as rows, in the order given."""
        return self._kept.take(np.fromiter(numbers, np.int64))

    def forget_others(self, needed: Callable[[], Iterable[int]]) -> None:
        """Only records with these numbers are needed from now on. They are asked for when there is as much to forget."""
        self._kept.forget(self._count, lambda: np.unique(np.fromiter(needed(), np.int64)))
