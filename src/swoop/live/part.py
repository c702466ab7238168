"""A join of a cell, who its sets are, and what it tells the merge of the cells about its changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from swoop.join.feed import KINDS
from swoop.join.payloads import TablePayloads
from swoop.join.slices import similarities
from swoop.join.topk_join import TopKJoin
from swoop.live.stream_spec import StreamSpec
from swoop.text.functions import TokenFunction

SHARES = ("shared", "only_newer", "only_older")


class Part:
    """A join of a cell, and who its sets are, by arrival number."""

    # who a set is, and what results say about it
    SET: ClassVar[tuple[str, ...]] = ("time", "id", "copy", "stream", "text", "record")
    TIEBREAK: ClassVar[tuple[str, ...]] = ("id", "copy")  # what tells sets of the same time apart, and orders them

    def __init__(self, spec: StreamSpec, two_sides: bool) -> None:
        self.join = TopKJoin.from_spec(replace(spec.pairs.in_ticks(), two_streams=two_sides, track_changes=True))
        self._sets = TablePayloads()
        self._tokens = spec.tokens

    def insert(self, rows: pa.Table, sides: pa.Array | None) -> None:
        """Let sets arrive."""
        self._sets.add(self.join.stats.sets, self._known(rows))
        self.join.insert_many(self._given(rows, sides), self._tokens, stream=None if sides is None else "side")

    def _known(self, rows: pa.Table) -> pa.Table:
        """What is known of sets besides their tokens."""
        return rows.select([name for name in self.SET if name in rows.column_names])

    def _given(self, rows: pa.Table, sides: pa.Array | None) -> pa.Table:
        """What the join takes."""
        given_type = rows.schema.field("tokens").type
        self._token_lists = pa.list_(pa.string()) if isinstance(self._tokens, TokenFunction) else given_type
        given = rows.select(["tokens", "time"])
        return given if sides is None else given.append_column("side", sides)

    def advance(self, now: int) -> None:
        """Let time move on."""
        if self.join.stats.sets:
            self.join.advance(now)

    def sizes(self) -> dict[str, int]:
        """Sizes."""
        stats = self.join.stats
        return {
            "window_size": stats.window_size,
            "stock_size": stats.stock_size,
            "vocabulary_size": stats.vocabulary_size,
            "memory_bytes": stats.memory_bytes,
        }

    def take_events(self) -> pa.Table | None:
        """The changes since the last call: who the pair is, and which step they belong to.

        A step is an arrival or a moment at which pairs expire.
        """
        changes = self.join._change_rows().rows
        events = self._events(changes) if len(changes) else None
        self._forget()
        return events

    def _forget(self) -> None:
        """Sets that left the window are not asked for any more."""
        self._sets.forget(self.join._engine.oldest)

    def _events(self, changes: np.ndarray) -> pa.Table:
        newer, older = (self._pair_sets(changes[name]) for name in ("newer", "older"))
        return pa.table(
            {
                "time": np.ascontiguousarray(changes["time"]),
                "kind": pa.array([KINDS[kind] for kind in changes["kind"].tolist()], pa.string()),
                "similarity": similarities(changes["key"], self.join.similarity),
                "overlap": np.ascontiguousarray(changes["overlap"]),
                **self._step(changes["by"]),
                **{f"newer_{name}": newer[name] for name in newer.column_names},
                **{f"older_{name}": older[name] for name in older.column_names},
                **self._shares(changes),
            }
        )

    def _pair_sets(self, arrivals: np.ndarray) -> pa.Table:
        """Who the sets of pairs are."""
        return self._known(self._sets.take(arrivals))

    def _step(self, by: np.ndarray) -> dict[str, Any]:
        """The steps that arrivals are, or, where it is -1, moments at which pairs expire."""
        is_arrival = by >= 0
        sets = self._sets.take(np.where(is_arrival, by, self._sets.first))
        sets = sets.select(self.TIEBREAK).take(pa.array(np.arange(len(by)), mask=~is_arrival))
        return {"arrival": pa.array(is_arrival), **{f"by_{name}": sets[name] for name in self.TIEBREAK}}

    def _shares(self, changes: np.ndarray) -> dict[str, pa.Array]:
        """What both sets of a pair share and what only one has, for pairs that are in the top-k now."""
        pairs = zip(*(changes[name].tolist() for name in ("newer", "older", "kind")), strict=True)
        entered = {(newer, older): number for number, (newer, older, kind) in enumerate(pairs) if KINDS[kind] == "enter"}
        rows: list[Any] = [(None, None, None)] * len(changes)
        for pair in self.join.topk():
            if pair.arrivals in entered:
                found = self.join.explain(pair)
                rows[entered[pair.arrivals]] = [sorted(found.shared), sorted(found.only_newer), sorted(found.only_older)]
        columns = zip(*rows, strict=True)
        return {name: pa.array(column, self._token_lists) for name, column in zip(SHARES, columns, strict=True)}
