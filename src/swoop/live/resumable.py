"""A live stream: it goes from batch to batch, resumes where a run before it stopped, and sends results out.

Its engines, one here or many in cells, are a part of it; what they have in common is in ``engines``. What they find is their
business: ``live_stream`` has pairs, ``live_families`` has families.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.alerts import Texts
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.engines import Engines, Feed, Result, StepResult
from swoop.live.outputs import Output, show_texts
from swoop.live.row_order import sort_rejected, sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.notebook import Metrics
from swoop.reasons import Reasons
from swoop.spec import FamilySpec, JoinSpec
from swoop.times import Time

log = logging.getLogger("swoop.live")

LATE_ROWS = 5  # that are remembered


@dataclass(frozen=True)
class LiveStats(Metrics):
    """Metrics of a live stream, after its last batch.

    Attributes
    ----------
    batch
        The number of the last batch; -1 before the first.
    rows, late, rejected, sets, changes
        Rows of all batches, those that came too late, those that cannot be used, sets that entered, and changes of what is
        found; over all runs from this checkpoint.
    held
        Rows that wait for the watermark.
    watermark
        All rows before this time have entered; a row that comes now with an earlier time is late. None before the first row.
    window_size, vocabulary_size, memory_bytes
        As for :class:`swoop.Stats`.
    batch_rows, batch_seconds
        Rows of the last batch, and how long it took from its first row to its results.
    alerts, alerts_failed, alerts_left_out
        Alerts that were delivered, that could not be, and that were over the limit; over all runs from this checkpoint.
    alerts_waiting
        Alerts that are still to be delivered.
    """

    batch: int
    rows: int
    late: int
    rejected: int
    sets: int
    changes: int
    held: int
    watermark: Time | None
    window_size: int
    vocabulary_size: int
    memory_bytes: int
    batch_rows: int
    batch_seconds: float
    alerts: int = field(default=0, kw_only=True)
    alerts_failed: int = field(default=0, kw_only=True)
    alerts_left_out: int = field(default=0, kw_only=True)
    alerts_waiting: int = field(default=0, kw_only=True)


Stats = TypeVar("Stats", bound=LiveStats)


class LateRow(NamedTuple):
    """A row that came too late, and the watermark that it was behind."""

    id: Any
    time: Time
    watermark: Time


class ResumableStream(Generic[Result, Stats]):
    """A live stream that comes in numbered batches and resumes from its checkpoint.

    Attributes
    ----------
    result, stats
        As of the last step that was done: a batch, or time that moved on without one.
    """

    result: Result
    stats: Stats
    _state: State
    _k: int | None  # of the steps to come
    _dropped: Feed | None  # what lowering k makes, until it is sent out with the next step

    def __init__(
        self,
        spec: StreamSpec,
        checkpoint: Checkpoint,
        engines: Engines[Result],
        changes: Output,
        late: Output,
        rejected: Output,
        *,
        stats: Callable[..., Stats],
        texts: Texts,
    ) -> None:
        """``stats`` makes those after a step; ``texts`` tells those that go with a change of the step that is being done."""
        self._spec, self._checkpoint, self._steps, self._stats = spec, checkpoint, engines, stats
        self._changes, self._late, self._rejected = changes, late, rejected
        self.reasons = Reasons()  # of this run
        self.late_rows: deque[LateRow] = deque(maxlen=LATE_ROWS)  # the last of this run
        self._clock = spec.clock()
        self._earlier = set(checkpoint.known())  # states of an earlier run
        show_texts(changes, texts)
        self._resume()

    # steps

    def process(self, batch: int, rows: Any, started: float | None = None) -> None:
        """Take a batch, as the engines want it: the state and then the results are written before this returns."""
        started = started or time.perf_counter()
        if batch != self._state.batch + 1:
            self._rewind(batch)
        self._checkpoint.collect(self._state)
        result = self._steps.process_batch(self._state, batch, rows)
        self._commit(result)
        self._finish_step(result.rows, started)

    def finish(self) -> None:
        """The stream has ended: let the rows enter that are still held."""
        if self.stats.held and not self._state.ended:
            self._end_stream()

    def advance_clock(self, passed: int) -> None:
        """No rows have come while so many ticks passed by the clock: time moves on as if a row had come that is later by them.

        This is a step after the batch, with a state of its own. Nothing is done while Spark may do the batch again, and where
        nothing can change.
        """
        before = self._state
        if before.now is None or before.watermark is None or not (self.stats.held or self.stats.window_size):
            return
        if self._checkpoint.committed() < before.batch:
            return
        self._checkpoint.collect(before)
        reached = before.now + passed
        watermark = max(before.watermark, reached - self._spec.lateness)
        self._advance(replace(before, idle=before.idle + 1, reached=reached, watermark=watermark))

    def _end_stream(self) -> None:
        before = self._state
        assert before.max_event_time is not None
        assert before.watermark is not None
        self._advance(replace(before, ended=True, watermark=max(before.watermark, before.max_event_time + 1)))
        self._checkpoint.collect(self._state)  # its results are out: the next run resumes from here

    def _advance(self, after: State) -> None:
        """A step without rows, to a later watermark."""
        started = time.perf_counter()
        self._commit(self._steps.advance(self._state, after))
        self._finish_step(self.stats.batch_rows, started)

    def _commit(self, result: StepResult) -> None:
        """Write the state after a step, and then send the results of the step out."""
        before = self._state
        changes: Any = result.changes
        if self._dropped is not None:
            changes = type(changes).joined([self._dropped, changes])
        self._dropped = None
        counters = replace(result.state.counters, changes=before.counters.changes + len(changes))
        self._state = self._checkpoint.write(replace(result.state, k=self._k, counters=counters))
        self._emit(before, changes, result.late, result.rejected)

    def _emit(self, before: State, changes: Feed, late: pa.Table, rejected: pa.Table) -> None:
        """Send the results of the state of now out."""
        state, counted = self._state, before.counters
        since = before.written if state.key in self._earlier else None
        self._checkpoint.check()
        if state.batch != before.batch:
            rejected = sort_rejected(rejected)
            self._rejected.put(state, rejected, counted.rejected, since)
            if rejected.num_rows:
                rows = rejected["row"]
                self.reasons.add(rejected["reason"].to_pylist(), lambda place: str(rows[place].as_py()))
            late = self._spec.shown(sort_rows(late)) if late.num_rows else late
            self._late.put(state, late, counted.late, since)
            if late.num_rows and before.watermark is not None:
                self._note_late(late.slice(max(0, late.num_rows - LATE_ROWS)), self._clock.time(before.watermark))
        self._changes.put(state, changes, counted.changes, since)
        if (late.num_rows and not counted.late) or (rejected.num_rows and not counted.rejected):
            log.warning("batch %d has the first such rows: %d late, %d rejected", state.batch, late.num_rows, rejected.num_rows)

    def _note_late(self, rows: pa.Table, watermark: Time) -> None:
        for name, when in zip(rows["id"].to_pylist(), rows["time"].to_pylist(), strict=True):
            self.late_rows.append(LateRow(name, when, watermark))

    def _finish_step(self, rows: int, started: float) -> None:
        if self._k != self._spec.k:  # the step was done again with the k it had
            self._load(self._state, self._spec.k)
        self._refresh_snapshot(rows, time.perf_counter() - started)

    def _refresh_snapshot(self, rows: int, seconds: float) -> None:
        """Make what is found and the metrics those of the state of now."""
        state = self._state
        snapshot = self._steps.snapshot(state)
        self.stats = self._stats(
            batch=state.batch,
            **asdict(state.counters),
            watermark=None if state.watermark is None else self._clock.time(state.watermark),
            batch_rows=rows,
            batch_seconds=seconds,
            **snapshot.sizes,
        )
        self.result = snapshot.result

    # recovery

    def _resume(self) -> None:
        """Resume after the last state that is there."""
        k = self._spec.k
        if not self._earlier:
            self._load(State(-1, k), k)
            return
        last = max(self._earlier)
        former = [key for key in self._earlier if key[0] == last[0] and key < last]
        if former:  # the results of a step after the batch may not be out
            state = self._checkpoint.state(last)
            self._load(self._checkpoint.state(max(former)), state.k)
            self._repeat_step(state)
        else:
            self._load(self._checkpoint.state(last), k)
        log.info("resuming after batch %d of the checkpoint %s", last[0], self._checkpoint.path)

    def _repeat_step(self, state: State) -> None:
        """Do the last step after the batch again, which led to this state."""
        if state.idle == self._state.idle:
            self._end_stream()
        else:
            self._advance(replace(self._state, idle=state.idle, reached=state.reached, watermark=state.watermark))

    def _rewind(self, batch: int) -> None:
        """Spark runs a batch again, because it does not know that it was done."""
        before = [key for key in self._checkpoint.known() if key[0] == batch - 1]
        k = self._state.k
        if batch == 0 and self._state.batch == 0:
            self._load(State(-1, k), k)
        elif before and self._state.batch == batch:
            self._load(self._checkpoint.state(max(before)), k)
        else:
            raise InvalidFile(
                f"Spark resumes with batch {batch}, but the rows under {self._checkpoint.path!r} are those after batch "
                f"{self._state.batch}: parts of the checkpoint are missing or from another run. Begin with a new checkpoint"
            )
        log.info("re-running batch %d; its published results are replaced", batch)

    def _load(self, state: State, k: int | None) -> None:
        """Be as after a state, with the ``k`` of the steps to come. A step that is done again has the k it had."""
        known, asked = state.k, self._spec.k
        if asked is not None and (known is None or k is None):
            raise self._checkpoint.damaged(f"states/{state.step}.json", "it does not say how many pairs were asked for")
        if known is not None and asked is not None and known < asked:
            raise InvalidArgument(
                f"the checkpoint {self._checkpoint.path!r} was made with k={known}, and k may be lowered but not raised to "
                f"{asked}; use a new checkpoint"
            )
        self._state, self._k = state, k
        self._dropped = self._steps.restore(state, k)
        self._refresh_snapshot(0, 0.0)

    @property
    def spec(self) -> JoinSpec | FamilySpec:
        """What is asked for."""
        return self._spec.join

    @property
    def no_changes(self) -> Feed:
        """An empty feed, with the columns of a full one."""
        raise NotImplementedError

    @property
    def ended_at(self) -> int | None:
        """The watermark at the end of the last run that ended its stream, where cells must know it."""
        return self._state.ended_at
