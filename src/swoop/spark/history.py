"""The top-k of a whole history, exact and parallel over slices of time.

Time is cut into slices. The task of the slice [a, b) replays the sets from a - w on, so that at time a it has the window that a
single run would have, and reports what it sees in [a, b). A stay that goes on over a cut is put together again afterwards. Sets
with equal times enter in the order of their ids, so the result does not depend on slices, partitions or cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa  # the annotations of a task's function must be known when it runs
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidArgument, InvalidData
from swoop.similarity import Similarity, check_min_similarity, find_similarity
from swoop.spark.slices import PAIR, replay_slice
from swoop.times import find_window


def _epoch() -> Column:
    return F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")


def topk_history(
    sets: DataFrame,
    k: int,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str = "tokens",
    stream: str | None = None,
    min_similarity: float | None = None,
    slices: int | None = None,
) -> DataFrame:
    """Every stay of a pair in the top-k of a history.

    Parameters
    ----------
    sets
        One row per set: an id, a time (timestamp or integer, as the window demands) and an array of tokens. Rows that cannot
        be used are left out with a warning that counts them; :func:`rejected` gives them.
    k, window, similarity, min_similarity
        As for :class:`swoop.TopKJoin`. The window is a duration or an integer.
    id, time, tokens, stream
        Names of the columns. With ``stream``, a column of ``"left"`` and ``"right"``, only left-right pairs count.
    slices
        Into how many slices time is cut; by default chosen from the data and the cores.

    Returns
    -------
    DataFrame
        ``newer``, ``older`` (ids), ``similarity``, ``overlap``, ``enter``, ``leave``: one row per stay of positive length. The
        history ends at the time of its last row; whoever is still there has ``leave`` null.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidArgument(f"k must be an integer of at least 1, not {k!r}")
    if slices is not None and slices < 1:
        raise InvalidArgument(f"slices must be at least 1, not {slices}")
    length = find_window(window)
    measure = find_similarity(similarity)
    threshold = check_min_similarity(measure, min_similarity)
    if length.kind not in ("duration", "integer"):
        raise InvalidArgument("a history needs a window that is a duration or an integer; for other windows use swoop.TopKJoin")
    usable = _usable(sets, id, time, tokens, stream)
    prepared = sets.filter(usable).select(
        F.col(id).alias("id"),
        _ticks(sets, time, length.kind).alias("time"),
        _hashed(sets, tokens).alias("tokens"),
        (F.col(stream) if stream else F.lit("left")).alias("stream"),
    )
    left_out = sets.filter(~usable).count()
    if left_out:
        warnings.warn(
            f"{left_out} rows cannot be used (a null, or a stream that is not 'left' or 'right') and are left out; "
            "swoop.spark.rejected(sets, ...) gives them",
            stacklevel=2,
        )
    cuts = _cuts(prepared, length.length, slices)
    id_type = prepared.schema["id"].dataType
    if cuts is None:
        segments = prepared.sparkSession.createDataFrame([], _segment_schema(id_type))
    else:
        run = _replay(
            k, length.length, similarity, threshold, stream is not None, cuts, T.StructType([T.StructField("id", id_type)])
        )
        copies = prepared.withColumn("slice", F.explode(_slices_of(F.col("time"), cuts, length.length)))
        segments = (
            copies.repartition(len(cuts) - 1, "slice")
            .sortWithinPartitions("slice", "time", "id", F.xxhash64("tokens", "stream"))
            .groupBy("slice")
            .applyInArrow(run, _segment_schema(id_type))
        )
    stays = _join_segments(segments)
    return stays.select(
        "newer",
        "older",
        "similarity",
        "overlap",
        _from_ticks(F.col("enter"), sets.schema[time].dataType).alias("enter"),
        _from_ticks(F.col("leave"), sets.schema[time].dataType).alias("leave"),
    )


def rejected(
    sets: DataFrame, *, id: str = "id", time: str = "time", tokens: str = "tokens", stream: str | None = None
) -> DataFrame:
    """The rows that :func:`topk_history` cannot use: a null id, time, set or token, or a stream that is not left or right."""
    return sets.filter(~_usable(sets, id, time, tokens, stream))


def _usable(sets: DataFrame, id: str, time: str, tokens: str, stream: str | None) -> Column:
    for name, argument in ((id, "id"), (time, "time"), (tokens, "tokens"), (stream, "stream")):
        if name is not None:
            _find(sets, name, argument)
    found = sets.schema[tokens].dataType
    if not isinstance(found, T.ArrayType):
        raise InvalidData(
            f"column {tokens!r} has type {found.simpleString()}; tokens are an array of strings, binaries or integers"
        )
    usable = F.col(id).isNotNull() & F.col(time).isNotNull() & F.col(tokens).isNotNull()
    usable = usable & ~F.coalesce(F.exists(tokens, lambda token: token.isNull()), F.lit(False))
    return usable & F.coalesce(F.col(stream).isin("left", "right"), F.lit(False)) if stream else usable


