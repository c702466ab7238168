"""From the rows of an input to sets with the columns id, time, tokens and text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from swoop.cli.columns import Columns, Kind, choose
from swoop.cli.console import say
from swoop.cli.guard import WrongUsage
from swoop.times import WindowSpec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

CORRUPT = "_corrupt_record"  # where Spark puts lines that are no JSON
UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


@dataclass(frozen=True)
class Tokenizer:
    """How texts become tokens: words, or runs of ``n`` words or characters."""

    unit: str = "words"
    n: int = 1

    @classmethod
    def read(cls, text: str) -> Tokenizer:
        """
        >>> Tokenizer.read("words"), Tokenizer.read("3-chars")
        (Tokenizer(unit='words', n=1), Tokenizer(unit='chars', n=3))
        """
        found = re.fullmatch(r"(?:([1-9][0-9]?)-)?(words?|chars?)", text)
        if not found or (found[1] is None and found[2].startswith("char")):
            raise WrongUsage(f"there is no tokenizer {text!r}; write words, 2-words, 3-chars or the like")
        return cls(found[2].rstrip("s") + "s", int(found[1] or 1))

    def tokens(self, columns: list[Column]) -> Column:
        """The tokens of columns of text."""
        from swoop.spark import char_ngrams, word_ngrams, words

        if self.unit == "chars":
            return char_ngrams(*columns, n=self.n)
        return words(*columns) if self.n == 1 else word_ngrams(*columns, n=self.n)


@dataclass(frozen=True)
class Reading:
    """Everything that the user said about how rows are to be read."""

    columns: Columns
    tokenizer: Tokenizer
    time_unit: str | None = None
    time_format: str | None = None


def kind_of(type: DataType) -> Kind:
    """What a column could be used for."""
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


def learn(sample: DataFrame, reading: Reading, window: WindowSpec | None) -> Reading:
    """Guess what was not said, from rows that are there, and say what was guessed."""
    kinds = {field.name: kind_of(field.dataType) for field in sample.schema if field.name != CORRUPT}
    if not kinds:
        wrong = "no line of it is a JSON object" if CORRUPT in sample.columns else "it is empty"
        raise WrongUsage(f"the input has no columns: {wrong}")
    chosen = choose(reading.columns, kinds)
    say("; ".join(chosen.notes), style="dim")
    learned = replace(reading, columns=chosen)
    time = str(chosen.time)
    kind = kind_of(sample.schema[time].dataType)
    integers = window is not None and window.kind == "integer"
    if integers and kind != "integer":
        raise WrongUsage(
            f"the window is {window}, a number, but the times in column {time!r} are no integers "
            f"({sample.schema[time].dataType.simpleString()}); write a duration such as --window '1 hour'"
        )
    if window is None or integers or kind not in ("integer", "number"):
        return learned
    if reading.time_unit is None:
        learned = replace(learned, time_unit=_guess_unit(sample, time))
    say(f"reading the numbers of {time!r} as {UNITS[str(learned.time_unit)]} since 1970", style="dim")
    return learned


def _guess_unit(sample: DataFrame, time: str) -> str:
    """By the size of a number: 1e9 seconds, 1e12 milliseconds and so on are this century."""
    row = sample.select(quoted(time)).where(quoted(time).isNotNull()).first()
    size = abs(float(row[0])) if row is not None else 0.0
    return next((unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)) if size >= least), "s")


def prepare(rows: DataFrame, reading: Reading, window: WindowSpec | None) -> DataFrame:
    """Rows as sets: id, time, tokens, text, stream; and the time as it was given, where it had to be read."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    chosen = reading.columns
    if chosen.id is None:
        if rows.isStreaming:
            raise WrongUsage("the rows of a stream need an id; name its column with --id")
        rows = rows.zipWithIndex("__row")
    name = quoted(chosen.id or "__row")
    if not isinstance(rows.select(name).schema[0].dataType, T.IntegralType | T.StringType | T.BinaryType):
        name = name.cast("string")
    texts = [quoted(name) for name in chosen.text]
    if chosen.tokens is not None:
        tokens = quoted(chosen.tokens)
        element = rows.select(tokens).schema[0].dataType
        text = F.concat_ws(" ", *texts) if texts else F.array_join(tokens.cast("array<string>"), " ")
        if isinstance(element, T.ArrayType) and isinstance(element.elementType, T.BinaryType) and not texts:
            text = F.array_join(F.transform(tokens, lambda token: F.hex(token)), " ")
    else:
        tokens, text = reading.tokenizer.tokens(texts), F.concat_ws(" ", *texts)
    time, as_given = _time(rows, reading, window)
    return rows.select(
        name.alias("id"),
        time.alias("time"),
        tokens.alias("tokens"),
        text.alias("text"),
        *([quoted(chosen.stream).alias("stream")] if chosen.stream else []),
        *([quoted(str(chosen.time)).cast("string").alias("time_as_given")] if as_given else []),
    )


def _time(rows: DataFrame, reading: Reading, window: WindowSpec | None) -> tuple[Column, bool]:
    """The time of a row, and whether it had to be read from something else."""
    from pyspark.sql import types as T  # noqa: N812

    from swoop.spark import timestamps

    name = str(reading.columns.time)
    found = rows.schema[name].dataType
    if isinstance(found, T.TimestampType | T.TimestampNTZType) or window is None or window.kind == "integer":
        return quoted(name), False
    if isinstance(found, T.StringType) and not reading.time_unit:
        zone = "" if reading.time_format else "; those without a zone in UTC"
        say(f"reading the texts of {name!r} as times{zone}", style="dim")
    return timestamps(quoted(name), unit=reading.time_unit, format=reading.time_format), True


def quoted(name: str) -> Column:
    """A column by its name, whatever the name has in it."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col("`" + name.replace("`", "``") + "`")
