"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from functools import cache
from typing import Any

from rich.console import Console

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def results(width: int | None = None) -> Console:
    """For results."""
    return Console(highlight=False, markup=False, emoji=False, width=width)


@cache
def messages() -> Console:
    """For everything else: what was guessed, how far it is, what went wrong."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def say(text: str, style: str | None = None) -> None:
    """One message, as one line, however long it is."""
    messages().print(printable(text), style=style, soft_wrap=True)


def has_colour(console: Console) -> bool:
    """Whether colours come out; otherwise marks must do."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def printable(text: str) -> str:
    """Texts from data without what would move the cursor, change colours or turn the direction of writing."""
    return CONTROL.sub(" ", text)


def shown_name(value: Any) -> str:
    """An id or a token: bytes in hexadecimal digits, everything else as printable text."""
    return value.hex() if isinstance(value, bytes | bytearray) else printable(str(value))


def print_json(value: Any, indent: int | None = None) -> None:
    """One JSON value for scripts."""
    sys.stdout.write(json.dumps(value, default=in_json, ensure_ascii=False, indent=indent) + "\n")
    sys.stdout.flush()


def in_json(value: Any) -> Any:
    """What JSON has no type for."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)


def shown_time(time: Any) -> str:
    """A time for people: whole days as days, and no fractions of a second that are zero."""
    if not isinstance(time, dt.datetime):
        return str(time)
    naive: dt.datetime = time.replace(tzinfo=None)
    if naive.time() == dt.time():
        return naive.date().isoformat()
    return naive.isoformat(" ", "seconds" if naive.microsecond < 1000 else "milliseconds")


def shown_span(begin: Any, end: Any) -> str:
    """From a time to another, or to the end of the history; a day is named once."""
    if end is None:
        return f"{shown_time(begin)} to the end"
    first, last = shown_time(begin), shown_time(end)
    if " " in first and first.split()[0] == last.split()[0]:
        last = last.partition(" ")[2] or last
    return f"{first} to {last}"


def shown_similarity(similarity: float, measure: str) -> str:
    """Three digits; distances and overlaps are whole numbers."""
    return f"{similarity:.0f}" if measure in ("overlap", "hamming") else f"{similarity:.3f}"
