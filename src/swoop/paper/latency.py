"""The paper's latency experiment: sets arrive at a constant rate, 80 % of the sustainable one, and wait in a queue."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

import swoop
from swoop.paper.data_sets import DataSet
from swoop.paper.experiments import duration

LOAD = 0.8
SHOWN = 100  # parts of the data set, each with its longest queue
MOST = 3_000_000  # sets


@dataclass(frozen=True)
class Latency:
    """Times are in seconds. ``queue`` has the longest queue in each part of the data set, ``spent`` the total time."""

    data_set: str
    source: str
    sets: int
    window: int
    rate: float
    median: float
    p99: float
    p999: float
    longest: float
    longest_queue: int
    longest_processing: float
    queue: list[int]
    spent: float

    @property
    def case(self) -> Hashable:
        return self.data_set, self.source, self.sets, self.window


def latency(data_set: DataSet, source: str, sets: int, window: int, k: int = 10) -> Latency:
    """How long each set takes from its arrival to the result.

    Insertions are timed one after the other; sets that would arrive during an earlier insertion wait.
    """
    part = data_set.first(min(len(data_set), MOST))
    join = swoop.TopKJoin(k=k, window=duration(data_set, window))
    processing = np.empty(len(part))
    number = 0
    for start in range(0, len(part), 10_000):
        stop = min(start + 10_000, len(part))
        rows = np.split(part.tokens[: part.offsets[stop]], part.offsets[start:stop])[1:]
        for tokens, at in zip([row.tolist() for row in rows], part.times[start:stop].tolist(), strict=True):
            begin = time.perf_counter()
            join.insert(tokens, at)
            processing[number] = time.perf_counter() - begin
            number += 1
    return _queue(processing[window:], data_set.name, source, sets, window)


def _queue(processing: np.ndarray, data_set: str, source: str, sets: int, window: int) -> Latency:
    arrivals = np.arange(len(processing)) * (processing.mean() / LOAD)
    done = np.cumsum(processing)
    finished = done + np.maximum.accumulate(
        arrivals - done + processing
    )  # work starts on arrival, or when the last set is done
    waits = np.maximum(finished - arrivals, processing)  # the difference is rounded, and cannot be less than that
    queue = np.arange(1, len(processing) + 1) - np.searchsorted(finished, arrivals, side="right")
    median, p99, p999 = np.quantile(waits, [0.5, 0.99, 0.999]).tolist()
    return Latency(
        data_set,
        source,
        sets,
        window,
        rate=float(LOAD / processing.mean()),
        median=median,
        p99=p99,
        p999=p999,
        longest=float(waits.max()),
        longest_queue=int(queue.max()),
        longest_processing=float(processing.max()),
        queue=[int(part.max()) for part in np.array_split(queue, min(SHOWN, len(queue)))],
        spent=float(finished[-1]),
    )
