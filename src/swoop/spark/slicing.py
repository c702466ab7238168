"""The sets of a history in slices of time, one task each.

Time is cut into slices. The task of the slice [a, b) replays the sets from a - w on, so that at time a it has the window that a
single run would have, and reports what it sees in [a, b). Sets with equal times enter in the order of their ids, so what slices
tell does not depend on partitions or cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa  # the annotations of a task's function must be known when it runs
from pyspark import AccumulatorParam, TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidArgument, UnusableRows
from swoop.join.slices import Extent, steps_of
from swoop.spark.rows import Names, from_ticks, id_of, in_range, stream_of, ticks, time_kind, tokens_of, why_unusable
from swoop.spark.slices import PAIR
from swoop.text.functions import TokenFunction
from swoop.times import TimeKind, WindowSpec

SAMPLE = 16
"""One in so many rows tells where to cut."""

SliceTask = Callable[[Iterator[pa.RecordBatch], int, int, bool], Iterator[pa.RecordBatch]]
"""What is made of the sets of a slice, in order: from when to when it is, and whether it is the last."""


@dataclass(frozen=True)
class SlicedSets:
    """Sets with what is wrong with them, and the times at which slices begin, with the end of the last; none without a set.

    ``tokens``: how sets are made of the column ``tokens``. ``kind``: of their times, which are ticks here.
    """

    prepared: DataFrame
    cuts: list[int]
    tokens: str | TokenFunction
    kind: TimeKind
    duration: int

    @property
    def id_type(self) -> T.DataType:
        return self.prepared.schema["id"].dataType

    @property
    def arrow_id_type(self) -> pa.DataType:
        """The type of ids where a task gives them out."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(T.StructType([T.StructField("id", self.id_type)])).field("id").type

    def run(self, task: SliceTask, schema: T.StructType) -> DataFrame:
        """What a task gives out for all slices, as rows of a schema. Unusable rows are counted, in a slice of their own."""
        cuts = self.cuts
        if not cuts:
            _warn(self.prepared.count())
            return self.prepared.sparkSession.createDataFrame([], schema)
        count = _counter(self.prepared)

        def replay(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            number = key[0].as_py()
            if number == len(cuts) - 1:
                count(sum(batch.num_rows for batch in batches))
                return
            yield from task(batches, cuts[number], cuts[number + 1], number == len(cuts) - 2)

        # not a filter: Spark would push it down to the texts, and make the tokens of each once more for it
        usable = F.col("reason").isNull()
        slices_of = F.when(usable, _slices_of(F.col("time"), cuts, self.duration)).otherwise(F.array(F.lit(len(cuts) - 1)))
        stream = ["stream"] if "stream" in self.prepared.columns else []
        return (
            self.prepared.withColumn("slice", F.explode(slices_of))
            .withColumn("tokens", F.when(usable, F.col("tokens")))
            .drop("reason")
            .repartitionById(len(cuts), "slice")
            .sortWithinPartitions("slice", "time", "id", "tokens", *stream)
            .groupBy("slice")
            .applyInArrow(replay, schema)
        )


def cut_sets(sets: DataFrame, names: Names, window: WindowSpec, slices: int | None) -> SlicedSets:
    """Cut time, where the times of the rows tell to. The arguments are checked first."""
    if sets.isStreaming:
        raise InvalidArgument("sets is a stream, and a history has an end; make it with spark.read, or use topk_stream")
    if slices is not None and slices < 1:
        raise InvalidArgument(f"slices must be at least 1, not {slices}")
    names.check(sets)
    kind = time_kind(sets, names.time, window)
    sets, names = names.plain(sets)
    prepared = _prepared(sets, names, kind)

    def cut(extent: Extent) -> list[int]:
        return extent.cuts(window.duration, slices, _cores(sets)) if extent.rows else []

    # times tell enough to cut, if there is a set in the last slice: the history ends with its last set, in the last slice
    valid = F.when(in_range(F.col("time"), kind), F.col("time"))
    cuts = cut(_measure(prepared, valid, slices))
    if cuts and not _has_set_from(sets, names, kind, cuts[-2]):
        cuts = cut(_measure(prepared, F.when(F.col("reason").isNull(), F.col("time")), slices))
    return SlicedSets(prepared, cuts, names.made, kind, window.duration)


def pair_schema(id_type: T.DataType) -> T.StructType:
    """The columns that tell of which two sets a task speaks: times and places that are alike in every slice, and ids."""
    named = [T.StructField("newer", id_type), T.StructField("older", id_type)]
    return T.StructType([*(T.StructField(name, T.LongType()) for name in PAIR), *named])


def _prepared(sets: DataFrame, names: Names, kind: TimeKind) -> DataFrame:
    """Rows as sets, with what is wrong with them."""
    return sets.select(
        id_of(sets, names).alias("id"),
        ticks(names.time, kind).alias("time"),
        tokens_of(sets, names).alias("tokens"),
        *([stream_of(names).alias("stream")] if names.stream else []),
        why_unusable(sets, names, kind).alias("reason"),
    )


def _measure(prepared: DataFrame, time: Column, slices: int | None) -> Extent:
    """The extent of the rows of which a time is given. One pass over what that is made of; nothing else is read."""
    steps = steps_of(slices)
    is_sample = F.lit(True) if slices else F.monotonically_increasing_id() % SAMPLE == 0
    times = prepared.select(time.alias("time")).select("time", F.when(is_sample, F.col("time")).alias("sample"))
    quantiles = F.percentile_approx("sample", [n / steps for n in range(steps + 1)], 10_000)
    found = times.select(F.count("time"), F.min("time"), F.max("time"), quantiles).first()
    assert found is not None
    rows, first, last, cuts = found
    return Extent(rows, first, last, cuts or [first])


def _has_set_from(sets: DataFrame, names: Names, kind: TimeKind, time: int) -> bool:
    """Whether a row of this time or a later one can be used. Most often the first row that is looked at can.

    What is compared first is the column itself, so that sources which know about it read nothing that is earlier.
    """
    late = sets.filter(F.col(names.time) >= from_ticks(F.lit(time).cast("long"), kind))
    usable = _prepared(late, names, kind).filter((F.col("time") >= F.lit(time)) & F.col("reason").isNull())
    return bool(usable.select(F.lit(1)).take(1))


def _slices_of(time: Column, cuts: list[int], length: int) -> Column:
    """The slices that a set belongs to: its own, and those after it whose first window it is in."""
    bounds = F.array(
        *(
            F.struct(F.lit(n).alias("n"), F.lit(a - length).cast("long").alias("after"), F.lit(b).cast("long").alias("before"))
            for n, (a, b) in enumerate(pairwise(cuts))
        )
    )
    own = F.filter(bounds, lambda s: (time > s["after"]) & (time < s["before"]))
    return F.transform(own, lambda s: s["n"])


def _cores(sets: DataFrame) -> int:
    try:
        return int(sets.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return 8


class _Warning(AccumulatorParam[int]):
    """Warns of what tasks count, when they have counted it: before the result is there."""

    def zero(self, value: int) -> int:
        return 0

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802
        if TaskContext.get() is None:  # in the driver
            with suppress(UnusableRows):  # an error here would end the line on which Spark tells this process what tasks count
                _warn(value2)
        return value1 + value2


def _counter(prepared: DataFrame) -> Callable[[int], None]:
    """What tasks tell the number of unusable rows. Over Spark Connect nobody would hear it, so they are counted now."""
    try:
        counted = prepared.sparkSession.sparkContext.accumulator(0, _Warning())
    except Exception:  # Spark Connect has no context
        _warn(prepared.filter(F.col("reason").isNotNull()).count())
        return _ignore
    return counted.add


def _ignore(count: int) -> None:
    pass


def _warn(unusable: int) -> None:
    if unusable:
        warnings.warn(UnusableRows(unusable, "swoop.spark.rejected(sets, ...) returns them with the reasons"), stacklevel=4)
