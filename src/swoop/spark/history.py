"""The top-k of a whole history, exact and parallel over slices of time.

Slices tell of the stays that they see (:mod:`swoop.spark.slicing`); a stay that goes on over a cut is put together again
afterwards. No slice knows where the history ends: that, too, is found afterwards, where all of them meet. So the result does
not depend on slices, partitions or cores.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import error_from_json
from swoop.join.keys import find_by
from swoop.similarity import Similarity
from swoop.spark.cuts import Every
from swoop.spark.rows import (
    GIVEN,
    Names,
    find_keep,
    find_spark_window,
    from_ticks,
    kept_columns,
    kept_names,
    quoted,
    readable,
    row_in_json,
    ticks,
    time_kind,
    why_unusable,
)
from swoop.spark.slices import PAIR, RECORDS, replay_slice
from swoop.spark.slicing import ERROR, SliceTask, cut_sets, pair_schema, with_error
from swoop.spec import Copies, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import FIRST_DATETIME, LAST_DATETIME

COLUMNS = ("newer", "older", "similarity", "overlap", "enter", "leave")
SIDES = COLUMNS[:2]


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
    slices: int | str | dt.timedelta | Every | None = None,
    copies: Copies = "each",
    by: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
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
        How time is cut. By default into slices that are chosen from the data and the cores, or as many as an integer says:
        then this call **runs a Spark job**, which measures times. With a length, ``"1 day"`` or a ``timedelta``, or
        ``every(1000)`` where times are integers, it **runs none**: it defines the result and reads nothing. Take slices that
        are longer than the window, and a few per core. The result does not depend on them.
    copies
        As for :class:`swoop.TopKJoin`. Where copies count once, what a record is called depends on all that came before, so
        time is not cut, whatever ``slices`` says: the history is one slice, which one core goes through, or one for each key.
    by
        One column or several that make a key: one independent result per key, as if the rows of no other key were there. Each
        history ends with the last row of its key. A null is a key like others, as for SQL's ``GROUP BY``.
    keep
        Columns to come along, such as ``["text", "author"]``: the result has them as ``newer_text``, ``older_text`` and so on,
        behind the others. Where copies count once, they are those of the first set of a record, as its id is. Rows that have
        time, id, tokens and stream in common stand in the order of what is kept of them.

    Returns
    -------
    DataFrame
        ``newer``, ``older`` (ids), ``similarity``, ``overlap``, ``enter``, ``leave``: one row per stay of positive duration,
        after the columns of the key. The history ends at the time of its last row; pairs that are still in the top-k
        then have a null ``leave``.

    Examples
    --------
    A history that can be a view, a table of a declarative pipeline, or a cell of a notebook that must not act::

        topk_history(posts, k=10, window="1 hour", tokens=words("text"), slices="1 day", by="tenant")
    """
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
    kept = find_keep(keep)
    taken = [*COLUMNS, *(name.lower() for name in kept_names(kept, *SIDES))]
    names = Names(id, time, tokens, stream, reason=reason, by=find_by(by, taken), keep=kept)
    return _stays(sets, spec, names, slices)


@dataclass(frozen=True)
class HistoryStays:
    """The stays of a history, for those who want the error of a task as it was raised, and not what Spark says of it.

    Persist it: what it is asked for is made once.
    """

    with_errors: DataFrame

    def persist(self) -> HistoryStays:
        return HistoryStays(self.with_errors.persist())

    def unpersist(self) -> None:
        self.with_errors.unpersist()

    def count(self) -> int:
        """How many stays there are. Raises what a task could not do."""
        counted = self.with_errors.agg(F.count("*"), F.first(ERROR.name, ignorenulls=True)).first()
        assert counted is not None
        count, error = counted
        if error is not None:
            raise error_from_json(bytes(error))
        return int(count)

    @property
    def stays(self) -> DataFrame:
        """As :func:`topk_history` gives them, once they were counted."""
        return self.with_errors.drop(ERROR.name)


def find_stays(sets: DataFrame, join: JoinSpec, names: Names) -> HistoryStays:
    """The stays of a history of a join."""
    spec = replace(join, window=find_spark_window(join.window), two_streams=names.stream is not None, track_changes=True)
    return HistoryStays(_stays(sets, spec, names, None, with_errors=True))


