"""The rows of a live stream in the order in which they enter, that of :mod:`swoop.join.row_order`."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.columns import as_array
from swoop.join.row_order import find_order, order_key
from swoop.readable import values_of


def sort_rows(rows: pa.Table) -> pa.Table:
    """Rows in the order in which they enter."""

    def rest(places: np.ndarray) -> list[Any]:
        found = rows.take(places)
        records = map(order_key, values_of(found["record"])) if "record" in found.column_names else repeat((), len(places))
        return list(zip(found["tokens"].to_pylist(), found["stream"].to_pylist(), records, strict=True))

    order = find_order(rows["time"].to_numpy(), as_array(rows["id"], "id", "ids"), rest)
    return rows if order is None else rows.take(order)


def sort_rejected(rows: pa.Table) -> pa.Table:
    """Rejected rows in the order in which they are told: the same however they came."""
    return rows.sort_by([("reason", "ascending"), ("row", "ascending")]) if rows.num_rows else rows


def same_key_as_before(rows: pa.Table) -> np.ndarray:
    """Which rows have the time and the id of the row before them."""
    same = np.zeros(rows.num_rows, bool)
    times, ids = rows["time"].to_numpy(), rows["id"].combine_chunks()
    same[1:] = (times[1:] == times[:-1]) & pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return same


def equal_to_before(rows: pa.Table) -> np.ndarray:
    """Which rows also have the tokens and the stream of the row before them."""
    same = same_key_as_before(rows)
    places = np.flatnonzero(same)
    if len(places):
        before, there = (rows.take(found).select(["tokens", "stream"]).to_pylist() for found in (places - 1, places))
        same[places] = [a == b for a, b in zip(before, there, strict=True)]
    return same
