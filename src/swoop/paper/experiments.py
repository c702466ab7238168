"""The experiments of the paper's section 7: which runs they need, and the runs themselves.

A run is one algorithm on one stream with one window and one k. Several figures look at the same run, so runs are done once. A
run has a limit of time, like the paper's; one that exceeds it is kept as what it is, with the rate up to there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pyarrow as pa

import swoop
from swoop.paper.measure import as_table
from swoop.paper.streams import DAY, SHAPES, Stream, generate

MAIN = ("swoop", "swoop-minimal", "scase", "static", "base")
ABLATIONS = ("swoop-minimal", "swoop-noindex", "swoop-noincrement")
TOKEN_ORDER = ("swoop", "swoop-minimal", "swoop-noopt")
STREAMS = ("tweet", "flickr", "dblp", "enron", "industry")
GENERATED = "generated"
LOOKS = 500  # at the stock of a run
MEMORY = 4 << 30  # bytes of a join at which a run is stopped: Base keeps all pairs


@dataclass(frozen=True)
class Run:
    """What is run. The window is the average number of sets in it; on DBLP, as in the paper, it is a number of days."""

    stream: str
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
        return f"{self.window:,}" if self.stream != "dblp" else f"{self.window:,} day{'s' if self.window > 1 else ''}"


@dataclass(frozen=True)
class Result(Run):
    """What was seen. ``done`` sets were processed, fewer than all if the run was stopped at its limit of time or memory."""

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
        """Whether the run went on long enough for its rate to be that of full windows."""
        return not self.stopped or self.done >= 3 * self.window


@dataclass(frozen=True)
class Scale:
    """How large the experiments are: sets by stream, windows in sets and (DBLP) in days, and seconds of CPU time per run."""

    name: str
    sets: Mapping[str, int]
    windows: tuple[int, ...]
    days: tuple[int, ...]
    ks: tuple[int, ...]
    limit: float

    def windows_of(self, stream: str) -> tuple[int, ...]:
        return self.days if stream == "dblp" else tuple(window for window in self.windows if 3 * window <= self.sets[stream])


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


class Streams:
    """The streams that are run on: generated, but for those of which the user has the real data."""

    def __init__(self, scale: Scale, real: Mapping[str, Path] | None = None) -> None:
        self._scale = scale
        self._real = real or {}
        self._last: tuple[Stream, pa.Table] | None = None
        self._durations: dict[tuple[str, int], int] = {}

    def source(self, name: str) -> str:
        return str(self._real.get(name, GENERATED))

    def run(self, name: str, window: int, k: int, algorithm: str) -> Run:
        return Run(name, self.source(name), self._scale.sets[name], window, k, algorithm)

    def get(self, name: str) -> tuple[Stream, pa.Table]:
        """A stream, and the same as a table. The last one asked for is kept."""
        if self._last is None or self._last[0].name != name:
            sets = self._scale.sets[name]
            self._last = None  # two long streams would not fit
            stream = _load(name, self._real[name]).first(sets) if name in self._real else generate(name, sets)
            self._last = stream, as_table(stream)
        return self._last

    def duration(self, name: str, window: int) -> int:
        """How long a window is; to find out takes a while on long streams."""
        if (name, window) not in self._durations:
            self._durations[name, window] = duration(self.get(name)[0], window)
        return self._durations[name, window]


def _load(name: str, path: Path) -> Stream:
    from swoop.paper import loaders
    from swoop.spark import session

    return loaders.to_stream(name, loaders.LOADERS[name](session(), str(path)))


def duration(stream: Stream, window: int) -> int:
    """How long a window is, in microseconds."""
    return window * DAY if stream.name == "dblp" else stream.window_for(window)


# the experiments


def set_rate(scale: Scale, streams: Streams) -> Iterator[Run]:
    """Set rate, pre-candidates, candidates and stock size against the window, on each stream."""
    for stream in STREAMS:
        for window in scale.windows_of(stream):
            for algorithm in MAIN:
                yield streams.run(stream, window, 10, algorithm)


def large_k(scale: Scale, streams: Streams) -> Iterator[Run]:
    """Set rate against the window for k = 1000."""
    for window in scale.windows_of("flickr"):
        for algorithm in MAIN:
            yield streams.run("flickr", window, 1000, algorithm)


def result_size(scale: Scale, streams: Streams) -> Iterator[Run]:
    """Set rate against k."""
    for k in scale.ks:
        for algorithm in MAIN:
            yield streams.run("flickr", 1000, k, algorithm)


def pre_candidates(scale: Scale, streams: Streams) -> Iterator[Run]:
    """Pre-candidates and candidates per set against the window."""
    for window in scale.windows_of("tweet"):
        for algorithm in MAIN:
            yield streams.run("tweet", window, 10, algorithm)


def ablations(scale: Scale, streams: Streams) -> Iterator[Run]:
    """What the candidate index and the incremental stock bring."""
    for algorithm in ABLATIONS:
        for k in scale.ks:
            yield streams.run("flickr", 1000, k, algorithm)
        for window in scale.windows_of("tweet"):
            yield streams.run("tweet", window, 10, algorithm)


def token_order(scale: Scale, streams: Streams) -> Iterator[Run]:
    """Lists in ascending order of their length, and in the order of tokens."""
    for stream in STREAMS:
        for window in scale.windows_of(stream):
            for algorithm in TOKEN_ORDER:
                yield streams.run(stream, window, 10, algorithm)


def stock(scale: Scale, streams: Streams) -> Iterator[Run]:
    """The largest stock against the window and against k."""
    for algorithm in MAIN:
        for window in scale.windows_of("flickr"):
            yield streams.run("flickr", window, 10, algorithm)
        for k in scale.ks:
            yield streams.run("flickr", 1000, k, algorithm)


RUNS: dict[str, Callable[[Scale, Streams], Iterator[Run]]] = {
    "set-rate": set_rate,
    "large-k": large_k,
    "result-size": result_size,
    "pre-candidates": pre_candidates,
    "ablations": ablations,
    "token-order": token_order,
    "stock": stock,
}


def perform(run: Run, streams: Streams, limit: float) -> Result:
    """Do a run, within so many seconds of CPU time."""
    stream, table = streams.get(run.stream)
    _warm(run.algorithm)
    window = streams.duration(run.stream, run.window)
    join = swoop.TopKJoin(k=run.k, window=window, algorithm=run.algorithm)
    done, spent, largest, part, stopped = 0, 0.0, 0, 1, ""
    while done < len(stream) and not stopped:
        start = time.process_time()
        join.insert_many(table.slice(done, part))
        spent += (last := time.process_time() - start)
        done += min(part, len(stream) - done)
        stats = join.stats
        largest = max(largest, stats.stock_size)
        if done < len(stream):
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
    """Do a run again, not measured, and look at its stock now and then."""
    join = swoop.TopKJoin(k=run.k, window=window, algorithm=run.algorithm)
    largest, part = 0, max(1, table.num_rows // LOOKS)
    for start in range(0, table.num_rows, part):
        join.insert_many(table.slice(start, part))
        largest = max(largest, join.stats.stock_size)
    return largest


def _warm(algorithm: str) -> None:
    """Compile, outside of what is measured."""
    swoop.warmup(quiet=True)
    join = swoop.TopKJoin(k=1, window=2, algorithm=algorithm)
    for now in range(4):
        join.insert([1, 2], now)
    join.topk()
