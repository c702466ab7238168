"""The slices of a history on several threads: kernels run without Python's global lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from swoop.errors import InvalidArgument, InvalidType
from swoop.join.rows import Rows
from swoop.join.slices import Extent, steps_of

Found = TypeVar("Found")


@dataclass(frozen=True)
class Slice:
    """The slice ``[start, stop)``, and its batches, from the set with the arrival number ``first`` on: the first valid one."""

    start: int
    stop: int
    is_last: bool
    first: int
    batches: Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Cutting:
    """Into how many slices time is cut, and how many of them run at a time. None: chosen from the data and the cores."""

    slices: int | None
    threads: int | None

    def __post_init__(self) -> None:
        for name, value in (("slices", self.slices), ("threads", self.threads)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidType(f"{name} must be an integer, not {value!r}")
            if value < 1:
                raise InvalidArgument(f"{name} must be at least 1, not {value}")

    @property
    def at_once(self) -> int:
        """How many slices run at a time, at most."""
        return self.threads or _cores()

    def run_all(self, work: Sequence[tuple[Rows, Callable[[Slice], Found]]], duration: int) -> list[list[Found]]:
        """What a task makes of each slice of a history, in order, for several histories, whose slices share the threads.

        With an unbounded window (``duration`` 0) a history is one slice.
        """
        is_stopped = threading.Event()
        jobs = [[*self._jobs(rows, duration, task, is_stopped)] for rows, task in work]
        found = iter(_on_threads([job for own in jobs for job in own], self.at_once, is_stopped))
        return [[next(found) for _ in own] for own in jobs]

    def _jobs(
        self, rows: Rows, duration: int, task: Callable[[Slice], Found], is_stopped: threading.Event
    ) -> Iterator[Callable[[], Found]]:
        """What is to be done for each slice."""
        if len(rows.times) == 0:
            return
        cuts = self.cuts(rows, duration)

        def run(start: int, stop: int) -> Found:
            first = int(np.searchsorted(rows.times, start - duration, side="right")) if duration else 0
            batches = rows.batches(first, int(np.searchsorted(rows.times, stop)), is_stopped)
            return task(Slice(start, stop, stop == cuts[-1], first, batches))

        for bounds in pairwise(cuts):
            yield partial(run, *bounds)

    def cuts(self, rows: Rows, duration: int) -> list[int]:
        """The times at which slices begin, and the end of the last. There is at least one row."""
        times, threads = rows.times, self.at_once
        steps, first, last = steps_of(self.slices), int(times[0]), int(times[-1])
        if duration == 0:
            return [first, last + 1]
        places = np.arange(steps + 1) * (len(times) - 1) // steps
        extent = Extent(len(times), first, last, times[places].tolist())
        return extent.cuts(duration, self.slices or (1 if threads == 1 else None), threads)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_threads(jobs: list[Callable[[], Found]], threads: int, is_stopped: threading.Event) -> list[Found]:
    if threads == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    pool = ThreadPoolExecutor(threads, "swoop-slice")
    try:
        return [found.result() for found in [pool.submit(job) for job in jobs]]
    finally:  # after an error, or Ctrl-C, the other slices end with their batch
        is_stopped.set()
        pool.shutdown(cancel_futures=True)
