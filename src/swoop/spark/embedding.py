"""Live streams inside Spark's stateful operator: rows find their way to the engine of their key, and results come back.

    rows --pack--> one row per key and task: all its rows as one binary
         --groupBy(key), transformWithStateInPandas--> changes, late rows, rejected rows

The engine lives in the memory of a worker. Its state is Spark's, and a worker that does not have the engine makes it from that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from swoop.live.chunks import from_bytes, to_bytes
from swoop.live.embedded import EmbeddedStream, read_state
from swoop.live.pieces import concatenated
from swoop.live.stream_spec import StreamSpec
from swoop.spark.cells import CHUNKS, IDLE, STATE, SparkStore, in_parts
from swoop.spark.rows import key_name

FRAME = 100_000  # rows of results that are given at once
MEMORY = 1 << 30  # bytes of engines that a worker keeps


def embedded(rows: DataFrame, spec: StreamSpec, keys: list[T.StructField], fields: list[T.StructField]) -> DataFrame:
    """The results of the rows of a stream that was prepared, one engine per key; without one, there is one engine."""
    if not keys:
        keys = [T.StructField(key_name(0), T.LongType())]
        rows = rows.withColumn(key_name(0), F.lit(0).cast("long"))
    names = [key.name for key in keys]
    packed = T.StructType([*keys, T.StructField("rows", T.BinaryType())])
    return (
        rows.mapInArrow(packing(names), packed)
        .groupBy(*names)
        .transformWithStateInPandas(Embedded(spec, names), T.StructType([*keys, *fields]), "Append", "None")
    )


def packing(keys: list[str]) -> Any:
    """What a task does with its rows: those of each key become one binary."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in in_parts(batches):
            firsts, parts = _by_key(rows, keys)
            data = pa.array([to_bytes(part).to_pybytes() for part in parts], pa.binary())
            columns = [rows[name].combine_chunks().take(firsts) for name in keys]
            yield pa.RecordBatch.from_arrays([*columns, data], [*keys, "rows"])

    return pack


def _by_key(rows: pa.Table, keys: list[str]) -> tuple[np.ndarray, list[pa.Table]]:
    """The rows of each key, and where the first of them was. Nulls are equal here."""
    number = np.zeros(rows.num_rows, np.int64)
    for name in keys:
        found = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        if len(found.dictionary) > 1:
            number = np.unique(number * len(found.dictionary) + found.indices.to_numpy(), return_inverse=True)[1]
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    rest = rows.drop_columns(keys)
    in_order = rest if len(starts) == 1 else rest.take(order)
    stops = [*starts[1:], rows.num_rows]
    return order[starts], [in_order.slice(start, stop - start) for start, stop in zip(starts, stops, strict=True)]


class _Streams:
    """Streams that this worker has in memory, by what they call themselves; the last used last."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, int, EmbeddedStream]] = {}  # with the time of their last use, and their bytes
        self._bytes = 0

    def take(self, spec: StreamSpec, store: SparkStore) -> EmbeddedStream:
        """The stream in memory, if it is the one that the state tells of, else a new one.

        It is taken out of memory while it is changed, so that what is left there is never half-changed.
        """
        kept = read_state(store, spec)
        if kept is not None:
            stream = self._forget(kept.run) if kept.run in self._kept else None
            if stream is not None and stream.kept == kept and stream.is_for(spec):
                return stream
        return EmbeddedStream(spec, store)

    def keep(self, stream: EmbeddedStream) -> None:
        """Keep a stream. Those are forgotten that were not used for long, or that are too much together."""
        assert stream.kept is not None
        now, size = time.monotonic(), stream.memory_bytes
        self._kept[stream.kept.run] = now, size, stream
        self._bytes += size
        while len(self._kept) > 1:
            oldest, (used, *_) = next(iter(self._kept.items()))
            if self._bytes <= MEMORY and now - used <= IDLE:
                return
            self._forget(oldest)

    def _forget(self, run: str) -> EmbeddedStream:
        _, size, stream = self._kept.pop(run)
        self._bytes -= size
        return stream


_streams = _Streams()


class Embedded(StatefulProcessor):
    """One stream per key, as Spark's stateful operator sees them."""

    def __init__(self, spec: StreamSpec, keys: list[str]) -> None:
        self._spec, self._keys = spec, keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._chunks = handle.getMapState(CHUNKS, "name string", "data binary")
        self._state = handle.getValueState(STATE, "state string")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        store = SparkStore(self._chunks, self._state)
        tables = [from_bytes(data) for part in rows for data in part["rows"]]
        stream = _streams.take(self._spec, store)
        found = stream.step(concatenated(tables), store)
        _streams.keep(stream)
        for first in range(0, found.num_rows, FRAME):
            frame = found.slice(first, FRAME).to_pandas(integer_object_nulls=True)
            for place, name in enumerate(self._keys):
                frame.insert(place, name, [key[place]] * len(frame))
            yield frame

    def close(self) -> None:
        pass
