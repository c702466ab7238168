"""Windows and clocks: durations and points in time, as integers.

Inside, time is a number of ticks: microseconds since 1970 for datetimes, the number itself for integers, the arrival number for
count windows.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from swoop.errors import InvalidArgument, InvalidTime, InvalidType

Time = int | dt.datetime
LATEST = 2**62  # ticks beyond this could overflow

EPOCH = dt.datetime(1970, 1, 1)
EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
FIRST_DATETIME, LAST_DATETIME = ((time - EPOCH) // MICROSECOND for time in (dt.datetime.min, dt.datetime.max))

_UNITS: dict[str, int] = {}
for _ticks, _names in (
    (1, "us µs microsecond microseconds"),
    (1_000, "ms millisecond milliseconds"),
    (1_000_000, "s sec secs second seconds"),
    (60_000_000, "m min mins minute minutes"),
    (3_600_000_000, "h hour hours"),
    (86_400_000_000, "d day days"),
    (604_800_000_000, "w week weeks"),
):
    for _name in _names.split():
        _UNITS[_name] = _ticks

WindowKind = Literal["duration", "integer", "count", "unbounded"]


@dataclass(frozen=True)
class WindowSpec:
    """The window that a caller asks for: how it counts, and its duration in ticks (0: unbounded)."""

    kind: WindowKind
    duration: int

    def __str__(self) -> str:
        if self.kind == "duration":
            return str(dt.timedelta(microseconds=self.duration))
        return {"integer": str(self.duration), "count": f"last({self.duration})", "unbounded": "None"}[self.kind]


def last(n: int) -> WindowSpec:
    """A window of the last n sets, whatever their times.

    >>> print(last(1000))
    last(1000)
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise InvalidType(f"last(n) takes a number of sets, not {n!r}")
    if not 1 <= n < LATEST:
        raise InvalidArgument(f"last(n) takes a number of sets of at least 1, not {n}")
    return WindowSpec("count", n)


def find_window(window: Any, what: str = "window") -> WindowSpec:
    """The window (or whatever ``what`` names) that the caller means, checked.

    >>> find_window("90 s").duration, find_window("1 hour 30 min").duration, find_window(500).kind
    (90000000, 5400000000, 'integer')
    """
    if window is None:
        return WindowSpec("unbounded", 0)
    if isinstance(window, WindowSpec):
        return window
    if isinstance(window, str):
        duration, kind = _parse_duration(window, what), "duration"
    elif isinstance(window, dt.timedelta):
        duration, kind = window // MICROSECOND, "duration"
    elif isinstance(window, int) and not isinstance(window, bool):
        duration, kind = window, "integer"
    else:
        raise InvalidType(
            f"a {what} is a duration such as '1 hour' or a timedelta, an integer, swoop.last(n) or None, not {window!r}"
        )
    unbounded = "; use None for an unbounded window" if what == "window" else ""
    if duration <= 0:
        raise InvalidArgument(f"a {what} must be longer than 0, got {window!r}{unbounded}")
    if duration >= LATEST:
        raise InvalidArgument(f"a {what} of {window!r} is too long{unbounded}")
    return WindowSpec("duration" if kind == "duration" else "integer", duration)


def find_lateness(lateness: Any, window: WindowSpec, what: str = "lateness") -> int:
    """The allowed lateness (or whatever ``what`` names) in ticks: at least 0, and a duration or an integer like the window.

    >>> find_lateness("10 seconds", find_window("1 hour")), find_lateness(0, find_window(500))
    (10000000, 0)
    """
    if isinstance(lateness, int) and not isinstance(lateness, bool) and (window.kind == "integer" or lateness == 0):
        ticks = lateness
    elif window.kind == "duration" and isinstance(lateness, str):
        ticks = _parse_duration(lateness, what)
    elif window.kind == "duration" and isinstance(lateness, dt.timedelta):
        ticks = lateness // MICROSECOND
    else:
        expected = "an integer" if window.kind == "integer" else "a duration such as '10 seconds'"
        raise InvalidType(f"the window is {window}, so {what} must be {expected}, not {lateness!r}")
    if not 0 <= ticks < LATEST:
        raise InvalidArgument(f"{what} must be at least 0 and below 2**62, not {lateness!r}")
    return ticks


def in_seconds(ticks: int) -> float:
    """A duration in ticks, of a stream with datetimes, in seconds.

    >>> in_seconds(1_500_000)
    1.5
    """
    return ticks * MICROSECOND / dt.timedelta(seconds=1)


def _parse_duration(text: str, what: str = "window") -> int:
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)\s*([^\W\d_]+)", text)
    if not parts or re.sub(r"\s+", "", text) != "".join(number + unit for number, unit in parts):
        raise InvalidArgument(f"cannot parse the {what} {text!r}; write for example '90 s', '1 hour' or '7 days'")
    total = Fraction(0)
    for number, unit in parts:
        if unit.lower() not in _UNITS:
            raise InvalidArgument(f"unknown unit {unit!r} in the {what} {text!r}; use us, ms, s, min, hours, days or weeks")
        total += Fraction(number) * _UNITS[unit.lower()]
    if total.denominator != 1:
        raise InvalidArgument(f"the {what} {text!r} is not a whole number of microseconds")
    return int(total)


