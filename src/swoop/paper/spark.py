"""Measurements on Spark in local mode: histories and live streams, beside the same jobs around an empty engine."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from swoop.join.topk_join import TopKJoin
from swoop.paper.data_sets import DataSet, generate
from swoop.paper.posts import make_posts, read_posts, window_of
from swoop.spark import session, topk_changes, topk_history, topk_stream, words
from swoop.spark.starting import settings

K = 10
WINDOW = 10_000  # sets, on average
FILE = 50_000  # rows of a file; a batch takes two
ROUNDS = 3
WARM, FILES = 20, 100  # files before the measurement of waiting times, and in total


def report(rows: int, info: Callable[[str], None], texts: Path | None = None) -> list[str]:
    """The section of the report about Spark. ``texts`` is a file of real posts."""
    lines = [
        "",
        "## On Spark",
        "",
        f"Local mode, two cores, one session, k = {K}, windows of {WINDOW:,} sets on average. CPU is that of all processes,",
        "Python, Java and the Python workers. A first run for warming up does not count; of several, in turns, the one",
        "with the least CPU does. An empty engine gets the same rows in the same order, and finds nothing. Tokens by",
        "Spark's expressions (`words(...).column()`) are what a token function replaces.",
        "",
        "| what | rows/s | rows per CPU second | CPU, empty engine = 1 |",
        "|---|--:|--:|--:|",
    ]
    more = ["", "| what | measured |", "|---|--:|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        info(f"Spark: making {4 * rows:,} rows")
        data_set = generate("tweet", 4 * rows)
        with _quiet_session() as spark:
            for place, (what, posts) in enumerate(_sources(data_set, rows, texts)):
                source = folder / f"texts-{place}"
                _write(posts, source)
                for measured in (_history(spark, posts, source), _live(spark, posts, source, folder / f"state-{place}")):
                    for row in measured:
                        info(row)
                        lines.append(row.replace("POSTS", what))
            for row in _waiting(spark, data_set, rows, folder):
                info(row)
                more.append(row)
    return lines + more


def _sources(data_set: DataSet, rows: int, texts: Path | None) -> Iterator[tuple[str, pa.Table]]:
    yield f"{rows:,} generated posts of 13 words (tweet shape)", make_posts(_part(data_set, 0, rows))
    if texts is not None:
        posts = read_posts(texts, rows)
        words = np.mean(pc.add(pc.count_substring(posts.column("text"), " "), 1).to_numpy())
        yield f"{rows:,} real posts of {words:.0f} words ({texts.stem})", posts


@contextmanager
def _quiet_session() -> Iterator[SparkSession]:
    spark = session("local[2]", spark_ui_showConsoleProgress="false", memory="4g")
    try:
        yield spark
    finally:
        spark.stop()


# data


def _part(data_set: DataSet, start: int, stop: int) -> DataSet:
    offsets = data_set.offsets[start : stop + 1]
    return DataSet(data_set.name, data_set.times[start:stop], offsets - offsets[0], data_set.tokens[offsets[0] : offsets[-1]])


def _write(posts: pa.Table, folder: Path, first: int = 0) -> None:
    """Write rows as Parquet files, which a stream reads in order."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, posts.num_rows, FILE), first):
        _write_file(posts.slice(start, FILE), folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (1_700_000_000 + number,) * 2)


def _write_file(posts: pa.Table, path: Path) -> None:
    unfinished = path.with_name(f".{path.name}")
    pq.write_table(posts, unfinished)
    unfinished.rename(path)


def _with_tokens(rows: DataFrame, way: str) -> DataFrame:
    return rows.select("id", "time", words("text").column().alias("tokens")) if way == "expressions" else rows


def _tokens(way: str) -> Any:
    return "tokens" if way == "expressions" else words("text")


# measurements


@dataclass
class Spent:
    """Wall and CPU seconds, and the peak memory of a Python worker in bytes."""

    wall: float = 0.0
    cpu: float = 0.0
    worker_memory: int = 0


@contextmanager
def _measured() -> Iterator[Spent]:
    spent = Spent()
    over = threading.Event()
    before, after = _ticks(), {}

    def watch() -> None:
        while not over.wait(0.1):
            after.update(_ticks())
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
        spent.cpu = sum(ticks - before.get(process, 0) for process, ticks in after.items()) / os.sysconf("SC_CLK_TCK")


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


