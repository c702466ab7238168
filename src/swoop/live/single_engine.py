"""An engine in the process that takes the batches: late rows are sorted out, and rows wait for the watermark.

Rows come as Arrow tables with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidData, InvalidFile
from swoop.join.families import Families
from swoop.join.origins import Window
from swoop.join.payloads import LingeringPayloads
from swoop.join.topk_join import TopKJoin
from swoop.live.ahead import believe, rejected_rows, spans_of, split_ahead
from swoop.live.checkpoint import State
from swoop.live.chunks import SETS, Chunk
from swoop.live.engines import Feed, StepResult
from swoop.live.pieces import Backlog, concatenated, drained, in_pieces
from swoop.live.row_order import sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.live.watermark import advance_watermark, expired_until, split_all_at_watermark, split_at_watermark

COLUMNS = ("id", "time", "tokens", "stream", "reason", "row")  # and "text" and "record", if there is something to show

NO_TIMES = np.empty(0, np.int64)

Join = TypeVar("Join", TopKJoin, Families)


class Origins(Protocol):
    """What the sets of a window do not tell; see :mod:`swoop.join.origins` and :mod:`swoop.join.family_origins`."""

    def news(self) -> pa.Table:
        """What came about since the last call."""

    def replay(self, window: Window, origins: pa.Table) -> AbstractContextManager[None]:
        """Let the sets of a window arrive in this context."""


class WindowStore(Protocol):
    """Where the rows of a window are kept, such as :class:`swoop.live.checkpoint.Checkpoint`."""

    def read(self, chunks: Sequence[Chunk], needed: Sequence[str] = ("time",)) -> Iterator[pa.Table]:
        """The rows of some chunks."""

    def add(self, state: State, rows: pa.Table, expired: int) -> State:
        """Keep rows, but for those up to ``expired``. The state that is given back names them."""

    def add_origins(self, state: State, rows: pa.Table, expired: int) -> State:
        """The same with origins."""

    def damaged(self, name: str, why: object) -> InvalidFile:
        """What to raise if a part is not what was written."""


class SingleEngine(Generic[Join]):
    """One join or one engine of families, and the rows that wait for the watermark. The rows of the window are in chunks of
    the checkpoint, and so is what they do not tell.

    Attributes
    ----------
    join
        The engine.
    """

    join: Join
    _origins: Origins
    _no_origins: pa.Table
    _held: Any  # the rows that wait; None if there never were any

    def __init__(self, spec: StreamSpec, checkpoint: WindowStore) -> None:
        self._spec, self._checkpoint = spec, checkpoint
        self._clock = spec.clock()
        self._reading = threading.Lock()
        self._texts = LingeringPayloads()

    def _begin(self, join: Join, origins: Origins, state: State) -> None:
        """Begin with a new join, at which the sets of the window of a state arrive anew."""
        self.join, self._origins, self._texts = join, origins, LingeringPayloads()
        self._held = self._replay(origins, join, state)

    def _replay(self, origins: Origins, join: Join, state: State) -> Any:
        """Let the sets of the window of a state arrive at a new join. Gives the rows that waited; None if there are no rows."""
        entered, held = split_all_at_watermark(self._checkpoint.read(state.chunks, SETS), state.watermark)
        if state.watermark is None:
            return held
        expired = self._expired(state)
        valid: list[pa.Table] = [rows.filter(pc.greater(rows["time"], expired)) for rows in drained(entered)]
        times = np.sort(np.concatenate([NO_TIMES, *(rows["time"].to_numpy() for rows in valid)]))
        told = concatenated(list(self._checkpoint.read(state.origins, self._no_origins.column_names))) or self._no_origins
        window = Window(state.counters.sets - len(times), times, state.watermark - 1)
        try:
            with origins.replay(window, told.filter(pc.greater(told["time"], expired))):
                self._insert_sorted(join, valid, state.watermark)
        except (ValueError, InvalidData) as error:
            raise self._checkpoint.damaged(f"the window of states/{state.step}.json", error) from error
        return held

    def _expired(self, state: State) -> int:
        """Rows up to this time have left the window."""
        return expired_until(state.watermark, self._spec.join.window.duration)

    def process_batch(self, before: State, batch: int, rows: pa.Table | Backlog) -> StepResult:
        """Take the rows of a batch, piece by piece."""
        backlog = rows if isinstance(rows, Backlog) else Backlog.of(rows)
        max_ahead = self._spec.max_ahead
        believed, ahead = believe(spans_of(backlog.times, max_ahead), before.now, before.ahead, max_ahead)
        usable = backlog.times if believed is None else backlog.times[backlog.times <= believed]
        latest = int(usable.max()) if len(usable) else None
        if latest is not None and before.watermark is not None and latest < before.watermark:
            latest = None
        max_event_time, watermark = advance_watermark(before.max_event_time, before.watermark, latest, self._spec.lateness)
        state = replace(
            before, batch=batch, ended=False, idle=0, max_event_time=max_event_time, ahead=ahead, watermark=watermark
        )
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
        state = self._tell_origins(replace(state, counters=counters))
        return StepResult(state, self._changes(), concatenated(late), concatenated(rejected), count)

    def advance(self, before: State, after: State) -> StepResult:
        """Let the rows enter that wait for no more than this watermark."""
        assert after.watermark is not None
        return StepResult(self._tell_origins(self._release(after, after.watermark)), self._changes())

    def _changes(self) -> Feed:
        """Those of the step."""
        return self.join.changes()

    def _tell_origins(self, state: State) -> State:
        """Write what the rows of the window do not tell, as far as it was not written before."""
        told = self._origins.news()
        return self._checkpoint.add_origins(state, told, self._expired(state)) if told.num_rows or state.origins else state

    def _add_piece(self, state: State, sets: pa.Table) -> State:
        """Take a piece of a batch: no row that is still to come is as early as its latest."""
        state = self._checkpoint.add(state, sets, self._expired(state))
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

    def _insert_sorted(self, join: Join, rows: list[pa.Table], watermark: int) -> None:
        """Let sets arrive in the order of time and id, and time move on to just before the watermark. Takes the rows away."""
        for piece in in_pieces(drained(rows)):
            in_order = self._spec.shown(sort_rows(piece))
            if join is self.join and "text" in in_order.column_names:
                with self._reading:
                    self._texts.add(join.stats.sets, in_order.select(["text"]))
            self._insert(join, in_order)
        if join.stats.sets:
            join.advance(self._clock.time(watermark - 1))

    def _insert(self, join: Join, sets: pa.Table) -> None:
        """Let sets arrive in this order."""
        raise NotImplementedError

    def _sizes(self, name: str) -> dict[str, int]:
        """Sizes, those that all have and one more. What has left the window is forgotten."""
        stats = self.join.stats
        with self._reading:
            self._texts.forget(stats.sets - stats.window_size)
        names = ("window_size", "vocabulary_size", "memory_bytes", name)
        return {"held": 0 if self._held is None else self._held.num_rows, **{one: getattr(stats, one) for one in names}}
