"""The experiments of the paper's section 7: which runs they need, and the runs themselves.

A run is one algorithm on one stream with one window and one k. Several figures look at the same run, so runs are done once and
kept in a Parquet file; a run that is there already is not done again. A run has a limit of time, like the paper's; one that
exceeds it is kept as what it is, with the rate up to there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import swoop
from swoop.bench.measure import as_table
from swoop.bench.streams import Stream, generate

MAIN = ("swoop", "swoop-minimal", "scase", "static", "base")
ABLATIONS = ("swoop-minimal", "swoop-noindex", "swoop-noincrement")
TOKEN_ORDER = ("swoop", "swoop-minimal", "swoop-noopt")
STREAMS = ("tweet", "flickr", "dblp", "enron", "industry")


@dataclass(frozen=True)
class Run:
    """What is run."""

    stream: str
    sets: int
    window: int
    k: int
    algorithm: str


@dataclass(frozen=True)
class Result(Run):
    """What was seen. ``done`` sets were processed, fewer than all if the run took longer than its limit."""

    done: int
    cpu_seconds: float
    pre_candidates: float
    candidates: float
    largest_stock: int
    memory: int

    @property
    def rate(self) -> float:
        return self.done / self.cpu_seconds

    @property
    def is_complete(self) -> bool:
        return self.done == self.sets


@dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    sets: int
    enron_sets: int
    windows: tuple[int, ...]
    ks: tuple[int, ...]
    limit: float

    def sets_of(self, stream: str) -> int:
        return self.enron_sets if stream == "enron" else self.sets

    def windows_of(self, stream: str) -> list[int]:
        return [window for window in self.windows if 3 * window <= self.sets_of(stream)]


QUICK = Scale(20_000, 3000, (100, 1000, 5000), (1, 10, 100, 1000), 1.5)
FULL = Scale(1_200_000, 250_000, (100, 1000, 10_000, 100_000), (1, 10, 100, 1000, 10_000), 600.0)


def set_rate(scale: Scale) -> Iterator[Run]:
    """Set rate, pre-candidates, candidates and stock size against the window, on each stream."""
    for stream in STREAMS:
        for window in scale.windows_of(stream):
            for algorithm in MAIN:
                yield Run(stream, scale.sets_of(stream), window, 10, algorithm)


def result_size(scale: Scale) -> Iterator[Run]:
    """Set rate and stock size against k."""
    for k in scale.ks:
        for algorithm in MAIN:
            yield Run("flickr", scale.sets, 1000, k, algorithm)


def ablations(scale: Scale) -> Iterator[Run]:
    """What the candidate index and the incremental stock bring."""
    for algorithm in ABLATIONS:
        for k in scale.ks:
            yield Run("flickr", scale.sets, 1000, k, algorithm)
        for window in scale.windows_of("tweet"):
            yield Run("tweet", scale.sets, window, 10, algorithm)


def token_order(scale: Scale) -> Iterator[Run]:
    """Lists in ascending order of their length, and in the order of tokens."""
    for stream in STREAMS:
        for window in scale.windows_of(stream):
            for algorithm in TOKEN_ORDER:
                yield Run(stream, scale.sets_of(stream), window, 10, algorithm)


EXPERIMENTS: dict[str, Callable[[Scale], Iterator[Run]]] = {
    "set-rate": set_rate,
    "result-size": result_size,
    "ablations": ablations,
    "token-order": token_order,
}


@lru_cache(maxsize=1)
def stream_of(name: str, sets: int) -> tuple[Stream, pa.Table]:
    stream = generate(name, sets)
    return stream, as_table(stream)


def perform(run: Run, limit: float) -> Result:
    """Do a run, within so many seconds of CPU time."""
    stream, table = stream_of(run.stream, run.sets)
    _warm(run.algorithm)
    join = swoop.TopKJoin(k=run.k, window=stream.window_for(run.window), algorithm=run.algorithm)
    done, spent, largest, part = 0, 0.0, 0, 1
    while done < run.sets and spent < limit:
        start = time.process_time()
        join.insert_many(table.slice(done, part))
        spent += (last := time.process_time() - start)
        done += min(part, run.sets - done)
        largest = max(largest, join.stats.stock_size)
        if last < limit / 100:
            part *= 2
    stats = join.stats
    return Result(
        **asdict(run),
        done=done,
        cpu_seconds=max(spent, 1e-6),
        pre_candidates=stats.pre_candidates / done,
        candidates=stats.candidates / done,
        largest_stock=largest,
        memory=stats.memory_bytes,
    )


def _warm(algorithm: str) -> None:
    """Compile, outside of what is measured."""
    swoop.warmup(quiet=True)
    join = swoop.TopKJoin(k=1, window=2, algorithm=algorithm)
    for now in range(4):
        join.insert([1, 2], now)
    join.topk()


class Results:
    """The results so far, in a Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[Run, Result] = {}
        if path.exists():
            for row in pq.read_table(path).to_pylist():
                result = Result(**row)
                self._found[_run_of(result)] = result

    def __iter__(self) -> Iterator[Result]:
        return iter(self._found.values())

    def get(self, run: Run) -> Result | None:
        return self._found.get(run)

    def add(self, result: Result) -> None:
        """Keep a result, on disk as well, so that an interrupted evaluation goes on where it was."""
        self._found[_run_of(result)] = result
        new = self._path.with_suffix(".new")
        pq.write_table(pa.Table.from_pylist([asdict(found) for found in self]), new)
        new.replace(self._path)


def _run_of(result: Result) -> Run:
    return Run(**{field.name: getattr(result, field.name) for field in fields(Run)})


@dataclass(frozen=True)
class Latency:
    """Of arrivals at a constant rate. Times in seconds."""

    window: int
    rate: float
    longest_queue: int
    longest: float
    percentiles: dict[str, float]
    longest_processing: float


def latency(stream: Stream, window: int, load: float = 0.8, k: int = 10) -> Latency:
    """Let sets arrive at a share of the rate that can be sustained, and see how long each takes from its arrival to the result.

    The time of each insertion is measured, one after the other; who arrives while an earlier one is at work waits.
    """
    join = swoop.TopKJoin(k=k, window=stream.window_for(window))
    spent = np.empty(len(stream))
    for number, (tokens, at) in enumerate(zip(stream.sets(), stream.times.tolist(), strict=True)):
        start = time.perf_counter()
        join.insert(tokens, at)
        spent[number] = time.perf_counter() - start
    spent = spent[window:]
    arrivals = np.arange(len(spent)) * (spent.mean() / load)
    finished = np.empty(len(spent))
    free = 0.0
    for number, arrival in enumerate(arrivals.tolist()):
        free = max(free, arrival) + spent[number]
        finished[number] = free
    waits = finished - arrivals
    queue = np.arange(1, len(spent) + 1) - np.searchsorted(finished, arrivals, side="right")
    shown = {f"p{100 * share:g}": float(np.quantile(waits, share)) for share in (0.5, 0.99, 0.999)}
    return Latency(window, float(load / spent.mean()), int(queue.max()), float(waits.max()), shown, float(spent.max()))
