"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import codecs
import datetime as dt
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.theme import Theme

from swoop.look import TEAL
from swoop.messages import to_json
from swoop.unseen import named, printable

# readable on both black and white
PROGRESS = Theme(
    {
        "progress.elapsed": "dim",
        "progress.percentage": "dim",
        **dict.fromkeys(("progress.spinner", "bar.complete", "bar.finished", "bar.pulse"), TEAL),
    }
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ID = 64  # cells of an id that are shown
PLAIN = str.maketrans({"…": "...", "×": "x", "–": "-", "━": "-", "╸": "-", "╺": "-", "“": '"', "”": '"', "’": "'"})
"""What stands for characters of our own where the encoding of the output does not have them."""


def results(width: int | None = None) -> Console:
    """For results."""
    return Console(highlight=False, markup=False, emoji=False, width=width)


@cache
def messages() -> Console:
    """For everything else: what was inferred, progress, errors."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, theme=PROGRESS)


def info(text: str, style: str | None = None) -> None:
    """One message: wrapped between words on a terminal, a single line elsewhere."""
    messages().print(printable(hidden(text)), style=style, soft_wrap=not messages().is_terminal)


_secrets: set[str] = set()


def hide(secrets: Iterable[str]) -> None:
    """Let no message show these, whoever wrote it."""
    _secrets.update(secrets)


def hidden(text: str) -> str:
    """A text without secrets."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def has_colour(console: Console) -> bool:
    """Whether colours are shown; otherwise words are marked with brackets."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def tolerate(stream: Any) -> None:
    """Let a stream name the characters that its encoding does not have; an error would lose all that was found."""
    codecs.register_error("swoop", _replaced)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="swoop")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end]
    return "".join(plain if (plain := one.translate(PLAIN)) != one else named(one) for one in found), error.end


def counted(count: int, one: str, many: str) -> str:
    """So many of something.

    >>> counted(1, "row", "rows"), counted(1200, "row", "rows")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {one if count == 1 else many}"


def name_of(value: Any) -> str:
    """An id or a token as text: bytes in hexadecimal digits."""
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def shown_name(value: Any) -> str:
    """An id or a token as printable text."""
    return printable(name_of(value))


def shown_id(value: Any, cells: int = ID) -> str:
    """An id as printable text; a long one with its beginning and its end.

    >>> shown_id("https://example.com/posts/2024/05/01/1207", 20)
    'https://ex…5/01/1207'
    """
    name = shown_name(value)
    if cell_len(name) <= cells:
        return name
    end = (cells - 1) // 2
    return f"{set_cell_size(name, cells - 1 - end)}…{set_cell_size(name[::-1], end)[::-1]}"


def print_json(value: Any, indent: int | None = None) -> None:
    """One JSON value for scripts."""
    text = to_json(value, indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # JSON has a way to write every character
        text = to_json(value, indent, ascii=True)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _day(time: dt.datetime) -> str:
    """The day, in the words of no language but English: those of the machine may be others."""
    return f"{time.day} {MONTHS[time.month - 1]} {time.year}"


def _zoned(text: str, time: dt.datetime) -> str:
    return text if time.tzinfo is None else f"{text} {time:%Z}"


def _clock(time: dt.datetime) -> str:
    """Without zero fractions of a second."""
    return time.strftime("%H:%M:%S") + (f".{time.microsecond // 1000:03}" if time.microsecond >= 1000 else "")


def shown_time(time: Any) -> str:
    """A time for people, as on the live page: by the 24-hour clock, with its zone. Midnight is a date.

    >>> shown_time(dt.datetime(2024, 5, 1, 14, 2, 3, tzinfo=dt.UTC)), shown_time(dt.datetime(2024, 5, 1)), shown_time(7)
    ('1 May 2024 14:02:03 UTC', '1 May 2024', '7')
    """
    if not isinstance(time, dt.datetime):
        return str(time)
    return _day(time) if time.time() == dt.time() else _zoned(f"{_day(time)} {_clock(time)}", time)


def shown_second(time: Any) -> str:
    """A time for people, without fractions of a second."""
    return shown_time(time.replace(microsecond=0) if isinstance(time, dt.datetime) else time)


def shown_since(time: Any, now: Any) -> str:
    """A time that is not long ago: of the same day without the day, and with seconds if they matter.

    >>> now = dt.datetime(2024, 5, 1, 14, 31, tzinfo=dt.UTC)
    >>> shown_since(now.replace(minute=2), now), shown_since(now.replace(minute=30, second=5), now)
    ('14:02 UTC', '14:30:05 UTC')
    >>> shown_since(dt.datetime(2024, 4, 30, 14, 2, tzinfo=dt.UTC), now), shown_since(7, 9)
    ('30 Apr 2024 14:02 UTC', '7')
    """
    if not isinstance(time, dt.datetime):
        return str(time)
    day = "" if isinstance(now, dt.datetime) and time.date() == now.date() else f"{_day(time)} "
    recent = isinstance(now, dt.datetime) and abs(now - time) < dt.timedelta(minutes=10)
    return _zoned(day + time.strftime("%H:%M:%S" if recent else "%H:%M"), time)


def shown_wait(begin: Any, end: Any) -> str:
    """How long it is from one time to another; integers have no unit.

    >>> shown_wait(dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 0, 0, 12)), shown_wait(7, 9)
    ('12 s', '2')
    """
    if not isinstance(end, dt.datetime):
        return f"{end - begin:,}"
    seconds = (end - begin).total_seconds()
    for unit, size, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 36)):
        if seconds < most * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:,.0f} days"


def shown_span(begin: Any, end: Any) -> str:
    """From one time to another, or to the end of the history. A day is named once, fractions of a second if they matter.

    >>> begin = dt.datetime(2024, 5, 1, 14, 2, tzinfo=dt.UTC)
    >>> shown_span(begin, begin.replace(minute=5)), shown_span(begin, None), shown_span(3, 5)
    ('1 May 2024 14:02:00 to 14:05:00 UTC', '1 May 2024 14:02:00 UTC to the end', '3 to 5')
    """
    if end is None:
        return f"{shown_second(begin)} to the end"
    if shown_second(begin) != shown_second(end) and isinstance(end, dt.datetime):
        begin, end = begin.replace(microsecond=0), end.replace(microsecond=0)
    if not isinstance(end, dt.datetime) or begin.date() != end.date():
        return f"{shown_time(begin)} to {shown_time(end)}"
    return _zoned(f"{_day(begin)} {_clock(begin)} to {_clock(end)}", end)


def shown_similarity(similarity: float, measure: str) -> str:
    """Three digits, but distances and overlaps as whole numbers."""
    return f"{similarity:.0f}" if measure in ("overlap", "hamming") else f"{similarity:.3f}"
