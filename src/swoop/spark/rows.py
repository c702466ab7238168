"""Rows as sets: which of them can be used, and how those look that cannot. Times become ticks, tokens stay what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop import reasons
from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.columns import how_to_name
from swoop.join.kept import check_keep
from swoop.similarity import MAX_SET_SIZE
from swoop.text.functions import TokenFunction
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST, TimeKind, WindowSpec, find_window

_KEY_TYPES = (
    *(T.StringType, T.BinaryType, T.IntegralType, T.DecimalType, T.BooleanType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)
"""Not floating-point numbers, which may differ and yet be equal."""


GIVEN = "__given"
"""A column that has the whole ``row`` as it was given, where others were made of parts of it, or the ``line`` that is none."""


@dataclass(frozen=True)
class Names:
    """The names of the columns. Without ``stream``, all sets are of one stream; ``text`` is shown to people.

    ``reason`` says what is already known to be wrong with a row. ``by``: the columns that make the key of a row.
    ``keep``: those that results show.
    """

    id: str
    time: str
    tokens: str | TokenFunction
    stream: str | None
    text: str | None = None
    reason: str | None = None
    by: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def check(self, sets: DataFrame) -> None:
        """Refuse names that do not exist or are not unique, and tokens that are none."""
        if not isinstance(self.tokens, str | TokenFunction):
            raise InvalidType(
                f"tokens must be the name of a column or a token function such as words('text'), not {self.tokens!r:.60}"
            )
        for argument, name in self._given():
            if sets.columns.count(name) != 1:
                there = ", ".join(map(repr, sets.columns))
                wrong = "there is no column" if name not in sets.columns else "there is more than one column"
                raise InvalidData(f"{wrong} {name!r} for {argument}; columns: {there}. {how_to_name(argument)}")
        for name in self.by:
            if not isinstance(sets.schema[name].dataType, _KEY_TYPES):
                given = sets.schema[name].dataType.simpleString()
                raise InvalidData(
                    f"column {name!r} for by has type {given}; keys are strings, bytes, integers, dates or the like"
                )
        for name in self.keep:
            if not _is_keepable(sets.schema[name].dataType):
                given = sets.schema[name].dataType.simpleString()
                raise InvalidData(
                    f"column {name!r} for keep has type {given}, which cannot be kept; cast it first, for example to_json"
                )
        if self.stream is not None and not isinstance(sets.schema[self.stream].dataType, T.StringType):
            given = sets.schema[self.stream].dataType.simpleString()
            raise InvalidData(f"column {self.stream!r} for stream has type {given}; the stream must be 'left' or 'right'")
        if isinstance(self.tokens, TokenFunction):
            for name in self.tokens.columns:
                if not isinstance(sets.schema[name].dataType, T.StringType):
                    given = sets.schema[name].dataType.simpleString()
                    raise InvalidData(f"column {name!r} for tokens has type {given}; words are made from strings")
            return
        found = sets.schema[self.tokens].dataType
        if not isinstance(found, T.ArrayType) or not isinstance(
            found.elementType, T.StringType | T.BinaryType | T.IntegralType
        ):
            raise InvalidData(
                f"column {self.tokens!r} for tokens has type {found.simpleString()}; tokens must be arrays of strings, "
                "bytes or integers"
            )

    def _given(self) -> list[tuple[str, str]]:
        texts = self.tokens.columns if isinstance(self.tokens, TokenFunction) else (self.tokens,)
        named = [
            ("id", self.id),
            ("time", self.time),
            *(("tokens", name) for name in texts),
            *(("by", name) for name in self.by),
            *(("keep", name) for name in self.keep),
        ]
        more = (("stream", self.stream), ("text", self.text), ("reason", self.reason))
        return named + [(argument, name) for argument, name in more if name is not None]

    def plain(self, sets: DataFrame) -> tuple[DataFrame, Names]:
        """The same rows under names that mean one column to Spark, whatever is in theirs: dots, backticks, the other case."""
        renamed: dict[str, Any] = {argument: _plain_name(sets.columns.index(name)) for argument, name in self._given()}
        if isinstance(self.tokens, TokenFunction):
            columns = tuple(_plain_name(sets.columns.index(name)) for name in self.tokens.columns)
            renamed["tokens"] = replace(self.tokens, columns=columns)
        for argument, names in (("by", self.by), ("keep", self.keep)):
            renamed[argument] = tuple(_plain_name(sets.columns.index(name)) for name in names)
        return sets.toDF(*map(_plain_name, range(len(sets.columns)))), replace(self, **renamed)

    @property
    def made(self) -> str | TokenFunction:
        """How a join makes sets of the column ``tokens``, in which texts travel that are to become tokens."""
        return replace(self.tokens, columns=("tokens",)) if isinstance(self.tokens, TokenFunction) else "tokens"


def quoted(name: str) -> Column:
    """A column by its name, whatever the name has in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def _plain_name(place: int) -> str:
    return f"c{place}"


def key_name(place: int) -> str:
    """What a column of a key is called on its way."""
    return f"key{place}"


