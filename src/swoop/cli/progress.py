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
        """A bar for each step, below those of the steps before it, which are full."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            drawn, share = self._what, Share()
            task = progress.add_task(drawn, total=None)
            while not self._over.wait(0.2):
                what, count, unit = self._what, self._count, self._unit
                if what != drawn:
                    progress.update(task, description=drawn, completed=1.0, total=1.0)
                    drawn, share = what, Share()
                    task = progress.add_task(drawn, total=None)
                done, total = count()
                part = share.of(done, total)
                shown = f"{what}: {done:,} {unit}" if done and not total else what
                progress.update(task, description=shown, completed=part or 0.0, total=None if part is None else 1.0)

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


class Share:
    """How much of a step is done, where more work becomes known while it is done: never less than before.

    It is taken for granted that there is a little more than is known, so that a step is not done before its end.

    >>> share = Share()
    >>> [round(share.of(*count), 2) for count in ((1, 3), (2, 3), (2, 20), (11, 20), (20, 20))]
    [0.25, 0.5, 0.5, 0.74, 0.97]
    >>> share.of(0, 0) == share.of(20, 20)  # nothing is known any more
    True
    """

    def __init__(self) -> None:
        self._left, self._done = 1.0, 0

    def of(self, done: int, total: int) -> float | None:
        """The share, when so much is done of so much that is known; None if nothing was ever known."""
        if total and done > self._done:
            left = max(total - done, 0) + 1
            self._left *= left / (left + done - self._done)
            self._done = done
        return None if not total and self._left == 1.0 else 1.0 - self._left


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
