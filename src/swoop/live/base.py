"""What every live join does, wherever its engines are: it goes on where a run before it stopped, and sends results out.

Nothing here knows Spark.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.outputs import Output
from swoop.live.pieces import Backlog
from swoop.live.stream_spec import StreamSpec
from swoop.results import Change, Changes, Explanation, Pair, Step, TopK
from swoop.times import Clock, Time

log = logging.getLogger("swoop.spark")


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


class Resuming(ABC):
    """A live join that comes in numbered batches and goes on from its checkpoint.

    Attributes
    ----------
    topk, stats
        As of the last batch that was done.
    """

    topk: TopK
    stats: StreamStats

    def __init__(self, spec: StreamSpec, checkpoint: Checkpoint, changes: Output, late: Output, rejected: Output) -> None:
        self._spec, self._checkpoint = spec, checkpoint
        self._changes, self._late, self._rejected = changes, late, rejected
        self._clock = Clock(spec.join.window)
        self._clock.kind = spec.time_kind
        self._reading = threading.Lock()
        self._before = set(checkpoint.known())  # states of an earlier run
        self._resume()

    # what they differ in

    @abstractmethod
    def _restore(self, state: State) -> list[Changes]:
        """Be as after this state, with the k of now. Gives the changes that this makes, if k was lowered."""

    @abstractmethod
    def _take(self, batch: int, rows: Any) -> int:
        """Take a batch that comes after the state of now, and be as after it. Gives how many rows came."""

    @abstractmethod
    def end(self) -> None:
        """The stream has ended: let the rows enter that are still held."""

    @abstractmethod
    def _finish(self) -> None:
        """Let the rows enter that are held, as the end of the stream after the state of now."""

    @abstractmethod
    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has."""

    @abstractmethod
    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set; None where there is none (any more)."""

    @abstractmethod
    def skyband(self) -> list[Step]:
        """How similar a new pair must be to matter."""

    @abstractmethod
    def _publish(self, rows: int, seconds: float) -> None:
        """Make top-k and figures those of the state of now."""

    def process(self, batch: int, rows: pa.Table | Backlog, started: float | None = None) -> None:
        """Take a batch: the state and then the results are written before this returns."""
        started = started or time.perf_counter()
        if batch != self._state.batch + 1:
            self._go_back(batch)
        self._checkpoint.collect(self._state)
        self._done(self._take(batch, rows), started)

    # recovery

    def _resume(self) -> None:
        """Go on after the last state that is there."""
        if not self._before:
            self._load(State(-1, self._spec.join.k))
            return
        last = max(self._before)
        former = [key for key in self._before if key[0] == last[0] and key < last]
        if former:  # the results of a step after the batch may not be out
            state = self._checkpoint.state(last)
            self._load(self._checkpoint.state(max(former)), state.k)
            self._do_again(state)
        else:
            self._load(self._checkpoint.state(last))
        log.info("goes on after batch %d of the checkpoint %s", last[0], self._checkpoint.path)

    def _do_again(self, state: State) -> None:
        """Do the last step after the batch again, which led to this state."""
        self._finish()

    def _go_back(self, batch: int) -> None:
        """Spark runs a batch again, because it does not know that it was done."""
        found = [key for key in self._checkpoint.known() if key[0] == batch - 1]
        k = self._state.k
        if batch == 0 and self._state.batch == 0:
            self._load(State(-1, k), k)
        elif found and self._state.batch == batch:
            self._load(self._checkpoint.state(max(found)), k)
        else:
            raise InvalidFile(
                f"Spark goes on with batch {batch}, but the rows under {self._checkpoint.path!r} are those after batch "
                f"{self._state.batch}: parts of the checkpoint are missing or from another run. Begin with a new checkpoint"
            )
        log.info("batch %d is done again: its results replace those that are out", batch)

    def _load(self, state: State, k: int | None = None) -> None:
        """Go back, or on, to a state. A step that is done again has the ``k`` it had."""
        if state.k < self._spec.join.k:
            raise InvalidArgument(
                f"the checkpoint {self._checkpoint.path!r} was made with k={state.k}, and k may be lowered but not raised to "
                f"{self._spec.join.k}; use a new checkpoint"
            )
        self._state, self._k = state, k or self._spec.join.k
        self._dropped = self._restore(state)
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
        return self._spec.make_join(1).changes()

    # results

    def _put(self, before: State, changes: list[Changes], late: pa.Table, rejected: pa.Table) -> None:
        """Send the results of the state of now out."""
        state = self._state
        since = before.written if state.key in self._before else None
        counted = before.counters
        self._checkpoint.check()
        if state.batch != before.batch:
            in_order = rejected.sort_by([("reason", "ascending"), ("row", "ascending")]) if rejected.num_rows else rejected
            self._rejected.put(state, in_order, counted.rejected, since)
            self._late.put(state, self._shown(ordered(late)) if late.num_rows else late, counted.late, since)
        self._changes.put(state, Changes.joined(changes), counted.changes, since)
        first_late, first_rejected = not before.counters.late, not before.counters.rejected
        if (late.num_rows and first_late) or (rejected.num_rows and first_rejected):
            log.warning("batch %d has the first such rows: %d late, %d rejected", state.batch, late.num_rows, rejected.num_rows)

    def _shown(self, sets: pa.Table) -> pa.Table:
        return self._spec.shown(sets)

    def _done(self, rows: int, started: float) -> None:
        if self._k > self._spec.join.k:
            self._load(self._state)
        self._publish(rows, time.perf_counter() - started)

    def _figures(self, rows: int, seconds: float, **figures: int) -> StreamStats:
        state = self._state
        return StreamStats(
            batch=state.batch,
            **asdict(state.counters),
            watermark=None if state.watermark is None else self._clock.time(state.watermark),
            batch_rows=rows,
            batch_seconds=seconds,
            **figures,
        )


def ordered(rows: pa.Table) -> pa.Table:
    """Rows in the order in which they enter: by time, id, tokens and stream. What is equal in all of these is the same set."""
    times = rows["time"].to_numpy()
    if bool(np.all(times[1:] > times[:-1])):
        return rows
    rows = rows.sort_by([("time", "ascending"), ("id", "ascending")])
    same = same_as_before(rows)
    if not same.any():
        return rows
    twins = np.flatnonzero(same | np.append(same[1:], False))  # sets that have their time and id in common with others
    number = np.cumsum(~same)[twins]
    found = rows.take(twins)
    keys = zip(number.tolist(), found["tokens"].to_pylist(), found["stream"].to_pylist(), strict=True)
    places = np.arange(rows.num_rows)
    places[twins] = twins[[place for _, place in sorted((key, place) for place, key in enumerate(keys))]]
    return rows.take(places)


def same_as_before(rows: pa.Table) -> np.ndarray:
    """Which rows have the time and the id of the row before them."""
    same = np.zeros(rows.num_rows, bool)
    times, ids = rows["time"].to_numpy(), rows["id"].combine_chunks()
    same[1:] = (times[1:] == times[:-1]) & pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return same
