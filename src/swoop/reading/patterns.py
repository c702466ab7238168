"""Patterns of dates as regular expressions: those of Java and Spark (``dd/MM/yyyy``) and those of strptime (``%d/%m/%Y``).

The expressions have a named group for each part of a date, and use only what Python, RE2 and Java understand in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from swoop.errors import InvalidArgument

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SPACE = r"[\t-\r ]*"


def any_case(text: str) -> str:
    """Letters in any case. The flag for this means other letters in Java than in Python.

    >>> any_case("am")
    '[Aa][Mm]'
    """
    return "".join(f"[{letter.upper()}{letter.lower()}]" for letter in text)


def _names(names: tuple[str, ...]) -> str:
    """One of some names, or the first three letters of it."""
    return "|".join(any_case(name[:3]) + (f"(?:{any_case(name[3:])})?" if name[3:] else "") for name in names)


WEEKDAY = f"(?:{_names(DAYS)})"
MONTH_NAME = f"(?P<month_name>{_names(MONTHS)})"
HALF = f"(?P<half>{any_case('a')}|{any_case('p')}){any_case('m')}"
FRACTION = "(?P<fraction>[0-9]{1,6})[0-9]*"
_UTC = f"(?:{any_case('z')}|{any_case('utc')}|{any_case('gmt')})"
OFFSET = f"(?:{_UTC}?(?P<sign>[+-])(?P<offset_hours>[0-9]{{2}})(?::?(?P<offset_minutes>[0-9]{{2}}))?|{_UTC})"
CLOCK = (
    "(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    f"(?::(?P<second>[0-9]{{1,2}})(?:[.,]{FRACTION})?)?(?: ?{HALF})?(?: *{OFFSET})?"
)
_COMPACT_CLOCK = f"(?P<hour>[0-9]{{2}}):?(?P<minute>[0-9]{{2}})(?::?(?P<second>[0-9]{{2}})(?:[.,]{FRACTION})?)?(?: *{OFFSET})?"


@dataclass(frozen=True)
class Part:
    """A part of a pattern: a field, the beginning or end of what is optional (``[``, ``]``), or what stands between fields."""

    field: str
    literal: str = ""


_WIDTHS = {"year": 4, "short_year": 2, "month": 2, "day": 2, "hour": 2, "hour12": 2, "minute": 2, "second": 2}
_EXPRESSIONS = {"month_name": MONTH_NAME, "half": HALF, "fraction": FRACTION, "offset": OFFSET, "weekday": WEEKDAY}
_GROUPS = {"hour12": "hour"}
_CALENDAR = {"year", "short_year", "month", "month_name", "day"}

_JAVA = {
    "y": "year",
    "u": "year",
    "M": "month",
    "L": "month",
    "d": "day",
    "E": "weekday",
    "a": "half",
    "H": "hour",
    "h": "hour",
}
_JAVA |= {"m": "minute", "s": "second", "S": "fraction", **dict.fromkeys("XxZOzV", "offset")}
_STRPTIME = {"Y": "year", "y": "short_year", "m": "month", "b": "month_name", "B": "month_name", "h": "month_name", "d": "day"}
_STRPTIME |= {
    "e": "day",
    "a": "weekday",
    "A": "weekday",
    "H": "hour",
    "I": "hour",
    "M": "minute",
    "S": "second",
    "f": "fraction",
}
_STRPTIME |= {"p": "half", "z": "offset", "Z": "offset"}
_SHORTHANDS = {"%T": "%H:%M:%S", "%R": "%H:%M", "%F": "%Y-%m-%d", "%D": "%m/%d/%y"}


def expression(pattern: str) -> str:
    """The regular expression for a pattern. It is more generous than Java's and Python's own readers of dates.

    Numbers may have fewer digits, unless they touch; names of months may be short or long; a pattern without a time of day
    also reads a time of day behind the date.

    >>> import re
    >>> bool(re.fullmatch(expression("dd/MM/yyyy"), "1/5/2024 8:26")), bool(re.fullmatch(expression("%d.%m.%Y"), "1/5/2024"))
    (True, False)
    """
    parts = list(_strptime_parts(pattern) if "%" in pattern else _java_parts(pattern))
    fields = [part.field for part in parts if part.field not in ("", "[", "]")]
    _check(pattern, fields)
    found = "".join(_expression(parts, place) for place in range(len(parts)))
    if "day" in fields and set(fields) <= _CALENDAR | {"weekday"}:
        touching = "month_name" not in fields and not any(part.literal for part in parts)
        found += f"(?:[T ]?{_COMPACT_CLOCK})?" if touching else f"(?:(?:[T ]|, ?){CLOCK})?"
    return f"{SPACE}{found}{SPACE}"


def _expression(parts: list[Part], place: int) -> str:
    part = parts[place]
    if part.field == "[":
        return "(?:"
    if part.field == "]":
        return ")?"
    if not part.field:
        return re.sub(r" +", " +", re.escape(part.literal).replace("\\ ", " "))
    if part.field not in _WIDTHS:
        return _EXPRESSIONS[part.field]
    width = _WIDTHS[part.field]
    before = next((other.field for other in reversed(parts[:place]) if other.field not in ("[", "]")), "")
    after = next((other.field for other in parts[place + 1 :] if other.field not in ("[", "]")), "")
    fixed = width == 4 or part.field == "short_year" or {before, after} & ({*_WIDTHS, "fraction"})
    return f"(?P<{_GROUPS.get(part.field, part.field)}>[0-9]{{{width if fixed else f'1,{width}'}}})"


def _java_parts(pattern: str) -> Iterator[Part]:
    depth = 0
    for found in re.finditer(
        r"'(?P<quoted>(?:[^']|'')*)'|(?P<open>')|(?P<field>([A-Za-z])\4*)|(?P<bracket>[\[\]])|[^A-Za-z'\[\]]+", pattern
    ):
        text = found[0]
        if found["open"]:
            raise InvalidArgument(f"the time format {pattern!r} has a ' without a second one")
        if found["bracket"]:
            depth += 1 if text == "[" else -1
            if depth < 0:
                break
            yield Part(text)
        elif found["quoted"] is not None:
            yield Part("", found["quoted"].replace("''", "'") or "'")
        elif found["field"]:
            yield _java_part(pattern, text)
        else:
            yield Part("", text)
    if depth != 0:
        raise InvalidArgument(f"the time format {pattern!r} has a [ or ] without its other half")


def _java_part(pattern: str, letters: str) -> Part:
    field = _JAVA.get(letters[0])
    if field is None:
        raise InvalidArgument(
            f"the time format {pattern!r} has the letter {letters[0]!r}, which is not known; known are y (year), M (month), "
            "d (day), E (weekday), H or h (hour), m (minute), s (second), S (fraction), a (AM or PM), X or Z (offset); "
            "other text stands between ' and '"
        )
    if field == "year" and len(letters) == 2:
        field = "short_year"
    if field == "month" and len(letters) > 2:
        field = "month_name"
    return Part("hour12" if letters[0] == "h" else field)


def _strptime_parts(pattern: str) -> Iterator[Part]:
    for short, long in _SHORTHANDS.items():
        pattern = pattern.replace(short, long)
    for found in re.finditer(r"%[-_]?(?P<field>.?)|[^%]+", pattern, re.DOTALL):
        if found["field"] is None:
            yield Part("", found[0])
        elif found["field"] == "%":
            yield Part("", "%")
        elif found["field"] == "s":
            raise InvalidArgument(
                f"the time format {pattern!r} has %s, seconds since 1970; give the unit s instead (--time-unit s)"
            )
        elif found["field"] in _STRPTIME:
            yield Part("hour12" if found["field"] == "I" else _STRPTIME[found["field"]])
        else:
            known = ", ".join("%" + letter for letter in _STRPTIME)
            raise InvalidArgument(f"the time format {pattern!r} has {found[0]!r}, which is not known; known are {known}")


def _check(pattern: str, fields: list[str]) -> None:
    """Refuse patterns that cannot say which day it was."""
    parts = ["year" if field == "short_year" else "month" if field == "month_name" else field for field in fields]
    parts = ["hour" if field == "hour12" else field for field in parts]
    twice = next((part for part in parts if part != "weekday" and parts.count(part) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"the time format {pattern!r} has the {_SPOKEN.get(twice, twice)} twice")
    if "year" not in parts:
        raise InvalidArgument(
            f"the time format {pattern!r} has no year; write for example 'dd/MM/yyyy HH:mm' or '%d/%m/%Y %H:%M'"
            + (" (in patterns like Java's, MM is the month and mm the minute)" if "minute" in parts else "")
        )
    if "day" in parts and "month" not in parts:
        raise InvalidArgument(
            f"the time format {pattern!r} has a day but no month; MM is the month and mm the minute, "
            "or %m and %M in strptime's patterns"
        )
    if "hour12" in fields and "half" not in parts:
        raise InvalidArgument(
            f"the time format {pattern!r} counts hours up to 12 but has no AM or PM; use HH or %H for hours up to 23"
        )


_SPOKEN = {"half": "AM or PM"}
