"""The rows of a batch come to the driver: at once if they are few, else in pieces that follow one another in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from swoop.live.pieces import Backlog
from swoop.spark.versions import repartition_by_id

PIECE_ROWS = 250_000
PLACE = "place"  # of a row in its partition, or the piece that it goes to


def fetch(frame: DataFrame, piece_rows: int) -> pa.Table | Backlog:
    """The rows of a batch: all of them, or a backlog if they may be more than ``piece_rows``.

    Nobody can tell how many they are before they were looked at. So the first rows of each partition are fetched, and most
    often there are no others. If there are, the whole batch is kept on the disks of Spark's executors, spread over pieces by
    time, and fetched piece by piece.
    """
    most = piece_rows // max(1, frame._jdf.queryExecution().logical().rdd().getNumPartitions())
    place = f"monotonically_increasing_id() & {(1 << 33) - 1} AS {PLACE}"
    first = frame.selectExpr("*", place).where(f"{PLACE} <= {most}").toArrow()
    places, schema = first[PLACE], first.schema
    if not first.num_rows or pc.max(places).as_py() < most:
        return first.drop_columns(PLACE)
    del first, places
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    times = np.sort(persisted.filter(F.col("reason").isNull()).select("time").toArrow()["time"].to_numpy())
    return Backlog(times, _pieces(persisted, _borders(times, piece_rows), schema))


def _borders(times: np.ndarray, rows: int) -> list[int]:
    """Times at which a new piece begins, so that none has more than so many rows unless they have the same time."""
    found: list[int] = []
    begin = 0
    while begin + rows < len(times):
        begin_after = np.searchsorted(times, times[begin + rows])  # all rows of this time go to the next piece
        if begin_after <= begin:
            begin_after = np.searchsorted(times, times[begin], side="right")
        if begin_after == len(times):
            break
        begin = int(begin_after)
        found.append(int(times[begin]))
    return found


def _pieces(persisted: DataFrame, borders: list[int], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a batch, spread over pieces: those that can be used by time, the others anyhow."""
    from pyspark import RDD  # which Spark's thin client lacks

    count = len(borders) + 1
    by_time = F.size(F.filter(F.array(*map(F.lit, borders)).cast("array<long>"), lambda border: border <= F.col("time")))
    anyhow = F.pmod(F.monotonically_increasing_id(), F.lit(count))
    piece = F.when(F.col("reason").isNull(), by_time).otherwise(anyhow).cast("int")
    spread = repartition_by_id(persisted.withColumn(PLACE, piece), count, F.col(PLACE)).withColumn(
        PLACE, F.col(PLACE).cast("long")
    )
    context = persisted.sparkSession.sparkContext
    try:
        found: Iterator[bytes] = RDD(spread._jdf.toArrowBatchRdd().toJavaRDD(), context, NoOpSerializer()).toLocalIterator()
        batches = (pa.ipc.read_record_batch(pa.py_buffer(data), schema) for data in found)
        for _, parts in groupby(batches, lambda batch: batch[PLACE][0].as_py()):
            yield pa.Table.from_batches(parts, schema).drop_columns(PLACE)
    finally:
        persisted.unpersist()