def _stays(sets: DataFrame, spec: JoinSpec, names: Names, slices: Any, with_errors: bool = False) -> DataFrame:
    """The stays of a history. With errors, a column has those of tasks, in rows that are no stays."""
    sliced = cut_sets(sets, names, spec.window, slices, can_cut=spec.copies == "each")
    schema = _segment_schema(sliced.id_type, sliced.record_type)
    task = _task(spec.in_ticks(), sliced.tokens, sliced.arrow_id_type)
    if with_errors:
        schema = T.StructType([*schema, ERROR])
        task = with_error(task, schema)
    stays = sliced.run(task, schema)
    if not sliced.is_whole:
        stays = _join_segments(_until_the_end(stays, sliced.keys), sliced.keys)
    return stays.select(
        *(F.col(key).alias(name) for key, name in zip(sliced.keys, sliced.by, strict=True)),
        *COLUMNS[:4],
        from_ticks(F.col("enter"), sliced.kind).alias("enter"),
        from_ticks(F.col("leave"), sliced.kind).alias("leave"),
        *kept_columns(names.keep, *SIDES),
        *([ERROR.name] if with_errors else []),
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
    columns = [name for name in sets.columns if name.lower() not in ("reason", "row", GIVEN)]
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
    """The pairs that were in the top-k at any time: each once, with its first entry and its number of stays.

    Where there are keys, each pair of a key once.
    """
    return stays.groupBy(*(quoted(name) for name in stays.columns if name not in COLUMNS[4:])).agg(
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


def _task(spec: JoinSpec, tokens: str | TokenFunction, id_type: pa.DataType) -> SliceTask:
    """The function of a slice: its sets in, segments of stays out."""

    def task(batches: Iterator[pa.RecordBatch], start: int, stop: int | None) -> Iterator[pa.RecordBatch]:
        return replay_slice(batches, spec, tokens, start, stop, id_type)

    return task


def _segment_schema(id_type: T.DataType, record_type: T.DataType | None) -> T.StructType:
    return T.StructType(
        [
            *pair_schema(id_type, record_type),
            T.StructField("similarity", T.DoubleType()),
            T.StructField("overlap", T.LongType()),
            T.StructField("enter", T.LongType()),
            T.StructField("leave", T.LongType()),
            T.StructField("is_after", T.BooleanType()),
            T.StructField("last", T.LongType()),
        ]
    )


def _until_the_end(segments: DataFrame, keys: list[str]) -> DataFrame:
    """What happens until the time of the last set: later it is as if nothing had been cut, and nobody had left.

    Only what is after the last set of its slice can be later. That is little, and meets in one partition, for each key, with
    what slices say of their last sets.
    """
    elsewhere = F.when(~F.col("is_after"), F.xxhash64(*PAIR))
    end = F.max("last").over(Window.partitionBy(*keys, elsewhere))
    known = segments.withColumn("end", end).filter(
        F.col("last").isNull() & F.coalesce(F.col("enter") <= F.col("end"), F.lit(True))
    )
    return known.withColumn("leave", F.when(F.coalesce(F.col("leave") <= F.col("end"), F.lit(True)), F.col("leave")))


def _join_segments(segments: DataFrame, keys: list[str]) -> DataFrame:
    """Join the segments of a stay that was cut at a slice boundary."""
    in_order = Window.partitionBy(*keys, *PAIR).orderBy("enter")
    begins = F.coalesce((F.lag("leave").over(in_order) != F.col("enter")).cast("int"), F.lit(1))
    numbered = segments.withColumn("begins", begins)
    numbered = numbered.withColumn("stay", F.sum("begins").over(in_order))
    last = F.max(F.struct(F.col("leave").isNull().alias("open"), "leave"))
    return (
        numbered.groupBy(*keys, *PAIR, "stay")
        .agg(
            F.first("newer").alias("newer"),
            F.first("older").alias("older"),
            F.first("similarity").alias("similarity"),
            F.first("overlap").alias("overlap"),
            *(F.first(name).alias(name) for name in (*RECORDS, ERROR.name) if name in segments.columns),
            F.min("enter").alias("enter"),
            last.alias("last"),
        )
        .withColumn("leave", F.col("last")["leave"])
    )
