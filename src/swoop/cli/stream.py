"""``swoop stream``: the top-k of a live stream."""

from __future__ import annotations

import logging
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swoop.cli.console import ORANGE, say
from swoop.cli.guard import INTERRUPTED, WrongUsage
from swoop.cli.progress import Steps
from swoop.cli.run import Question
from swoop.cli.session import spark_session
from swoop.cli.sets import Reading, learn, prepare
from swoop.cli.streams import FolderStream, TopicStream, is_topic, settings_for
from swoop.cli.views import View, find_view
from swoop.times import MICROSECOND, WindowSpec, find_lateness, find_window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from swoop.dashboard import Page
    from swoop.spark import StreamHandle

AHEAD, OFF = "7 days", "off"
STOPPING = 1.2  # seconds that a batch is waited for after Ctrl-C; what it did not do is done by the next run


@dataclass(frozen=True)
class Setting:
    """Where a stream comes from and goes to, and how it runs."""

    source: str
    format: str | None = None
    schema: str | None = None
    begin: str = "earliest"
    checkpoint: str | None = None
    changes: str | None = None
    late: str | None = None
    rejected: str | None = None
    target_size: str = "64 MB"
    final_after: str | None = None
    retention: str | None = None
    lateness: Any = None
    max_ahead: Any = None
    trigger: str | None = None
    batch_size: str | None = None
    idle: str | None = None
    once: bool = False
    flush: bool = True
    serve: int | None = None
    host: str = "127.0.0.1"
    token: str | None = None
    jars: str | None = None
    cells: int = 1
    master: str | None = None
    memory: str = "2g"

    def find(self) -> FolderStream | TopicStream:
        """The source, if it is one."""
        if self.once and self.trigger:
            raise WrongUsage("--once and --trigger exclude each other; give one of them")
        if not self.flush and not self.once:
            raise WrongUsage("--no-flush is about the end of a run with --once; give both, or neither")
        if self.batch_size is not None:
            self._check_batch_size(self.batch_size)
        if is_topic(self.source):
            return TopicStream.find(self.source, self.begin)
        return FolderStream.find(self.source, self.format, self.schema)

    def find_max_ahead(self, window: WindowSpec) -> Any:
        """How far rows may be ahead. By default longer than most streams are silent; integers have no such measure."""
        if self.max_ahead == OFF or (self.max_ahead is None and window.kind != "duration"):
            return None
        if self.max_ahead is None:
            return max(find_window(AHEAD).duration, window.duration) * MICROSECOND
        find_lateness(self.max_ahead, window, "max_ahead")
        return self.max_ahead

    def outputs(self) -> dict[str, Any]:
        """Where changes, late and rejected rows go, if that was said."""
        from swoop.spark import folder

        found = {"changes": self.changes, "late": self.late, "rejected": self.rejected}
        how = {"target_size": self.target_size, "final_after": self.final_after, "retention": self.retention}
        return {holds: to if to is None or is_topic(to) else folder(to, **how) for holds, to in found.items()}  # type: ignore[arg-type]

    def _check_batch_size(self, size: str) -> None:
        from swoop.live.manifest import find_size

        if not is_topic(self.source):
            find_size(size)
        elif not size.isdecimal() or int(size) == 0:
            raise WrongUsage(f"--batch-size of a topic must be a number of messages, not {size!r}")


