"""Measuring tools on one data set: rate, recall of the exact top-k, and memory.

None of the other tools is made for a sliding window, so each is used as a competent user would. Every measurement is a separate
process. It begins when the window is full for the first time, and has a limit of CPU time.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import swoop
from swoop.installing import how_to_install
from swoop.paper.data_sets import DataSet
from swoop.paper.measure import as_table
from swoop.paper.other_tools.adapters import BATCH, TOOLS, Batches, Tool, jaccard

MOMENTS = 500  # at which results are compared


@dataclass(frozen=True)
class ToolResult:
    """The measurements of one tool.

    ``rate`` is in sets per second of CPU time, ``recall`` the share of the exact top-k that it reports, on average over all
    moments, ``memory`` the growth of the process in bytes per set in the window. None: not measured; ``note`` says why.
    """

    name: str
    rate: float | None
    recall: float | None
    memory: float | None
    note: str


NAMES = tuple(TOOLS)


def recall(found: Sequence[float], exact: Sequence[float]) -> float:
    """The share of the exact top-k that was found, from the similarities; the exact ones are sorted.

    Which of several pairs with the k-th similarity is found does not matter.

    >>> recall([0.9, 0.5, 0.5], exact=[0.9, 0.8, 0.5])
    0.6666666666666666
    """
    if not exact:
        return 1.0
    last = exact[-1]
    ties = min(found.count(last), exact.count(last))
    return (sum(similarity > last for similarity in found) + ties) / len(exact)


def when_full(data_set: DataSet, window: int) -> int:
    """The arrival at which the first set leaves the window.

    >>> when_full(DataSet("", np.array([0, 4, 9, 10, 11]), np.zeros(6, int), np.zeros(0, int)), window=10)
    3
    """
    return int(np.searchsorted(data_set.times, data_set.times[0] + window))


def moments(data_set: DataSet, window: int) -> range:
    """The arrivals at which results are compared. Their distance is odd, so that they drift through the batches."""
    first = when_full(data_set, window)
    step = (len(data_set) - first) // MOMENTS | 1
    return range(first + step, len(data_set), step)


def compare(
    data_set: DataSet, window: int, k: int, info: Callable[[str], None], limit: float = 20.0, names: Sequence[str] = NAMES
) -> list[ToolResult]:
    """Measure each tool, within a limit of CPU seconds once the window is full.

    The threshold that the other tools need is set with hindsight: at 95 % of the moments, the k-th pair reaches it.
    """
    if not moments(data_set, window):
        raise ValueError(f"the data set has {len(data_set)} sets, which do not fill a window of {window}")
    exact = _exact(data_set, window, k)
    last = [similarities[-1] for similarities in exact.values() if similarities]
    threshold = math.floor(100 * float(np.quantile(last, 0.05))) / 100 if last else 0.5
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data_set.bin"
        data_set.save(path)
        for name in names:
            missing = [package for package in TOOLS[name].needs if find_spec(package) is None]
            if missing:
                note = how_to_install(TOOLS[name].extra)
                found.append(ToolResult(name, None, None, None, note))
            else:
                command = [name, str(path), str(window), str(min(max(threshold, 0.05), 0.95))]
                found.append(_judged(name, _run(command, k, limit), data_set, window, exact))
            info(f"{name}: {_cells(found[-1])}")
    return found


def _exact(data_set: DataSet, window: int, k: int) -> dict[int, list[float]]:
    """The similarities of the top-k at each moment."""
    join = swoop.TopKJoin(k=k, window=window)
    table, done, found = as_table(data_set), 0, {}
    for moment in moments(data_set, window):
        join.insert_many(table.slice(done, moment + 1 - done))
        done = moment + 1
        found[moment] = [pair.similarity for pair in join.topk()]
    return found


def _run(command: list[str], k: int, limit: float) -> dict[str, Any] | str:
    """The output of a process that measures one tool, or why there is none."""
    own = [sys.executable, "-m", "swoop.paper.other_tools", "-k", str(k), "--limit", str(limit), "--one", *command]
    longest = 10 * limit + 120
    try:
        process = subprocess.run(own, capture_output=True, text=True, timeout=longest, check=False)
    except subprocess.TimeoutExpired:
        return f"no result within {longest:.0f} s"
    if process.returncode:
        return "failed: " + (process.stderr.strip().splitlines() or ["no message"])[-1]
    measured: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return measured


def _judged(name: str, seen: dict[str, Any] | str, data_set: DataSet, window: int, exact: dict[int, list[float]]) -> ToolResult:
    if isinstance(seen, str):
        return ToolResult(name, None, None, None, seen)
    sets, times = [frozenset(tokens) for tokens in data_set.sets()], data_set.times
    shares = []
    for moment, pairs in seen["answers"]:
        valid = {(a, b) for a, b in pairs if b < a <= moment and times[b] > times[moment] - window}
        shares.append(recall([jaccard(sets[a], sets[b]) for a, b in valid], exact[moment]))
    return ToolResult(name, seen["rate"], float(np.mean(shares)) if shares else None, seen["memory"], seen["note"])


class Meter:
    """CPU time and memory of this process and its children."""

    def __init__(self) -> None:
        import psutil

        self._own = psutil.Process()
        self._others = [child for child in self._own.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]

    def seconds(self) -> float:
        return time.process_time() + sum(sum(other.cpu_times()[:2]) for other in self._others)

    def resident(self) -> int:
        return sum(process.memory_info().rss for process in (self._own, *self._others))

    def least(self) -> int:
        """Resident memory after all free memory has been returned."""
        gc.collect()
        if hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)
        return self.resident()


def measure(kind: type[Tool], data_set: DataSet, window: int, k: int, threshold: float, limit: float) -> dict[str, Any]:
    """Run a tool on a data set: its rate, its growth per set in the window, and its answers at the moments.

    If it is too slow for the whole data set, it gets the beginning, or, if it joins whole windows, batches spread over it.
    """
    spare = kind(2, 1, threshold)
    for now in range(4):  # loads, compiles and starts everything it needs
        spare.insert(now, [1, 2], now)
    spare.topk()
    meter = Meter()
    times, offsets = data_set.times.tolist(), data_set.offsets.tolist()
    looked, full, total = moments(data_set, window), when_full(data_set, window), len(data_set)
    before = most = meter.least()
    tool = kind(window, k, threshold)
    answers: dict[int, np.ndarray] = {}  # small, because they are in the process that is measured
    done, spent = 0, 0.0

    def arrival(number: int) -> tuple[int, list[int], int]:
        return number, data_set.tokens[offsets[number] : offsets[number + 1]].tolist(), times[number]

    for number in range(full):
        tool.skip(*arrival(number))
    tool.insert(*arrival(full))
    for first in range(full + 1, total, BATCH):
        batch = range(first, min(first + BATCH, total))
        if isinstance(tool, Batches) and spent > limit * (first - full) / (total - full):
            for number in batch:
                tool.skip(*arrival(number))
            continue
        if spent > limit:
            break
        start = meter.seconds()
        for number in batch:
            tool.insert(*arrival(number))
            if number in looked:
                answers[number] = np.array(tool.topk(), np.int32)
        spent += meter.seconds() - start
        done += len(batch)
        most = max(most, meter.resident())
    note = tool.note(data_set)
    if done < total - full - 1:
        note += f"; {done:,} of {total - full - 1:,} arrivals"
    return {
        "rate": done / max(spent, 1e-6),
        "memory": (most - before) / full,
        "answers": [(number, pairs.tolist()) for number, pairs in answers.items()],
        "note": note,
    }


HEADER = ["| | sets/s | of the top-k found | bytes per set | how |", "|---|--:|--:|--:|---|"]


def table(results: list[ToolResult]) -> list[str]:
    """The lines of a Markdown table."""
    return HEADER + [f"| {result.name} | {_cells(result)} |" for result in results]


def _cells(result: ToolResult) -> str:
    rate = "" if result.rate is None else f"{result.rate:,.0f}"
    share = "" if result.recall is None else f"{100 * result.recall:.1f} %"
    memory = "" if result.memory is None else f"{result.memory:,.0f}"
    return f"{rate} | {share} | {memory} | {result.note}"
