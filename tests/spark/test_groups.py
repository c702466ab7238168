"""Groups of rows that are sorted, however they lie in batches."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from swoop.spark.groups import Key, for_each_group, with_key

TYPES: dict[pa.DataType, list[Any]] = {
    pa.string(): ["", "a", "é"],
    pa.binary(): [b"", b"\xff"],
    pa.int16(): [-1, 0, 7],
    pa.bool_(): [False, True],
    pa.date32(): [dt.date(1, 1, 1), dt.date(2024, 1, 1)],
    pa.timestamp("us", "UTC"): [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
    pa.decimal128(5, 2): [None],
}


@given(st.data())
def test_each_group_once_with_all_its_rows(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(TYPES)), max_size=3))
    names = [f"key{n}" for n in range(len(kinds))]
    value = st.tuples(*(st.sampled_from([None, *TYPES[kind]]) for kind in kinds))
    rows = sorted(data.draw(st.lists(value, max_size=20)), key=repr)
    columns = [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(kinds)]
    table = pa.table([*columns, pa.array(range(len(rows)), pa.int64())], names=[*names, "row"])
    batches = table.to_batches(data.draw(st.integers(1, 9)))
    reads = data.draw(st.booleans())
    keys: list[Any] = []

    def task(key: Key, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys.append(tuple(scalar.as_py() for scalar in key))
        if reads:  # a task may leave its rows
            for batch in batches:
                yield with_key(batch.select(["row"]), names, key)

    empty = table.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    found = list(for_each_group(names, task)([*empty, *batches, *empty]))
    assert keys == [key for key, _ in groupby(rows)]
    if reads:
        assert pa.Table.from_batches(found, table.schema) == table
