"""From columns to tokens and times, in native column expressions.

Nothing leaves Spark's own engine::

    sets = posts.select("id", timestamps("posted").alias("time"), words("title", "body").alias("tokens"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument
from swoop.spark.rows import quoted
from swoop.times import FIRST_DATETIME, LAST_DATETIME

ColumnOrName = Column | str

_URL = r"(?:https?://|www\.)\S+"

_UNITS = {"s": 6, "ms": 3, "us": 0, "ns": -3}  # powers of ten that make them microseconds
_NUMBER_TYPE = r"^(tinyint|smallint|int|bigint|float|double|decimal\(.*)$"
_BEGINS_WITH_YEAR = r"^\s*\d{4}"  # Spark reads 12:30 as a time of today


def _column(given: ColumnOrName) -> Column:
    return F.col(given) if isinstance(given, str) else given


def _text(columns: tuple[ColumnOrName, ...]) -> Column:
    if not columns:
        raise InvalidArgument("name at least one column of text")
    return F.concat_ws(" ", *map(_column, columns))


def _where_readable(columns: tuple[ColumnOrName, ...], tokens: Column) -> Column:
    """Null where all columns are, and where one is not UTF-8: its letters are not known."""
    all_null = reduce(Column.__and__, (_column(column).isNull() for column in columns))
    return F.when(~all_null & F.is_valid_utf8(_text(columns)), tokens)


def _once(value: Column, use: Callable[[Column], Column]) -> Column:
    """What is made of a value that is computed once, however often it is used, also for each element of an array."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def _runs(parts: Column, n: int, between: str) -> Column:
    """The different runs of n elements of an array of strings, put together. All of a shorter one is one run."""

    def runs(parts: Column) -> Column:
        starts = F.sequence(F.lit(1), F.size(parts) - F.lit(n - 1))
        grams = F.transform(starts, lambda start: F.array_join(F.slice(parts, start, n), between))
        short = F.filter(F.array(F.array_join(parts, between)), lambda token: token != "")
        return F.array_distinct(F.when(F.size(parts) >= n, grams).otherwise(short))

    return _once(parts, runs)


def words(*columns: ColumnOrName, stop_words: Iterable[str] = (), keep_urls: bool = True) -> Column:
    """The distinct words of one or more columns of text, in lower case, in the order of their first appearance.

    Words are runs of letters and digits of any script. An address of the web is one word, unless ``keep_urls`` is False: then
    it is split like everything else. Where all columns are null, or a text is not UTF-8, so is the result.

    As everywhere in Spark, ``"post.text"`` names a field of a column; a column of this name is written with backticks.
    """
    found = _word_list(columns, keep_urls)
    left_out = [word.lower() for word in stop_words]
    if left_out:
        found = F.array_except(found, F.array(*(F.lit(word) for word in left_out)))
    return _where_readable(columns, F.array_distinct(found))


def _word_list(columns: tuple[ColumnOrName, ...], keep_urls: bool) -> Column:
    text = F.lower(_text(columns))
    pattern = f"({_URL}|[\\p{{L}}\\p{{N}}_]+)" if keep_urls else "([\\p{L}\\p{N}_]+)"
    return F.regexp_extract_all(text, F.lit(pattern), 1)


def word_ngrams(*columns: ColumnOrName, n: int = 2, keep_urls: bool = True) -> Column:
    """The distinct runs of n words, joined by spaces. A text with fewer words is one token."""
    if n < 1:
        raise InvalidArgument(f"n must be at least 1, not {n}")
    return _where_readable(columns, _runs(_word_list(columns, keep_urls), n, " "))


def char_ngrams(*columns: ColumnOrName, n: int = 3) -> Column:
    """The distinct runs of n characters, in lower case, with white space collapsed. A shorter text is one token."""
    if n < 1:
        raise InvalidArgument(f"n must be at least 1, not {n}")
    text = F.trim(F.regexp_replace(F.lower(_text(columns)), r"\s+", " "))
    return _where_readable(columns, _runs(F.filter(F.split(text, ""), lambda character: character != ""), n, ""))


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
        Strings are read by this pattern of Spark, such as ``"dd/MM/yyyy HH:mm"``. Spark itself refuses wrong patterns.
    """
    if unit is not None and unit not in tuple(_UNITS):
        raise InvalidArgument(f"unit must be one of {', '.join(map(repr, _UNITS))}, not {unit!r}")
    if unit is not None and format is not None:
        raise InvalidArgument(f"give a unit for numbers or a format for strings, not both (unit={unit!r}, format={format!r})")
    found = _column(column)
    text = found.cast("string")
    if format is not None:
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
