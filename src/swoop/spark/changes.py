"""The live join and live families as streaming DataFrames of changes, which anything of Spark's can take further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidData
from swoop.join.keys import find_by
from swoop.live.embedded import kept_columns, result_columns
from swoop.live.stream_spec import StreamSpec
from swoop.similarity import Similarity
from swoop.spark.embedding import embedded
from swoop.spark.rows import Names, find_keep, find_spark_window, from_ticks, key_name, plain_type
from swoop.spark.starting import check_sets, make_spec, prepared
from swoop.spark.versions import check_stateful
from swoop.spec import Copies, FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction

TIMES = ("time", "start", "end", "first_seen", "newer_first_seen", "newer_last_seen", "older_first_seen", "older_last_seen")
IDS = ("newer", "older", "family", "into", "representative")
TEXTS = ("kind", "reason", "row")
RECORD = "record"
JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
"""How records are written on their way: times to the microsecond."""


def topk_changes(
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
    by: str | Sequence[str] | None = None,
    min_similarity: float | None = None,
    max_pairs: int | None = None,
    copies: Copies = "each",
    lateness: Any = "10 seconds",
    max_ahead: Any = None,
    keep: str | Sequence[str] = (),
) -> DataFrame:
    """Every change of the top-k of a stream, as a streaming DataFrame for any sink. Defining it runs no job.

    The changes are those of :func:`swoop.spark.topk_stream`. The engine is on an executor, and Spark keeps its state, so a
    query that is started again with its checkpoint goes on where it stopped. See docs/spark.md for when to take which.

    Parameters
    ----------
    sets, k, window, similarity, id, time, tokens, stream, reason, min_similarity, max_pairs, copies, lateness, max_ahead, keep
        As for :func:`swoop.spark.topk_stream`.
    by
        One column or several (integers, strings, binaries, booleans or dates) that make a key: one independent result per key,
        as for :func:`swoop.spark.topk_history`. A null is a key like others. Each key has an engine of its own and a time of
        its own, which only its rows advance.

    Returns
    -------
    DataFrame
        One row per change:

        - the columns of the key, if there is one;
        - ``sequence``: 0, 1, 2, ... in the order of the changes; rows of a DataFrame have no order of their own;
        - ``time``, and ``kind``: ``"enter"``, ``"outranked"`` or ``"expired"``;
        - ``rank``: the place of the pair in the top-k, from 1 on: after the step for a pair that enters, before the step for
          one that leaves. A step is the arrival of a set, or a moment at which pairs end. Null if ``k`` is None;
        - ``similarity``, ``newer``, ``older``, ``overlap``, ``start``, ``end``: the pair; with ``copies="once"`` also
          ``newer_copies``, ``newer_first_seen``, ``newer_last_seen`` and the same of the older record; then what is kept, as
          ``newer_text``, ``older_text`` and so on;
        - ``reason``, ``row``: null, because there are more rows than changes: one for each row that is late or unusable, of
          kind ``"late"`` or ``"rejected"``, with what is wrong and the row as JSON. ``changes.where("reason is null")`` leaves
          them out. They are numbered on their own.

    Examples
    --------
    ::

        posts = spark.readStream.schema("id long, time timestamp, text string").json("posts")
        changes = topk_changes(posts, k=10, window="1 hour", tokens=words("text"))
        changes.writeStream.format("parquet").option("checkpointLocation", "state").start("changes")
    """
    join = JoinSpec(
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
    taken = [name.lower() for name in result_columns(join, kept)]
    names = Names(
        id,
        time,
        tokens,
        stream,
        reason=reason,
        by=find_by(by, taken),
        keep=kept,
    )
    check_sets(sets, names, "topk_history")
    check_stateful(sets, "topk_changes")
    return _changes(sets, names, make_spec(sets, names, join, lateness, max_ahead, 1, None))


def families_changes(
    sets: DataFrame,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    reason: str | None = None,
    by: str | Sequence[str] | None = None,
    lateness: Any = "10 seconds",
    max_ahead: Any = None,
    keep: str | Sequence[str] = (),
) -> DataFrame:
    """Everything that happens to the families of a stream, as a streaming DataFrame for any sink. Defining it runs no job.

    Parameters
    ----------
    sets, min_similarity, window, similarity, id, time, tokens, reason, lateness, max_ahead, keep
        As for :func:`swoop.spark.families_stream`.
    by
        As for :func:`topk_changes`.

    Returns
    -------
    DataFrame
        The columns of the key, ``sequence``, ``time``, ``kind`` (``"born"``, ``"grew"``, ``"merged"``, ``"ended"``), and as in
        :class:`swoop.FamilyChange` ``family``, ``into``, ``size``, ``total``, ``first_seen`` and ``representative``;
        and ``reason`` and ``row`` for rows that are late or unusable, all as for :func:`topk_changes`.

    Examples
    --------
    ::

        posts = spark.readStream.schema("id long, time timestamp, text string").json("posts")
        families_changes(posts, min_similarity=0.5, window="1 hour", tokens=words("text")).where("kind = 'born'")
    """
    asked = FamilySpec(min_similarity, find_spark_window(window), similarity)
    kept = find_keep(keep)
    taken = [name.lower() for name in result_columns(asked, kept)]
    names = Names(id, time, tokens, None, reason=reason, by=find_by(by, taken), keep=kept)
    check_sets(sets, names, "swoop.spark.families_history")
    check_stateful(sets, "families_changes")
    return _changes(sets, names, make_spec(sets, names, asked, lateness, max_ahead, 1, None))


def _changes(sets: DataFrame, names: Names, spec: StreamSpec) -> DataFrame:
    """The rows of the engines, with times and ids as the caller knows them."""
    columns, id_type = result_columns(spec.join), sets.schema[names.id].dataType
    keys = [_key_field(place, sets.schema[name]) for place, name in enumerate(names.by)]
    fields = [T.StructField(name, _type(name, id_type)) for name in columns]
    record = T.StructType([sets.schema[name] for name in names.keep])
    if names.keep:
        spec = replace(spec, keep=((RECORD, pa.string()),))
        place = columns.index("reason")
        sides = kept_columns(spec.join, [RECORD])
        fields[place:place] = [T.StructField(name, T.StringType()) for name in sides]
    rows = embedded(_with_text(prepared(sets, names, spec), names), spec, keys, fields)
    found = {name: F.col(f"`{name}`") for name in columns}
    found |= {name: from_ticks(found[name], spec.time_kind) for name in TIMES if name in found}
    found |= {name: found[name].cast(id_type) for name in IDS if name in found}
    given = [_from_bytes(key.name, sets.schema[name].dataType).alias(name) for key, name in zip(keys, names.by, strict=True)]
    kept = [
        F.from_json(F.col(side), record, JSON).getField(name).alias(f"{side.removesuffix(RECORD)}{name}")
        for side in (kept_columns(spec.join, [RECORD]) if names.keep else ())
        for name in names.keep
    ]
    shown = [column.alias(name) for name, column in found.items()]
    return rows.select(*given, *shown[:-2], *kept, *shown[-2:])


def _with_text(rows: DataFrame, names: Names) -> DataFrame:
    """Rows in which records are texts: on their way through pandas, other values would not stay what they are."""
    if not names.keep:
        return rows
    return rows.withColumn("record", F.struct(F.to_json("record", {**JSON, "ignoreNullFields": "false"}).alias(RECORD)))


def _type(name: str, id_type: T.DataType) -> T.DataType:
    """The types of results on their way: times are ticks, ids are compared as the engine does."""
    if name in IDS:
        plain: dict[str, T.DataType] = {"bigint": T.LongType(), "string": T.StringType()}
        return plain.get(plain_type(id_type), T.BinaryType())
    return T.StringType() if name in TEXTS else T.DoubleType() if name == "similarity" else T.LongType()


def _key_field(place: int, given: T.StructField) -> T.StructField:
    """A column of the key on its way, where it is bytes."""
    found = given.dataType
    if not isinstance(found, T.StringType | T.BinaryType | T.IntegralType | T.BooleanType | T.DateType):
        raise InvalidData(
            f"column {given.name!r} for by has type {found.simpleString()}; keys must be integers, strings, binaries, "
            "booleans or dates: cast it"
        )
    return T.StructField(key_name(place), T.BinaryType())


def _from_bytes(name: str, kind: T.DataType) -> Column:
    found = F.col(name)
    return found if isinstance(kind, T.BinaryType) else found.cast("string").cast(kind)
