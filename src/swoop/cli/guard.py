"""Exit codes: 0 for success, 1 for a failure, 2 for wrong usage, 130 after Ctrl-C."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote

import typer

from swoop.cli.console import info
from swoop.errors import InvalidArgument, InvalidType, SwoopError
from swoop.installing import how_to_install
from swoop.look import RED

Command = TypeVar("Command", bound=Callable[..., Any])

FAILURE, WRONG_USAGE, INTERRUPTED = 1, 2, 130


class WrongUsage(InvalidArgument):
    """The arguments of a command are wrong."""


def guarded(command: Command) -> Command:
    """Turn expected errors into one clear message; SWOOP_DEBUG=1 shows their tracebacks."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            code = command(*arguments, **options)
        except KeyboardInterrupt:
            info("stopped")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if _is_interrupt(error):
                info("stopped")
                raise typer.Exit(INTERRUPTED) from None
            message = _message_for(error)
            if message is None or os.environ.get("SWOOP_DEBUG"):
                raise
            info(f"swoop: {message}", style=RED)
            raise typer.Exit(WRONG_USAGE if isinstance(error, InvalidArgument | InvalidType) else FAILURE) from None
        if code:
            raise typer.Exit(code)

    return run  # type: ignore[return-value]


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is the cause: pressed during a call to Java, it makes the call fail."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _message_for(error: Exception) -> str | None:
    """The message for an expected error; None for any other."""
    if isinstance(error, SwoopError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is missing; install it with: {how_to_install('all')}"
    if isinstance(error, ImportError):
        return str(error)
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - nothing more can be written
        return "output pipe closed"
    if isinstance(error, OSError):
        return str(error)
    if isinstance(error, UnicodeError | EOFError | RecursionError | OverflowError):
        return f"the input cannot be read: {type(error).__name__}: {_first_lines(str(error))}"
    if type(error).__module__ == "pyarrow.lib":
        return f"Arrow says: {_first_lines(str(error))} (SWOOP_DEBUG=1 shows where)"
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
        return spark_message(str(error))
    return None


READING = re.compile(r"while reading file (\S+?)\.?(?:\s|$)")
CALLING = re.compile(r"An error occurred while calling \S+\.(?:\s*:)?\s*")
CLASSES = re.compile(r"^(?:(?:[\w$]+\.)+[\w$]+: )+")


def spark_message(text: str) -> str:
    """What went wrong in Spark, in one line: without its stack trace, and with the file that it could not read."""
    text = CALLING.sub("", text, count=1)
    if found := READING.search(text):
        causes = [line.strip() for line in text.splitlines() if line.strip().startswith("Caused by: ")]
        why = CLASSES.sub("", causes[-1].removeprefix("Caused by: ")) if causes else "it is damaged"
        return f"{_path(found[1])} cannot be read: {why[:300]}; it is damaged, or something else: get it again, or leave it out"
    return f"Spark says: {CLASSES.sub('', _first_lines(text))} (SWOOP_DEBUG=1 shows all of it)"


def _path(address: str) -> str:
    """A file as people write it: on this machine, without file:."""
    return re.sub(r"^file:/+", "/", unquote(address) if address.startswith("file:") else address)


def _first_lines(text: str) -> str:
    """The message of a Java error, without its stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    kept = [line for line in lines if not line.startswith(("at ", "Caused by: ", "== ", "JVM stacktrace"))][:2]
    return " ".join([*kept, *causes[-1:]])[:600]
