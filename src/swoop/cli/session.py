"""The Spark session of a command: the active one, or one that stops with the command."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from swoop.errors import SwoopError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    with quiet_bridge():
        try:
            own = session(
                master,
                memory=memory,
                spark_ui_showConsoleProgress="false",  # we show our own
                spark_sql_legacy_parquet_nanosAsLong="true",  # as pandas writes them
                spark_sql_caseSensitive="true",  # names of columns may differ in case only
                **settings,
            )
        except PySparkRuntimeError as error:
            packages = settings.get("spark_jars_packages")
            if packages is None or error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise SwoopError(
                f"Spark did not start. If it could not download {packages} (see above), pass the jars with --jars"
            ) from error
        interrupted: list[int] = []
        try:
            with quiet_interrupt(own, handler, interrupted):
                yield own
        finally:  # after Ctrl-C, do not wait for Python tasks; Java ends with this process
            stopping = threading.Thread(target=own.stop, daemon=True)
            stopping.start()
            stopping.join(1.0 if interrupted else None)


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
