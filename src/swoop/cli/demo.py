"""``swoop demo``: Spark reads posts as they are written, the top-k is shown as it changes, and a report is left behind."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.live import Live

from swoop.cli.console import info, printable, results, shown_similarity
from swoop.cli.progress import Steps
from swoop.cli.session import spark_session
from swoop.cli.stream import STOPPING, begin_to_stop, interruptible, quiet_log, served
from swoop.cli.views import picture, sides
from swoop.demo.feed import Feed, write_posts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from swoop.results import Changes
    from swoop.spark import StreamHandle

K = 8
WINDOW = "30 seconds"
INTERVAL = 0.5  # seconds between two files of posts
REPORTED = 500  # batches whose changes are in the report


@quiet_log()
def demo(seconds: float | None, port: int | None, report: Path) -> int:
    """Run for some seconds, or until Ctrl-C. Returns the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="swoop-demo-"))
    try:
        with ExitStack() as closing:
            return _demo(seconds, port, report, folder, closing)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _demo(seconds: float | None, port: int | None, report: Path, folder: Path, closing: ExitStack) -> int:
    from swoop.demo.report import load_chart_packages, write_report
    from swoop.join.warmup import warmup
    from swoop.results import Changes

    info(f"Swoop keeps the {K} most similar pairs of posts in the last {WINDOW} of a stream, exactly.")
    steps = closing.enter_context(Steps())
    steps.step("compiling the engine (only once)")
    warmup(quiet=True)
    threading.Thread(target=load_chart_packages, name="swoop demo drawing", daemon=True).start()
    steps.step("starting Spark")
    spark = closing.enter_context(spark_session(None))
    stopped = closing.enter_context(interruptible())  # after Spark, which installs its own handler for Ctrl-C
    page = closing.enter_context(served(port, "Swoop demo"))
    batches: list[Changes] = []
    handle = _start(spark, folder, [_collect(batches), *([page.board.take_changes] if page else [])])
    if page is not None:
        page.show(handle)
    steps.stop()
    feeder = Feeder(folder / "posts")
    started = time.monotonic()
    _watch(handle, started, seconds, stopped)
    elapsed = time.monotonic() - started
    feeder.stop()
    if handle.failure is not None:
        raise handle.failure
    results().print(picture(handle, results(), handle.stats.rows / elapsed, "jaccard"))
    results().print("\n" + summary(handle.stats, elapsed))
    pairs = [(pair, *handle.texts(pair)) for pair in handle.topk()]
    stopping = begin_to_stop(handle, spark)
    write_report(report, summary(handle.stats, elapsed), pairs, Changes.joined(batches))
    stopping.join(STOPPING)
    info(f"report: {report.resolve()}")
    return 0


def _collect(batches: list[Changes]) -> Any:
    def collect(changes: Changes, batch: int) -> None:
        batches.append(changes)
        del batches[:-REPORTED]

    return collect


def _start(spark: SparkSession, folder: Path, changes: list[Any]) -> StreamHandle:
    from swoop.spark import timestamps, topk_stream, words

    (folder / "posts").mkdir()
    posts = spark.readStream.schema("id long, time string, author string, text string").json(str(folder / "posts"))
    posts = posts.withColumn("time", timestamps("time"))
    stream = topk_stream(posts, K, WINDOW, tokens=words("text"), text="text", lateness="2 seconds", algorithm="swoop-minimal")
    return stream.start(folder / "checkpoint", changes=changes, trigger="500 milliseconds", name="demo")


class Feeder:
    """Writes posts into a folder in real time, until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swoop demo feed", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        started = time.monotonic()
        feed = Feed(dt.datetime.now(dt.UTC))
        number = 0
        while not self._over.wait(max(0.0, started + (number + 1) * INTERVAL - time.monotonic())):
            write_posts(self._folder, number, feed.between(number * INTERVAL, (number + 1) * INTERVAL))
            number += 1

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def _watch(handle: StreamHandle, started: float, seconds: float | None, stopped: list[int]) -> None:
    """Show the top-k until the time is up, the stream ends, or Ctrl-C."""
    console = results()

    def keep_going(pause: float) -> bool:
        time.sleep(pause)
        return handle.is_active and not stopped and (seconds is None or time.monotonic() < started + seconds)

    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while keep_going(0.25):
                live.update(picture(handle, console, _rate(handle, started), "jaccard"), refresh=True)
        return
    next_line = started
    while keep_going(0.25):
        if time.monotonic() >= next_line and len(handle.topk()):
            next_line = time.monotonic() + 5
            stats = handle.stats
            console.print(
                f"{time.monotonic() - started:3.0f} s  {stats.rows:,} posts ({_rate(handle, started):,.0f}/s), "
                f"{stats.window_size:,} in the window, {stats.late:,} late, {stats.rejected:,} rejected",
                soft_wrap=True,
            )
            for pair in handle.topk()[:2]:
                newer, older = (printable(side.text)[:60] for side in sides(pair, handle))
                console.print(f"       {shown_similarity(pair.similarity, 'jaccard')}  {newer} ~ {older}", soft_wrap=True)


def _rate(handle: StreamHandle, started: float) -> float:
    return handle.stats.rows / max(time.monotonic() - started, 1e-9)


def summary(stats: Any, seconds: float) -> str:
    """What happened, in a paragraph."""
    return (
        f"In {seconds:.0f} seconds {stats.rows:,} posts arrived, {stats.rows / max(seconds, 1e-9):,.0f} per second. "
        f"{stats.late:,} were too late and {stats.rejected:,} were unusable; they were counted and written to a folder. "
        f"The top {K} changed {stats.changes:,} times. The last window held {stats.window_size:,} posts; the last batch, of "
        f"{stats.batch_rows:,} posts, took {stats.batch_seconds:.2f} seconds from arrival to results."
    )
