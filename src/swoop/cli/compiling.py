"""Compiling the engine while Spark starts, so that nobody waits for the one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from swoop.cli.progress import Steps

Finish = Callable[[Steps], None]


def begin_to_compile(master: str | None, in_driver: bool, **joins: bool) -> Finish:
    """Compile the engine for these joins in a thread, or load it if this process has it. Returns what waits for that.

    If only processes of Spark's have the engine, they are helped if they are on this machine and nothing is compiled yet.
    """
    from swoop.join.warmup import is_compiled, warm

    if not in_driver and (is_compiled(**joins) or not (master or "local").startswith("local")):
        return lambda steps: None

    def work() -> None:
        with suppress(Exception):  # whoever needs the engine will meet it again, and tell
            warm(**joins)

    thread = threading.Thread(target=work, name="swoop compiling", daemon=True)
    thread.start()

    def finish(steps: Steps) -> None:
        if thread.is_alive():
            steps.step("compiling the engine (only once)")
            thread.join()

    return finish
