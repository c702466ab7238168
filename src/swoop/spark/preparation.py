"""From columns to tokens and times, in native column expressions.

Nothing leaves Spark's own engine::

    sets = posts.select("id", timestamps("posted").alias("time"), words("title", "body").column().alias("tokens"))
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument
from swoop.reading.dates import NAMED, written_as
from swoop.spark.rows import quoted
from swoop.text.characters import FLAG_LETTERS, SKIN_TONES, VARIATION_SELECTORS, ZERO_WIDTH_JOINER, picture_ranges
from swoop.text.functions import TokenFunction
from swoop.times import FIRST_DATETIME, LAST_DATETIME

ColumnOrName = Column | str

_UNITS = {"s": 6, "ms": 3, "us": 0, "ns": -3}  # powers of ten that make them microseconds
_NUMBER_TYPE = r"^(tinyint|smallint|int|bigint|float|double|decimal\(.*)$"
_BEGINS_WITH_YEAR = r"^\s*\d{4}"  # Spark reads 12:30 as a time of today


def _column(given: ColumnOrName) -> Column:
    return F.col(given) if isinstance(given, str) else given


def once(value: Column, use: Callable[[Column], Column]) -> Column:
    """What is made of a value that is computed once, however often it is used, also for each element of an array."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def _runs(parts: Column, n: int, between: str) -> Column:
    """The different runs of n elements of an array of strings, put together. All of a shorter one is one run."""

    def runs(parts: Column) -> Column:
        starts = F.sequence(F.lit(1), F.size(parts) - F.lit(n - 1))
        grams = F.transform(starts, lambda start: F.array_join(F.slice(parts, start, n), between))
        short = F.filter(F.array(F.array_join(parts, between)), lambda token: token != "")
        return F.array_distinct(F.when(F.size(parts) >= n, grams).otherwise(short))

    return once(parts, runs)


def token_column(function: TokenFunction) -> Column:
    """What a token function makes of columns, in column expressions. See :meth:`swoop.text.functions.TokenFunction.column`."""
    if function.nfc:
        raise InvalidArgument("Spark has no expression for NFC; give the token function itself instead of its column()")
    columns = [F.col(name) for name in function.columns]
    given = F.concat_ws(" ", *columns)
    text = F.lower(given)
    if function.unit == "characters":
        spaced = F.trim(F.regexp_replace(text, f"[{_SPACE}]+", " "))
        found, between = F.filter(F.split(spaced, ""), lambda character: character != ""), ""
    else:
        found, between = F.regexp_extract_all(text, F.lit(_word_pattern(function)), 0), " "
        if function.stop_words:
            left_out = F.array(*(F.lit(word) for word in sorted(function.stop_words)))
            found = F.filter(found, lambda word: ~F.array_contains(left_out, word))
    runs = F.array_distinct(found) if function.n == 1 else _runs(found, function.n, between)
    all_null = reduce(Column.__and__, (column.isNull() for column in columns))
    return F.when(~all_null & F.is_valid_utf8(given), runs)  # the letters of what is not UTF-8 are not known


_SPACE = r"\t-\r\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def _word_pattern(function: TokenFunction) -> str:
    """A regular expression for words, as :mod:`swoop.text.reference` defines them."""
    found = [r"[\p{L}\p{M}\p{N}_]+"]
    if function.keep_urls:
        found.insert(0, f"(?:https?://|www\\.)[^{_SPACE}]+")
    if function.emoji:
        picture = "[" + "".join(map(_range, picture_ranges())) + "]"
        flags = f"[{_range(FLAG_LETTERS)}]{{2}}"
        look = "[" + _range(VARIATION_SELECTORS) + _range(SKIN_TONES) + "]"
        found += [flags, f"{picture}(?:{look}|\\x{{{ZERO_WIDTH_JOINER:x}}}{picture})*"]
    return "|".join(found)


def _range(codes: range) -> str:
    """Code points as a part of a regular expression of Java's."""
    return f"\\x{{{codes[0]:x}}}-\\x{{{codes[-1]:x}}}"


def transitions(events: DataFrame, case: str, activity: str, time: str) -> DataFrame:
    """One set per case of an event log: its pairs of consecutive activities; its time is that of the last activity.

    The columns are ``id`` (the case), ``time`` and ``tokens``. A case with one activity is an empty set.
    """
    steps = F.sort_array(F.collect_list(F.struct(quoted(time).alias("t"), quoted(activity).cast("string").alias("a"))))
    cases = events.groupBy(quoted(case).alias("id")).agg(F.max(quoted(time)).alias("time"), steps.alias("steps"))
    follows = F.transform(
        F.sequence(F.lit(1), F.size("steps") - 1),
        lambda i: F.concat_ws("→", F.element_at("steps", i)["a"], F.element_at("steps", i + 1)["a"]),
    )
    none = F.array().cast("array<string>")
    return cases.select("id", "time", F.array_distinct(F.when(F.size("steps") > 1, follows).otherwise(none)).alias("tokens"))


def timestamps(column: ColumnOrName, unit: str | None = None, format: str | None = None) -> Column:
    """A column of strings or numbers as timestamps.

    What cannot be read is null, and so are times outside the years 1 to 9999; :func:`swoop.spark.rejected` gives such rows.
    What is finer than a microsecond is cut off.

    Parameters
    ----------
    column
        Without ``unit`` and ``format``, its type decides: numbers are seconds since 1970, strings are read as ISO 8601
        (``2024-05-01``, ``2024-05-01 12:30``, ``2024-05-01T12:30:00.25Z``, ``2024-05-01T12:30:00+02:00``; without an offset,
        in the time zone of the session), timestamps and dates are taken as they are.
    unit
        Numbers, and strings of digits, are counted since 1970 in ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``. They may be negative
        or have a fraction. All other strings are null.
    format
        Strings are read by this pattern of Spark, such as ``"dd/MM/yyyy HH:mm"``. Spark itself refuses wrong patterns. Or, as
        the command line has them, a pattern of strptime (``"%d/%m/%Y"``), ``"iso"``, ``"rfc2822"`` or ``"twitter"``: these are
        in UTC, unless they have an offset.
    """
    if unit is not None and unit not in tuple(_UNITS):
        raise InvalidArgument(f"unit must be one of {', '.join(map(repr, _UNITS))}, not {unit!r}")
    if unit is not None and format is not None:
        raise InvalidArgument(f"give a unit for numbers or a format for strings, not both (unit={unit!r}, format={format!r})")
    found = _column(column)
    text = found.cast("string")
    if format is not None and ("%" in format or format.lower() in NAMED):
        from swoop.spark.dates import read_times

        time = read_times(text, written_as(format))
    elif format is not None:
        time = F.try_to_timestamp(text, F.lit(format))
    elif unit is not None:
        time = _epoch_to_timestamp(text, unit)
    else:
        written = F.when(text.rlike(_BEGINS_WITH_YEAR), found.try_cast("timestamp_ltz"))
        time = F.when(F.typeof(found).rlike(_NUMBER_TYPE), _epoch_to_timestamp(text, "s")).otherwise(written)
    return F.when(F.unix_micros(time).between(FIRST_DATETIME, LAST_DATETIME), time)


def _epoch_to_timestamp(text: Column, unit: str) -> Column:
    """By decimals, which are exact. They have room for twelve digits of seconds, as the year 9999 needs; the rest is null."""
    power = _UNITS[unit]
    number = text.try_cast(f"decimal(30, {12 + power})")
    return F.timestamp_micros(F.floor(number * F.lit(Decimal(10) ** power)).cast("long"))
