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
from swoop.live.ahead import believe, rejected_rows, spans_of, split_ahead
from swoop.live.base import Resuming, ordered
from swoop.live.checkpoint import State
from swoop.live.chunks import SETS
from swoop.live.pieces import Backlog, concatenated, drained, in_pieces, split, split_all
from swoop.results import Changes, Explanation, Pair, Step

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
        return split_all(self._checkpoint.read(state.chunks, SETS), state.watermark)

    # batches

    def _take(self, batch: int, rows: pa.Table | Backlog) -> int:
        before = self._state
        given = rows if isinstance(rows, Backlog) else Backlog.of(rows)
        max_ahead = self._parameters.max_ahead
        believed, ahead = believe(spans_of(given.times, max_ahead), before.now, before.ahead, max_ahead)
        usable = given.times if believed is None else given.times[given.times <= believed]
        latest = int(usable.max()) if len(usable) else None
        if latest is not None and before.watermark is not None and latest < before.watermark:
            latest = None
        highest, watermark = move_on(before.highest, before.watermark, latest, self._parameters.lateness)
        state = replace(before, batch=batch, ended=False, idle=0, k=self._k, highest=highest, ahead=ahead, watermark=watermark)
        count, late, rejected = 0, [], []
        for piece in given.pieces:
            count += piece.num_rows
            bad = pc.is_valid(piece["reason"])
            rejected.append(piece.filter(bad).select(["reason", "row"]))
            sets, beyond = split_ahead(piece.filter(pc.invert(bad)).drop_columns(["reason", "row"]), believed)
            if beyond.num_rows:
                rejected.append(rejected_rows(self._shown(ordered(beyond))))
            old, sets = split(sets, before.watermark)
            late.append(old)
            state = self._arrive(state, sets)
        counted = state.counters
        counters = replace(
            counted,
            rows=counted.rows + count,
            late=counted.late + sum(part.num_rows for part in late),
            rejected=counted.rejected + sum(part.num_rows for part in rejected),
        )
        self._put(before, self._move(replace(state, counters=counters)), concatenated(late), concatenated(rejected))
        return count

    def end(self) -> None:
        if self._held is not None and self._held.num_rows and not self._state.ended:
            self._finish()

    def _finish(self) -> None:
        before = self._state
        assert before.highest is not None
        assert before.watermark is not None
        self._go_on(replace(before, ended=True, watermark=max(before.watermark, before.highest + 1)))
        self._checkpoint.collect(self._state)  # its results are out: the next run goes on from here

    def idle(self, passed: int) -> None:
        """No rows have come while so many ticks passed by the clock: time moves on as if a row had come that is later by them.

        This is a step after the batch, with a state of its own. Nothing is done while Spark may do the batch again, and where
        nothing can change.
        """
        before = self._state
        waits = self._held is not None and self._held.num_rows > 0
        if before.now is None or not (waits or self.stats.window_size) or self._checkpoint.committed() < before.batch:
            return
        self._checkpoint.collect(before)
        assert before.now is not None
        assert before.watermark is not None
        reached = before.now + passed
        watermark = max(before.watermark, reached - self._parameters.lateness)
        self._go_on(replace(before, idle=before.idle + 1, reached=reached, watermark=watermark))

    def _do_again(self, state: State) -> None:
        if state.idle == self._state.idle:
            self._finish()
        else:
            assert state.watermark is not None
            self._go_on(replace(self._state, idle=state.idle, reached=state.reached, watermark=state.watermark))

    def _go_on(self, state: State) -> None:
        """A step without rows, to a later watermark."""
        started = time.perf_counter()
        before = self._state
        changes = self._move(replace(state, k=self._k))
        nothing = self._held.schema.empty_table()
        self._put(before, changes, nothing, nothing)
        self._done(self.stats.batch_rows, started)

    def _arrive(self, state: State, sets: pa.Table) -> State:
        """Take a piece of a batch: no row that is still to come is as early as its latest."""
        state = self._checkpoint.add(state, sets, expired_at(state.watermark, self._parameters.window.length))
        self._held = concatenated([part for part in (self._held, sets) if part is not None])
        if state.watermark is None or not sets.num_rows:
            return state
        return self._pass(state, min(state.watermark, pc.max(sets["time"]).as_py() + 1))

    def _move(self, state: State) -> list[Changes]:
        """Let rows enter up to the watermark, and keep the state. Gives all changes since the state before."""
        if state.watermark is not None:
            state = self._pass(state, state.watermark)
        changes = [*self._dropped, self.join.changes()]
        self._dropped = []
        counted = replace(state.counters, changes=state.counters.changes + sum(map(len, changes)))
        self._state = self._checkpoint.write(replace(state, counters=counted))
        return changes

    def _pass(self, state: State, watermark: int) -> State:
        """Let the rows that wait enter up to this watermark."""
        entered, self._held = split_all([self._held] if self._held is not None else [], watermark)
        count = sum(part.num_rows for part in entered)
        self._enter(self.join, entered, watermark)
        return replace(state, counters=replace(state.counters, sets=state.counters.sets + count))

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
