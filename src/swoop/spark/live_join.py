"""A join that goes from batch to batch: it sorts out late rows, holds back what may be overtaken, and survives its process.

Nothing here knows Spark. Rows come as Arrow tables with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.topk_join import TopKJoin
from swoop.pairs import Changes, Explanation, Pair, Step
from swoop.spark.ahead import believe, rejected_rows, spans_of, split_ahead
from swoop.spark.checkpoint import State
from swoop.spark.pieces import concatenated, drained, in_pieces, split, split_all
from swoop.spark.resuming import Resuming, ordered

COLUMNS = ("id", "time", "tokens", "stream", "reason", "row")  # and "text", if there are texts to show
NEVER = -(2**63)  # before every time


class LiveJoin(Resuming):
    """The join of a stream that comes in numbered batches, with one engine.

    Attributes
    ----------
    join
        The engine.
    """

    join: TopKJoin

    def _restore(self, state: State) -> list[Changes]:
        """Let the sets of the window that this state names arrive anew."""
        self.join = self._parameters.join(self._k)
        self._texts: deque[tuple[int, pa.ChunkedArray]] = deque()  # each from some arrival number on
        entered, self._held = self._window(state)
        if self._held is None or state.watermark is None:
            return []
        self._enter(self.join, entered, state.watermark)
        self.join.changes()
        if state.k == self._k:
            return []
        before = self._parameters.join(state.k)
        self._enter(before, self._window(state)[0], state.watermark)
        return [self._outranked(before.topk(), state.watermark - 1)]

    def _window(self, state: State) -> tuple[list[pa.Table], Any]:
        """The rows that had entered by this state, and those that waited."""
        return split_all(self._checkpoint.read(state.chunks), state.watermark)

    # batches

    def _take(self, batch: int, rows: pa.Table) -> int:
        before = self._state
        bad = pc.is_valid(rows["reason"])
        rejected = rows.filter(bad).select(["reason", "row"])
        sets = rows.filter(pc.invert(bad)).drop_columns(["reason", "row"])
        max_ahead = self._parameters.max_ahead
        believed, ahead = believe(spans_of(sets["time"], max_ahead), before.highest, before.ahead, max_ahead)
        sets, beyond = split_ahead(sets, believed)
        if beyond.num_rows:
            rejected = concatenated([rejected, rejected_rows(self._shown(ordered(beyond)))])
        late, sets = split(sets, before.watermark)
        highest, watermark = move_on(before.highest, before.watermark, pc.max(sets["time"]).as_py(), self._parameters.lateness)
        counted = before.counters
        state = replace(
            before,
            batch=batch,
            ended=False,
            k=self._k,
            highest=highest,
            ahead=ahead,
            watermark=watermark,
            counters=replace(
                counted,
                rows=counted.rows + rows.num_rows,
                late=counted.late + late.num_rows,
                rejected=counted.rejected + rejected.num_rows,
            ),
        )
        self._put(before, self._move(state, sets), late, rejected)
        return int(rows.num_rows)

    def end(self) -> None:
        if self._held is not None and self._held.num_rows and not self._state.ended:
            self._finish()

    def _finish(self) -> None:
        started = time.perf_counter()
        before = self._state
        highest = before.highest
        assert highest is not None
        changes = self._move(replace(before, ended=True, watermark=highest + 1, k=self._k), None)
        nothing = self._held.schema.empty_table()
        self._put(before, changes, nothing, nothing)
        self._done(self.stats.batch_rows, started)

    def _move(self, state: State, sets: pa.Table | None) -> list[Changes]:
        """Let rows enter up to the watermark, hold back the others, keep both under the checkpoint."""
        entered, self._held = split_all([part for part in (self._held, sets) if part is not None], state.watermark)
        count = sum(part.num_rows for part in entered)
        if state.watermark is not None:
            self._enter(self.join, entered, state.watermark)
        changes = [*self._dropped, self.join.changes()]
        self._dropped = []
        counters = replace(
            state.counters,
            sets=state.counters.sets + count,
            changes=state.counters.changes + sum(map(len, changes)),
        )
        expired = expired_at(state.watermark, self._parameters.window.length)
        kept = sets if sets is not None else self._held.schema.empty_table()
        self._state = self._checkpoint.write(replace(state, counters=counters), kept, expired)
        return changes

    def _enter(self, join: TopKJoin, rows: list[pa.Table], watermark: int) -> None:
        """Let sets arrive in the order of time and id, and time move on to just before the watermark. Takes the rows away."""
        for piece in in_pieces(drained(rows)):
            in_order = self._shown(ordered(piece))
            if join is self.join and "text" in in_order.column_names:
                with self._reading:
                    self._texts.append((join.stats.sets, in_order["text"]))
            join.insert_many(in_order, id="id", stream="stream" if self._parameters.two_streams else None)
        if join.stats.sets:
            join.advance(self._clock.time(watermark - 1))

    def explain(self, pair: Pair) -> Explanation:
        return self.join.explain(pair)

    def skyband(self) -> list[Step]:
        return self.join.skyband()

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        with self._reading:
            newer, older = (self._text(arrival) for arrival in pair.arrivals or (-1, -1))
        return newer, older

    def _text(self, arrival: int) -> str | None:
        for first, texts in reversed(self._texts):
            if first <= arrival < first + len(texts):
                found: str | None = texts[arrival - first].as_py()
                return found
        return None

    def _publish(self, rows: int, seconds: float) -> None:
        figures = self.join.stats
        with self._reading:
            while len(self._texts) > 1 and self._texts[1][0] <= figures.sets - figures.window_size:
                self._texts.popleft()
        self.stats = self._figures(
            rows,
            seconds,
            held=0 if self._held is None else self._held.num_rows,
            window_size=figures.window_size,
            stock_size=figures.stock_size,
            vocabulary_size=figures.vocabulary_size,
            memory_bytes=figures.memory_bytes,
        )
        self.topk = self.join.topk()


def expired_at(watermark: int | None, length: int) -> int:
    """Rows up to this time have left the window."""
    return NEVER if watermark is None else max(NEVER, watermark - 1 - length)


def move_on(highest: int | None, watermark: int | None, latest: int | None, lateness: int) -> tuple[int | None, int | None]:
    """The time of the latest row of all and the watermark, after rows that are not late; ``latest`` is the latest of them."""
    if latest is None:
        return highest, watermark
    highest = latest if highest is None else max(highest, latest)
    passed = highest - lateness
    return highest, passed if watermark is None else max(watermark, passed)
