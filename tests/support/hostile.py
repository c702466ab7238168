"""Rows of somebody who means no good, or does not know better: bytes, numbers, times, sizes, types, names of columns."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from swoop.oracle import Record
from swoop.times import EPOCH, EPOCH_UTC, FIRST_DATETIME, LAST_DATETIME, LATEST, MICROSECOND

MOST = 20  # tokens, while these are tested
NAMES = {"id": "the id.of `it`", "time": "Time", "tokens": "tokens.x y", "stream": "side; --'\"", "text": "te\nxt ü"}
NOT_UTF8 = (b"\xff", b"a\xfeb", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"ok \x80")
LETTERS = (b"a", b"b", "ü".encode(), "日本".encode(), "😀".encode(), b"\x00", b"", b" ")
SCHEMA = pa.schema(
    [
        ("id", pa.binary()),
        ("time", pa.int64()),
        ("tokens", pa.list_(pa.binary())),
        ("stream", pa.binary()),
        ("text", pa.binary()),
    ]
)
READ = "id binary, time long, tokens array<binary>, stream binary, text binary"


@dataclass(frozen=True)
class HostileRow:
    """A row in bytes and ticks. ``reason`` says why it cannot be used, None if it can."""

    id: bytes | None
    time: int | None
    tokens: tuple[bytes | None, ...] | None
    stream: bytes | None = b"left"
    text: bytes | None = b"text"
    reason: str | None = None

    def record(self, kind: str) -> Record:
        assert self.id is not None
        assert self.time is not None
        assert self.tokens is not None
        begin = {"timestamp": EPOCH_UTC, "timestamp_ntz": EPOCH}.get(kind)
        time: Any = self.time if begin is None else begin + self.time * MICROSECOND
        tokens = [token.decode() for token in self.tokens if token is not None]
        return Record(tokens, time, self.id.decode(), self.stream.decode())  # type: ignore[union-attr, arg-type]


def edges(kind: str) -> tuple[int, int]:
    """The first and the last time that can be used."""
    return (1 - LATEST, LATEST - 1) if kind == "bigint" else (FIRST_DATETIME, LAST_DATETIME)


def good_rows(rng: random.Random, kind: str, size: int) -> list[list[HostileRow]]:
    """Rows at the beginning of time, in our days, and at its end."""
    first, last = edges(kind)
    found = []
    for begin in (first, 1_700_000_000_000_000, last - 30_000_000):
        times = [begin, *(begin + rng.randrange(30) * 1_000_000 for _ in range(size)), begin + 30_000_000]
        found.append([good_row(rng, time) for time in sorted(times)])
    return found


def good_row(rng: random.Random, time: int) -> HostileRow:
    return HostileRow(
        rng.choice([b"", b"\x00", "ß".encode(), b"x y", str(rng.random()).encode()]),
        time,
        tuple(rng.choices(LETTERS, k=rng.randrange(5))),
        rng.choice([b"left", b"right"]),
        rng.choice([None, b"", "\u2028 é".encode()]),
    )


def bad_rows(rng: random.Random, kind: str) -> list[HostileRow]:
    """One of each kind that cannot be used."""
    first, last = edges(kind)
    usable = good_row(rng, rng.choice([first, last, 0]))
    given: list[tuple[str, dict[str, Any]]] = [
        ("the id is null", {"id": None}),
        ("the time is null", {"time": None}),
        *(("the time is out of range", {"time": time}) for time in (first - 1, last + 1, 2**63 - 1, -(2**63))),
        ("the tokens are null", {"tokens": None}),
        ("a token is null", {"tokens": (b"a", None)}),
        ("a token is null", {"tokens": (None,)}),
        (f"there are more than {MOST} tokens", {"tokens": (b"a",) * (MOST + 1)}),
        *(("the id is not UTF-8", {"id": wrong}) for wrong in NOT_UTF8),
        *(("a token is not UTF-8", {"tokens": (b"a", wrong)}) for wrong in NOT_UTF8),
        *(
            ("the stream is neither 'left' nor 'right'", {"stream": wrong})
            for wrong in (None, b"", b"LEFT", b"left ", *NOT_UTF8)
        ),
        *(("the text is not UTF-8", {"text": wrong}) for wrong in NOT_UTF8),
    ]
    return [HostileRow(**{**usable.__dict__, **wrong, "reason": reason}) for reason, wrong in given]


def write(folder: Path, files: list[list[HostileRow]]) -> None:
    """Parquet files that Spark takes one after the other."""
    folder.mkdir()
    for number, rows in enumerate(files):
        columns = [{**row.__dict__, "tokens": None if row.tokens is None else list(row.tokens)} for row in rows]
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(columns, SCHEMA), path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def as_given(rows: DataFrame, kind: str) -> DataFrame:
    """The rows as a source might have them: strings of any bytes, under odd names, beside columns of odd types."""
    time: dict[str, Column] = {
        "bigint": F.col("time"),
        "timestamp": F.timestamp_micros("time"),
        "timestamp_ntz": F.timestamp_micros("time").cast("timestamp_ntz"),
    }
    text = F.col("id").cast("string")
    return rows.select(
        F.lit(None).alias("time"),  # the same name to Spark as that of the times
        text.alias(NAMES["id"]),
        time[kind].alias(NAMES["time"]),
        F.transform("tokens", lambda token: token.cast("string")).alias(NAMES["tokens"]),
        F.col("stream").cast("string").alias(NAMES["stream"]),
        F.col("text").cast("string").alias(NAMES["text"]),
        F.struct(text.alias("a.b"), F.array(F.struct(text.alias("c")))).alias("in.side"),
        F.create_map(F.lit("k"), F.lit(float("nan"))).alias("reason"),
        F.col("id").alias("id"),
    )
