"""The engine of a live join that also tells the ranks of its changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from swoop.join.feed import make_changes
from swoop.join.ranks import NO_RENEWALS, Ranks
from swoop.join.topk_join import TopKJoin
from swoop.live.checkpoint import State
from swoop.live.one_engine import OneEngine
from swoop.results import Changes


class RankedEngine(OneEngine):
    """One join, whose changes have one more column, ``rank``: null where all pairs are asked for, which have no order here."""

    _ranks: Ranks | None = None  # while a window is restored, and where all pairs are asked for

    def restore(self, state: State, k: int | None) -> Changes | None:
        """Let the sets of the window that this state names arrive anew."""
        self._ranks = None
        self._renewals: list[np.ndarray] = []
        dropped = super().restore(state, k)
        if k is not None:
            join = self.join
            self._ranks = Ranks(join.similarity, join.window.duration, *join._engine.stock(k))
        return dropped

    def _insert(self, join: TopKJoin, sets: pa.Table) -> None:
        if self._ranks is None or join.copies == "each":
            super()._insert(join, sets)
            return
        first, stream = join.stats.sets, "stream" if self._spec.two_streams else None
        kept, keep = self._spec.with_kept(sets)
        found = join._insert_records(kept, self._spec.tokens, stream, id="id", keep=keep)
        arrivals = np.arange(first, first + len(found))
        times = sets["time"].cast(pa.int64()).to_numpy()
        self._renewals.append(np.column_stack((arrivals, times, found))[found != arrivals])

    def _changes(self) -> Changes:
        found = self.join._change_rows()
        changes = make_changes(found, self._clock, self.join.similarity, self.join.two_streams)
        ranks = pa.nulls(len(found), pa.int64())
        if self._ranks is not None:
            ranks = pa.array(self._ranks.of(found.rows, found.seen, np.concatenate([NO_RENEWALS, *self._renewals])))
            self._renewals = []

        def columns() -> dict[str, Any]:
            table = changes.to_arrow()
            return {**dict(zip(table.column_names, table.columns, strict=True)), "rank": ranks}

        return Changes(len(changes), changes.__getitem__, columns)