def at_least_once(stays: DataFrame) -> DataFrame:
    """The pairs that are in the top-k of any window: each once, with its first entry and its number of stays."""
    return stays.groupBy("newer", "older", "similarity", "overlap").agg(
        F.min("enter").alias("first_enter"), F.count("*").alias("stays")
    )


def _find(sets: DataFrame, name: str, argument: str) -> T.DataType:
    if name not in sets.columns:
        there = ", ".join(map(repr, sets.columns))
        raise InvalidData(f"there is no column {name!r} for {argument}; there is {there}. Name it with {argument}=...")
    return sets.schema[name].dataType


def _ticks(sets: DataFrame, time: str, kind: str) -> Column:
    """Times as integers: microseconds since 1970, or the integers given."""
    found = _find(sets, time, "time")
    if isinstance(found, T.TimestampType) and kind == "duration":
        return F.unix_micros(time)
    if isinstance(found, T.TimestampNTZType) and kind == "duration":
        return F.timestamp_diff("MICROSECOND", _epoch(), F.col(time))
    if isinstance(found, T.IntegralType) and kind == "integer":
        return F.col(time).cast("long")
    wanted = "timestamps" if kind == "duration" else "integers"
    raise InvalidData(f"column {time!r} has type {found.simpleString()}, but with this window times are {wanted}")


def _from_ticks(ticks: Column, time: T.DataType) -> Column:
    """Ticks as times of the given type. Times without a zone are counted without one, so no change of clocks gets in."""
    if isinstance(time, T.TimestampType):
        return F.timestamp_micros(ticks)
    if isinstance(time, T.TimestampNTZType):
        seconds = ticks.cast("decimal(20, 0)") / F.lit(1_000_000).cast("decimal(20, 0)")
        return _epoch() + F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), seconds.cast("decimal(18, 6)"))
    return ticks


def _hashed(sets: DataFrame, tokens: str) -> Column:
    """Tokens as 64-bit numbers: integers as they are, all others by their hash."""
    found = sets.schema[tokens].dataType
    if isinstance(found, T.ArrayType) and isinstance(found.elementType, T.IntegralType):
        return F.col(tokens).cast("array<bigint>")
    return F.transform(tokens, lambda token: F.xxhash64(token))


def _cuts(sets: DataFrame, length: int, slices: int | None) -> list[int] | None:
    """The times at which slices begin, and the end of the last. None if there are no rows."""
    first, last, rows = sets.select(F.min("time"), F.max("time"), F.count("*")).first()  # type: ignore[misc]
    if not rows:
        return None
    if slices is None:
        cores = _cores(sets)
        widest = max(1, (last - first) // max(1, length))  # slices shorter than the window replay more than they report
        slices = max(1, min(4 * cores, 2 * widest, rows // 10_000 + 1))
    shares = [n / slices for n in range(1, slices)]
    inner = sets.select(F.percentile_approx("time", shares, 10_000)).first()[0] if shares else []  # type: ignore[index]
    return [*sorted({first, *inner}), last + 1]


def _cores(sets: DataFrame) -> int:
    try:
        return int(sets.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return 8


def _slices_of(time: Column, cuts: list[int], length: int) -> Column:
    """The slices that a set belongs to: its own, and those after it whose first window it is in."""
    bounds = F.array(
        *(F.struct(F.lit(n).alias("n"), F.lit(a).alias("a"), F.lit(b).alias("b")) for n, (a, b) in enumerate(pairwise(cuts)))
    )
    own = F.filter(bounds, lambda s: (time < s["b"]) & (time > s["a"] - F.lit(length)))
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
    k: int,
    length: int,
    similarity: str | Similarity,
    threshold: float | None,
    two_streams: bool,
    cuts: list[int],
    ids: T.StructType,
) -> Callable[..., Any]:
    """The function of a slice: its sets in, segments of stays out."""
    from pyspark.sql.pandas.types import to_arrow_schema

    id_type = to_arrow_schema(ids).field("id").type

    def replay(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = key[0].as_py()
        yield from replay_slice(
            batches,
            k,
            length,
            similarity,
            threshold,
            two_streams,
            cuts[number],
            cuts[number + 1],
            number == len(cuts) - 2,
            id_type,
        )

    return replay


def _join_segments(segments: DataFrame) -> DataFrame:
    """Put together the segments of a stay that was cut: one ends where the next begins."""
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