def _ticks() -> dict[tuple[int, str], int]:
    """The CPU time of each process so far, by pid and start time."""
    stats = {pid: _stat(pid) for pid in _tree()}
    return {(pid, stat[19]): int(stat[11]) + int(stat[12]) for pid, stat in stats.items() if stat}


WAYS = {
    "empty": "around an empty engine",
    "texts": "tokens made where the engine is",
    "expressions": "tokens made by Spark's expressions",
}


CHANGES = {
    "changes from texts": "as a DataFrame of changes, tokens made where the engine is",
    "changes from expressions": "as a DataFrame of changes, tokens made by Spark's expressions",
}


def _rows(what: str, count: int, best: dict[str, Spent]) -> Iterator[str]:
    for way, spent in best.items():
        share = spent.cpu / best["empty"].cpu
        yield f"| {what}: POSTS, {(WAYS | CHANGES)[way]} | {count / spent.wall:,.0f} | {count / spent.cpu:,.0f} | {share:.2f} |"


def _best(run: Callable[[str], Spent], ways: Iterable[str]) -> dict[str, Spent]:
    """The least CPU of each way, in turns."""
    run("texts")
    spent: dict[str, list[Spent]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way in spent:
            spent[way].append(run(way))
    return {way: min(found, key=lambda spent: spent.cpu) for way, found in spent.items()}


# histories


def _history(spark: SparkSession, posts: pa.Table, source: Path) -> Iterator[str]:
    window = window_of(posts, WINDOW)

    def run(way: str) -> Spent:
        with _measured() as spent, _empty_tasks(way == "empty"):
            sets = _with_tokens(spark.read.parquet(str(source)), way)
            topk_history(sets, K, window, tokens=_tokens(way)).write.format("noop").mode("overwrite").save()
        return spent

    yield from _rows("history", posts.num_rows, _best(run, WAYS))


@contextmanager
def _empty_tasks(are_empty: bool) -> Iterator[None]:
    """Tasks of slices take their rows and find nothing."""

    def make(*given: Any) -> Callable[..., Any]:
        def task(batches: Iterator[pa.RecordBatch], *of_slice: Any) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            yield from ()

        return task

    with patch("swoop.spark.history._task", make) if are_empty else nullcontext():
        yield


# live streams


def _live(spark: SparkSession, posts: pa.Table, source: Path, state: Path) -> Iterator[str]:
    window = window_of(posts, WINDOW)
    runs = count()

    def run(way: str) -> Spent:
        empty = patch.object(TopKJoin, "insert_many", lambda *given, **named: None) if way == "empty" else nullcontext()
        place = state / f"{next(runs)}"
        with _measured() as spent, empty:
            if way in CHANGES:
                _write_changes(spark, source, window, way.removeprefix("changes from "), place)
            else:
                _stream(spark, source, window, way).start(place, available_now=True).await_termination()
        return spent

    with settings(spark, {"spark.sql.shuffle.partitions": "1"}):  # one engine, one state store
        yield from _rows("live", posts.num_rows, _best(run, WAYS | CHANGES))


def _write_changes(spark: SparkSession, source: Path, window: dt.timedelta, way: str, place: Path) -> None:
    changes = topk_changes(_posts(spark, source, way), K, window, tokens=_tokens(way), lateness=0)
    writer = changes.writeStream.format("noop").option("checkpointLocation", str(place))
    writer.trigger(availableNow=True).start().awaitTermination()


def _stream(spark: SparkSession, source: Path, window: dt.timedelta, way: str = "texts", files: int = 2) -> Any:
    return topk_stream(_posts(spark, source, way, files), K, window, tokens=_tokens(way), lateness=0)


def _posts(spark: SparkSession, source: Path, way: str, files: int = 2) -> DataFrame:
    rows = spark.readStream.schema("id long, time timestamp, text string").option("maxFilesPerTrigger", files)
    return _with_tokens(rows.parquet(str(source)), way)


def _waiting(spark: SparkSession, data_set: DataSet, rows: int, folder: Path) -> Iterator[str]:
    posts = make_posts(_part(data_set, 0, rows))
    _write(posts, folder / "waiting")
    rate = _sustained(spark, folder / "waiting", window_of(posts, WINDOW), folder / "waiting-state")
    yield f"| live, from texts, from the end of the first batch to the end of the last | {rate:,.0f} rows/s |"
    waits = _waits(spark, data_set, int(rate / 2), folder / "wait")
    what = f"from the arrival of a row to its result, {rate / 2:,.0f} rows/s, trigger 500 ms: median, p95"
    yield f"| {what} | {np.percentile(waits, 50):.2f} s, {np.percentile(waits, 95):.2f} s |"
    start, first = _recovery(spark, data_set, rows // 10, folder)
    yield f"| recovery of a window of {rows // 10:,} sets; with the next batch | {start:.2f} s; {first:.2f} s |"
    once, four = (_long_history(spark, data_set, many * rows, folder / f"long-{many}") for many in (1, 4))
    yield f"| a history four times as long: time | {four.wall / once.wall:.2f} times |"
    yield f"| its largest worker, short and long | {once.worker_memory / 1e6:,.0f} MB, {four.worker_memory / 1e6:,.0f} MB |"


def _long_history(spark: SparkSession, data_set: DataSet, rows: int, source: Path) -> Spent:
    posts = make_posts(_part(data_set, 0, rows))
    _write(posts, source)
    with _measured() as spent:
        sets = spark.read.parquet(str(source))
        topk_history(sets, K, window_of(posts, WINDOW), tokens=words("text")).write.format("noop").mode("overwrite").save()
    return spent


def _sustained(spark: SparkSession, source: Path, window: dt.timedelta, checkpoint: Path) -> float:
    """Rows per second from the end of the first batch to the end of the last."""
    handle = _stream(spark, source, window).start(checkpoint, available_now=True)
    handle.await_termination()
    batches = [batch for batch in handle.query.recentProgress if batch["numInputRows"]]
    ends = [
        dt.datetime.fromisoformat(batch["timestamp"]) + dt.timedelta(milliseconds=batch["durationMs"]["triggerExecution"])
        for batch in batches
    ]
    return float(sum(batch["numInputRows"] for batch in batches[1:]) / (ends[-1] - ends[0]).total_seconds())


def _waits(spark: SparkSession, data_set: DataSet, rate: int, folder: Path) -> list[float]:
    """Seconds from the arrival of each file, four per second for 20 seconds, to the results with all of its rows."""
    source = folder / "texts"
    source.mkdir(parents=True)
    size = max(rate // 4, 1)
    window = dt.timedelta(microseconds=WINDOW)  # one row per microsecond
    arrived: list[tuple[int, float]] = []
    waits: list[float] = []
    handle = _stream(spark, source, window, files=1000).start(folder / "checkpoint", trigger="500 milliseconds")
    begin = time.perf_counter()
    fed = 0
    while len(waits) < FILES - WARM and time.perf_counter() < begin + 120:
        if fed < FILES + 4 and time.perf_counter() >= begin + fed * 0.25:  # the last files push out the rows before them
            start = fed * size % (len(data_set) - size)
            part = _part(data_set, start, start + size)
            part = DataSet(part.name, data_set.times[0] + np.arange(fed * size, fed * size + size), part.offsets, part.tokens)
            _write_file(make_posts(part, fed * size), source / f"{fed:05}.parquet")
            arrived.append((fed, time.perf_counter()))
            fed += 1
        sets, now = handle.stats.sets, time.perf_counter()
        while arrived and (arrived[0][0] + 1) * size - 1 <= sets:
            number, at = arrived.pop(0)
            if WARM <= number < FILES:
                waits.append(now - at)
        time.sleep(0.005)
    handle.stop()
    return waits


def _recovery(spark: SparkSession, data_set: DataSet, size: int, folder: Path) -> tuple[float, float]:
    """Seconds to restart a stream with so many sets in its window, and to the end of its next batch."""
    source = folder / "recovery"
    posts = make_posts(_part(data_set, 0, 2 * size + size // 10))
    window = window_of(posts, size)
    _write(posts.slice(0, 2 * size), source)
    _stream(spark, source, window).start(folder / "recovery-state", available_now=True).await_termination()
    _write(posts.slice(2 * size), source, first=100)
    begin = time.perf_counter()
    handle = _stream(spark, source, window).start(folder / "recovery-state", available_now=True)
    start = time.perf_counter() - begin
    handle.await_termination()
    return start, time.perf_counter() - begin