def find_keep(keep: str | Sequence[str]) -> tuple[str, ...]:
    """The columns that are to be kept, no two of which mean the same to Spark."""
    names = check_keep(keep)
    if len({name.lower() for name in names}) < len(names):
        raise InvalidArgument(f"keep names columns that differ in case only: {', '.join(map(repr, names))}; rename one first")
    return names


def kept_names(keep: Sequence[str], *sides: str) -> list[str]:
    """What kept columns are called in results, for each of the sets that these speak of."""
    return [f"{side}_{name}" for side in sides for name in keep]


def _is_keepable(found: T.DataType) -> bool:
    """Whether columns of a type can be kept: they must have an order, so that results do not depend on that of rows."""
    if isinstance(found, T.ArrayType):
        return _is_keepable(found.elementType)
    if isinstance(found, T.StructType):
        return bool(found.fields) and all(_is_keepable(field.dataType) for field in found)
    return isinstance(found, (*_KEY_TYPES, T.FractionalType))


def record_of(sets: DataFrame, names: Names, called: Sequence[str] | None = None) -> Column:
    """All kept columns of a row as one, whose fields are ``called`` so. Texts are readable, whatever bytes there are."""
    kept = [readable(F.col(name), sets.schema[name].dataType) for name in names.keep]
    fields = [_plain_name(place) for place in range(len(kept))] if called is None else called
    record = F.struct(*(column.alias(name) for column, name in zip(kept, fields, strict=True)))
    types = [T.StructField(field, sets.schema[name].dataType) for field, name in zip(fields, names.keep, strict=True)]
    return record.cast(_nullable(T.StructType(types)))


def _nullable(found: T.DataType) -> T.DataType:
    """A type whose structs have fields that may be null, as Arrow needs where a struct as a whole may be null."""
    if isinstance(found, T.ArrayType):
        return T.ArrayType(_nullable(found.elementType))
    if isinstance(found, T.StructType):
        return T.StructType([T.StructField(field.name, _nullable(field.dataType)) for field in found])
    return found


def kept_columns(keep: Sequence[str], *sides: str) -> list[Column]:
    """The columns of records, each by its own name."""
    places = [(side, place) for side in sides for place in range(len(keep))]
    found = (F.col(f"{side}_record")[_plain_name(place)] for side, place in places)
    return [column.alias(name) for column, name in zip(found, kept_names(keep, *sides), strict=True)]


def find_spark_window(window: object) -> WindowSpec:
    """The window that the caller means, if it is one of those that Spark's ways to run have."""
    found = find_window(window)
    if found.kind not in ("duration", "integer"):
        raise InvalidArgument(
            f"on Spark, a window must be a duration or an integer, not {window!r}; for other windows use swoop.TopKJoin"
        )
    return found


def time_kind(sets: DataFrame, time: str, window: WindowSpec | None = None) -> TimeKind:
    """What the times of a column are, if they go with the window."""
    found = sets.schema[time].dataType
    durations, integers = (window is None or window.kind == kind for kind in ("duration", "integer"))
    if isinstance(found, T.TimestampType) and durations:
        return "aware"
    if isinstance(found, T.TimestampNTZType) and durations:
        return "naive"
    if isinstance(found, T.IntegralType) and integers:
        return "integer"
    wanted = " or ".join(["timestamps"] * durations + ["integers"] * integers)
    hint = "; swoop.spark.timestamps makes them from texts and numbers" if durations else ""
    given = "" if window is None else f" with window {window}"
    raise InvalidData(f"column {time!r} for time has type {found.simpleString()}, but times must be {wanted}{given}{hint}")


def _epoch() -> Column:
    return F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")


def ticks(time: str, kind: TimeKind) -> Column:
    """Times as integers: microseconds since 1970, or the integers given."""
    if kind == "aware":
        return F.unix_micros(time)
    if kind == "naive":
        return F.timestamp_diff("MICROSECOND", _epoch(), F.col(time))
    return F.col(time).cast("long")


def from_ticks(ticks: Column, kind: TimeKind) -> Column:
    """Ticks as times. Times without a zone are counted without one, so no change of clocks gets in."""
    if kind == "aware":
        return F.timestamp_micros(ticks)
    if kind == "naive":
        seconds = ticks.cast("decimal(20, 0)") / F.lit(1_000_000).cast("decimal(20, 0)")
        return _epoch() + F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), seconds.cast("decimal(18, 6)"))
    return ticks


def plain_type(found: T.DataType) -> str:
    """The type as which ids and tokens are compared: strings byte by byte, under any collation; integers with 64 bits."""
    if isinstance(found, T.ArrayType):
        return f"array<{plain_type(found.elementType)}>"
    if isinstance(found, T.StringType):
        return "string"
    return "bigint" if isinstance(found, T.IntegralType) else found.simpleString()


def id_of(sets: DataFrame, names: Names) -> Column:
    found = sets.schema[names.id].dataType
    return F.col(names.id).cast("string") if isinstance(found, T.StringType) else F.col(names.id)


def key_of(sets: DataFrame, name: str) -> Column:
    """A column of a key. Strings are compared byte by byte, as ids are."""
    return F.col(name).cast("string") if isinstance(sets.schema[name].dataType, T.StringType) else F.col(name)


