"""Rows as sets: which of them can be used, their times as ticks, their tokens as 64-bit numbers."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.engine.rank import MAX_SET_SIZE
from swoop.errors import InvalidArgument, InvalidData
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST, TimeKind, Window, find_window


@dataclass(frozen=True)
class Names:
    """The names of the columns. Without ``stream``, all sets are of one stream; ``text`` is shown to people."""

    id: str
    time: str
    tokens: str
    stream: str | None
    text: str | None = None

    def check(self, sets: DataFrame) -> None:
        """Refuse names that do not exist, and tokens that are none."""
        for argument in ("id", "time", "tokens", "stream", "text"):
            name = getattr(self, argument)
            if name is not None and name not in sets.columns:
                there = ", ".join(map(repr, sets.columns))
                raise InvalidData(f"there is no column {name!r} for {argument}; there is {there}. Name it with {argument}=...")
        found = sets.schema[self.tokens].dataType
        if not isinstance(found, T.ArrayType) or not isinstance(
            found.elementType, T.StringType | T.BinaryType | T.IntegralType
        ):
            raise InvalidData(
                f"column {self.tokens!r} has type {found.simpleString()}; tokens are an array of strings, binaries or integers"
            )


def check_k(k: object) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidArgument(f"k must be an integer of at least 1, not {k!r}")
    return k


def find_spark_window(window: object) -> Window:
    """The window that the caller means, if it is one of those that Spark's ways to run have."""
    found = find_window(window)
    if found.kind not in ("duration", "integer"):
        raise InvalidArgument(
            f"on Spark a window is a duration or an integer, not {window!r}; for other windows use swoop.TopKJoin"
        )
    return found


def time_kind(sets: DataFrame, time: str, window: Window | None = None) -> TimeKind:
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
    raise InvalidData(f"column {time!r} has type {found.simpleString()}, but here times are {wanted}{hint}")


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


def hashed(sets: DataFrame, tokens: str) -> Column:
    """Tokens as 64-bit numbers: integers as they are, all others by their hash."""
    found = sets.schema[tokens].dataType
    if isinstance(found, T.ArrayType) and isinstance(found.elementType, T.IntegralType):
        return F.col(tokens).cast("array<bigint>")
    return F.transform(tokens, lambda token: F.xxhash64(token))


def stream_of(names: Names) -> Column:
    return F.col(names.stream) if names.stream else F.lit("left")


def tie(hashes: Column, stream: Column) -> Column:
    """What orders sets of the same time and id: from hashed tokens and stream, the same for histories and for streams."""
    return F.xxhash64(hashes, stream)


def why_unusable(names: Names, kind: TimeKind) -> Column:
    """What is wrong with a row; null if nothing is."""
    when = ticks(names.time, kind)
    first, last = (-LATEST + 1, LATEST - 1) if kind == "integer" else (FIRST_DATETIME, LAST_DATETIME)
    no_token = F.exists(names.tokens, lambda token: token.isNull())
    found = (
        F.when(F.col(names.id).isNull(), "the id is null")
        .when(F.col(names.time).isNull(), "the time is null")
        .when((when < F.lit(first)) | (when > F.lit(last)), "the time is out of range")
        .when(F.col(names.tokens).isNull(), "the tokens are null")
        .when(F.size(names.tokens) > F.lit(MAX_SET_SIZE), f"there are more than {MAX_SET_SIZE} tokens")
        .when(F.coalesce(no_token, F.lit(False)), "a token is null")
    )
    if names.stream:
        is_stream = F.coalesce(F.col(names.stream).isin("left", "right"), F.lit(False))
        found = found.when(~is_stream, "the stream is neither 'left' nor 'right'")
    return found
