"""A join that goes from batch to batch: it sorts out late rows, holds back what may be overtaken, and survives its process.

Nothing here knows Spark. Rows come as Arrow tables with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidFile
from swoop.join.topk_join import TopKJoin
from swoop.pairs import Change, Changes, Pair, TopK
from swoop.similarity import Similarity
from swoop.spark.checkpoint import Checkpoint, State
from swoop.spark.outputs import Output
from swoop.times import Clock, Time, TimeKind, Window

COLUMNS = ("id", "time", "tokens", "stream", "tie", "reason", "row")  # and "text", if there are texts to show
ORDER = [("time", "ascending"), ("id", "ascending"), ("tie", "ascending")]

log = logging.getLogger("swoop.spark")


@dataclass(frozen=True)
class Parameters:
    """What a live join is asked for. Times are ticks."""

    k: int
    window: Window
    similarity: Similarity
    two_streams: bool
    min_similarity: float | None
    lateness: int
    times: TimeKind
    ids: str = "bigint"
    tokens: str = "array<bigint>"
    algorithm: str = "swoop"

    def lasting(self) -> dict[str, Any]:
        """Those that a run from the same checkpoint must share. Of k, each state knows its own."""
        return {
            "window": str(self.window),
            "similarity": self.similarity.name,
            "min_similarity": self.min_similarity,
            "two_streams": self.two_streams,
            "type of time": {"aware": "timestamp", "naive": "timestamp_ntz"}.get(self.times, "integer"),
            "type of id": self.ids,
            "type of tokens": self.tokens,
        }

    def join(self, k: int) -> TopKJoin:
        return TopKJoin(
            k,
            self.window,
            self.similarity,
            two_streams=self.two_streams,
            min_similarity=self.min_similarity,
            track_changes=True,
            algorithm=self.algorithm,
        )


@dataclass(frozen=True)
class StreamStats:
    """Figures of a live join, after its last batch.

    Attributes
    ----------
    batch
        The number of the last batch; -1 before the first.
    rows, late, rejected, sets, changes
        Rows of all batches, those that came too late, those that cannot be used, sets that entered the join, and changes of
        the top-k; over all runs from this checkpoint.
    held
        Rows that wait for the watermark.
    watermark
        All rows before this time have entered; a row that comes now with an earlier time is late. None before the first row.
    window_size, stock_size, vocabulary_size, memory_bytes
        As for :class:`swoop.Stats`.
    batch_rows, batch_seconds
        Rows of the last batch, and how long it took from its first row to its results.
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
    stock_size: int
    vocabulary_size: int
    memory_bytes: int
    batch_rows: int
    batch_seconds: float