def tokens_of(sets: DataFrame, names: Names) -> Column:
    """The tokens of a row, or the text that is to become tokens; null where all its columns are."""
    if not isinstance(names.tokens, TokenFunction):
        return F.col(names.tokens).cast(plain_type(sets.schema[names.tokens].dataType))
    return join_texts([F.col(name) for name in names.tokens.columns])


def join_texts(columns: list[Column]) -> Column:
    """Several columns of text as one, with a space between texts; null where all are."""
    texts = [column.cast("string") for column in columns]
    if len(texts) == 1:
        return texts[0]
    is_text = reduce(Column.__or__, (text.isNotNull() for text in texts))
    return F.when(is_text, F.concat_ws(" ", *texts))


def stream_of(names: Names) -> Column:
    return F.col(names.stream).cast("string") if names.stream else F.lit("left")


def in_range(ticks: Column, kind: TimeKind) -> Column:
    """Whether a time, which is not null, can be used."""
    first, last = (-LATEST + 1, LATEST - 1) if kind == "integer" else (FIRST_DATETIME, LAST_DATETIME)
    return ticks.between(F.lit(first), F.lit(last))


def why_unusable(sets: DataFrame, names: Names, kind: TimeKind) -> Column:
    """What is wrong with a row; null if nothing is."""
    tokens, types = tokens_of(sets, names), sets.schema
    known = F.col(names.reason).cast("string") if names.reason else F.lit(None)
    found = (
        F.when(known.isNotNull(), known)
        .when(F.col(names.id).isNull(), reasons.NO_ID)
        .when(F.col(names.time).isNull(), reasons.NO_TIME)
        .when(~in_range(ticks(names.time, kind), kind), reasons.TIME_OUT_OF_RANGE)
    )
    if isinstance(types[names.id].dataType, T.StringType):
        found = found.when(~F.is_valid_utf8(id_of(sets, names)), reasons.ID_NOT_UTF8)
    if isinstance(names.tokens, TokenFunction):
        found = (
            found.when(tokens.isNull(), reasons.NO_TEXT)
            .when(~F.is_valid_utf8(tokens), reasons.TEXT_NOT_UTF8)
            .when(F.octet_length(tokens) > F.lit(MAX_SET_SIZE), reasons.text_too_long(MAX_SET_SIZE))
        )
    else:
        no_token = F.exists(tokens, lambda token: token.isNull())
        found = (
            found.when(tokens.isNull(), reasons.NO_TOKENS)
            .when(F.size(tokens) > F.lit(MAX_SET_SIZE), reasons.too_many_tokens(MAX_SET_SIZE))
            .when(F.coalesce(no_token, F.lit(False)), reasons.NO_TOKEN)
        )
        if plain_type(types[names.tokens].dataType) == "array<string>":
            found = found.when(F.exists(tokens, lambda token: ~F.is_valid_utf8(token)), reasons.TOKEN_NOT_UTF8)
    if names.stream:
        is_stream = F.coalesce(stream_of(names).isin("left", "right"), F.lit(False))
        found = found.when(~is_stream, reasons.NO_SIDE)
    if names.text:
        is_text = F.coalesce(F.is_valid_utf8(F.col(names.text).cast("string")), F.lit(True))
        found = found.when(~is_text, reasons.TEXT_NOT_UTF8)
    return found


def row_in_json(sets: DataFrame, columns: list[str]) -> Column:
    """The whole row as it was given, under the names of its columns. Readable, whatever bytes there are."""
    if GIVEN in columns:
        field = sets.schema.fields[columns.index(GIVEN)]
        shown = readable(F.col(field.name), field.dataType)
        return F.coalesce(F.trim(shown["line"]), F.to_json(shown["row"], {"ignoreNullFields": "false"}))
    found = (readable(F.col(field.name), field.dataType) for field in sets.schema)
    given = F.struct(*(column.alias(name) for column, name in zip(found, columns, strict=True)))
    return F.to_json(given, {"ignoreNullFields": "false"})


def readable(column: Column, found: T.DataType) -> Column:
    """A column in which strings that are not UTF-8 are: with a sign where bytes cannot be read, and all bytes beside it."""
    if isinstance(found, T.StringType):
        shown = F.concat(F.make_valid_utf8(column), F.lit(" (hex "), F.hex(column), F.lit(")"))
        return F.when(F.is_valid_utf8(column) | column.isNull(), column).otherwise(shown)
    if isinstance(found, T.ArrayType) and _has_strings(found):
        inner = found.elementType
        return F.transform(column, lambda element: readable(element, inner))
    if isinstance(found, T.StructType) and _has_strings(found) and len({name.lower() for name in found.names}) == len(found):
        inside = F.struct(*(readable(column.getField(f.name), f.dataType).alias(f.name) for f in found))
        return F.when(column.isNotNull(), inside)
    return column


def _has_strings(found: T.DataType) -> bool:
    if isinstance(found, T.ArrayType):
        return _has_strings(found.elementType)
    if isinstance(found, T.StructType):
        return any(_has_strings(field.dataType) for field in found)
    return isinstance(found, T.StringType)
