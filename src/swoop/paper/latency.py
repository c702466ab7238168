"""The paper's latency: sets that arrive at a constant rate, 80 % of what can be sustained, and wait in a queue."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

import swoop
from swoop.paper.experiments import duration
from swoop.paper.streams import Stream

LOAD = 0.8
SHOWN = 100  # parts of the stream of which the longest queue is shown
MOST = 3_000_000  # sets


@dataclass(frozen=True)
class Latency:
    """Times are in seconds. ``queue`` has the longest queue of each part of the stream, ``spent`` the time that it is about."""

    stream: str
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
        return self.stream, self.source, self.sets, self.window


def latency(stream: Stream, source: str, sets: int, window: int, k: int = 10) -> Latency:
    """How long each set takes from its arrival to the result.

    The time of each insertion is measured, one after the other; who arrives while an earlier one is at work waits.
    """
    part = stream.first(min(len(stream), MOST))
    join = swoop.TopKJoin(k=k, window=duration(stream, window))
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
    return _queue(processing[window:], stream.name, source, sets, window)


def _queue(processing: np.ndarray, stream: str, source: str, sets: int, window: int) -> Latency:
    arrivals = np.arange(len(processing)) * (processing.mean() / LOAD)
    done = np.cumsum(processing)
    finished = done + np.maximum.accumulate(arrivals - done + processing)  # work starts at an arrival or when the last is done
    waits = np.maximum(finished - arrivals, processing)  # the difference is rounded, and nobody is done sooner than that
    queue = np.arange(1, len(processing) + 1) - np.searchsorted(finished, arrivals, side="right")
    median, p99, p999 = np.quantile(waits, [0.5, 0.99, 0.999]).tolist()
    return Latency(
        stream,
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