class LiveJoin:
    """The join of a stream that comes in numbered batches.

    Attributes
    ----------
    topk, stats
        As of the last batch that was done.
    join
        The engine behind it.
    """

    topk: TopK
    stats: StreamStats

    def __init__(self, parameters: Parameters, checkpoint: Checkpoint, changes: Output, late: Output, rejected: Output) -> None:
        self._parameters, self._checkpoint = parameters, checkpoint
        self._changes, self._late, self._rejected = changes, late, rejected
        self._clock = Clock(parameters.window)
        self._clock.kind = parameters.times
        self._reading = threading.Lock()
        self._before = set(checkpoint.batches())  # states of an earlier run
        self._resume()

    # recovery

    def _resume(self) -> None:
        """Go on after the last state that is there."""
        if not self._before:
            self._load(State(-1, self._parameters.k))
            return
        batch, ended = max(self._before)
        if ended and (batch, False) in self._before:  # the results of the end may not be out
            self._load(self._checkpoint.state(batch, False), self._checkpoint.state(batch, True).k)
            self._end()
        else:
            self._load(self._checkpoint.state(batch, ended))

    def _go_back(self, batch: int) -> None:
        """Spark runs a batch again, because it does not know that it was done."""
        found = [state for state in self._checkpoint.batches() if state[0] == batch - 1]
        k = self._state.k
        if batch == 0 and self._state.batch == 0:
            self._load(State(-1, k), k)
        elif found and self._state.batch == batch:
            self._load(self._checkpoint.state(*max(found)), k)
        else:
            raise InvalidFile(
                f"Spark goes on with batch {batch}, but the rows under {self._checkpoint.path!r} are those after batch "
                f"{self._state.batch}: parts of the checkpoint are missing or from another run. Begin with a new checkpoint"
            )

    def _load(self, state: State, k: int | None = None) -> None:
        """Let the sets of the window that this state names arrive anew. A step that is done again has the ``k`` it had."""
        parameters = self._parameters
        if state.k < parameters.k:
            raise InvalidArgument(
                f"the checkpoint {self._checkpoint.path!r} was made with k={state.k}, and k may be lowered but not raised to "
                f"{parameters.k}; use a new checkpoint"
            )
        self._state, self._k = state, k or parameters.k
        self.join = parameters.join(self._k)
        self._texts: deque[tuple[int, pa.ChunkedArray]] = deque()  # each from some arrival number on
        self._held = _concatenated(self._checkpoint.read(state.chunks))
        self._dropped: list[Changes] = []
        if self._held is not None and state.watermark is not None:
            entered = self._held.filter(pc.less(self._held["time"], state.watermark))
            self._held = self._held.filter(pc.greater_equal(self._held["time"], state.watermark))
            self._enter(self.join, entered, state.watermark)
            self.join.changes()
            if state.k > self._k:
                before = parameters.join(state.k)
                self._enter(before, entered, state.watermark)
                self._dropped = [self._outranked(before.topk(), state.watermark - 1)]
        self._publish(0, 0.0)

    def _outranked(self, topk: TopK, now: int) -> Changes:
        """What leaves the top-k because k was lowered."""
        k, at = self._k, self._clock.time(now)
        lost = topk[k:]

        def columns() -> dict[str, Any]:
            table = topk.to_arrow().slice(k)
            times = pa.array([at] * len(lost), table.schema.field("start").type)
            kinds = pa.array(["outranked"] * len(lost), pa.string())
            return {"time": times, "kind": kinds, **dict(zip(table.column_names, table.columns, strict=True))}

        return Changes(len(lost), lambda index: Change(at, "outranked", lost[index]), columns)

    def no_changes(self) -> Changes:
        """An empty feed, with the columns of a full one."""
        return self._parameters.join(1).changes()

    # batches

    def process(self, batch: int, rows: pa.Table, started: float | None = None) -> None:
        """Take a batch: the state and then the results are written before this returns."""
        started = started or time.perf_counter()
        if batch != self._state.batch + 1:
            self._go_back(batch)
        before = self._state
        self._checkpoint.collect(before)
        bad = pc.is_valid(rows["reason"])
        rejected = rows.filter(bad).select(["reason", "row"])
        sets = rows.filter(pc.invert(bad)).drop_columns(["reason", "row"])
        late = sets.slice(0, 0)
        if before.watermark is not None:
            is_late = pc.less(sets["time"], before.watermark)
            late, sets = sets.filter(is_late), sets.filter(pc.invert(is_late))
        highest, watermark = before.highest, before.watermark
        if sets.num_rows:
            latest = pc.max(sets["time"]).as_py()
            highest = latest if highest is None else max(highest, latest)
            passed = highest - self._parameters.lateness
            watermark = passed if watermark is None else max(watermark, passed)
        counted = before.counters
        state = replace(
            before,
            batch=batch,
            ended=False,
            k=self._k,
            highest=highest,
            watermark=watermark,
            counters=replace(
                counted,
                rows=counted.rows + rows.num_rows,
                late=counted.late + late.num_rows,
                rejected=counted.rejected + rejected.num_rows,
            ),
        )
        self._move(state, sets)
        since = before.written if (batch, False) in self._before else None
        self._rejected.put(state, rejected, since)
        self._late.put(state, self._shown(late), since)
        self._put_changes(since)
        if (late.num_rows and not counted.late) or (rejected.num_rows and not counted.rejected):
            log.warning("batch %d has the first such rows: %d late, %d rejected", batch, late.num_rows, rejected.num_rows)
        self._done(rows.num_rows, started)

    def end(self) -> None:
        """The stream has ended: let the rows enter that are still held."""
        if self._held is not None and self._held.num_rows and not self._state.ended:
            self._end()

    def _end(self) -> None:
        started = time.perf_counter()
        before = self._state
        highest = before.highest
        assert highest is not None
        self._move(replace(before, ended=True, watermark=highest + 1, k=self._k), None)
        self._put_changes(before.written if (before.batch, True) in self._before else None)
        self._done(self.stats.batch_rows, started)

    def _done(self, rows: int, started: float) -> None:
        if self._k > self._parameters.k:
            self._load(self._state)
        self._publish(rows, time.perf_counter() - started)

    def _move(self, state: State, sets: pa.Table | None) -> None:
        """Let rows enter up to the watermark, hold back the others, keep both under the checkpoint."""
        parts = [part for part in (self._held, sets) if part is not None]
        rows = _concatenated(parts)
        entered = rows.slice(0, 0)
        if state.watermark is not None:
            is_due = pc.less(rows["time"], state.watermark)
            entered, rows = rows.filter(is_due), rows.filter(pc.invert(is_due))
            self._enter(self.join, entered, state.watermark)
        self._held = rows
        self._now_changes = [*self._dropped, self.join.changes()]
        self._dropped = []
        counters = replace(
            state.counters,
            sets=state.counters.sets + entered.num_rows,
            changes=state.counters.changes + sum(map(len, self._now_changes)),
        )
        expired = -(2**63) if state.watermark is None else state.watermark - 1 - self._parameters.window.length
        kept = sets if sets is not None else rows.slice(0, 0)
        self._state = self._checkpoint.write(replace(state, counters=counters), kept, expired)

    def _enter(self, join: TopKJoin, rows: pa.Table, watermark: int) -> None:
        """Let sets arrive in the order of time and id, and time move on to just before the watermark."""
        if rows.num_rows:
            in_order = rows if _is_in_order(rows) else rows.sort_by(ORDER)
            in_order = self._shown(in_order)
            if join is self.join and "text" in in_order.column_names:
                with self._reading:
                    self._texts.append((join.stats.sets, in_order["text"]))
            join.insert_many(in_order, id="id", stream="stream" if self._parameters.two_streams else None)
        if join.stats.sets:
            join.advance(self._clock.time(watermark - 1))

    def _put_changes(self, since: float | None) -> None:
        self._changes.put(self._state, Changes.joined(self._now_changes), since)

    def _shown(self, sets: pa.Table) -> pa.Table:
        """Sets with times instead of ticks, as the caller knows them."""
        times = sets["time"]
        if self._parameters.times != "integer":
            times = times.cast(pa.timestamp("us", "UTC" if self._parameters.times == "aware" else None))
        shown = sets.set_column(1, "time", times).drop_columns("tie")
        return shown if self._parameters.two_streams else shown.drop_columns("stream")

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set; None where there is none (any more)."""
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
        state, figures = self._state, self.join.stats
        with self._reading:
            while len(self._texts) > 1 and self._texts[1][0] <= figures.sets - figures.window_size:
                self._texts.popleft()
        self.stats = StreamStats(
            batch=state.batch,
            **asdict(state.counters),
            held=0 if self._held is None else self._held.num_rows,
            watermark=None if state.watermark is None else self._clock.time(state.watermark),
            window_size=figures.window_size,
            stock_size=figures.stock_size,
            vocabulary_size=figures.vocabulary_size,
            memory_bytes=figures.memory_bytes,
            batch_rows=rows,
            batch_seconds=seconds,
        )
        self.topk = self.join.topk()


def _concatenated(tables: list[pa.Table]) -> Any:
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def _is_in_order(rows: pa.Table) -> bool:
    times = rows["time"].to_numpy()
    return bool(np.all(times[1:] > times[:-1]))
