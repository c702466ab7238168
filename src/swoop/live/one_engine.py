"""The engine of a live join in the process that takes the batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from swoop.join.origins import NO_ORIGINS, RecordOrigins
from swoop.join.topk_join import TopKJoin
from swoop.live.checkpoint import State
from swoop.live.engines import Snapshot
from swoop.live.single_engine import SingleEngine
from swoop.results import Change, Changes, Explanation, Pair, SkybandStep, TopK
from swoop.times import Time


class OneEngine(SingleEngine[TopKJoin]):
    """One join."""

    _no_origins = NO_ORIGINS

    def restore(self, state: State, k: int | None) -> Changes | None:
        """Let the sets of the window that this state names arrive anew."""
        join = self._spec.make_join(k)
        self._begin(join, RecordOrigins(join), state)
        if state.watermark is None or state.k == k:
            return None
        before = self._spec.make_join(state.k)
        self._replay(RecordOrigins(before), before, state)
        return _outranked(before.topk(), k, self._clock.time(state.watermark - 1))

    def _insert(self, join: TopKJoin, sets: pa.Table) -> None:
        sets, keep = self._spec.with_kept(sets)
        sides = join._sides_reader("stream" if self._spec.two_streams else None)
        join._insert_many(sets, self._spec.tokens, "time", "id", sides, keep)

    def snapshot(self, state: State) -> Snapshot[TopK]:
        """The top-k and the sizes of the join."""
        return Snapshot(self.join.topk(), self._sizes("stock_size"))

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has. Both must still be in the window."""
        return self.join.explain(pair)

    def skyband(self) -> list[SkybandStep]:
        """That of the join."""
        return self.join.skyband()

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of both sets, as far as they are kept; of records, those of the newest sets."""
        known, newest = pair.arrivals or (-1, -1), self.join._newest_sets(pair) or [None, None]
        arrivals = [one if valid is None else valid for one, valid in zip(known, newest, strict=True)]
        with self._reading:
            newer, older = (self._texts.get(arrival, "text") for arrival in arrivals)
        return newer, older


def _outranked(topk: TopK, k: int | None, at: Time) -> Changes:
    """What leaves the top-k because k was lowered."""
    lost = topk[k:]

    def columns() -> dict[str, Any]:
        table = topk.to_arrow().slice(k)
        times = pa.array([at] * len(lost), table.schema.field("start").type)
        kinds = pa.array(["outranked"] * len(lost), pa.string())
        return {"time": times, "kind": kinds, **dict(zip(table.column_names, table.columns, strict=True))}

    return Changes(len(lost), lambda index: Change(at, "outranked", lost[index]), columns)