def stream(setting: Setting, reading: Reading, question: Question, as_json: bool = False) -> int:
    """Run until the stream ends or Ctrl-C. Returns the exit code."""
    logging.getLogger("swoop.spark").setLevel(logging.ERROR)  # late and rejected rows are shown anyway
    question.check()
    window = find_window(question.window)
    lateness = setting.lateness if setting.lateness is not None else "10 seconds" if window.kind == "duration" else 0
    find_lateness(lateness, window)
    max_ahead = setting.find_max_ahead(window)
    outputs = setting.outputs()
    source = setting.find()
    settings = settings_for([setting.source, setting.changes, setting.late, setting.rejected], setting.jars)
    with served(setting.serve, "swoop stream", setting.host, setting.token) as page, Steps() as steps:
        steps.step("starting Spark")
        with spark_session(setting.master, setting.memory, **settings) as spark:
            from swoop.spark import topk_stream

            steps.step("looking at the input", spark)
            sample = source.sample(spark, setting.schema)
            learned = learn(sample, reading, window)
            sets = prepare(source.rows(spark, sample, setting.batch_size), learned, window)
            steps.step("starting the stream")
            handle = topk_stream(
                sets,
                question.k,
                question.window,
                question.similarity,
                text="text",
                stream="stream" if reading.columns.stream else None,
                min_similarity=question.min_similarity,
                lateness=lateness,
                max_ahead=max_ahead,
                cells=setting.cells,
            ).start(
                setting.checkpoint,
                changes=[
                    "memory",
                    *([outputs["changes"]] if setting.changes else []),
                    *([page.board.take_changes] if page else []),
                ],
                late=outputs["late"],
                rejected=outputs["rejected"],
                trigger=setting.trigger,
                available_now=setting.once,
                flush=setting.flush,
                idle=setting.idle,
            )
            if page is not None:
                page.show(handle)
            steps.stop()
            return _watch(handle, find_view(as_json, question.similarity), spark)


def _watch(handle: StreamHandle, view: View, spark: SparkSession) -> int:
    """Show what happens until the stream is over or somebody stops it."""
    before, began = handle.stats.rows, time.monotonic()

    def rate() -> float:
        return (handle.stats.rows - before) / max(time.monotonic() - began, 1e-9)

    with interruptible() as stopped, stopping_after_failure(handle, spark), view:
        while handle.is_active and not stopped:
            _show_changes(handle, view)
            view.moved(handle, rate())
            time.sleep(0.1)
        if stopped:
            begin_to_stop(handle, spark).join(STOPPING)
        else:
            handle.await_termination()
        _show_changes(handle, view)
        view.ended(handle, rate())
    stats, seconds = handle.stats, time.monotonic() - began
    say(
        f"{stats.rows - before:,} rows in {seconds:.1f} s ({rate():,.0f} rows/s), {stats.late:,} late, "
        f"{stats.rejected:,} rejected, {stats.changes:,} changes of the top-k"
    )
    return stopped[0] if stopped else 0


def begin_to_stop(handle: StreamHandle, spark: SparkSession) -> threading.Thread:
    """Stop a stream in a thread, which need not be waited for to its end."""
    spark.sparkContext.setLogLevel("OFF")  # Spark complains of what is interrupted
    stopping = threading.Thread(target=handle.stop, name="swoop stop", daemon=True)
    stopping.start()
    return stopping


@contextmanager
def stopping_after_failure(handle: StreamHandle, spark: SparkSession) -> Iterator[None]:
    """Whatever happens, such as a pipe that nobody reads any more, the stream ends before Spark does."""
    try:
        yield
    except BaseException:
        begin_to_stop(handle, spark).join(STOPPING)
        raise


def _show_changes(handle: StreamHandle, view: View) -> None:
    for change in handle.changes():
        view.changed(change, handle)


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Ctrl-C and a request to end are noted, as exit codes, in the list that this gives; a second one ends at once."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, frame: object) -> None:
        noted.append(INTERRUPTED if number == signal.SIGINT else 128 + number)
        if len(noted) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def served(port: int | None, title: str, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Page | None]:
    """The live page, as long as the stream runs."""
    if port is None:
        yield None
        return
    from swoop.dashboard import serve

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        page = serve(port=port, title=title, host=host, token=token)
    with page:
        for warning in warned:
            say(f"warning: {warning.message}", style=ORANGE)
        say(f"the live page: {page.url}")
        yield page
