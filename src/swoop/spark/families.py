"""The families of a whole history: slices of time find links in parallel, and one task puts them together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.join.family_history import FAMILY, MEMBER
from swoop.join.keys import find_by
from swoop.similarity import Similarity
from swoop.spark.cuts import Every
from swoop.spark.groups import Key, for_each_group, with_key
from swoop.spark.rows import Names, find_keep, find_spark_window, from_ticks, kept_columns, kept_names
from swoop.spark.slices import RECORDS, LinkedSets, replay_links_of_slice
from swoop.spark.slicing import SliceTask, cut_sets, pair_schema
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import TimeKind

REPRESENTATIVE = FAMILY[-1]


def families_history(
    sets: DataFrame,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    reason: str | None = None,
    slices: int | str | dt.timedelta | Every | None = None,
    by: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
) -> DataFrame:
    """All families that a history has had, as :func:`swoop.families_history` gives them.

    Parameters
    ----------
    sets, id, time, tokens, reason, slices, by
        As for :func:`topk_history`. Unusable rows are left out, and when the result is made, a warning counts them.
    min_similarity, window, similarity
        As for :class:`swoop.Families`. The window is a duration or an integer.
    keep
        Columns to come along: of the representative of a family, the result has them as ``representative_text`` and so on.

    Returns
    -------
    DataFrame
        ``id``, ``size``, ``total``, ``first_seen``, ``last_seen``, ``representative``: one row per family of at least two sets.
        ``size`` is how many of its sets are in the window at the end of the history, so 0 if it has ended. The columns of the
        key come first.

    Notes
    -----
    One task puts the links of all slices together, or of all slices of a key. It has about 100 bytes in memory for each set
    that is in a family, and its id and what is kept of it twice.
    """
    return find_links(
        sets,
        min_similarity,
        window,
        similarity,
        id=id,
        time=time,
        tokens=tokens,
        reason=reason,
        slices=slices,
        by=by,
        keep=keep,
    ).families()


def family_members(
    sets: DataFrame,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    reason: str | None = None,
    slices: int | str | dt.timedelta | Every | None = None,
    by: str | Sequence[str] | None = None,
) -> DataFrame:
    """Which sets are in which family: ``id``, ``time``, ``family``, one row per set that is in a family of at least two.

    The parameters are those of :func:`families_history`; ``family`` is the id of its first set, as there.
    """
    return find_links(
        sets, min_similarity, window, similarity, id=id, time=time, tokens=tokens, reason=reason, slices=slices, by=by
    ).members()


@dataclass(frozen=True)
class HistoryLinks:
    """The links of a history, which may be made once for both results: persist ``links``."""

    links: DataFrame
    duration: int
    kind: TimeKind
    keys: list[str]
    by: tuple[str, ...]
    keep: tuple[str, ...]

    def persist(self) -> HistoryLinks:
        return replace(self, links=self.links.persist())

    def unpersist(self) -> None:
        self.links.unpersist()

    def families(self) -> DataFrame:
        duration = self.duration
        return self._united(FAMILY, lambda found: found.families(duration), self.keep)

    def members(self) -> DataFrame:
        return self._united(MEMBER, LinkedSets.members)

    def _united(
        self, names: tuple[str, ...], result: Callable[[LinkedSets], Iterator[pa.RecordBatch]], keep: tuple[str, ...] = ()
    ) -> DataFrame:
        """What one task makes of all links, or of those of a key."""
        keys, id_type = self.keys, self.links.schema["newer"].dataType
        ids, times = ("id", "representative", "family"), ("first_seen", "last_seen", "time")
        key_fields = [self.links.schema[key] for key in keys]
        fields = [T.StructField(name, id_type if name in ids else T.LongType()) for name in names]
        if keep:
            fields.append(T.StructField(f"{REPRESENTATIVE}_record", self.links.schema[RECORDS[0]].dataType))

        def unite(key: Key, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in result(LinkedSets.of(batch.select(range(len(keys), batch.num_columns)) for batch in batches)):
                yield with_key(batch, keys, key)

        placed = self.links.repartition(*keys).sortWithinPartitions(*keys) if keys else self.links.repartition(1)
        found = placed.mapInArrow(for_each_group(keys, unite), T.StructType([*key_fields, *fields]))
        return found.select(
            *(F.col(key).alias(name) for key, name in zip(keys, self.by, strict=True)),
            *(from_ticks(F.col(name), self.kind).alias(name) if name in times else name for name in names),
            *kept_columns(keep, REPRESENTATIVE),
        )


def find_links(
    sets: DataFrame,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    reason: str | None = None,
    slices: int | str | dt.timedelta | Every | None = None,
    by: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
) -> HistoryLinks:
    """The links of all slices. The parameters are those of :func:`families_history`."""
    spec = FamilySpec(min_similarity, find_spark_window(window), similarity)
    kept = find_keep(keep)
    taken = [*FAMILY, *MEMBER, *(name.lower() for name in kept_names(kept, REPRESENTATIVE))]
    names = Names(id, time, tokens, None, reason=reason, by=find_by(by, taken), keep=kept)
    sliced = cut_sets(sets, names, spec.window, slices)
    task = _task(spec.in_ticks(), sliced.tokens, sliced.arrow_id_type)
    links = sliced.run(task, pair_schema(sliced.id_type, sliced.record_type))
    return HistoryLinks(links, spec.window.duration, sliced.kind, sliced.keys, sliced.by, kept)


def _task(spec: FamilySpec, tokens: str | TokenFunction, id_type: pa.DataType) -> SliceTask:
    """The function of a slice: its sets in, links out."""

    def task(batches: Iterator[pa.RecordBatch], start: int, stop: int | None) -> Iterator[pa.RecordBatch]:
        return replay_links_of_slice(batches, spec, tokens, start, id_type)

    return task
