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

FRAME = 100_000  # rows of results that are given at once
MEMORY = 1 << 30  # bytes of engines that a worker keeps


def embedded(rows: DataFrame, spec: StreamSpec, schema: T.StructType) -> DataFrame:
    """The results of the rows of a stream that was prepared, one engine per ``key``; without one, there is one engine."""
    key = schema["key"]
    if "key" not in rows.columns:
        rows = rows.withColumn("key", F.lit(0).cast("long"))
    packed = T.StructType([key, T.StructField("rows", T.BinaryType())])
    return (
        rows.mapInArrow(pack, packed)
        .groupBy("key")
        .transformWithStateInPandas(Embedded(spec, [field.name for field in schema]), schema, "Append", "None")
    )


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does with its rows: those of each key become one binary."""
    for rows in in_parts(batches):
        keys = rows["key"].combine_chunks().dictionary_encode(null_encoding="encode")
        places = keys.indices.to_numpy()
        order = None if len(keys.dictionary) == 1 else np.argsort(places, kind="stable")
        in_order = rows.drop_columns("key") if order is None else rows.drop_columns("key").take(order)
        stops = np.cumsum(np.bincount(places, minlength=len(keys.dictionary)))
        parts = [in_order.slice(start, stop - start) for start, stop in zip([0, *stops], stops, strict=False)]
        data = pa.array([to_bytes(part).to_pybytes() for part in parts], pa.binary())
        yield pa.RecordBatch.from_arrays([keys.dictionary, data], ["key", "rows"])


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
            if stream is not None and stream.kept == kept:
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

    def __init__(self, spec: StreamSpec, columns: list[str]) -> None:
        self._spec, self._columns = spec, columns

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
            frame.insert(0, "key", [key[0]] * len(frame))
            yield frame[self._columns]

    def close(self) -> None:
        pass