TimeKind = Literal["integer", "naive", "aware", "none"]

_DESCRIBED: dict[TimeKind, str] = {
    "integer": "integers",
    "naive": "datetimes without a time zone",
    "aware": "datetimes with a time zone",
    "none": "omitted",
}


class Clock:
    """Converts the caller's times to ticks and back, and makes sure that they are all of one kind.

    Attributes
    ----------
    kind
        The kind of the times so far; None before the first.
    now
        Ticks of the latest time; None before the first.
    """

    def __init__(self, window: WindowSpec) -> None:
        self.window = window
        self.kind: TimeKind | None = None
        self.now: int | None = None

    def read(self, time: Any) -> tuple[TimeKind, int]:
        """The kind and the ticks of a time, checked against the window and the times so far. Changes nothing."""
        kind, ticks = _read_time(time)
        self.check_kind(kind, time)
        if self.now is not None and ticks < self.now:
            raise InvalidTime(
                f"time goes backwards: {time!r} comes after {self.time(self.now)!r}; insert sets in the order of their times"
            )
        return kind, ticks

    def check_kind(self, kind: TimeKind, time: Any) -> None:
        """Refuse a time of a kind that does not match the window or the times so far."""
        window = self.window.kind
        if kind == "none" and window in ("duration", "integer"):
            raise InvalidTime(f"time is None, but a window of {self.window} needs times; otherwise use swoop.last(n) or None")
        if window == "duration" and kind == "integer":
            raise InvalidTime(f"the window is a duration, so times must be datetimes; got {time!r}. Use an integer window")
        if window == "integer" and kind in ("naive", "aware"):
            raise InvalidTime(
                f"the window is the integer {self.window.duration}, so times must be integers; got {time!r}. "
                "Use a window such as '1 hour'"
            )
        if self.kind is not None and kind != self.kind:
            raise InvalidTime(f"times were {_DESCRIBED[self.kind]} so far, but now {time!r} was given; do not mix them")

    def advance(self, kind: TimeKind, ticks: int) -> None:
        """Let time move on to one that was read and used."""
        self.kind = kind
        self.now = ticks

    def time(self, ticks: int) -> Time:
        """The caller's time for ticks, clamped to the range of datetimes."""
        if self.kind not in ("naive", "aware"):
            return ticks
        clamped = min(max(ticks, FIRST_DATETIME), LAST_DATETIME)
        return (EPOCH if self.kind == "naive" else EPOCH_UTC) + dt.timedelta(microseconds=clamped)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last tick that a set can have."""
        if self.kind in ("naive", "aware") and self.window.kind != "count":
            return FIRST_DATETIME, LAST_DATETIME
        return -LATEST + 1, LATEST - 1

    def result_time(self, ticks: int) -> Time:
        """The time of a result. In a count window it is an arrival number, whatever times the sets have."""
        return ticks if self.window.kind == "count" else self.time(ticks)


def _read_time(time: Any) -> tuple[TimeKind, int]:
    if type(time) is int:
        return "integer", check_ticks(time, time)
    if time is None:
        return "none", 0
    if isinstance(time, dt.datetime):
        if time != time:  # pandas.NaT
            raise InvalidTime(f"the time is missing: got {time!r}")
        if getattr(time, "nanosecond", 0):
            raise InvalidTime(f"{time!r} is finer than a microsecond; round it first")
        if time.tzinfo is None:
            return "naive", (time - EPOCH) // MICROSECOND
        return "aware", (time - EPOCH_UTC) // MICROSECOND
    if isinstance(time, bool):
        raise InvalidTime(f"a time is a datetime or an integer, not {time!r}")
    if hasattr(time, "dtype") and getattr(time, "ndim", 1) == 0:  # a NumPy scalar
        if time.dtype.kind in "iu":
            return "integer", check_ticks(int(time), time)
        if time.dtype.kind == "M":
            return "naive", _read_datetime64(time)
    if time != time:
        raise InvalidTime(f"the time is missing: got {time!r}")
    raise InvalidTime(f"a time is a datetime or an integer, not {time!r} of type {type(time).__name__}")


def _read_datetime64(time: Any) -> int:
    if time != time:
        raise InvalidTime(f"the time is missing: got {time!r}")
    ticks = time.astype("datetime64[us]")
    if ticks != time:
        raise InvalidTime(f"{time!r} is finer than a microsecond; round it first")
    return check_ticks(int(ticks.astype("int64")), time)


def check_ticks(ticks: int, time: Any) -> int:
    if not -LATEST < ticks < LATEST:
        raise InvalidTime(f"the time {time!r} is out of range: times must be below 2**62 in size")
    return ticks
