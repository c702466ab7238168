"""The engine of a live join in the process that takes the batches: late rows are sorted out, and rows wait for the watermark.

Rows come as Arrow tables with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.payloads import TablePayloads
from swoop.join.topk_join import TopKJoin
from swoop.live.ahead import believe, rejected_rows, spans_of, split_ahead
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.chunks import SETS
from swoop.live.engines import Snapshot, StepResult
from swoop.live.pieces import Backlog, concatenated, drained, in_pieces
from swoop.live.row_order import sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.live.watermark import advance_watermark, expired_until, split_all_at_watermark, split_at_watermark
from swoop.results import Change, Changes, Explanation, Pair, SkybandStep, TopK
from swoop.times import Time

COLUMNS = ("id", "time", "tokens", "stream", "reason", "row")  # and "text", if there are texts to show


class OneEngine:
    """One join, and the rows that wait for the watermark. The rows of the window are in chunks of the checkpoint.

    Attributes
    ----------
    join
        The engine.
    """

    join: TopKJoin

    def __init__(self, spec: StreamSpec, checkpoint: Checkpoint) -> None:
        self._spec, self._checkpoint = spec, checkpoint
        self._clock = spec.clock()
        self._reading = threading.Lock()

    def restore(self, state: State, k: int | None) -> Changes | None:
        """Let the sets of the window that this state names arrive anew."""
        self.join = self._spec.make_join(k)
        self._texts = TablePayloads()
        entered, self._held = self._window(state)
        if self._held is None or state.watermark is None:
            return None
        self._insert_sorted(self.join, entered, state.watermark)
        self.join.changes()
        if state.k == k:
            return None
        before = self._spec.make_join(state.k)
        self._insert_sorted(before, self._window(state)[0], state.watermark)
        return _outranked(before.topk(), k, self._clock.time(state.watermark - 1))

    def _window(self, state: State) -> tuple[list[pa.Table], Any]:
        """The rows that had entered by this state, and those that waited."""
        return split_all_at_watermark(self._checkpoint.read(state.chunks, SETS), state.watermark)

    def process_batch(self, before: State, batch: int, rows: pa.Table | Backlog) -> StepResult:
        """Take the rows of a batch, piece by piece."""
        backlog = rows if isinstance(rows, Backlog) else Backlog.of(rows)
        max_ahead = self._spec.max_ahead
        believed, ahead = believe(spans_of(backlog.times, max_ahead), before.now, before.ahead, max_ahead)
        usable = backlog.times if believed is None else backlog.times[backlog.times <= believed]
        latest = int(usable.max()) if len(usable) else None
        if latest is not None and before.watermark is not None and latest < before.watermark:
            latest = None
        highest, watermark = advance_watermark(before.highest, before.watermark, latest, self._spec.lateness)
        state = replace(before, batch=batch, ended=False, idle=0, highest=highest, ahead=ahead, watermark=watermark)
        count, late, rejected = 0, [], []
        for piece in backlog.pieces:
            count += piece.num_rows
            bad = pc.is_valid(piece["reason"])
            rejected.append(piece.filter(bad).select(["reason", "row"]))
            sets, beyond = split_ahead(piece.filter(pc.invert(bad)).drop_columns(["reason", "row"]), believed)
            if beyond.num_rows:
                rejected.append(rejected_rows(self._spec.shown(sort_rows(beyond))))
            too_late, sets = split_at_watermark(sets, before.watermark)
            late.append(too_late)
            state = self._add_piece(state, sets)
        if watermark is not None:
            state = self._release(state, watermark)
        counted = state.counters
        counters = replace(
            counted,
            rows=counted.rows + count,
            late=counted.late + sum(part.num_rows for part in late),
            rejected=counted.rejected + sum(part.num_rows for part in rejected),
        )
        state = replace(state, counters=counters)
        return StepResult(state, self.join.changes(), concatenated(late), concatenated(rejected), count)

    def advance(self, before: State, after: State) -> StepResult:
        """Let the rows enter that wait for no more than this watermark."""
        assert after.watermark is not None
        return StepResult(self._release(after, after.watermark), self.join.changes())

    def _add_piece(self, state: State, sets: pa.Table) -> State:
        """Take a piece of a batch: no row that is still to come is as early as its latest."""
        state = self._checkpoint.add(state, sets, expired_until(state.watermark, self._spec.join.window.duration))
        self._held = concatenated([part for part in (self._held, sets) if part is not None])
        if state.watermark is None or not sets.num_rows:
            return state
        return self._release(state, min(state.watermark, pc.max(sets["time"]).as_py() + 1))

    def _release(self, state: State, watermark: int) -> State:
        """Let the rows that wait enter up to this watermark, and count them."""
        entered, self._held = split_all_at_watermark([self._held] if self._held is not None else [], watermark)
        count = sum(part.num_rows for part in entered)
        self._insert_sorted(self.join, entered, watermark)
        return replace(state, counters=replace(state.counters, sets=state.counters.sets + count))

    def _insert_sorted(self, join: TopKJoin, rows: list[pa.Table], watermark: int) -> None:
        """Let sets arrive in the order of time and id, and time move on to just before the watermark. Takes the rows away."""
        for piece in in_pieces(drained(rows)):
            in_order = self._spec.shown(sort_rows(piece))
            if join is self.join and "text" in in_order.column_names:
                with self._reading:
                    self._texts.add(join.stats.sets, in_order.select(["text"]))
            join.insert_many(in_order, self._spec.tokens, id="id", stream="stream" if self._spec.join.two_streams else None)
        if join.stats.sets:
            join.advance(self._clock.time(watermark - 1))

    def snapshot(self, state: State) -> Snapshot:
        """The top-k and the sizes of the join."""
        stats = self.join.stats
        with self._reading:
            self._texts.forget(stats.sets - stats.window_size)
        sizes = {
            "held": 0 if self._held is None else self._held.num_rows,
            "window_size": stats.window_size,
            "stock_size": stats.stock_size,
            "vocabulary_size": stats.vocabulary_size,
            "memory_bytes": stats.memory_bytes,
        }
        return Snapshot(self.join.topk(), sizes)

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has. Both must still be in the window."""
        return self.join.explain(pair)

    def skyband(self) -> list[SkybandStep]:
        """That of the join."""
        return self.join.skyband()

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of both sets, as far as they are kept."""
        with self._reading:
            newer, older = (self._texts.get(arrival, "text") for arrival in pair.arrivals or (-1, -1))
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
