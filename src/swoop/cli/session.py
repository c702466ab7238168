"""The Spark session of a command: the active one, or one that stops with the command."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, TYPE_CHECKING, Any

from swoop.errors import SwoopError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MOST_LINES = 10_000  # lines of Java's that are held back
ENDING = 5.0  # seconds to wait for the last of them


@contextmanager
def spark_session(master: str | None, memory: str = "2g", **settings: Any) -> Iterator[SparkSession]:
    """A session; stopped at the end only if it was started here."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    from swoop.spark import session

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    handler = signal.getsignal(signal.SIGINT)
    packages = settings.get("spark_jars_packages")
    with quiet_bridge():
        try:
            holding: AbstractContextManager[list[str]] = nullcontext([]) if packages is None else held_back()
            with holding as output:
                own = session(
                    master,
                    memory=memory,
                    spark_ui_showConsoleProgress="false",  # we show our own
                    spark_sql_legacy_parquet_nanosAsLong="true",  # as pandas writes them
                    spark_sql_caseSensitive="true",  # names of columns may differ in case only
                    **settings,
                )
        except PySparkRuntimeError as error:
            if packages is None or error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise SwoopError(
                f"Spark did not start, because {packages} could not be downloaded: {why_not(output)}. Check the connection to "
                "the repository of packages, or get the jars and pass them with --jars"
            ) from error
        quiet_failures(own)
        interrupted: list[int] = []
        try:
            with quiet_interrupt(own, handler, interrupted):
                yield own
        finally:  # after Ctrl-C, do not wait for Python tasks; Java ends with this process
            stopping = threading.Thread(target=own.stop, daemon=True)
            stopping.start()
            stopping.join(1.0 if interrupted else None)


@contextmanager
def held_back() -> Iterator[list[str]]:
    """What Java says while it starts, which is much if it downloads something; afterwards it is passed on."""
    from pyspark import java_gateway as found

    java_gateway: Any = found
    real = java_gateway.Popen
    output: list[str] = []
    started, pumps = threading.Event(), list[threading.Thread]()

    def pump(lines: IO[bytes]) -> None:
        for line in lines:
            if started.is_set() or os.environ.get("SWOOP_DEBUG"):
                sys.stderr.write(line.decode(errors="replace"))
            elif len(output) < MOST_LINES:
                output.append(line.decode(errors="replace").strip())

    def launch(command: list[str], **options: Any) -> Any:
        process = real(command, stderr=subprocess.PIPE, **options)
        pumps.append(threading.Thread(target=pump, args=(process.stderr,), name="swoop Java", daemon=True))
        pumps[-1].start()
        return process

    java_gateway.Popen = launch
    try:
        yield output
    except BaseException:
        for thread in pumps:
            thread.join(ENDING)
        raise
    finally:
        java_gateway.Popen = real
        started.set()


def why_not(output: list[str]) -> str:
    """Why Java has not started, from what it said.

    >>> why_not([":: loading", 'Exception in "main" java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]'])
    'unresolved dependency: a#b;1: not found'
    """
    found = [
        match[1] for line in output if (match := re.search(r"\[?((?:unresolved dependency|download failed): [^\]]*)", line))
    ]
    return (found or [line for line in output if "Exception" in line or "rror" in line] or ["it did not say why"])[-1]


LOGGERS = ("executor.Executor", "scheduler.TaskSetManager", "sql.execution.streaming", "util.Utils")
"""Of Spark: who logs the stack trace of a task or a batch that failed."""


def quiet_failures(spark: SparkSession) -> None:
    """Let Spark log no stack traces of what fails, which a command tells in one line; with SWOOP_DEBUG=1 it does."""
    jvm: Any = getattr(spark, "_jvm", None)  # Spark Connect has its Java elsewhere
    if jvm is not None and not os.environ.get("SWOOP_DEBUG"):
        log4j = jvm.org.apache.logging.log4j
        for name in LOGGERS:
            log4j.core.config.Configurator.setLevel(f"org.apache.spark.{name}", log4j.Level.OFF)


@contextmanager
def quiet_interrupt(spark: SparkSession, previous: Any, received: list[int]) -> Iterator[None]:
    """On Ctrl-C, record it, silence Spark, which would log everything that is cut off, and cancel its jobs.

    A handler that was installed before Spark set its own (``previous``) is restored instead.
    """
    if not hasattr(spark, "_jsc") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        cancelling = threading.Thread(target=cancel, daemon=True)  # this thread may be inside a call to Java
        cancelling.start()
        cancelling.join(0.5)
        raise KeyboardInterrupt

    def cancel() -> None:
        spark.sparkContext.setLogLevel("OFF")
        spark.sparkContext.cancelAllJobs()

    before = signal.signal(signal.SIGINT, interrupt if previous in (None, signal.default_int_handler) else previous)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def quiet_bridge() -> Iterator[None]:
    """Suppress the tracebacks that the bridge to Java logs when Ctrl-C interrupts a call."""

    def keep(record: logging.LogRecord) -> bool:
        return not str(record.msg).endswith("while sending command.")

    root = logging.getLogger()
    root.addFilter(keep)
    try:
        yield
    finally:
        root.removeFilter(keep)
