"""What a job costs with all of its processes: Python, Java, and the Python workers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

Ticks: TypeAlias = "dict[tuple[int, str], int]"


@dataclass
class Spent:
    """Wall and CPU seconds, and the peak memory of a Python worker in bytes.

    ``course``: CPU seconds so far, by the clock.
    """

    wall: float = 0.0
    cpu: float = 0.0
    worker_memory: int = 0
    course: list[tuple[float, float]] = field(default_factory=list)

    def between(self, begin: float, end: float) -> float:
        """CPU seconds from one time to another, in seconds since 1970."""
        times, seconds = np.array(self.course).T
        return float(np.diff(np.interp([begin, end], times, seconds))[0])


@contextmanager
def measured() -> Iterator[Spent]:
    spent = Spent()
    over = threading.Event()
    before: Ticks = _ticks()
    after: Ticks = {}

    def watch() -> None:
        while not over.wait(0.1):
            after.update(_ticks())
            spent.course.append((time.time(), _seconds(before, after)))
            workers = [_resident(pid) for pid, _ in after if "pyspark" in _command(pid) and "daemon" in _command(pid)]
            spent.worker_memory = max(spent.worker_memory, *workers, 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall = time.perf_counter()
    try:
        yield spent
    finally:
        spent.wall = time.perf_counter() - wall
        over.set()
        watcher.join()
        after.update(_ticks())
        spent.cpu = _seconds(before, after)


def _seconds(before: Ticks, after: Ticks) -> float:
    return sum(ticks - before.get(process, 0) for process, ticks in after.items()) / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _tree() -> list[int]:
    """The pids of this process and its descendants."""
    parents = {int(name): int(stat[1]) for name in os.listdir("/proc") if name.isdigit() and (stat := _stat(int(name)))}
    pids = [os.getpid()]
    for pid in pids:
        pids += [child for child, parent in parents.items() if parent == pid]
    return pids


def _ticks() -> Ticks:
    """The CPU time of each process so far, by pid and start time."""
    stats = {pid: _stat(pid) for pid in _tree()}
    return {(pid, stat[19]): int(stat[11]) + int(stat[12]) for pid, stat in stats.items() if stat}
