"""Posts to measure with: generated ones, and real ones from a file, repeated until there are enough."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from swoop.paper.data_sets import DataSet

TIME = pa.timestamp("us", "UTC")


def make_posts(data_set: DataSet, first_id: int = 0) -> pa.Table:
    """The sets of a data set as texts."""
    tokens = pc.binary_join_element_wise("w", pa.array(data_set.tokens).cast(pa.string()), "")
    texts = pc.binary_join(pa.ListArray.from_arrays(pa.array(data_set.offsets, pa.int32()), tokens), " ")
    ids = pa.array(np.arange(first_id, first_id + len(data_set)))
    return pa.table({"id": ids, "time": pa.array(data_set.times).cast(TIME), "text": texts})


def read_posts(path: Path, rows: int) -> pa.Table:
    """So many posts of a Parquet file with the columns ``ts`` and ``text``, again and again, each time later."""
    given = pq.read_table(path, columns=["ts", "text"])
    times = given.column("ts").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    span = int(times[-1] - times[0]) + 86_400_000_000
    rounds = -(-rows // len(times))
    later = np.concatenate([times + number * span for number in range(rounds)])[:rows]
    texts = pa.chunked_array([chunk for _ in range(rounds) for chunk in given.column("text").chunks]).slice(0, rows)
    return pa.table({"id": np.arange(rows), "time": pa.array(later).cast(TIME), "text": texts.combine_chunks()})


def window_of(posts: pa.Table, average: int) -> dt.timedelta:
    """The duration for which a window holds about so many posts on average."""
    times = posts.column("time").cast(pa.int64()).to_numpy()
    data_set = DataSet("posts", times, np.zeros(len(times) + 1, np.int64), np.empty(0, np.int64))
    return dt.timedelta(microseconds=data_set.window_for(average))
