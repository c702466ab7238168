"""``swoop stream``: the top-k of a live stream, or its families."""

from __future__ import annotations

import logging
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from swoop.addresses import spark_address
from swoop.cli.alerting import checked_alert, summarise_alerts
from swoop.cli.avro import Avro
from swoop.cli.compiling import begin_to_compile
from swoop.cli.console import hidden, info
from swoop.cli.family_views import find_family_view
from swoop.cli.guard import FAILURE, INTERRUPTED, WrongUsage
from swoop.cli.history import EQUAL_LEFT_OUT, check_unequal, kernels_for
from swoop.cli.progress import Steps, tasks_of
from swoop.cli.session import spark_session
from swoop.cli.sources import FolderSource, TopicSource, is_topic, settings_for
from swoop.cli.standard_input import STANDARD_INPUT, Pipe
from swoop.cli.unequal import WithoutEqual, unequal
from swoop.cli.views import View, find_view
from swoop.cli.where import HINTS, tell, tell_most_unusable
from swoop.look import ORANGE, RED
from swoop.reading.sets import Reading, ReadingOptions, decide
from swoop.reasons import Reasons
from swoop.spec import FamilySpec, JoinSpec
from swoop.times import MICROSECOND, WindowSpec, find_lateness, find_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from swoop.dashboard import Page
    from swoop.live.alerts import AlertSettings
    from swoop.spark import FamilyHandle, FamilyStream, StreamHandle, TopKStream

    Handle = StreamHandle | FamilyHandle

MAX_AHEAD, OFF = "7 days", "off"
COUNTED = ("rows", "late", "rejected", "changes")
STOPPING = 1.2  # seconds to wait for a batch after Ctrl-C; the next run finishes it


@dataclass(frozen=True)
class StreamOptions:
    """The options of ``swoop stream``: source, outputs, execution."""

    source: str
    format: str | None = None
    schema: str | None = None
    encoding: str | None = None
    separator: str | None = None
    starting_offsets: str = "earliest"
    checkpoint: str | None = None
    changes: str | None = None
    late: str | None = None
    rejected: str | None = None
    alert: AlertSettings | None = None
    kafka: dict[str, str] = field(default_factory=dict)
    avro: Avro | None = None
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
    equal: bool = True
    serve: int | None = None
    title: str | None = None
    host: str = "127.0.0.1"
    token: str | None = None
    jars: str | None = None
    cells: int = 1
    master: str | None = None
    memory: str = "2g"

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.once and self.trigger:
            raise WrongUsage("--once and --trigger are mutually exclusive")
        if not self.flush and not self.once:
            raise WrongUsage("--no-flush requires --once")
        if self.batch_size is not None:
            self._check_batch_size(self.batch_size)

    def find_source(self, pipe: Pipe | None) -> FolderSource | TopicSource:
        """The source, checked."""
        if is_topic(self.source):
            return TopicSource.find(self.source, self.starting_offsets, self.schema, self.kafka, self.avro)
        if self.avro is not None:
            raise WrongUsage("--avro-schema is for a source that is a topic: kafka://host:port/topic")
        where = (self.source, self.format) if pipe is None else (pipe.folder, pipe.format)
        return FolderSource.find(*where, self.schema, self.encoding, self.separator)

    def find_max_ahead(self, window: WindowSpec) -> Any:
        """How far rows may be ahead. The default is longer than most silences; for integer times there is none."""
        if self.max_ahead == OFF or (self.max_ahead is None and window.kind != "duration"):
            return None
        if self.max_ahead is None:
            return max(find_window(MAX_AHEAD).duration, window.duration) * MICROSECOND
        find_lateness(self.max_ahead, window, "max_ahead")
        return self.max_ahead

    def outputs(self) -> dict[str, Any]:
        """Where changes, late and rejected rows are written, as far as given."""
        from swoop.spark import folder, topic

        targets = {"changes": self.changes, "late": self.late, "rejected": self.rejected}
        folder_options = {"target_size": self.target_size, "final_after": self.final_after, "retention": self.retention}
        found: dict[str, Any] = {}
        for name, target in targets.items():
            if target is None:
                found[name] = None
            else:
                found[name] = topic(target, self.kafka) if is_topic(target) else folder(spark_address(target), **folder_options)  # type: ignore[arg-type]
        return found

    def _check_batch_size(self, size: str) -> None:
        from swoop.live.manifest import find_size

        if not is_topic(self.source):
            find_size(size)
        elif not size.isdecimal() or int(size) == 0:
            raise WrongUsage(f"for a topic, --batch-size must be a number of messages, not {size!r}")


@contextmanager
def quiet_log() -> Iterator[None]:
    """Late and rejected rows are shown already, and so is a failure; only other errors are logged while a command runs."""
    logs = [logging.getLogger(name) for name in ("swoop.live", "swoop.spark")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.ERROR)
        log.addFilter(_is_not_shown)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.removeFilter(_is_not_shown)
            log.setLevel(level)


