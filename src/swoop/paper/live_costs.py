"""What a live stream on Spark costs beside its engine: its files, its recovery, and the form of its results."""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from swoop.live.files import LOCAL, Folder
from swoop.paper import spark_jobs as jobs
from swoop.paper.data_sets import generate
from swoop.paper.posts import make_posts, window_of
from swoop.paper.spent import measured
from swoop.spark import folder as result_folder
from swoop.spark import hadoop, starting
from swoop.spark.starting import settings

RECOVERED = 100_000  # sets in the window from which a stream resumes
SMALL_BATCHES, SMALL = 70, 1_000  # how many, and rows of each, where files are counted

PLAIN, HADOOP = "plain files", "Hadoop's FileSystem"


def report(rows: int, info: Callable[[str], None]) -> list[str]:
    """The section of the report about what streams cost."""
    lines = [
        "",
        "## A live stream beside its engine",
        "",
        f"{rows:,} generated posts (tweet shape) in batches of {2 * jobs.FILE:,}, changes in a folder on the local disk;",
        "otherwise as above. Rates and CPU are from the end of the first batch to the end of the last, of the best run. Files",
        "of the local disk are read and written without Java; the same run with Hadoop's own class for them tells what the way",
        "through Java costs. The share of a run's time is that of the median. What renews the lease, every five seconds, does",
        "not count.",
        "",
        "| what | measured |",
        "|---|--:|",
    ]
    with tempfile.TemporaryDirectory() as name, jobs.quiet_session() as spark:
        folder = Path(name)
        sets = generate("tweet", max(rows, 3 * RECOVERED))
        posts = make_posts(jobs.part(sets, 0, rows))
        for part in (
            _files(spark, posts, folder / "files"),
            _small_batches(spark, posts, folder / "small"),
            _recovery(spark, make_posts(jobs.part(sets, 0, 2 * RECOVERED + RECOVERED // 10)), folder / "recovery"),
            _changes(spark, posts, folder / "changes"),
        ):
            for row in part:
                info(row)
                lines.append(row)
    return lines


# files


@dataclass
class Watched:
    """A file system, with the time that each call takes and the files that are written."""

    system: Any
    seconds: float = 0.0
    written: list[tuple[float, str]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.system, name)

        def call(path: str, *given: Any) -> Any:
            began = time.perf_counter()
            try:
                return found(path, *given)
            finally:
                if "/owner-" not in path:
                    self.seconds += time.perf_counter() - began
                    if name in ("write", "create"):
                        self.written.append((time.time(), path))

        return call


@contextmanager
def _watched(through_java: bool = False) -> Iterator[Watched]:
    """Streams that are started here have their files in one watched file system."""
    watched = Watched(LOCAL)

    def open_folder(spark: SparkSession, path: Any) -> Folder:
        system, where = hadoop._find(spark, path)
        if through_java and watched.system is LOCAL:
            watched.system = hadoop.HadoopFileSystem(spark, system)
        return Folder(str(where.toString() if through_java else where.toUri().getPath()), watched)

    with ExitStack() as stack:
        stack.enter_context(patch.object(starting, "open_folder", open_folder))
        yield watched


def _files(spark: SparkSession, posts: pa.Table, folder: Path) -> Iterator[str]:
    """The rate of a stream with its files here or through Java, and the share of its time that its files take."""
    jobs.write(posts, folder / "source")
    window, runs = window_of(posts, jobs.WINDOW), count()
    rates: dict[str, list[float]] = {PLAIN: [], HADOOP: []}
    shares: dict[str, list[float]] = {PLAIN: [], HADOOP: []}
    for _ in range(jobs.ROUNDS + 1):  # the first is for warming up
        for way in rates:
            place = folder / f"{next(runs)}"
            with _watched(way is HADOOP) as watched:
                began = time.perf_counter()
                handle = jobs.live(spark, folder / "source", window).start(
                    place / "state", changes=place / "changes", available_now=True
                )
                handle.await_termination()
                shares[way].append(watched.seconds / (time.perf_counter() - began))
            rates[way].append(jobs.rate_of(handle.query))
    plain, java = (max(found[1:]) for found in rates.values())
    one, other = (float(np.median(found[1:])) for found in shares.values())
    yield f"| rate with plain files; through Hadoop's `FileSystem` | {plain:,.0f} rows/s; {java / plain:.2f} times that |"
    yield f"| time of the run that its files take, plain; through Hadoop's `FileSystem` | {one:.1%}; {other:.1%} |"


def _small_batches(spark: SparkSession, posts: pa.Table, folder: Path) -> Iterator[str]:
    """How many files a batch writes."""
    jobs.write(posts.slice(0, SMALL_BATCHES * SMALL), folder / "source", size=SMALL)
    window = window_of(posts, jobs.WINDOW)
    with _watched() as watched:
        stream = jobs.live(spark, folder / "source", window, files=1)
        changes = result_folder(folder / "changes", final_after="10 minutes")  # as of a folder that is not new
        handle = stream.start(folder / "state", changes=changes, available_now=True)
        handle.await_termination()
    ends = [end.timestamp() for end, _ in jobs.batches_of(handle.query)]
    written = [bisect_left(ends, when) for when, _ in watched.written]
    found = Counter(number for number in written if 0 < number < len(ends))  # the first makes the checkpoint
    numbers = sorted(found[number] for number in range(1, len(ends)))
    usual, most = numbers[len(numbers) // 2], numbers[-1]
    share = sum(number > usual for number in numbers) / len(numbers)
    yield f"| files that a batch writes: usually; at most (in {share:.0%} of batches more than usual) | {usual}; {most} |"


# recovery


def _recovery(spark: SparkSession, posts: pa.Table, folder: Path) -> Iterator[str]:
    """How long a stream takes to resume with its window, and to the end of its next batch."""
    known = 2 * RECOVERED
    times = posts["time"].cast(pa.int64()).to_numpy()
    window = dt.timedelta(microseconds=int(times[known - 1] - times[known - 1 - RECOVERED]))
    jobs.write(posts.slice(0, known), folder / "source")

    def start() -> Any:
        return jobs.live(spark, folder / "source", window).start(folder / "state", available_now=True, flush=False)

    start().await_termination()
    found = []
    for number, first in enumerate(range(known, posts.num_rows, RECOVERED // 40)):
        jobs.write(posts.slice(first, RECOVERED // 40), folder / "source", first=100 + number)
        began = time.perf_counter()
        handle = start()
        size, started = handle.stats.window_size, time.perf_counter() - began
        handle.await_termination()
        found.append((started, time.perf_counter() - began, size))
    started, done, size = min(found)
    what = f"recovery of a window of {size:,} sets; with the next batch"
    yield f"| {what}, of {min(RECOVERED // 40, posts.num_rows):,} rows | {started:.2f} s; {done:.2f} s |"


# changes as a DataFrame


def _changes(spark: SparkSession, posts: pa.Table, folder: Path) -> Iterator[str]:
    """The rates of ``topk_changes`` and ``topk_stream``, in turns."""
    jobs.write(posts, folder / "texts")
    spaces = pc.split_pattern(posts["text"], " ")
    jobs.write(posts.drop_columns(["text"]).append_column("tokens", spaces), folder / "tokens")
    window, runs = window_of(posts, jobs.WINDOW), count()

    def run(way: str, as_changes: bool) -> tuple[float, float]:
        place, source = folder / f"{next(runs)}", folder / way
        with measured() as spent:
            query = _run_changes(spark, source, window, way, place) if as_changes else _run(spark, source, window, way, place)
        (first, _), *rest = jobs.batches_of(query)
        cpu = spent.between(first.timestamp(), rest[-1][0].timestamp())
        return jobs.rate_of(query), sum(rows for _, rows in rest) / max(cpu, 0.01)

    for way in ("texts", "tokens"):
        found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(jobs.ROUNDS + 1):
            for as_changes, rates in found.items():
                rates.append(run(way, as_changes))
        stream, changes = (np.max(rates[1:], axis=0) for rates in found.values())
        yield (
            f"| `topk_changes` from {way}, times the rate of `topk_stream`: rows/s; rows per CPU second | "
            f"{changes[0] / stream[0]:.2f} ({changes[0]:,.0f}); {changes[1] / stream[1]:.2f} ({changes[1]:,.0f}) |"
        )


def _run(spark: SparkSession, source: Path, window: dt.timedelta, way: str, place: Path) -> Any:
    handle = jobs.live(spark, source, window, way).start(place, available_now=True)
    handle.await_termination()
    return handle.query


def _run_changes(spark: SparkSession, source: Path, window: dt.timedelta, way: str, place: Path) -> Any:
    with settings(spark, {"spark.sql.shuffle.partitions": "1"}):  # one engine, one state store
        return jobs.write_changes(spark, source, window, way, place)
