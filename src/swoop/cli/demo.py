"""``swoop demo``: Spark reads posts as they are written, the top-k and families are shown as they change; a report is left."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live

from swoop.addresses import spark_address
from swoop.cli.compiling import begin_to_compile
from swoop.cli.console import info, results, shown_similarity
from swoop.cli.family_render import FamilyTable
from swoop.cli.family_views import shown_family
from swoop.cli.progress import Steps
from swoop.cli.session import spark_session
from swoop.cli.stream import STOPPING, begin_to_stop, interruptible, quiet_log, serve_page
from swoop.cli.views import picture, short, sides
from swoop.demo.feed import Feed, write_posts
from swoop.demo.waves import Texts, Waves

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from swoop.spark import FamilyHandle, StreamHandle

K = 8
WINDOW = "30 seconds"
LINKED = 0.8  # the similarity from which on posts are of one family
FAMILIES, FAMILY_LINES = 2, 9  # families above the top-k, and lines for them
INTERVAL = 0.5  # seconds between two files of posts
REPORTED = 500  # batches whose changes are in the report


@quiet_log()
def demo(seconds: float | None, port: int | None, report: Path, title: str = "Swoop demo") -> int:
    """Run for some seconds, or until Ctrl-C. Returns the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="swoop-demo-"))
    try:
        with ExitStack() as closing:
            return _demo(seconds, port, report, title, folder, closing)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _demo(seconds: float | None, port: int | None, report: Path, title: str, folder: Path, closing: ExitStack) -> int:
    from swoop.demo.report import load_chart_packages, write_report
    from swoop.results import Changes, FamilyChanges

    info(
        f"Swoop keeps the {K} most similar pairs of posts in the last {WINDOW} of a stream, and waves of near copies, exactly."
    )
    steps = closing.enter_context(Steps())
    steps.step("starting Spark")
    finish_compiling = begin_to_compile(None, in_driver=True, pairs=True, families=True)
    spark = closing.enter_context(spark_session(None))
    finish_compiling(steps)
    threading.Thread(target=load_chart_packages, name="swoop demo drawing", daemon=True).start()
    stopped = closing.enter_context(interruptible())  # after Spark, which installs its own handler for Ctrl-C
    page = closing.enter_context(serve_page(port, title, origin="simulated posts"))
    feeds = Feeds([page.board.take_changes] if page else [])
    shown = Shown(*_start(spark, folder, feeds), Waves(), Texts())
    if page is not None:
        page.show(shown.pairs)
        page.show(shown.families)
    steps.step("reading the first posts")
    feeder = Feeder(folder / "posts")
    _await_first_batch(shown, stopped)
    steps.stop()
    feeder.start()
    started = time.monotonic()
    _watch(shown, started, seconds, stopped)
    elapsed = time.monotonic() - started
    feeder.stop()
    for handle in (shown.pairs, shown.families):
        if handle.failure is not None:
            raise handle.failure
    results().print(shown.picture(results(), shown.pairs.stats.rows / elapsed))
    told = summary(shown.pairs.stats, shown.waves, elapsed)
    results().print("\n" + told)
    pairs = [(pair, *shown.pairs.texts(pair)) for pair in shown.pairs.topk()]
    stopping = [begin_to_stop(handle, spark) for handle in (shown.pairs, shown.families)]
    changes, family_changes = Changes.joined(feeds.pairs), FamilyChanges.joined(feeds.families)
    write_report(report, told, shown.waves.largest(), pairs, changes, family_changes, shown.texts.of)
    for thread in stopping:
        thread.join(STOPPING)
    info(f"report: {report.resolve()}")
    return 0


class Feeds:
    """Changes of the last batches, for the report."""

    def __init__(self, others: list[Any]) -> None:
        self._others = others
        self.pairs: list[Any] = []
        self.families: list[Any] = []

    def to(self, batches: list[Any]) -> list[Any]:
        """Where the changes of a stream go."""

        def collect(changes: Any, batch: int) -> None:
            batches.append(changes)
            del batches[:-REPORTED]

        return [collect, *self._others]


def _start(spark: SparkSession, folder: Path, feeds: Feeds) -> tuple[StreamHandle, FamilyHandle]:
    from swoop.spark import families_stream, timestamps, topk_stream, words

    (folder / "posts").mkdir()
    posts = spark.readStream.schema("id long, time string, author string, text string").json(spark_address(folder / "posts"))
    posts = posts.withColumn("time", timestamps("time"))
    columns: dict[str, Any] = {"tokens": words("text"), "text": "text", "lateness": "2 seconds"}
    topk = topk_stream(posts, K, WINDOW, copies="once", algorithm="swoop-minimal", **columns)
    families = families_stream(posts, LINKED, WINDOW, **columns)
    trigger = "500 milliseconds"
    return (
        topk.start(folder / "pairs", changes=feeds.to(feeds.pairs), trigger=trigger, name="demo"),
        families.start(folder / "families", changes=feeds.to(feeds.families), trigger=trigger, name="demo families"),
    )