def _is_not_shown(record: logging.LogRecord) -> bool:
    record.msg, record.args = hidden(record.getMessage()), None
    return not getattr(record, "ends_stream", False)


@quiet_log()
def stream(
    options: StreamOptions,
    reading_options: ReadingOptions,
    join: JoinSpec | FamilySpec,
    as_json: bool = False,
) -> int:
    """Show the top-k, or families, until the stream ends or Ctrl-C. Returns the exit code."""
    options.check()
    measure, window = join.similarity.name, join.window
    if not options.equal:
        check_unequal(measure)
    alert = checked_alert(options.alert, join.similarity, options.equal)
    lateness = options.lateness if options.lateness is not None else "10 seconds" if window.kind == "duration" else 0
    find_lateness(lateness, window)
    max_ahead = options.find_max_ahead(window)
    outputs = options.outputs()
    topics = [address for address in (options.source, options.changes, options.late, options.rejected) if is_topic(address)]
    if options.kafka and not topics:
        raise WrongUsage("--kafka-option and --kafka-options are for topics, and there is none: kafka://host:port/topic")
    settings = settings_for(topics, options.jars, options.avro is not None)
    with ExitStack() as closing:
        pipe = _open_pipe(options, closing)
        source = options.find_source(pipe)
        title = "swoop stream" if options.title is None else options.title
        origin = "standard input" if pipe is not None else options.source
        page = closing.enter_context(serve_page(options.serve, title, options.host, options.token, origin))
        steps = closing.enter_context(Steps())
        steps.step("starting Spark")
        finish_compiling = begin_to_compile(options.master, options.cells == 1, **kernels_for(join))
        spark = closing.enter_context(spark_session(options.master, options.memory, **settings))
        from swoop.spark.reading import prepare, read_files

        steps.step("reading the input", tasks_of(spark))
        rows, sample, files = source.rows(spark, options.batch_size, options.cells)
        reading = decide(reading_options, sample, window, files=files)
        tell(files, reading)
        finish_compiling(steps)
        steps.step("starting the stream")
        timing = {"lateness": lateness, "max_ahead": max_ahead, "cells": options.cells}
        whole = options.rejected is not None
        prepared = _prepared(prepare(rows, reading, whole=whole), reading, join, timing)
        if isinstance(source, FolderSource):
            schema = sample.schema
            prepared = replace(
                prepared,
                _read_again=lambda spark, names: prepare(read_files(spark, files, schema, names), reading, whole=whole),
            )
        if options.cells == 1:  # those of a cluster are on other machines
            prepared = replace(prepared, _here=True)
        place = options.checkpoint
        if pipe is not None and place is None:
            place = closing.enter_context(tempfile.TemporaryDirectory(prefix="swoop-checkpoint-"))
        checkpoint = None if place is None else spark_address(place)

        def start(once: bool) -> Handle:
            handle = prepared.start(
                checkpoint,
                changes=[
                    "memory",
                    *([outputs["changes"]] if options.changes else []),
                    *([alert] if alert else []),
                    *([take_changes] if page else []),
                ],
                late=outputs["late"],
                rejected=outputs["rejected"],
                trigger=None if once else options.trigger,
                available_now=once,
                flush=options.flush,
                idle=None if once and pipe is not None else options.idle,
            )
            shown: Any = handle if options.equal else WithoutEqual(handle, measure)
            if page is not None:
                page.show(shown)
            return shown  # type: ignore[no-any-return]

        def take_changes(changes: Any, batch: int) -> None:
            assert page is not None
            page.board.take_changes(changes if options.equal else unequal(changes, measure), batch)

        if pipe is not None and options.once:
            pipe.ended.wait()
        handle = start(options.once)
        steps.stop()
        view = find_family_view(as_json) if isinstance(join, FamilySpec) else find_view(as_json, measure)
        code = _watch(handle, view, spark, pipe, start, options.checkpoint is not None)
        if not options.equal and isinstance(join, JoinSpec) and join.k is not None and join.copies == "each":
            info(EQUAL_LEFT_OUT.format(k=join.k))
        return code


def _prepared(
    rows: DataFrame, reading: Reading, join: JoinSpec | FamilySpec, timing: dict[str, Any]
) -> TopKStream | FamilyStream:
    """The stream, to be started."""
    from swoop.spark import families_stream, topk_stream

    columns: dict[str, Any] = {
        "tokens": reading.tokens,
        "text": "text",
        "reason": "reason",
        "keep": reading.columns.keep,
    }
    if isinstance(join, FamilySpec):
        if reading.stream is not None:
            raise WrongUsage("families are of one stream; leave out --stream")
        return families_stream(rows, join.min_similarity, join.window, join.similarity, **columns, **timing)
    return topk_stream(
        rows,
        join.k,
        join.window,
        join.similarity,
        stream=reading.stream,
        min_similarity=join.min_similarity,
        copies=join.copies,
        **columns,
        **timing,
    )


