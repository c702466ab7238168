"""What a live stream is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from swoop.join.families import Families
from swoop.join.kept import KeptColumns, read_records
from swoop.join.restoring import demand
from swoop.join.topk_join import TopKJoin
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import Clock, TimeKind

Join = TypeVar("Join", TopKJoin, Families)


@dataclass(frozen=True)
class StreamSpec:
    """A join or families, and what is asked for only where rows come live. ``lateness`` and ``max_ahead`` are ticks."""

    join: JoinSpec | FamilySpec
    lateness: int
    time_kind: TimeKind
    id_type: str = "bigint"
    token_type: str = "array<bigint>"  # noqa: S105
    cells: int = 1
    max_ahead: int | None = None
    tokens: str | TokenFunction = "tokens"  # how sets are made of the column ``tokens``
    by: tuple[str, ...] = ()  # what this is one of several streams by
    keep: tuple[tuple[str, pa.DataType], ...] = ()  # columns that results show, fields of the column ``record``

    @property
    def pairs(self) -> JoinSpec:
        """The join, where pairs are asked for."""
        assert isinstance(self.join, JoinSpec)
        return self.join

    @property
    def families(self) -> FamilySpec:
        """The same where families are asked for."""
        assert isinstance(self.join, FamilySpec)
        return self.join

    @property
    def k(self) -> int | None:
        """How many pairs; None: all, or families."""
        return self.join.k if isinstance(self.join, JoinSpec) else None

    @property
    def two_streams(self) -> bool:
        """Whether sets have sides."""
        return isinstance(self.join, JoinSpec) and self.join.two_streams

    def lasting(self) -> dict[str, Any]:
        """What a run from the same checkpoint must share. With one cell, k may be lowered: each state has its own."""
        join = self.join
        asked: dict[str, Any] = {"finds": "families"}
        if isinstance(join, JoinSpec):
            k = {"k": "all"} if join.k is None else {"k": join.k} if self.cells > 1 else {}
            asked = {"two_streams": join.two_streams, "copies": join.copies, **k}
        return {
            "window": str(join.window),
            "similarity": join.similarity.name,
            "min_similarity": join.min_similarity,
            "type of time": {"aware": "timestamp", "naive": "timestamp_ntz"}.get(self.time_kind, "integer"),
            "type of id": self.id_type,
            "type of tokens": self.token_type,
            "cells": self.cells,
            **asked,
            **({"keep": {name: str(kind) for name, kind in self.keep}} if self.keep else {}),
        }

    def shown(self, sets: pa.Table) -> pa.Table:
        """Sets with times instead of ticks, as the caller knows them."""
        times = sets["time"]
        if self.time_kind != "integer":
            times = times.cast(pa.timestamp("us", "UTC" if self.time_kind == "aware" else None))
        shown = sets.set_column(sets.column_names.index("time"), "time", times)
        return shown if self.two_streams else shown.drop_columns("stream")

    def clock(self) -> Clock:
        """A clock for times of the stream."""
        clock = Clock(self.join.window)
        clock.kind = self.time_kind
        return clock

    def make_join(self, k: int | None) -> TopKJoin:
        """An empty join with a change feed; ``k`` may be that of an earlier run."""
        return self._keeping(TopKJoin.from_spec(replace(self.pairs, k=k, track_changes=True)))

    def make_families(self) -> Families:
        """Families without sets, with a change feed."""
        return self._keeping(Families(**vars(self.families)))

    def _keeping(self, join: Join) -> Join:
        if self.kept is not None:
            join._kept = KeptColumns(self.kept)
        return join

    @property
    def kept(self) -> pa.Schema | None:
        """What is kept of sets, if anything is."""
        return pa.schema(self.keep) if self.keep else None

    def with_kept(self, sets: pa.Table) -> tuple[pa.Table, dict[str, str]]:
        """Sets with columns of what is to be kept of them, and what these are called, by the names they are kept by.

        Raises ValueError if they are not what they should be.
        """
        if self.kept is None:
            return sets, {}
        demand("record" in sets.column_names, "sets have no records")
        records = read_records(sets["record"], self.kept)
        names = {name: f"record {name}" for name in records.column_names}
        for column, values in zip(names.values(), records.columns, strict=True):
            sets = sets.append_column(column, values)
        return sets.drop_columns("record"), names

    def with_records(self, rows: pa.Table, column: str = "record") -> pa.Table:
        """Rows whose records have the types with which they are kept. Raises ValueError if they are not what they should be."""
        if self.kept is None:
            return rows
        demand(column in rows.column_names, "sets have no records")
        records = read_records(rows[column], self.kept).to_struct_array()
        return rows.set_column(rows.column_names.index(column), column, records)
