"""Turning input rows into sets with the columns id, time, tokens and text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from swoop.cli.console import info
from swoop.cli.guard import WrongUsage
from swoop.reading.columns import Columns, Kind, infer
from swoop.times import WindowSpec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

CORRUPT = "_corrupt_record"  # where Spark puts lines that are not JSON
UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


@dataclass(frozen=True)
class Tokenizer:
    """How texts are split into tokens: words, or runs of ``n`` words or characters."""

    unit: str = "words"
    n: int = 1

    @classmethod
    def read(cls, text: str) -> Tokenizer:
        """
        >>> Tokenizer.read("words"), Tokenizer.read("3-chars")
        (Tokenizer(unit='words', n=1), Tokenizer(unit='chars', n=3))
        """
        match = re.fullmatch(r"(?:([1-9][0-9]?)-)?(words?|chars?)", text)
        if not match or (match[1] is None and match[2].startswith("char")):
            raise WrongUsage(f"unknown tokenizer {text!r}; use words, 2-words, 3-chars or similar")
        return cls(match[2].rstrip("s") + "s", int(match[1] or 1))

    def tokens(self, names: Sequence[str]) -> Column:
        """The tokens of columns of text."""
        from swoop.spark import char_ngrams, word_ngrams, words

        columns = ["`" + name.replace("`", "``") + "`" for name in names]
        if self.unit == "chars":
            return char_ngrams(*columns, n=self.n).column()
        return (words(*columns) if self.n == 1 else word_ngrams(*columns, n=self.n)).column()


@dataclass(frozen=True)
class InputOptions:
    """The options that say how rows are read."""

    columns: Columns
    tokenizer: Tokenizer
    time_unit: str | None = None
    time_format: str | None = None


def kind_of(type: DataType) -> Kind:
    """What a column of this type can be used for."""
    from pyspark.sql import types as T  # noqa: N812

    if isinstance(type, T.TimestampType | T.TimestampNTZType | T.DateType):
        return "timestamp"
    if isinstance(type, T.IntegralType):
        return "integer"
    if isinstance(type, T.NumericType):
        return "number"
    if isinstance(type, T.StringType):
        return "string"
    if isinstance(type, T.ArrayType) and isinstance(type.elementType, T.StringType | T.BinaryType | T.IntegralType):
        return "array"
    return "other"


def infer_columns(sample: DataFrame, options: InputOptions, window: WindowSpec | None) -> InputOptions:
    """Complete the options from sample rows, and report what was inferred."""
    kinds = {field.name: kind_of(field.dataType) for field in sample.schema if field.name != CORRUPT}
    if not kinds:
        reason = "it contains no JSON object" if CORRUPT in sample.columns else "it is empty"
        raise WrongUsage(f"the input has no columns: {reason}")
    columns = infer(options.columns, kinds)
    info("; ".join(columns.notes), style="dim")
    inferred = replace(options, columns=columns)
    time = str(columns.time)
    kind = kind_of(sample.schema[time].dataType)
    integers = window is not None and window.kind == "integer"
    if integers and kind != "integer":
        raise WrongUsage(
            f"the window is the number {window}, but the times in column {time!r} are not integers "
            f"({sample.schema[time].dataType.simpleString()}); use a duration such as --window '1 hour'"
        )
    if window is None or integers or kind not in ("integer", "number"):
        return inferred
    if options.time_unit is None:
        inferred = replace(inferred, time_unit=_infer_unit(sample, time))
    info(f"reading the numbers in {time!r} as {UNITS[str(inferred.time_unit)]} since 1970", style="dim")
    return inferred


def _infer_unit(sample: DataFrame, time: str) -> str:
    """By the size of the number: 1e9 seconds, 1e12 milliseconds and so on are in this century."""
    row = sample.select(quoted(time)).where(quoted(time).isNotNull()).first()
    size = abs(float(row[0])) if row is not None else 0.0
    return next((unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)) if size >= least), "s")


def prepare(rows: DataFrame, options: InputOptions, window: WindowSpec | None) -> DataFrame:
    """Rows as sets: id, time, tokens, text, stream; and the original time where it had to be parsed."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    columns = options.columns
    if columns.id is None:
        if rows.isStreaming:
            raise WrongUsage("the rows of a stream need ids; name their column with --id")
        rows = rows.zipWithIndex("__row")
    name = quoted(columns.id or "__row")
    if not isinstance(rows.select(name).schema[0].dataType, T.IntegralType | T.StringType | T.BinaryType):
        name = name.cast("string")
    texts = [quoted(name) for name in columns.text]
    if columns.tokens is not None:
        tokens = quoted(columns.tokens)
        element = rows.select(tokens).schema[0].dataType
        text = F.concat_ws(" ", *texts) if texts else F.array_join(tokens.cast("array<string>"), " ")
        if isinstance(element, T.ArrayType) and isinstance(element.elementType, T.BinaryType) and not texts:
            text = F.array_join(F.transform(tokens, lambda token: F.hex(token)), " ")
    else:
        tokens, text = options.tokenizer.tokens(columns.text), F.concat_ws(" ", *texts)
    time, parsed = _time(rows, options, window)
    return rows.select(
        name.alias("id"),
        time.alias("time"),
        tokens.alias("tokens"),
        text.alias("text"),
        *([quoted(columns.stream).alias("stream")] if columns.stream else []),
        *([quoted(str(columns.time)).cast("string").alias("time_as_given")] if parsed else []),
    )


def _time(rows: DataFrame, options: InputOptions, window: WindowSpec | None) -> tuple[Column, bool]:
    """The time of a row, and whether it had to be parsed."""
    from pyspark.sql import types as T  # noqa: N812

    from swoop.spark import timestamps

    name = str(options.columns.time)
    time_type = rows.schema[name].dataType
    if isinstance(time_type, T.TimestampType | T.TimestampNTZType) or window is None or window.kind == "integer":
        return quoted(name), False
    if isinstance(time_type, T.StringType) and not options.time_unit:
        zone = "" if options.time_format else "; UTC where no time zone is given"
        info(f"parsing the text in {name!r} as times{zone}", style="dim")
    return timestamps(quoted(name), unit=options.time_unit, format=options.time_format), True


def quoted(name: str) -> Column:
    """A column by its name, whatever characters the name contains."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col("`" + name.replace("`", "``") + "`")