@dataclass(frozen=True)
class Shown:
    """What is shown: the top-k, families, and what was seen of these."""

    pairs: StreamHandle
    families: FamilyHandle
    waves: Waves
    texts: Texts

    def picture(self, console: Console, rate: float) -> Group:
        """The largest families above the top-k."""
        largest = [shown_family(family, self.families) for family in self.families.families(FAMILIES)]
        lines = FAMILY_LINES if console.is_terminal else None
        return Group(FamilyTable(largest, lines), "", picture(self.pairs, console, rate, "jaccard", FAMILY_LINES + 1))


class Feeder:
    """Writes the first posts into a folder; from its start on, more of them in real time, until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._feed, self._written = folder, Feed(dt.datetime.now(dt.UTC)), 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swoop demo feed", daemon=True)
        self._write()

    def start(self) -> None:
        """Let more posts come."""
        self._thread.start()

    def _write(self) -> None:
        number = self._written
        write_posts(self._folder, number, self._feed.between(number * INTERVAL, (number + 1) * INTERVAL))
        self._written += 1

    def _work(self) -> None:
        started = time.monotonic()
        while not self._over.wait(max(0.0, started + self._written * INTERVAL - time.monotonic())):
            self._write()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def _await_first_batch(shown: Shown, stopped: list[int]) -> None:
    """Wait until both streams have read something: on a busy machine, Spark takes its time for that."""
    handles = (shown.pairs, shown.families)
    while not stopped and all(handle.is_active for handle in handles) and any(handle.stats.batch < 0 for handle in handles):
        time.sleep(0.05)


def _watch(shown: Shown, started: float, seconds: float | None, stopped: list[int]) -> None:
    """Show families and the top-k until the time is up, a stream ends, or Ctrl-C."""
    console, pairs, families = results(), shown.pairs, shown.families

    def keep_going(pause: float) -> bool:
        time.sleep(pause)
        shown.waves.look(families)
        shown.texts.look(pairs, families)
        is_active = pairs.is_active and families.is_active
        return is_active and not stopped and (seconds is None or time.monotonic() < started + seconds)

    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while keep_going(0.25):
                live.update(shown.picture(console, _rate(pairs, started)), refresh=True)
        return
    next_line = started
    while keep_going(0.25):
        if time.monotonic() >= next_line and len(pairs.topk()):
            next_line = time.monotonic() + 5
            stats = pairs.stats
            console.print(
                f"{time.monotonic() - started:3.0f} s  {stats.rows:,} posts ({_rate(pairs, started):,.0f}/s), "
                f"{stats.window_size:,} in the window, {stats.late:,} late, {stats.rejected:,} rejected",
                soft_wrap=True,
            )
            for family in families.families(1):
                found = shown_family(family, families)
                text = short(found.contents[0][0].text) if found.contents else ""
                console.print(f"       {family.size:,} posts, {found.what}, {found.when}: {text}", soft_wrap=True)
            for pair in pairs.topk()[:2]:
                newer, older = (short(side.text) for side in sides(pair, pairs))
                console.print(f"       {shown_similarity(pair.similarity, 'jaccard')}  {newer} ~ {older}", soft_wrap=True)


def _rate(handle: StreamHandle, started: float) -> float:
    return handle.stats.rows / max(time.monotonic() - started, 1e-9)


def summary(stats: Any, waves: Waves, seconds: float) -> str:
    """What happened, in a paragraph."""
    largest = next(iter(waves.largest(1)), None)
    wave = "" if largest is None else f"The largest wave of near copies had {largest.family.size:,} posts in the window. "
    return (
        f"In {seconds:.0f} seconds {stats.rows:,} posts arrived, {stats.rows / max(seconds, 1e-9):,.0f} per second. "
        f"{stats.late:,} were too late and {stats.rejected:,} were unusable; they were counted and written to a folder. {wave}"
        f"The top {K} changed {stats.changes:,} times. The last window held {stats.window_size:,} posts; the last batch, of "
        f"{stats.batch_rows:,} posts, took {stats.batch_seconds:.2f} seconds from arrival to results."
    )
