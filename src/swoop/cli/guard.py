"""How commands end: 0 when all is well, 1 after a failure, 2 after wrong usage, 130 after Ctrl-C."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from swoop.cli.console import RED, say
from swoop.errors import InvalidArgument, InvalidType, SwoopError

Command = TypeVar("Command", bound=Callable[..., Any])

FAILURE, WRONG_USAGE, INTERRUPTED = 1, 2, 130


class WrongUsage(InvalidArgument):
    """The arguments of the command cannot be meant like that."""


def guarded(command: Command) -> Command:
    """Turn errors into one clear message. With SWOOP_DEBUG=1 they come with their traceback."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            code = command(*arguments, **options)
        except KeyboardInterrupt:
            say("stopped")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if _in_interrupt(error):
                say("stopped")
                raise typer.Exit(INTERRUPTED) from None
            message = _explained(error)
            if message is None or os.environ.get("SWOOP_DEBUG"):
                raise
            say(f"swoop: {message}", style=RED)
            raise typer.Exit(WRONG_USAGE if isinstance(error, InvalidArgument | InvalidType) else FAILURE) from None
        if code:
            raise typer.Exit(code)

    return run  # type: ignore[return-value]


def _in_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: where it comes in the middle of a call to Java, the call fails."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _explained(error: Exception) -> str | None:
    """What to tell of an error; None if it is none that is expected."""
    if isinstance(error, SwoopError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is missing; install it with: pip install 'swoop-join[all]'"
    if isinstance(error, ImportError):
        return str(error)
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - whoever read the results has gone
        return "the results could not be written: whoever read them has gone"
    if isinstance(error, OSError):
        return str(error)
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
        return f"Spark says: {_first_lines(str(error))} (all of it with SWOOP_DEBUG=1)"
    return None


def _first_lines(text: str) -> str:
    """What an error of Java's is about, without its stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    kept = [line for line in lines if not line.startswith(("at ", "Caused by: ", "== ", "JVM stacktrace"))][:2]
    return " ".join([*kept, *causes[-1:]])[:600]
