"""The handle of a running stream: its metrics, and how it ends. ``stream`` and ``family_stream`` add what it finds."""

from __future__ import annotations

import datetime as dt
import threading
import time as clock
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from swoop.errors import InvalidArgument, InvalidType
from swoop.live.alerts import AlertOutput
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.metrics import Metrics
from swoop.live.outputs import MemoryOutput
from swoop.live.pieces import Backlog
from swoop.live.resumable import LateRow, LiveStats, ResumableStream, log
from swoop.reasons import Reasons
from swoop.spark.repeated import ReadAgain, read_once
from swoop.spec import FamilySpec, JoinSpec
from swoop.times import MICROSECOND

Live = TypeVar("Live", bound=ResumableStream[Any, Any])

Stats = TypeVar("Stats", bound=LiveStats)

TENDING = 1.0  # seconds between two looks at results that wait to be final
BEGINNING = 60.0  # seconds that the first batch waits for the end of the query's start
DELIVERING = 30.0  # seconds for alerts that wait when the stream has ended; the next run delivers the rest


class LiveHandle(Generic[Live]):
    """A running stream.

    Attributes
    ----------
    query
        Spark's own handle.
    """

    query: Any

    def __init__(
        self,
        live: Live,
        checkpoint: Checkpoint,
        memory: list[MemoryOutput],
        files: list[ResultFolder],
        alerts: AlertOutput | None,
        temporary: Folder | None,
        fetch: Callable[[DataFrame], pa.Table | Backlog],
        read_again: ReadAgain | None,
    ) -> None:
        self._live, self._checkpoint = live, checkpoint
        self._memory, self._files, self._alerts, self._temporary = memory, files, alerts, temporary
        self._fetch, self._read_again = fetch, read_again
        self._failure: BaseException | None = None
        self._begun, self._over, self._halted = threading.Event(), threading.Event(), threading.Event()
        self._turn = threading.Lock()  # for a batch, or for time that moves on without one
        self._heard = clock.monotonic()  # when the last rows came
        self._timer: threading.Thread | None = None
        self._stopped = False
        self._metrics = Metrics(lambda: self._stats, lambda: self.is_active)
        self._server: Any = None

    def _begin(self, query: Any, ends: bool, metrics_port: int | None, silence: float | None) -> None:
        self.query = query
        self._begun.set()
        self._checkpoint.note_query(str(query.id))
        if silence is not None:
            self._timer = threading.Thread(target=self._follow_clock, args=(silence,), name="swoop clock", daemon=True)
            self._timer.start()
        if metrics_port is not None:
            self._server = self._metrics.serve(metrics_port)
        if self._alerts is not None:
            self._alerts.start()
        threading.Thread(target=self._watch, args=(ends,), name="swoop stream", daemon=True).start()
        threading.Thread(target=self._tend, name="swoop outputs", daemon=True).start()

    def _process_batch(self, frame: DataFrame, batch: int) -> None:
        try:
            started = clock.perf_counter()
            if not self._begun.wait(BEGINNING):
                raise RuntimeError("there is a batch of a query that could not be started")
            with self._turn:
                rows = self._fetch(read_once(frame, self.query, self._read_again))
                self._live.process(batch, rows, started)
                if self._stats.batch_rows:
                    self._heard = clock.monotonic()
        except BaseException as error:
            self._failure = error
            raise

    def _tend(self) -> None:
        """While the stream runs, with or without rows: results become final in time, and a lost checkpoint ends the stream."""
        while not self._over.wait(TENDING):
            try:
                if self._checkpoint.lost:
                    self._checkpoint.check()
                self._settle(force=False)
            except Exception as error:
                if self._checkpoint.lost:
                    self._failure = self._failure or error
                    self.query.stop()
                    return
                log.warning("results could not be made final yet: %s", error)

    def _settle(self, force: bool) -> None:
        """Make results final whose batches Spark has committed: those that have waited long enough, or all."""
        if force or any(files.is_due() for files in self._files):
            self._checkpoint.check()
            step = State(self._checkpoint.committed(), 0, ended=True).step
            for files in self._files:
                files.commit(step, force)

    def _follow_clock(self, silence: float) -> None:
        """Advance time whenever no rows have arrived for so many seconds."""
        while not self._halted.wait(silence / 10):
            if not self._turn.acquire(blocking=False):  # a batch is being done
                continue
            try:
                now = clock.monotonic()
                if now - self._heard >= silence:
                    self._live.advance_clock(dt.timedelta(seconds=now - self._heard) // MICROSECOND)
                    self._heard = now
            except BaseException as error:
                self._failure = error
                threading.Thread(target=self.query.stop, daemon=True).start()
                return
            finally:
                self._turn.release()

    def _watch(self, ends: bool) -> None:
        """Wait for the end of the query; let what is held enter if the stream has ended too."""
        try:
            self.query.awaitTermination()
            if ends and not self._stopped and self._is_drained():
                self._live.finish()
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            self._halted.set()
            if self._timer is not None:
                self._timer.join()
            if self.failure is not None:
                why = (str(self.failure).strip().splitlines() or [repr(self.failure)])[0]
                log.error("the stream has failed: %s", why, extra={"ends_stream": True})
            try:
                self._settle(force=True)
            except Exception as error:
                log.error("results of this run are not final yet, the next run makes them so: %s", error)
            if self._alerts is not None:
                self._alerts.close(0.0 if self._stopped or self.failure is not None else DELIVERING)
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
            try:
                self._checkpoint.release()
                if self._temporary is not None:
                    self._temporary.remove()
            except Exception as error:
                log.error("the lease of the checkpoint could not be given back: %s", error)
            finally:
                self._over.set()

    def _is_drained(self) -> bool:
        """Whether the query ended because there are no more rows, all of them in batches that Spark has committed.

        A query that somebody has stopped ends in the same way, without an error; but it never came to look for rows in vain.
        """
        return bool(self.query._jsq.streamingQuery().noNewData()) and self._checkpoint.committed() == self._stats.batch

    def _unread(self) -> list[Any]:
        """The changes since the last call, in parts; where there are none, a part without any."""
        if not self._memory:
            raise InvalidArgument('changes are not kept in memory; start the stream with changes="memory"')
        return self._memory[0].take() or [self._live.no_changes]

    @property
    def _stats(self) -> LiveStats:
        stats: LiveStats = self._live.stats
        return self._with_alerts(stats)

    def _with_alerts(self, stats: Stats) -> Stats:
        """Metrics with those of the alerts, which go on between batches."""
        return stats if self._alerts is None else replace(stats, **self._alerts.counts())

    @property
    def alerts_untold(self) -> int:
        """How many alerts were given up or over the limit, and no message that tells of them has been delivered."""
        return 0 if self._alerts is None else self._alerts.untold

    @property
    def alert_problem(self) -> str | None:
        """Why an alert could not be delivered the last time that one could not; None if all could."""
        return None if self._alerts is None else self._alerts.problem

    @property
    def reasons(self) -> Reasons:
        """Why rows of this run were rejected: counts and examples."""
        return self._live.reasons

    @property
    def late_rows(self) -> list[LateRow]:
        """The last rows of this run that came too late, with the watermark that they were behind."""
        return list(self._live.late_rows)

    @property
    def spec(self) -> JoinSpec | FamilySpec:
        """What the stream was asked for: the window, the similarity, and how many pairs, or from which similarity on."""
        return self._live.spec

    @property
    def is_active(self) -> bool:
        """Whether the stream is running."""
        return not self._over.is_set()

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the stream, if there was one."""
        return None if self._stopped else self._failure

    @property
    def metrics_port(self) -> int | None:
        """The port on which metrics for Prometheus are served."""
        return None if self._server is None else int(self._server.server_port)

    def metrics(self) -> str:
        """The metrics in the text format of Prometheus."""
        return self._metrics.text()

    def stop(self) -> None:
        """Stop the stream. A run with the same checkpoint resumes where it stopped."""
        self._stopped = True
        self.query.stop()
        self._over.wait()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end of the stream, at most ``timeout`` seconds. Returns whether it has ended; raises its failure."""
        if timeout is not None and timeout < 0:
            raise InvalidType(f"timeout must be a number of seconds, not {timeout!r}")
        over = self._over.wait(timeout)
        if over and self.failure is not None:
            raise self.failure
        return over

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
