"""The top-k of a whole history, exact and parallel over slices of time.

Time is cut into slices. The task of the slice [a, b) replays the sets from a - w on, so that at time a it has the window that a
single run would have, and reports what it sees in [a, b). A stay that goes on over a cut is put together again afterwards. Sets
with equal times enter in the order of their ids, so the result does not depend on slices, partitions or cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pyarrow as pa  # the annotations of a task's function must be known when it runs
from pyspark import AccumulatorParam, TaskContext
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidArgument, UnusableRows
from swoop.join.slices import Extent, steps_of
from swoop.similarity import Similarity
from swoop.spark.rows import (
    Names,
    find_spark_window,
    from_ticks,
    id_of,
    in_range,
    quoted,
    readable,
    row_in_json,
    stream_of,
    ticks,
    time_kind,
    tokens_of,
    why_unusable,
)
from swoop.spark.slices import PAIR, replay_slice
from swoop.spec import Copies, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import FIRST_DATETIME, LAST_DATETIME, TimeKind

SAMPLE = 16
"""One in so many rows tells where to cut."""


def topk_history(
    sets: DataFrame,
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    stream: str | None = None,
    reason: str | None = None,
    min_similarity: float | None = None,
    max_pairs: int | None = None,
    slices: int | None = None,
    copies: Copies = "each",
) -> DataFrame:
    """Every stay of a pair in the top-k of a history.

    Parameters
    ----------
    sets
        One row per set: an id, a time (timestamp or integer, as the window requires) and an array of tokens. Unusable rows are
        left out, and when the result is made, a warning counts them; :func:`rejected` returns them.
    k, window, similarity, min_similarity, max_pairs
        As for :class:`swoop.TopKJoin`. The window is a duration or an integer.
    id, time, tokens, stream
        Names of the columns. Instead of a column of tokens, a token function such as ``words("text")`` makes tokens where the
        engine is, which is much faster than a column. ``stream`` names a column with ``"left"`` and
        ``"right"``; then only pairs across the sides count.
    reason
        A column that says what is wrong with a row, if that is known before: such rows are left out. Null where nothing is.
    slices
        The number of slices that time is cut into; by default chosen from the data and the cores.
    copies
        As for :class:`swoop.TopKJoin`. Where copies count once, what a record is called depends on all that came before, so
        time is not cut: the history is one slice, which one core goes through.

    Returns
    -------
    DataFrame
        ``newer``, ``older`` (ids), ``similarity``, ``overlap``, ``enter``, ``leave``: one row per stay of positive duration.
        The history ends at the time of its last row; pairs that are still in the top-k then have a null ``leave``.
    """
    if sets.isStreaming:
        raise InvalidArgument("sets is a stream, and a history has an end; make it with spark.read, or use topk_stream")
    if slices is not None and slices < 1:
        raise InvalidArgument(f"slices must be at least 1, not {slices}")
    spec = JoinSpec(
        k,
        find_spark_window(window),
        similarity,
        two_streams=stream is not None,
        min_similarity=min_similarity,
        track_changes=True,
        max_pairs=max_pairs,
        copies=copies,
    )
    slices = 1 if copies == "once" else slices
    length = spec.window.duration
    names = Names(id, time, tokens, stream, reason=reason)
    names.check(sets)
    kind = time_kind(sets, time, spec.window)
    sets, names = names.plain(sets)
    prepared = _prepared(sets, names, kind)

    def cut(extent: Extent) -> list[int]:
        return extent.cuts(length, slices, _cores(sets)) if extent.rows else []

    # times tell enough to cut, if there is a set in the last slice: the history ends with its last set, in the last slice
    valid = F.when(in_range(F.col("time"), kind), F.col("time"))
    cuts = cut(_measure(prepared, valid, slices))
    if cuts and not _has_set_from(sets, names, kind, cuts[-2]):
        cuts = cut(_measure(prepared, F.when(F.col("reason").isNull(), F.col("time")), slices))
    id_type = prepared.schema["id"].dataType
    if not cuts:
        _warn(prepared.count())
        segments = prepared.sparkSession.createDataFrame([], _segment_schema(id_type))
    else:
        run = _replay(spec, names.made, cuts, T.StructType([T.StructField("id", id_type)]), _counter(prepared))
        # not a filter: Spark would push it down to the texts, and make the tokens of each once more for it
        usable = F.col("reason").isNull()
        slices_of = F.when(usable, _slices_of(F.col("time"), cuts, length)).otherwise(F.array(F.lit(len(cuts) - 1)))
        segments = (
            prepared.withColumn("slice", F.explode(slices_of))
            .withColumn("tokens", F.when(usable, F.col("tokens")))
            .drop("reason")
            .repartitionById(len(cuts), "slice")
            .sortWithinPartitions("slice", "time", "id", "tokens", *(["stream"] if stream else []))
            .groupBy("slice")
            .applyInArrow(run, _segment_schema(id_type))
        )
    stays = segments if copies == "once" else _join_segments(segments)
    return stays.select(
        "newer",
        "older",
        "similarity",
        "overlap",
        from_ticks(F.col("enter"), kind).alias("enter"),
        from_ticks(F.col("leave"), kind).alias("leave"),
    )


def rejected(
    sets: DataFrame,
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    stream: str | None = None,
    reason: str | None = None,
) -> DataFrame:
    """The rows that :func:`topk_history` cannot use, with two more columns: ``reason``, and ``row``, the whole row as JSON.

    These are rows with a null id, time, set or token, a time out of range, a set of too many tokens, a stream that is neither
    left nor right, or an id or token that is not UTF-8. Whatever they hold, they can be collected: strings that are not UTF-8
    are made so, followed by their bytes; a timestamp that Python does not know is null, and stands in ``row``.
    """
    names = Names(id, time, tokens, stream, reason=reason)
    names.check(sets)
    kind = time_kind(sets, time)
    columns = [name for name in sets.columns if name.lower() not in ("reason", "row")]
    places = [place for place, name in enumerate(sets.columns) if name in columns]
    plain, names = names.plain(sets)
    shown = [_collectable(plain, plain.columns[place]) for place in places]
    found = plain.select(*shown, why_unusable(plain, names, kind), row_in_json(plain, sets.columns))
    found = found.toDF(*(f"c{place}" for place in range(len(places))), "reason", "row")
    return found.filter(F.col("reason").isNotNull()).toDF(*columns, "reason", "row")


def _collectable(sets: DataFrame, name: str) -> Column:
    found = sets.schema[name].dataType
    if not isinstance(found, T.TimestampType | T.TimestampNTZType):
        return readable(F.col(name), found)
    when = ticks(name, "aware" if isinstance(found, T.TimestampType) else "naive")
    return F.when(when.between(FIRST_DATETIME, LAST_DATETIME), F.col(name))


def at_least_once(stays: DataFrame) -> DataFrame:
    """The pairs that were in the top-k at any time: each once, with its first entry and its number of stays."""
    return stays.groupBy("newer", "older", "similarity", "overlap").agg(
        F.min("enter").alias("first_enter"), F.count("*").alias("stays")
    )


def explain(pairs: DataFrame, sets: DataFrame, *, id: str = "id", tokens: str | TokenFunction = "tokens") -> DataFrame:
    """Why pairs are similar: ``pairs`` with three more columns, the tokens that both sets share and those that only one has.

    Parameters
    ----------
    pairs
        Rows with the ids ``newer`` and ``older``: a result of :func:`topk_history`, :func:`at_least_once`, or a part of one.
    sets
        The sets, with their original tokens. Ids should be unique: a pair has one row for each set that has its id.
    id, tokens
        Names of the columns of ``sets``, or a token function.
    """
    found = tokens.column() if isinstance(tokens, TokenFunction) else quoted(tokens)
    newer, older = (sets.select(quoted(id).alias(side), found.alias(f"_{side}")) for side in ("newer", "older"))
    joined = pairs.join(newer, "newer", "left").join(older, "older", "left")
    return joined.select(
        *map(quoted, pairs.columns),
        F.array_intersect("_newer", "_older").alias("shared"),
        F.array_except("_newer", "_older").alias("only_newer"),
        F.array_except("_older", "_newer").alias("only_older"),
    )


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
        warnings.warn(UnusableRows(unusable, "swoop.spark.rejected(sets, ...) returns them with the reasons"), stacklevel=3)


def _cores(sets: DataFrame) -> int:
    try:
        return int(sets.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return 8


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


def _segment_schema(id_type: T.DataType) -> T.StructType:
    return T.StructType(
        [
            *(T.StructField(name, T.LongType()) for name in PAIR),
            T.StructField("newer", id_type),
            T.StructField("older", id_type),
            T.StructField("similarity", T.DoubleType()),
            T.StructField("overlap", T.LongType()),
            T.StructField("enter", T.LongType()),
            T.StructField("leave", T.LongType()),
        ]
    )


def _replay(
    spec: JoinSpec, tokens: str | TokenFunction, cuts: list[int], ids: T.StructType, count: Callable[[int], None]
) -> Callable[..., Any]:
    """The function of a slice: its sets in, segments of stays out. Behind the last slice are unusable rows, to be counted."""
    from pyspark.sql.pandas.types import to_arrow_schema

    id_type = to_arrow_schema(ids).field("id").type
    in_ticks = spec.in_ticks()

    def replay(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = key[0].as_py()
        if number == len(cuts) - 1:
            count(sum(batch.num_rows for batch in batches))
            return
        is_last = number == len(cuts) - 2
        yield from replay_slice(batches, in_ticks, tokens, cuts[number], cuts[number + 1], is_last, id_type)

    return replay


def _join_segments(segments: DataFrame) -> DataFrame:
    """Join the segments of a stay that was cut at a slice boundary."""
    in_order = Window.partitionBy(*PAIR).orderBy("enter")
    begins = F.coalesce((F.lag("leave").over(in_order) != F.col("enter")).cast("int"), F.lit(1))
    numbered = segments.withColumn("begins", begins)
    numbered = numbered.withColumn("stay", F.sum("begins").over(in_order))
    last = F.max(F.struct(F.col("leave").isNull().alias("open"), "leave"))
    return (
        numbered.groupBy(*PAIR, "stay")
        .agg(
            F.first("newer").alias("newer"),
            F.first("older").alias("older"),
            F.first("similarity").alias("similarity"),
            F.first("overlap").alias("overlap"),
            F.min("enter").alias("enter"),
            last.alias("last"),
        )
        .withColumn("leave", F.col("last")["leave"])
    )
