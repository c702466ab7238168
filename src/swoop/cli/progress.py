"""Progress of long work: a bar on terminals, an occasional line elsewhere, and nothing for the first two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from swoop.cli.console import info, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 2.0  # seconds before anything is shown
LINES = 10.0  # seconds between lines where there is no terminal

Count = Callable[[], tuple[int, int]]


class Steps:
    """Work in several steps, with a thread that shows its progress.

    >>> with Steps() as steps:
    ...     steps.step("reading")
    """

    def __init__(self) -> None:
        self._console = messages()
        self._what, self._count, self._unit = "", _nothing, ""
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="swoop progress", daemon=True)

    def step(self, what: str, count: Count | None = None, unit: str = "tasks") -> None:
        """Begin a step. ``count`` tells how much is done, and of how much; 0 if that is not known."""
        self._what, self._count, self._unit = what, count or _nothing, unit

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop showing progress."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        if self._over.wait(PATIENCE):
            return
        if self._console.is_terminal:
            self._draw()
        else:
            self._print_lines()

    def _draw(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(self._what, total=None)
            while not self._over.wait(0.2):
                done, total = self._count()
                what = f"{self._what}: {done:,} {self._unit}" if done and not total else self._what
                progress.update(task, description=what, completed=done, total=total or None)

    def _print_lines(self) -> None:
        printed = ""
        next_line = 0.0
        while not self._over.wait(0.2):
            now = time.monotonic()
            if self._what != printed or now >= next_line:
                done, total = self._count()
                much = f": {done:,} of {total:,} {self._unit}" if total else f": {done:,} {self._unit}" if done else ""
                info(f"{now - self._began:4.0f} s  {self._what}{much}")
                printed, next_line = self._what, now + LINES


def _nothing() -> tuple[int, int]:
    return 0, 0


def tasks_of(spark: SparkSession) -> Count:
    """Counts the tasks of all jobs started from now on: completed ones, and all known ones."""
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # Spark Connect has no context
        return _nothing
    seen: dict[int, tuple[int, int]] = {}
    jobs: set[int] = set()

    def count() -> tuple[int, int]:
        try:
            jobs.update(tracker.getActiveJobsIds())
            for job in list(jobs):
                info = tracker.getJobInfo(job)
                for stage in () if info is None else info.stageIds:
                    _look(tracker, stage, seen)
                if info is not None and info.status != "RUNNING":  # skipped stages never complete
                    jobs.discard(job)
                    for stage in info.stageIds:
                        if stage in seen:
                            seen[stage] = (seen[stage][0], seen[stage][0])
        except Exception:  # the session may be stopping
            return 0, 0
        return sum(done for done, _ in seen.values()), sum(total for _, total in seen.values())

    return count


def _look(tracker: Any, stage: int, seen: dict[int, tuple[int, int]]) -> None:
    info = tracker.getStageInfo(stage)
    if info is not None:
        seen[stage] = (info.numCompletedTasks, info.numTasks)
