"""The session of a command: the active one, or one that ends with the command."""

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
    """A session, stopped at the end only if it was started here."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    from swoop.spark import session

    theirs = SparkSession.getActiveSession()
    if theirs is not None:
        yield theirs
        return
    given = signal.getsignal(signal.SIGINT)
    with quiet_bridge():
        try:
            ours = session(
                master,
                memory=memory,
                spark_ui_showConsoleProgress="false",  # there is a bar already
                spark_sql_legacy_parquet_nanosAsLong="true",  # as pandas writes them
                **settings,
            )
        except PySparkRuntimeError as error:
            packages = settings.get("spark_jars_packages")
            if packages is None or error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise SwoopError(
                f"Spark did not start; if it could not fetch {packages}, see above, give jars with --jars"
            ) from error
        interrupted: list[int] = []
        try:
            with quiet_interrupt(ours, given, interrupted):
                yield ours
        finally:  # tasks in Python run to their end, so whoever wants to go does not wait; Java ends with this process
            stopping = threading.Thread(target=ours.stop, daemon=True)
            stopping.start()
            stopping.join(1.0 if interrupted else None)


@contextmanager
def quiet_interrupt(spark: SparkSession, given: Any, noted: list[int]) -> Iterator[None]:
    """Ctrl-C is noted, and makes Spark fall silent, which would complain of all that is cut off.

    Whoever has ``given`` another way to take it before Spark set its own gets it back.
    """
    if not hasattr(spark, "_jsc") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        noted.append(number)
        cancelling = threading.Thread(target=cancel, daemon=True)  # this thread may be in the middle of a call
        cancelling.start()
        cancelling.join(0.5)
        raise KeyboardInterrupt

    def cancel() -> None:
        spark.sparkContext.setLogLevel("OFF")
        spark.sparkContext.cancelAllJobs()

    before = signal.signal(signal.SIGINT, interrupt if given in (None, signal.default_int_handler) else given)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def quiet_bridge() -> Iterator[None]:
    """When Ctrl-C comes in the middle of a call to Java, the bridge to it logs tracebacks; nobody wants to read them."""

    def keep(record: logging.LogRecord) -> bool:
        return not str(record.msg).endswith("while sending command.")

    root = logging.getLogger()
    root.addFilter(keep)
    try:
        yield
    finally:
        root.removeFilter(keep)
