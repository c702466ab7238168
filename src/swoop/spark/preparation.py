"""From columns to tokens, in native column expressions.

Nothing leaves Spark's own engine::

    sets = posts.select("id", "time", words("title", "body").alias("tokens"))
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument

ColumnOrName = Column | str

_URL = r"(?:https?://|www\.)\S+"


def _text(columns: tuple[ColumnOrName, ...]) -> Column:
    if not columns:
        raise InvalidArgument("name at least one column of text")
    return F.concat_ws(" ", *(F.col(c) if isinstance(c, str) else c for c in columns))


def _all_null(columns: tuple[ColumnOrName, ...]) -> Column:
    found = F.lit(True)
    for column in columns:
        found = found & (F.col(column) if isinstance(column, str) else column).isNull()
    return found


def words(*columns: ColumnOrName, stop_words: Iterable[str] = (), keep_urls: bool = True) -> Column:
    """The different words of one or more columns of text, in lower case, in the order of their first appearance.

    Words are runs of letters and digits of any script. An address of the web is one word, unless ``keep_urls`` is False: then
    it is split like everything else. Where all columns are null, so is the result.
    """
    found = _word_list(columns, keep_urls)
    left_out = [word.lower() for word in stop_words]
    if left_out:
        found = F.array_except(found, F.array(*(F.lit(word) for word in left_out)))
    return F.when(_all_null(columns), None).otherwise(F.array_distinct(found))


def _word_list(columns: tuple[ColumnOrName, ...], keep_urls: bool) -> Column:
    text = F.lower(_text(columns))
    pattern = f"({_URL}|[\\p{{L}}\\p{{N}}_]+)" if keep_urls else "([\\p{L}\\p{N}_]+)"
    return F.regexp_extract_all(text, F.lit(pattern), 1)


def word_ngrams(*columns: ColumnOrName, n: int = 2, keep_urls: bool = True) -> Column:
    """The different runs of n words, joined by spaces. A text with fewer words is one token."""
    if n < 1:
        raise InvalidArgument(f"n must be at least 1, not {n}")
    found = _word_list(columns, keep_urls)
    grams = F.transform(F.sequence(F.lit(1), F.size(found) - F.lit(n - 1)), lambda i: F.array_join(F.slice(found, i, n), " "))
    short = F.filter(F.array(F.array_join(found, " ")), lambda token: token != "")
    return F.when(_all_null(columns), None).otherwise(F.array_distinct(F.when(F.size(found) >= n, grams).otherwise(short)))


def char_ngrams(*columns: ColumnOrName, n: int = 3) -> Column:
    """The different runs of n characters, in lower case, with runs of white space as one space. A shorter text is one token."""
    if n < 1:
        raise InvalidArgument(f"n must be at least 1, not {n}")
    text = F.trim(F.regexp_replace(F.lower(_text(columns)), r"\s+", " "))
    grams = F.transform(F.sequence(F.lit(1), F.length(text) - F.lit(n - 1)), lambda i: F.substring(text, i, n))
    short = F.filter(F.array(text), lambda token: token != "")
    return F.when(_all_null(columns), None).otherwise(F.array_distinct(F.when(F.length(text) >= n, grams).otherwise(short)))


def transitions(events: DataFrame, case: str, activity: str, time: str) -> DataFrame:
    """One set per case of an event log: its pairs of subsequent activities; its time is that of the last activity.

    The columns are ``id`` (the case), ``time`` and ``tokens``. A case with one activity is an empty set.
    """
    steps = F.sort_array(F.collect_list(F.struct(F.col(time).alias("t"), F.col(activity).cast("string").alias("a"))))
    cases = events.groupBy(F.col(case).alias("id")).agg(F.max(time).alias("time"), steps.alias("steps"))
    follows = F.transform(
        F.sequence(F.lit(1), F.size("steps") - 1),
        lambda i: F.concat_ws("→", F.element_at("steps", i)["a"], F.element_at("steps", i + 1)["a"]),
    )
    none = F.array().cast("array<string>")
    return cases.select("id", "time", F.array_distinct(F.when(F.size("steps") > 1, follows).otherwise(none)).alias("tokens"))
