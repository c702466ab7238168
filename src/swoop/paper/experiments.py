"""The experiments of the paper's section 7: which runs they need, and the runs themselves.

A run is one algorithm on one data set with one window and one k. Several charts use the same run, so each run is done once. A
run has a time limit, as in the paper; one that exceeds it is stored with the rate up to there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pyarrow as pa

import swoop
from swoop.paper.data_sets import DAY, SHAPES, DataSet, generate
from swoop.paper.measure import as_table

MAIN = ("swoop", "swoop-minimal", "scase", "static", "base")
ABLATIONS = ("swoop-minimal", "swoop-noindex", "swoop-noincrement")
TOKEN_ORDER = ("swoop", "swoop-minimal", "swoop-noopt")
DATA_SETS = ("tweet", "flickr", "dblp", "enron", "industry")
GENERATED = "generated"
SAMPLES = 500  # of the size of the stock
MEMORY = 4 << 30  # bytes of a join at which a run is stopped: Base keeps all pairs


@dataclass(frozen=True)
class Run:
    """One run. The window is the average number of sets in it; on DBLP, as in the paper, it is a number of days."""

    data_set: str
    source: str
    sets: int
    window: int
    k: int
    algorithm: str

    @property
    def case(self) -> Hashable:
        return tuple(getattr(self, field.name) for field in fields(Run))

    @property
    def shown_window(self) -> str:
        return f"{self.window:,}" if self.data_set != "dblp" else f"{self.window:,} day{'s' if self.window > 1 else ''}"


@dataclass(frozen=True)
class Result(Run):
    """The result of a run. ``done`` sets were processed, fewer than all if the run was stopped at its time or memory limit."""

    done: int
    stopped: str
    cpu_seconds: float
    pre_candidates: float
    candidates: float
    largest_stock: int
    memory: int

    @property
    def rate(self) -> float:
        return self.done / self.cpu_seconds

    @property
    def has_filled_windows(self) -> bool:
        """Whether the run was long enough for its rate to be that of full windows."""
        return not self.stopped or self.done >= 3 * self.window


@dataclass(frozen=True)
class Scale:
    """The size of the experiments: sets by data set, windows in sets or (DBLP) days, and the limit of CPU seconds per run."""

    name: str
    sets: Mapping[str, int]
    windows: tuple[int, ...]
    days: tuple[int, ...]
    ks: tuple[int, ...]
    limit: float

    def windows_of(self, data_set: str) -> tuple[int, ...]:
        return (
            self.days if data_set == "dblp" else tuple(window for window in self.windows if 3 * window <= self.sets[data_set])
        )


QUICK = Scale(
    "quick",
    {"tweet": 30_000, "flickr": 30_000, "dblp": 200_000, "enron": 3000, "industry": 30_000},
    (100, 1000, 10_000), (1, 10, 100), (1, 10, 100, 1000), 1.5,
)  # fmt: skip
FULL = Scale(
    "full, the paper's sizes",
    {name: shape.paper_sets for name, shape in SHAPES.items()},
    (100, 1000, 10_000, 100_000, 1_000_000), (1, 10, 100, 1000), (1, 10, 100, 1000), 3600.0,
)  # fmt: skip


class DataSets:
    """The data sets of the runs: generated, except for those whose real data the user has."""

    def __init__(self, scale: Scale, real: Mapping[str, Path] | None = None) -> None:
        self._scale = scale
        self._real = real or {}
        self._last: tuple[DataSet, pa.Table] | None = None
        self._durations: dict[tuple[str, int], int] = {}

    def source(self, name: str) -> str:
        return str(self._real.get(name, GENERATED))

    def run(self, name: str, window: int, k: int, algorithm: str) -> Run:
        return Run(name, self.source(name), self._scale.sets[name], window, k, algorithm)

    def get(self, name: str) -> tuple[DataSet, pa.Table]:
        """A data set, also as a table. The last one is cached."""
        if self._last is None or self._last[0].name != name:
            sets = self._scale.sets[name]
            self._last = None  # two large data sets would not fit
            data_set = _load(name, self._real[name]).first(sets) if name in self._real else generate(name, sets)
            self._last = data_set, as_table(data_set)
        return self._last

    def duration(self, name: str, window: int) -> int:
        """The duration of a window, cached, since it takes a while on large data sets."""
        if (name, window) not in self._durations:
            self._durations[name, window] = duration(self.get(name)[0], window)
        return self._durations[name, window]


def _load(name: str, path: Path) -> DataSet:
    from swoop.paper import loaders
    from swoop.spark import session

    return loaders.to_data_set(name, loaders.LOADERS[name](session(), str(path)))


def duration(data_set: DataSet, window: int) -> int:
    """The duration of a window in microseconds."""
    return window * DAY if data_set.name == "dblp" else data_set.window_for(window)


# the experiments


def set_rate(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """Set rate, pre-candidates, candidates and stock size against the window, on each data set."""
    for data_set in DATA_SETS:
        for window in scale.windows_of(data_set):
            for algorithm in MAIN:
                yield data_sets.run(data_set, window, 10, algorithm)


def large_k(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """Set rate against the window for k = 1000."""
    for window in scale.windows_of("flickr"):
        for algorithm in MAIN:
            yield data_sets.run("flickr", window, 1000, algorithm)


def result_size(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """Set rate against k."""
    for k in scale.ks:
        for algorithm in MAIN:
            yield data_sets.run("flickr", 1000, k, algorithm)


def pre_candidates(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """Pre-candidates and candidates per set against the window."""
    for window in scale.windows_of("tweet"):
        for algorithm in MAIN:
            yield data_sets.run("tweet", window, 10, algorithm)


def ablations(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """The gains of the candidate index and of the incremental stock."""
    for algorithm in ABLATIONS:
        for k in scale.ks:
            yield data_sets.run("flickr", 1000, k, algorithm)
        for window in scale.windows_of("tweet"):
            yield data_sets.run("tweet", window, 10, algorithm)


def token_order(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """Lists in ascending order of length, and in the order of tokens."""
    for data_set in DATA_SETS:
        for window in scale.windows_of(data_set):
            for algorithm in TOKEN_ORDER:
                yield data_sets.run(data_set, window, 10, algorithm)


def stock(scale: Scale, data_sets: DataSets) -> Iterator[Run]:
    """The largest stock against the window and against k."""
    for algorithm in MAIN:
        for window in scale.windows_of("flickr"):
            yield data_sets.run("flickr", window, 10, algorithm)
        for k in scale.ks:
            yield data_sets.run("flickr", 1000, k, algorithm)


RUNS: dict[str, Callable[[Scale, DataSets], Iterator[Run]]] = {
    "set-rate": set_rate,
    "large-k": large_k,
    "result-size": result_size,
    "pre-candidates": pre_candidates,
    "ablations": ablations,
    "token-order": token_order,
    "stock": stock,
}


def perform(run: Run, data_sets: DataSets, limit: float) -> Result:
    """Do a run within a limit of CPU seconds."""
    data_set, table = data_sets.get(run.data_set)
    _warm(run.algorithm)
    window = data_sets.duration(run.data_set, run.window)
    join = swoop.TopKJoin(k=run.k, window=window, algorithm=run.algorithm)
    done, spent, largest, part, stopped = 0, 0.0, 0, 1, ""
    while done < len(data_set) and not stopped:
        start = time.process_time()
        join.insert_many(table.slice(done, part))
        spent += (last := time.process_time() - start)
        done += min(part, len(data_set) - done)
        stats = join.stats
        largest = max(largest, stats.stock_size)
        if done < len(data_set):
            stopped = "time" if spent >= limit else "memory" if stats.memory_bytes > MEMORY else ""
        if last < limit / 100:
            part *= 2
    if not stopped and spent < max(limit / 4, 5):  # the parts were few
        largest = max(largest, _largest_stock(run, table, window))
    return Result(
        **asdict(run),
        done=done,
        stopped=stopped,
        cpu_seconds=max(spent, 1e-6),
        pre_candidates=stats.pre_candidates / done,
        candidates=stats.candidates / done,
        largest_stock=largest,
        memory=stats.memory_bytes,
    )


def _largest_stock(run: Run, table: pa.Table, window: int) -> int:
    """Repeat a run without measuring it, and sample the size of its stock."""
    join = swoop.TopKJoin(k=run.k, window=window, algorithm=run.algorithm)
    largest, part = 0, max(1, table.num_rows // SAMPLES)
    for start in range(0, table.num_rows, part):
        join.insert_many(table.slice(start, part))
        largest = max(largest, join.stats.stock_size)
    return largest


def _warm(algorithm: str) -> None:
    """Compile before measuring."""
    swoop.warmup(quiet=True)
    join = swoop.TopKJoin(k=1, window=2, algorithm=algorithm)
    for now in range(4):
        join.insert([1, 2], now)
    join.topk()