def _open_pipe(options: StreamOptions, closing: ExitStack) -> Pipe | None:
    if options.source != STANDARD_INPUT:
        return None
    pipe = Pipe(options.format, options.encoding, options.separator)
    closing.callback(pipe.close)
    return pipe


def _watch(
    handle: Handle,
    view: View,
    spark: SparkSession,
    pipe: Pipe | None,
    start: Callable[[bool], Handle],
    kept: bool,
) -> int:
    """Show changes until the stream ends or is stopped. ``kept`` is whether another run can go on from the checkpoint."""
    before, began, warned, reasons = handle.stats, time.monotonic(), False, Reasons()

    def rate() -> float:
        return (handle.stats.rows - before.rows) / max(time.monotonic() - began, 1e-9)

    with interruptible() as stopped, stop_on_failure(lambda: handle, spark), view:
        while handle.is_active and not stopped:
            _show_changes(handle, view)
            view.show_progress(handle, rate())
            warned = warned or _warn_if_nothing_is_usable(handle)
            if (
                pipe is not None
                and pipe.ended.is_set()
                and handle.query.isActive
                and not handle.query.status["isDataAvailable"]
            ):
                handle.query.processAllAvailable()
                handle.stop()
                _show_changes(handle, view)
                reasons.merge(handle.reasons)
                handle, pipe = start(True), None  # so that the rows that wait enter as well
            time.sleep(0.1)
        if stopped:
            begin_to_stop(handle, spark).join(STOPPING)
        else:
            handle.await_termination()
        _show_changes(handle, view)
        view.show_end(handle)
    if not warned:
        _warn_if_nothing_is_usable(handle)
    reasons.merge(handle.reasons)
    code = _summarise(handle, reasons, before, time.monotonic() - began, view.what, kept)
    return stopped[0] if stopped else code


def _summarise(handle: Handle, reasons: Reasons, before: Any, seconds: float, what: str, kept: bool) -> int:
    """Print the last lines, about this run. Returns the exit code: it is a failure if no row could be used."""
    stats = handle.stats
    rows, late, rejected, changes = (getattr(stats, name) - getattr(before, name) for name in COUNTED)
    info(
        f"{rows:,} rows in {seconds:.1f} s ({rows / max(seconds, 1e-9):,.0f} rows/s), {late:,} late, {rejected:,} rejected, "
        f"{changes:,} changes {what}; {stats.window_size:,} in the window, {stats.held:,} waiting"
    )
    if before.rows:
        info(f"with earlier runs of this checkpoint: {stats.rows:,} rows, {stats.changes:,} changes")
    for line in reasons.lines(HINTS):
        info(f"  rejected {line}", style=ORANGE)
    summarise_alerts(handle, before, kept)
    if rows and reasons.rows >= rows:
        info("swoop: no row could be used; check --id, --time (--time-unit, --time-format) and --text or --tokens", style=RED)
        return FAILURE
    tell_most_unusable(reasons.rows, rows)
    return 0


def _warn_if_nothing_is_usable(handle: Handle) -> bool:
    """Say at once and loudly that all rows so far are rejected."""
    stats = handle.stats
    if not stats.rows or stats.rejected < stats.rows or not handle.reasons.rows:
        return False
    info(f"swoop: all {stats.rows:,} rows so far are rejected:", style=RED)
    for line in handle.reasons.lines(HINTS):
        info(f"  {line}", style=RED)
    return True


def begin_to_stop(handle: Handle, spark: SparkSession) -> threading.Thread:
    """Stop a stream in a thread, so that nobody has to wait for it."""
    spark.sparkContext.setLogLevel("OFF")  # Spark would log everything that is interrupted

    def stop() -> None:
        with suppress(Exception):  # whoever did not want to wait has stopped Spark meanwhile
            handle.stop()

    stopping = threading.Thread(target=stop, name="swoop stop", daemon=True)
    stopping.start()
    return stopping


@contextmanager
def stop_on_failure(handle: Callable[[], Handle], spark: SparkSession) -> Iterator[None]:
    """Whatever happens, such as a closed output pipe, stop the stream before Spark."""
    try:
        yield
    except BaseException:
        begin_to_stop(handle(), spark).join(STOPPING)
        raise


def _show_changes(handle: Handle, view: View) -> None:
    view.show_changes(handle.changes(), handle)


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM as exit codes in the yielded list; a second one stops at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def receive(number: int, frame: object) -> None:
        received.append(INTERRUPTED if number == signal.SIGINT else 128 + number)
        if len(received) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def serve_page(
    port: int | None, title: str, host: str = "127.0.0.1", token: str | None = None, origin: str | None = None
) -> Iterator[Page | None]:
    """The live page, for as long as the stream runs."""
    if port is None:
        yield None
        return
    from swoop.dashboard import serve

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        page = serve(port=port, title=title, host=host, token=token, origin=origin)
    with page:
        for warning in warned:
            info(f"warning: {warning.message}", style=ORANGE)
        info(f"live page: {page.url}")
        yield page
