"""Measurements on Spark in local mode: histories, live streams, and the parts of a history alone."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import swoop
from swoop.paper.data_sets import DataSet, generate
from swoop.spark import session, topk_history, topk_stream, words

K = 10
WINDOW = 10_000  # sets, on average
FILE = 50_000  # rows of a file; a batch takes two
WARM, FILES = 20, 100  # files before the measurement of waiting times, and in total


def report(rows: int, info: Callable[[str], None]) -> list[str]:
    """The section of the report about Spark."""
    lines = [
        "",
        "## On Spark",
        "",
        f"Local mode, two cores, one session, rows of 13 words on average (tweet shape), k = {K}, windows of {WINDOW:,} sets.",
        "Wall times; CPU is that of all processes: Python, Java and the Python workers. A first run for warming up does not",
        "count.",
        "",
        "| what | measured | CPU |",
        "|---|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        info(f"Spark: making {4 * rows:,} rows")
        data_set = generate("tweet", 4 * rows)
        with _quiet_session() as spark:
            for row in (*_history(spark, data_set, rows, folder), *_live(spark, data_set, rows, folder)):
                info(row)
                lines.append(row)
    return lines


@contextmanager
def _quiet_session() -> Iterator[SparkSession]:
    spark = session("local[2]", spark_ui_showConsoleProgress="false", memory="4g")
    try:
        yield spark
    finally:
        spark.stop()


# data


def _texts(data_set: DataSet) -> pa.Array:
    tokens = pc.binary_join_element_wise("w", pa.array(data_set.tokens).cast(pa.string()), "")
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(data_set.offsets, pa.int32()), tokens), " ")


def _part(data_set: DataSet, start: int, stop: int) -> DataSet:
    offsets = data_set.offsets[start : stop + 1]
    return DataSet(data_set.name, data_set.times[start:stop], offsets - offsets[0], data_set.tokens[offsets[0] : offsets[-1]])


def _write(data_set: DataSet, folder: Path, prepared: bool, first: int = 0) -> None:
    """Write rows with texts or tokens as Parquet files, which a stream reads in order."""
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, len(data_set), FILE), first):
        part = _part(data_set, start, min(start + FILE, len(data_set)))
        _write_file(part, folder / f"{number:05}.parquet", start, prepared)
        os.utime(folder / f"{number:05}.parquet", (1_700_000_000 + number,) * 2)


def _write_file(part: DataSet, path: Path, first_id: int, prepared: bool) -> None:
    columns = {
        "id": pa.array(np.arange(first_id, first_id + len(part))),
        "time": pa.array(part.times).cast(pa.timestamp("us", "UTC")),
    }
    if prepared:
        columns["tokens"] = pa.ListArray.from_arrays(pa.array(part.offsets, pa.int32()), pa.array(part.tokens, pa.int64()))
    else:
        columns["text"] = _texts(part)
    unfinished = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns), unfinished)
    unfinished.rename(path)


def _sets(rows: DataFrame) -> DataFrame:
    return rows if "tokens" in rows.columns else rows.select("id", "time", words("text").column().alias("tokens"))


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


def _row(what: str, value: str, spent: Spent | None = None) -> str:
    return f"| {what} | {value} | {f'{spent.cpu:.1f} s' if spent else ''} |"


# histories


def _history(spark: SparkSession, data_set: DataSet, rows: int, folder: Path) -> Iterator[str]:
    window = dt.timedelta(microseconds=data_set.window_for(WINDOW))
    _write(data_set, folder / "texts", prepared=False)
    files = [str(path) for path in sorted((folder / "texts").iterdir())]

    def run(count: int) -> Spent:
        with _measured() as spent:
            sets = _sets(spark.read.parquet(*files[: -(-count // FILE)]))
            topk_history(sets, K, window).write.format("noop").mode("overwrite").save()
        return spent

    run(rows)
    once, four = (min((run(count) for _ in range(2)), key=lambda spent: spent.wall) for count in (rows, 4 * rows))
    for count, spent in ((rows, once), (4 * rows, four)):
        yield _row(f"history of {count:,} texts", f"{count / spent.wall:,.0f} rows/s", spent)
    yield _row("the same four times as long: time", f"{four.wall / once.wall:.2f} times")
    yield _row(
        "largest worker, short and long history", f"{once.worker_memory / 1e6:,.0f} MB, {four.worker_memory / 1e6:,.0f} MB"
    )
    parts = _parts(spark, data_set, rows, files, window)
    yield _row("tokenising, shuffling and sorting alone, then the engine alone", f"{parts.wall:.1f} s", parts)
    yield _row("CPU of the history / CPU of its parts", f"{once.cpu / parts.cpu:.2f} times")


def _parts(spark: SparkSession, data_set: DataSet, rows: int, files: list[str], window: dt.timedelta) -> Spent:
    best = Spent(wall=1e9, cpu=1e9)
    table = pa.table(
        {
            "tokens": pa.ListArray.from_arrays(
                pa.array(data_set.offsets[: rows + 1], pa.int32()),
                pa.array(data_set.tokens[: data_set.offsets[rows]], pa.int64()),
            ),
            "time": pa.array(data_set.times[:rows]).cast(pa.timestamp("us", "UTC")),
        }
    )
    for _ in range(2):
        with _measured() as spent:
            sets = _sets(spark.read.parquet(*files[: -(-rows // FILE)]))
            hashed = sets.select("id", "time", F.transform("tokens", lambda token: F.xxhash64(token)).alias("tokens"))
            slices = hashed.repartitionByRange(8, "time").sortWithinPartitions("time", "id")
            slices.write.format("noop").mode("overwrite").save()
            swoop.TopKJoin(K, window, track_changes=True).insert_many(table)
        best = min(best, spent, key=lambda spent: spent.cpu)
    return best


# live streams


def _live(spark: SparkSession, data_set: DataSet, rows: int, folder: Path) -> Iterator[str]:
    window = dt.timedelta(microseconds=data_set.window_for(WINDOW))
    _write(_part(data_set, 0, rows), folder / "tokens", prepared=True)
    rates = {}
    for kind in ("tokens", "texts"):
        source = folder / kind
        if kind == "texts":
            for path in sorted(source.iterdir())[-(-rows // FILE) :]:
                path.unlink()
        for attempt in range(2):
            with _measured() as spent:
                rates[kind] = _sustained(spark, source, window, folder / f"checkpoint-{kind}-{attempt}")
        yield _row(
            f"live, from {'prepared Parquet files' if kind == 'tokens' else 'texts'}", f"{rates[kind]:,.0f} rows/s", spent
        )
    for kind in ("tokens", "texts"):
        rate = int(rates[kind] / 2)
        waits = _waits(spark, data_set, rate, kind == "tokens", folder / f"wait-{kind}")
        what = f"from the arrival of a row to its result, {rate:,} rows/s of {kind}, trigger 500 ms: median, p95"
        yield _row(what, f"{np.percentile(waits, 50):.2f} s, {np.percentile(waits, 95):.2f} s")
    start, first = _recovery(spark, data_set, rows // 10, folder)
    yield _row(f"recovery of a window of {rows // 10:,} sets; with the next batch", f"{start:.2f} s; {first:.2f} s")


def _stream(spark: SparkSession, source: Path, window: dt.timedelta, files: int = 2) -> Any:
    schema = "id long, time timestamp, " + ("text string" if "texts" in source.name else "tokens array<long>")
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(source))
    return topk_stream(_sets(rows), K, window, lateness=0)


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


def _waits(spark: SparkSession, data_set: DataSet, rate: int, prepared: bool, folder: Path) -> list[float]:
    """Seconds from the arrival of each file, four per second for 20 seconds, to the results with all of its rows."""
    source = folder / ("tokens" if prepared else "texts")
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
            _write_file(part, source / f"{fed:05}.parquet", fed * size, prepared)
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
    source = folder / "recovery-texts"
    part = _part(data_set, 0, 2 * size)
    window = dt.timedelta(microseconds=part.window_for(size))
    _write(part, source, prepared=False)
    _stream(spark, source, window).start(folder / "checkpoint-recovery", available_now=True).await_termination()
    _write(_part(data_set, 2 * size, 2 * size + size // 10), source, prepared=False, first=100)
    begin = time.perf_counter()
    handle = _stream(spark, source, window).start(folder / "checkpoint-recovery", available_now=True)
    start = time.perf_counter() - begin
    handle.await_termination()
    return start, time.perf_counter() - begin
