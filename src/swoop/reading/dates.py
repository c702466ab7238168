"""How strings and numbers become times. This is the definition, in plain Python; ``date_columns`` and Spark do the same faster.

Times without an offset are in UTC. Years are those from 1 to 9999 of the calendar of today, also before it was introduced.
What is finer than a microsecond is cut off. Days, hours and seconds that do not exist are unreadable, and so are leap seconds.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from swoop.errors import InvalidArgument
from swoop.reading import patterns
from swoop.times import EPOCH_UTC, FIRST_DATETIME, LAST_DATETIME, MICROSECOND

UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
POWERS = {"s": 6, "ms": 3, "us": 0, "ns": -3}  # of ten, that make them microseconds
WHOLE = 2**63  # doubles below it without a fraction are integers; no times are above it

_NUMBER = re.compile(r"[\t-\r ]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|[0-9](?:\.[0-9]{0,17})?[eE][+-]?[0-9]{1,2}))[\t-\r ]*")

# Counts in scientific notation. Groups: sign, the digit before the point, those behind it, exponent.
SCIENTIFIC = r"[\t-\r ]*([+-]?)([0-9])(?:\.([0-9]{0,17}))?[eE]([+-]?[0-9]{1,2})[\t-\r ]*"


def plain_expression(unit: str) -> str:
    """Counts in plain digits, of which there may be none. Groups: sign, digits before and behind the point down to the
    microsecond, and what is cut off.
    """
    power = POWERS[unit]
    if power < 0:
        return rf"[\t-\r ]*([+-]?)0*([0-9]{{0,18}}?)()([0-9]{{0,{-power}}}(?:\.[0-9]*)?)[\t-\r ]*"
    return rf"[\t-\r ]*([+-]?)0*([0-9]{{0,{18 - power}}})(?:\.([0-9]{{0,{power}}})([0-9]*))?[\t-\r ]*"


@dataclass(frozen=True)
class TimeFormat:
    """How the values of a column are read as times: as a count since 1970, or by a regular expression.

    Attributes
    ----------
    name
        What people call it, for messages: "ISO 8601", "day/month/year", "milliseconds since 1970".
    written
        What :func:`find_time_format` takes for it; for a count since 1970, its unit.
    unit
        The unit of a count since 1970: "s", "ms", "us" or "ns"; None for all others.
    expression
        A regular expression with a named group for each part of a date; empty for counts.
    """

    name: str
    written: str
    unit: str | None = None
    expression: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def option(self) -> str:
        """What says so on the command line.

        >>> EPOCHS["ms"].option, written_as("dd/MM/yyyy HH:mm").option, ISO.option
        ('--time-unit ms', "--time-format 'dd/MM/yyyy HH:mm'", '--time-format iso')
        """
        if self.unit is not None:
            return f"--time-unit {self.unit}"
        plain = re.fullmatch(r"[\w/.%:+-]+", self.written)
        quote = '"' if "'" in self.written else "'"
        return f"--time-format {self.written if plain else quote + self.written + quote}"


def _iso() -> str:
    clock = "(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})" + f"(?:[.,]{patterns.FRACTION})?)?)?"
    day = f"(?P<day>[0-9]{{1,2}})(?:[Tt ]{clock}(?: ?{patterns.OFFSET})?)?"
    date = f"(?P<year>[0-9]{{4}})(?:-(?P<month>[0-9]{{1,2}})(?:-{day})?)?"
    return f"{patterns.SPACE}{date}{patterns.SPACE}"


def _mail() -> str:
    day = f"(?:{patterns.WEEKDAY},? +)?(?P<day>[0-9]{{1,2}}) +{patterns.MONTH_NAME} +(?P<year>[0-9]{{4}})"
    clock = "(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
    return rf"{patterns.SPACE}{day} +{clock}(?: *{patterns.OFFSET}(?: *\([A-Za-z0-9 +:-]*\))?)?{patterns.SPACE}"


ISO = TimeFormat("ISO 8601", "iso", expression=_iso())
MAIL = TimeFormat("RFC 2822", "rfc2822", expression=_mail())
TWITTER = TimeFormat("Twitter's created_at", "twitter", expression=patterns.expression("EEE MMM d HH:mm:ss Z yyyy"))
EPOCHS = {unit: TimeFormat(f"{name} since 1970", unit, unit=unit) for unit, name in UNITS.items()}
NAMED = {known.written: known for known in (ISO, MAIL, TWITTER)}

_SPOKEN = {"y": "year", "M": "month", "d": "day"}


def find_time_format(format: str | None = None, unit: str | None = None) -> TimeFormat | None:
    """The format that a caller asks for; None if nothing is asked for.

    Parameters
    ----------
    format
        A pattern as Java and Spark have them (``"dd/MM/yyyy HH:mm"``) or as strptime has them (``"%d/%m/%Y %H:%M"``), or
        ``"iso"``, ``"rfc2822"`` or ``"twitter"``.
    unit
        Numbers, and strings of digits, are counted since 1970 in ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.

    >>> find_time_format("%d.%m.%Y").name, find_time_format("dd/MM/yyyy").name, find_time_format(unit="ms").name
    ('%d.%m.%Y', 'day/month/year', 'milliseconds since 1970')
    """
    if unit is not None and format is not None:
        raise InvalidArgument(f"give a unit for numbers or a format for strings, not both (unit={unit!r}, format={format!r})")
    if unit is not None:
        if unit not in tuple(EPOCHS):
            raise InvalidArgument(f"unit must be one of {', '.join(map(repr, UNITS))}, not {unit!r}")
        return EPOCHS[unit]
    return None if format is None else written_as(format)


def written_as(pattern: str) -> TimeFormat:
    """The format for a pattern, or for a name: ``"iso"``, ``"rfc2822"``, ``"twitter"``.

    >>> written_as("iso").name, written_as("d/M/yy").name, written_as("d/M/yy H:mm").name
    ('ISO 8601', 'day/month/year', 'd/M/yy H:mm')
    """
    if pattern.lower() in NAMED:
        return NAMED[pattern.lower()]
    return TimeFormat(_spoken(pattern), pattern, expression=patterns.expression(pattern))


def _spoken(pattern: str) -> str:
    """The usual orders of a date in words; any other pattern as it is."""
    found = re.fullmatch(r"([dMy])\1*([/.-])([dMy])\3*\2([dMy])\4*", pattern)
    return found[2].join(_SPOKEN[found[group]] for group in (1, 3, 4)) if found else pattern


def read_time(value: Any, format: TimeFormat) -> dt.datetime | None:
    """A string or a number as a time in UTC; None if it cannot be read.

    >>> read_time("2024-05-01 12:30 +0200", ISO), read_time(1.5, EPOCHS["s"])
    (datetime.datetime(2024, 5, 1, 10, 30, tzinfo=datetime.timezone.utc),
     datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.timezone.utc))
    """
    ticks = _count(value, format.unit) if format.unit is not None else _date(_digits(value), format)
    if ticks is None or not FIRST_DATETIME <= ticks <= LAST_DATETIME:
        return None
    return EPOCH_UTC + ticks * MICROSECOND


def _digits(value: Any) -> str | None:
    """A value as the text that a date is read from. Numbers such as 20240501.0 are meant as integers."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not abs(value) < WHOLE:
        return None
    return str(int(value)) if value == int(value) else None


