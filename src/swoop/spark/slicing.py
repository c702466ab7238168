"""The sets of a history in slices of time, one task each.

Time is cut into slices. The task of the slice [a, b) replays the sets from a - w on, so that at time a it has the window that a
single run would have, and reports what it sees in [a, b). Sets with equal times enter in the order of their ids, so what slices
tell does not depend on partitions or cores. With keys, each key has slices of its own.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import AccumulatorParam, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidArgument, SwoopError, UnusableRows, error_to_json
from swoop.join.slices import Extent, steps_of
from swoop.spark.cuts import Cuts, Cutting, Every, NoCuts, find_slices
from swoop.spark.groups import Key, for_each_group, with_key
from swoop.spark.rows import (
    Names,
    id_of,
    in_range,
    key_name,
    key_of,
    record_of,
    stream_of,
    ticks,
    time_kind,
    tokens_of,
    why_unusable,
)
from swoop.spark.slices import PAIR, RECORDS
from swoop.spark.versions import arrow_schema, repartition_by_id
from swoop.text.functions import TokenFunction
from swoop.times import TimeKind, WindowSpec

log = logging.getLogger("swoop.spark")

SAMPLE = 16
"""One in so many rows tells where to cut."""

SliceTask = Callable[[Iterator[pa.RecordBatch], int, int | None], Iterator[pa.RecordBatch]]
"""What is made of the sets of a slice, in order: from when to when it is, without an end if it has all sets."""


ERROR = T.StructField("error", T.BinaryType())
"""What a task could not do, in a last row that has nothing else."""


def with_error(task: SliceTask, schema: T.StructType) -> SliceTask:
    """The same task, and its error, if it has one, as a row of a schema: what a task raises arrives as text only."""
    columns = arrow_schema(schema)

    def tell(batches: Iterator[pa.RecordBatch], start: int, stop: int | None) -> Iterator[pa.RecordBatch]:
        try:
            for batch in task(batches, start, stop):
                yield batch.append_column(ERROR.name, pa.nulls(batch.num_rows, pa.binary()))
        except SwoopError as error:
            yield pa.RecordBatch.from_pylist([{ERROR.name: error_to_json(error)}], columns)

    return tell


@dataclass(frozen=True)
class SlicedSets:
    """Sets with what is wrong with them, and how time is cut.

    ``tokens``: how sets are made of the column ``tokens``. ``kind``: of their times, which are ticks here. ``by``: what the key
    columns are called where the rows come from. ``may_act``: whether a job may be run before somebody asks for the result.
    """

    prepared: DataFrame
    cutting: Cutting
    tokens: str | TokenFunction
    kind: TimeKind
    duration: int
    by: tuple[str, ...]
    may_act: bool

    @property
    def is_whole(self) -> bool:
        """Whether there is one slice, or one for each key."""
        return isinstance(self.cutting, NoCuts)

    @property
    def keys(self) -> list[str]:
        """What the key columns are called here."""
        return [key_name(place) for place in range(len(self.by))]

    @property
    def id_type(self) -> T.DataType:
        return self.prepared.schema["id"].dataType

    @property
    def record_type(self) -> T.DataType | None:
        """That of records, if columns are kept."""
        return self.prepared.schema["record"].dataType if "record" in self.prepared.columns else None

    @property
    def arrow_id_type(self) -> pa.DataType:
        """The type of ids where a task gives them out."""
        return arrow_schema(T.StructType([T.StructField("id", self.id_type)])).field("id").type

    def run(self, task: SliceTask, schema: T.StructType) -> DataFrame:
        """What a task gives out for all slices: keys, and rows of a schema.

        Unusable rows are counted, in a slice of their own.
        """
        cutting, keys = self.cutting, self.keys
        count = _counter(self.prepared, self.may_act)

        def replay(key: Key, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            start = key[-1].as_py()
            if start is None:
                count(sum(batch.num_rows for batch in batches))
                return
            for batch in task(batches, start, cutting.end_of(start)):
                yield with_key(batch, keys, key[:-1])

        # not a filter: Spark would push it down to the texts, and make the tokens of each once more for it
        usable = F.col("reason").isNull()
        slices_of = F.when(usable, cutting.slices_of(F.col("time"), self.duration))
        stream, record = ([name] if name in self.prepared.columns else [] for name in ("stream", "record"))
        cut = self.prepared.withColumn("slice", F.explode(slices_of.otherwise(F.array(F.lit(None).cast("long")))))
        for name in ("tokens", *record, *keys):
            cut = cut.withColumn(name, F.when(usable, F.col(name)))
        placed = _placed(cut.drop("reason"), cutting, keys)
        in_order = placed.sortWithinPartitions(*keys, "slice", "time", "id", "tokens", *stream, *record)
        key_fields = [T.StructField(name, self.prepared.schema[name].dataType) for name in keys]
        return in_order.mapInArrow(for_each_group([*keys, "slice"], replay), T.StructType([*key_fields, *schema]))


def _placed(cut: DataFrame, cutting: Cutting, keys: list[str]) -> DataFrame:
    """Each slice in one partition. Slices that are known and few have one each."""
    if isinstance(cutting, Cuts) and not keys:
        return repartition_by_id(cut, len(cutting.times), cutting.place_of(F.col("slice")).cast("int"))
    return cut.repartition(*keys, "slice")


def cut_sets(sets: DataFrame, names: Names, window: WindowSpec, slices: Any, *, can_cut: bool = True) -> SlicedSets:
    """Cut time, where the times of the rows tell to if nothing else does. The arguments are checked first."""
    if sets.isStreaming:
        raise InvalidArgument("sets is a stream, and a history has an end; make it with spark.read, or use topk_stream")
    given = find_slices(slices, window)
    names.check(sets)
    kind = time_kind(sets, names.time, window)
    by = names.by
    sets, names = names.plain(sets)
    prepared = _prepared(sets, names, kind)
    may_act = not isinstance(given, Every)
    cutting: Cutting
    if not can_cut or given == 1:
        cutting = NoCuts()
    elif isinstance(given, Every):
        cutting = given
    else:
        cutting = _measured(prepared, kind, window, given)
    return SlicedSets(prepared, cutting, names.made, kind, window.duration, by, may_act)


def pair_schema(id_type: T.DataType, record_type: T.DataType | None) -> T.StructType:
    """The columns that tell of which two sets a task speaks: times and places that are alike in every slice, ids, and records
    if there are any.
    """
    named = [T.StructField("newer", id_type), T.StructField("older", id_type)]
    if record_type is not None:
        named += [T.StructField(name, record_type) for name in RECORDS]
    return T.StructType([*(T.StructField(name, T.LongType()) for name in PAIR), *named])


def _prepared(sets: DataFrame, names: Names, kind: TimeKind) -> DataFrame:
    """Rows as sets, with what is wrong with them."""
    return sets.select(
        *(key_of(sets, name).alias(key_name(place)) for place, name in enumerate(names.by)),
        id_of(sets, names).alias("id"),
        ticks(names.time, kind).alias("time"),
        tokens_of(sets, names).alias("tokens"),
        *([stream_of(names).alias("stream")] if names.stream else []),
        *([record_of(sets, names).alias("record")] if names.keep else []),
        why_unusable(sets, names, kind).alias("reason"),
    )


def _measured(prepared: DataFrame, kind: TimeKind, window: WindowSpec, slices: int | None) -> Cutting:
    """Cut where times tell to: one pass over them, and nothing else is read. Rows that cannot be used may tell, too."""
    log.info("a Spark job measures times, to cut them into slices; a length of slices, such as slices='1 day', needs none")
    time = F.when(in_range(F.col("time"), kind), F.col("time"))
    steps = steps_of(slices)
    is_sample = F.lit(True) if slices else F.monotonically_increasing_id() % SAMPLE == 0
    times = prepared.select(time.alias("time")).select("time", F.when(is_sample, F.col("time")).alias("sample"))
    quantiles = F.percentile_approx("sample", [n / steps for n in range(steps + 1)], 10_000)
    found = times.select(F.count("time"), F.min("time"), F.max("time"), quantiles).first()
    assert found is not None
    rows, first, last, quantiles_found = found
    if not rows:
        return NoCuts()
    cuts = Extent(rows, first, last, quantiles_found or [first]).cuts(window.duration, slices, _cores(prepared))
    return Cuts(tuple(cuts)) if len(cuts) > 2 else NoCuts()


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


def _counter(prepared: DataFrame, may_act: bool) -> Callable[[int], None]:
    """What tasks tell the number of unusable rows.

    Over Spark Connect nobody would hear it, so they are counted now, or, if that must not be, the log of the task has it.
    """
    try:
        counted = prepared.sparkSession.sparkContext.accumulator(0, _Warning())
    except Exception:  # Spark Connect has no context
        if not may_act:
            return _log_unusable
        _warn(prepared.filter(F.col("reason").isNotNull()).count())
        return _ignore
    return counted.add


def _ignore(count: int) -> None:
    pass


def _log_unusable(count: int) -> None:
    log.warning("%s", _unusable(count))


def _unusable(count: int) -> UnusableRows:
    return UnusableRows(count, "swoop.spark.rejected(sets, ...) returns them with the reasons")


def _warn(unusable: int) -> None:
    if unusable:
        warnings.warn(_unusable(unusable), stacklevel=4)
