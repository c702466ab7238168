"""Measurements on Spark in local mode: histories and live streams, beside the same jobs around an empty engine."""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from swoop.live.one_engine import OneEngine
from swoop.paper import spark_jobs as jobs
from swoop.paper.data_sets import DataSet, generate
from swoop.paper.posts import about, make_posts, read_posts, window_of
from swoop.paper.spent import Spent, measured
from swoop.spark import topk_history, words

WARM, FILES = 20, 100  # files before the measurement of waiting times, and in total


def report(rows: int, info: Callable[[str], None], texts: Path | None = None) -> list[str]:
    """The section of the report about Spark. ``texts`` is a file of real posts."""
    lines = [
        "",
        "## On Spark",
        "",
        f"Local mode, two cores, one session, k = {jobs.K}, windows of {jobs.WINDOW:,} sets on average. CPU is that of all",
        "processes, Python, Java and the Python workers. A first run for warming up does not count; of several, in turns, the",
        "one with the least CPU does. An empty engine gets the same rows in the same order, and finds nothing. Tokens by",
        "Spark's expressions (`words(...).column()`) are what a token function replaces.",
        *([] if texts is None else [about(texts)]),
        "",
        "| what | rows/s | rows per CPU second | CPU, empty engine = 1 |",
        "|---|--:|--:|--:|",
    ]
    more = ["", "| what | measured |", "|---|--:|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        info(f"Spark: making {4 * rows:,} rows")
        data_set = generate("tweet", 4 * rows)
        with jobs.quiet_session() as spark:
            for place, (what, posts) in enumerate(_sources(data_set, rows, texts)):
                source = folder / f"texts-{place}"
                jobs.write(posts, source)
                for found in (_history(spark, posts, source), _live(spark, posts, source, folder / f"state-{place}")):
                    for row in found:
                        info(row)
                        lines.append(row.replace("POSTS", what))
            for row in _waiting(spark, data_set, rows, folder):
                info(row)
                more.append(row)
    return lines + more


def _sources(data_set: DataSet, rows: int, texts: Path | None) -> Iterator[tuple[str, pa.Table]]:
    yield f"{rows:,} generated posts of 13 words (tweet shape)", make_posts(jobs.part(data_set, 0, rows))
    if texts is not None:
        posts = read_posts(texts, rows)
        words = np.mean(pc.add(pc.count_substring(posts.column("text"), " "), 1).to_numpy())
        yield f"{rows:,} real posts of {words:.0f} words ({texts.stem})", posts


WAYS = {
    "empty": "around an empty engine",
    "texts": "tokens made where the engine is",
    "expressions": "tokens made by Spark's expressions",
}


def _rows(what: str, count: int, best: dict[str, Spent]) -> Iterator[str]:
    for way, spent in best.items():
        share = spent.cpu / best["empty"].cpu
        yield f"| {what}: POSTS, {WAYS[way]} | {count / spent.wall:,.0f} | {count / spent.cpu:,.0f} | {share:.2f} |"


def _best(run: Callable[[str], Spent], ways: Iterable[str]) -> dict[str, Spent]:
    """The least CPU of each way, in turns."""
    run("texts")
    spent: dict[str, list[Spent]] = {way: [] for way in ways}
    for _ in range(jobs.ROUNDS):
        for way in spent:
            spent[way].append(run(way))
    return {way: min(found, key=lambda spent: spent.cpu) for way, found in spent.items()}


# histories


def _history(spark: SparkSession, posts: pa.Table, source: Path) -> Iterator[str]:
    window = window_of(posts, jobs.WINDOW)

    def run(way: str) -> Spent:
        with measured() as spent, _empty_tasks(way == "empty"):
            sets = jobs.with_tokens(spark.read.parquet(str(source)), way)
            topk_history(sets, jobs.K, window, tokens=jobs.tokens_of(way)).write.format("noop").mode("overwrite").save()
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
    window = window_of(posts, jobs.WINDOW)
    runs = count()

    def run(way: str) -> Spent:
        empty = patch.object(OneEngine, "_insert", lambda *given: None) if way == "empty" else nullcontext()
        place = state / f"{next(runs)}"
        with measured() as spent, empty:
            handle = jobs.live(spark, source, window, way).start(place, available_now=True)
            handle.await_termination()
        assert bool(handle.topk()) == (way != "empty"), way
        return spent

    yield from _rows("live", posts.num_rows, _best(run, WAYS))


def _waiting(spark: SparkSession, data_set: DataSet, rows: int, folder: Path) -> Iterator[str]:
    posts = make_posts(jobs.part(data_set, 0, rows))
    jobs.write(posts, folder / "waiting")
    rate = _sustained(spark, folder / "waiting", window_of(posts, jobs.WINDOW), folder / "waiting-state")
    yield f"| live, from texts, from the end of the first batch to the end of the last | {rate:,.0f} rows/s |"
    waits = _waits(spark, data_set, int(rate / 2), folder / "wait")
    what = f"from the arrival of a row to its result, {rate / 2:,.0f} rows/s, trigger 500 ms: median, p95"
    yield f"| {what} | {np.percentile(waits, 50):.2f} s, {np.percentile(waits, 95):.2f} s |"
    once, four = (_long_history(spark, data_set, many * rows, folder / f"long-{many}") for many in (1, 4))
    yield f"| a history four times as long: time | {four.wall / once.wall:.2f} times |"
    yield f"| its largest worker, short and long | {once.worker_memory / 1e6:,.0f} MB, {four.worker_memory / 1e6:,.0f} MB |"


def _long_history(spark: SparkSession, data_set: DataSet, rows: int, source: Path) -> Spent:
    posts = make_posts(jobs.part(data_set, 0, rows))
    jobs.write(posts, source)
    with measured() as spent:
        sets = spark.read.parquet(str(source))
        stays = topk_history(sets, jobs.K, window_of(posts, jobs.WINDOW), tokens=words("text"))
        stays.write.format("noop").mode("overwrite").save()
    return spent


def _sustained(spark: SparkSession, source: Path, window: dt.timedelta, checkpoint: Path) -> float:
    handle = jobs.live(spark, source, window).start(checkpoint, available_now=True)
    handle.await_termination()
    return jobs.rate_of(handle.query)


def _waits(spark: SparkSession, data_set: DataSet, rate: int, folder: Path) -> list[float]:
    """Seconds from the arrival of each file, four per second for 20 seconds, to the results with all of its rows."""
    source = folder / "texts"
    source.mkdir(parents=True)
    size = max(rate // 4, 1)
    window = dt.timedelta(microseconds=jobs.WINDOW)  # one row per microsecond
    arrived: list[tuple[int, float]] = []
    waits: list[float] = []
    handle = jobs.live(spark, source, window, files=1000).start(folder / "checkpoint", trigger="500 milliseconds")
    begin = time.perf_counter()
    fed = 0
    while len(waits) < FILES - WARM and time.perf_counter() < begin + 120:
        if fed < FILES + 4 and time.perf_counter() >= begin + fed * 0.25:  # the last files push out the rows before them
            start = fed * size % (len(data_set) - size)
            sets = jobs.part(data_set, start, start + size)
            sets = DataSet(sets.name, data_set.times[0] + np.arange(fed * size, fed * size + size), sets.offsets, sets.tokens)
            jobs.write_file(make_posts(sets, fed * size), source / f"{fed:05}.parquet")
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
