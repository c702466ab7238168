"""Columns of Spark as times, as :mod:`swoop.reading.dates` defines them, in native column expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from swoop.reading.dates import ISO, MONTH_NUMBERS, POWERS, SCIENTIFIC, WHOLE, TimeFormat, plain_expression
from swoop.spark.preparation import once
from swoop.times import FIRST_DATETIME, LAST_DATETIME

_PLAIN_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z?\z"  # Spark itself reads it faster
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def read_times(column: Column, format: TimeFormat) -> Column:
    """A column of strings or numbers as timestamps; null where it cannot be read, and never an error."""
    if format.unit is not None:
        ticks = F.when(_is(column, *_INTEGERS), _integers(column, format.unit)).otherwise(_counts(column, format.unit))
    else:
        ticks = _made(_digits(column), format.expression, lambda parts: _date(parts, _fields(format)))
    if format == ISO:
        text = column.cast("string")
        quick = F.concat(F.rtrim(text, F.lit("Z")), F.lit("Z")).try_cast("timestamp")
        ticks = F.when(text.rlike(_PLAIN_ISO), F.unix_micros(quick)).otherwise(ticks)
    return once(ticks, lambda ticks: F.timestamp_micros(F.when(ticks.between(FIRST_DATETIME, LAST_DATETIME), ticks)))


def _is(column: Column, *types: str) -> Column:
    return F.typeof(column).rlike(f"^({'|'.join(types)})")


def _digits(column: Column) -> Column:
    """A column as the text that dates are read from. Numbers such as 20240501.0 are meant as integers."""
    text = column.cast("string")
    return (
        F.when(_is(column, "float", "double"), _whole(column))
        .when(_is(column, "decimal"), F.regexp_replace(text, r"\.0*$", ""))
        .otherwise(text)
    )


def _whole(column: Column) -> Column:
    """The digits of doubles without a fraction; null for all others."""
    number = column.try_cast("double")
    return F.when(number.try_cast("long").cast("double") == number, number.try_cast("long").cast("string"))


def _made(text: Column, expression: str, make: Callable[[Column], Column]) -> Column:
    """What is made of the groups of an expression, which are without commas; null if the text does not match."""
    unnamed = "^(?:" + re.sub(r"\(\?P<\w+>", "(", expression) + r")\z"
    groups = ",".join(f"${number}" for number in range(1, re.compile(expression).groups + 1))
    found = F.when(text.rlike(unnamed), F.split(F.regexp_replace(text, unnamed, groups), ","))
    return once(found, lambda parts: F.when(parts.isNotNull(), make(parts)))


def _fields(format: TimeFormat) -> dict[str, int]:
    return {name: group - 1 for name, group in re.compile(format.expression).groupindex.items()}


def _number(digits: Column, missing: int = 0) -> Column:
    """Digits, of which there may be none, as a number. Each failure of try_cast would cost as much as all the rest."""
    number = F.concat(F.lit("0"), digits).cast("long")
    return number if missing == 0 else F.when(digits == "", F.lit(missing).cast("long")).otherwise(number)


def _date(parts: Column, fields: dict[str, int]) -> Column:
    """The date that the parts of a text say, in microseconds since 1970."""

    def text(name: str) -> Column:
        return parts[fields[name]] if name in fields else F.lit("")

    def number(name: str, missing: int = 0) -> Column:
        return _number(text(name), missing)

    month, year, hour, second = number("month", 1), number("year"), number("hour"), number("second")
    if "month_name" in fields:
        names = F.array(*(F.lit(name) for name in MONTH_NUMBERS))
        month = F.array_position(names, F.lower(F.left(text("month_name"), F.lit(3))))
    if "short_year" in fields:
        short = number("short_year")
        year = short + F.when(short < 69, 2000).otherwise(1900)
    if "half" in fields:
        half, halved = F.lower(text("half")), F.when(hour.between(1, 12), hour % 12)
        hour = F.when(half == "a", halved).when(half == "p", halved + 12).otherwise(hour)
    day, minute = number("day", 1), number("minute")
    year, month, day, hour, minute = (part.cast("int") for part in (year, month, day, hour, minute))
    seconds = F.when(second < 60, second).cast("decimal(16, 6)")
    time = F.try_make_timestamp(year, month, day, hour, minute, seconds, F.lit("UTC"))
    offset = number("offset_hours") * 60 + number("offset_minutes")
    offset = F.when((offset < 24 * 60) & (number("offset_minutes") < 60), offset)
    offset = F.when(text("sign") == "-", -offset).otherwise(offset)
    return F.unix_micros(time) - offset * 60_000_000 + _number(F.rpad(text("fraction"), 6, "0"))


def _integers(column: Column, unit: str) -> Column:
    number, power = column.try_cast("long"), POWERS[unit]
    if power < 0:
        return F.floor(number.cast("decimal(19, 0)") / F.lit(10**-power)).cast("long")
    most = LAST_DATETIME // 10**power  # the first time is less far from 1970 than the last
    return F.when(number.between(-most, most), number * 10**power)


def _counts(column: Column, unit: str) -> Column:
    """Counts since 1970 in microseconds. Doubles with a fraction are what is written for them, so 0.1 is a tenth."""
    number = column.try_cast("double")
    doubles = F.coalesce(_whole(column), F.when(F.abs(number) < float(WHOLE), number.cast("string")))
    text = F.when(_is(column, "float", "double"), doubles).otherwise(column.cast("string"))
    power = max(POWERS[unit], 0)

    def plain(parts: Column) -> Column:
        ticks = _number(parts[1]) * 10**power + _number(F.rpad(parts[2], power, "0"))
        return _signed(parts[0], ticks, parts[3])

    def scientific(parts: Column) -> Column:
        point = parts[3].cast("long") + (POWERS[unit] + 1)
        digits = F.rpad(F.concat(parts[1], F.rpad(parts[2], 17, "0")), F.greatest(point, F.lit(18)), F.lit("0"))
        whole = F.when(point > 0, F.substring(digits, F.lit(1), point)).otherwise("0")
        rest = F.substring(digits, F.greatest(point, F.lit(0)) + 1, F.length(digits))
        return _signed(parts[0], whole.try_cast("long"), rest)

    plainly = F.when(text.rlike("[0-9]"), _made(text, plain_expression(unit), plain))
    return F.coalesce(plainly, _made(text, SCIENTIFIC, scientific))


def _signed(sign: Column, ticks: Column, cut_off: Column) -> Column:
    """Ticks with their sign, rounded down."""
    return F.when(sign == "-", -ticks - cut_off.rlike("[1-9]").cast("long")).otherwise(ticks)