def _count(value: Any, unit: str) -> int | None:
    """A count since 1970 in microseconds. Doubles with a fraction are what is written for them, so 0.1 is a tenth."""
    if isinstance(value, float):
        if not abs(value) < WHOLE:
            return None
        value = int(value) if value == int(value) else value
    text = value if isinstance(value, str) else format(value, "f") if isinstance(value, Decimal) else repr(value)
    found = _NUMBER.fullmatch(text)
    return None if found is None else int(Fraction(found[1]) * Fraction(10) ** POWERS[unit] // 1)


def _date(text: str | None, format: TimeFormat) -> int | None:
    """The date that a text says, in microseconds since 1970."""
    found = None if text is None else re.fullmatch(format.expression, text)
    if found is None:
        return None
    parts = {name: part for name, part in found.groupdict().items() if part is not None}

    def number(name: str, missing: int = 0) -> int:
        return int(parts.get(name, missing))

    month = MONTH_NUMBERS[parts["month_name"][:3].lower()] if "month_name" in parts else number("month", 1)
    year = long_year(number("short_year")) if "short_year" in parts else number("year")
    hour, offset = number("hour"), number("offset_hours") * 60 + number("offset_minutes")
    if "half" in parts:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts["half"] in "Pp" else 0)
    if offset >= 24 * 60 or number("offset_minutes") > 59:
        return None
    fraction = int(parts.get("fraction", "0").ljust(6, "0"))
    try:
        time = dt.datetime(year, month, number("day", 1), hour, number("minute"), number("second"), fraction, tzinfo=dt.UTC)
    except ValueError:
        return None
    minutes = -offset if parts.get("sign") == "-" else offset
    return (time - EPOCH_UTC) // MICROSECOND - minutes * 60_000_000


MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(patterns.MONTHS, 1)}


def long_year(short: int) -> int:
    """The year for two digits, from 1969 to 2068 as in strptime.

    >>> long_year(68), long_year(69)
    (2068, 1969)
    """
    return short + (2000 if short < 69 else 1900)
