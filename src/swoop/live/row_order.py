"""The order in which rows enter: by time, id, tokens and stream. What is equal in all of these is the same set."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def sort_rows(rows: pa.Table) -> pa.Table:
    """Rows in the order in which they enter."""
    times = rows["time"].to_numpy()
    if bool(np.all(times[1:] > times[:-1])):
        return rows
    rows = rows.sort_by([("time", "ascending"), ("id", "ascending")])
    same = same_key_as_before(rows)
    if not same.any():
        return rows
    twins = np.flatnonzero(same | np.append(same[1:], False))  # rows that have their time and id in common with others
    number = np.cumsum(~same)[twins]
    found = rows.take(twins)
    keys = zip(number.tolist(), found["tokens"].to_pylist(), found["stream"].to_pylist(), strict=True)
    places = np.arange(rows.num_rows)
    places[twins] = twins[[place for _, place in sorted((key, place) for place, key in enumerate(keys))]]
    return rows.take(places)


def same_key_as_before(rows: pa.Table) -> np.ndarray:
    """Which rows have the time and the id of the row before them."""
    same = np.zeros(rows.num_rows, bool)
    times, ids = rows["time"].to_numpy(), rows["id"].combine_chunks()
    same[1:] = (times[1:] == times[:-1]) & pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return same
