"""Random histories as tables of all kinds, and what becomes of them in slices and in one go."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from hypothesis import strategies as st

import swoop
from swoop.errors import UnusableRows
from swoop.oracle import Record
from swoop.stays import Stay
from swoop.stays import stays_of as stays_of_changes
from tests.support.histories import SIMILARITIES, reachable, thresholds

NOON = dt.datetime(2024, 1, 1, 12)


@dataclass(frozen=True)
class Case:
    """A history as a table, in any order; its records in the order in which they enter; and the parameters."""

    table: pa.Table
    records: list[Record]
    unusable: int
    options: dict[str, Any]
    tokens: Any
    stream: str | None
    keys: tuple[Any, ...] = (None,)  # of the records


FORMS: dict[str, Callable[[pa.Table, int], Any]] = {
    "table": lambda table, _: table,
    "chunked table": lambda table, size: pa.Table.from_batches(table.to_batches(size), table.schema),
    "record batch": lambda table, _: table.combine_chunks().to_batches()[0] if len(table) else table,
    "pandas": lambda table, _: table.to_pandas(integer_object_nulls=True) if len(table) else table,
    "polars": lambda table, _: pl.from_arrow(table),
    "dict": lambda table, _: {name: table[name] for name in table.column_names},
    "dict of lists": lambda table, _: {name: table[name].to_pylist() for name in table.column_names} if len(table) else table,
    "data set": lambda table, size: ds.dataset(pa.Table.from_batches(table.to_batches(size), table.schema)),
    "reader": lambda table, size: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size)),
    "batches": lambda table, size: iter(table.to_batches(size)) if len(table) else table,
    "tables": lambda table, size: [table.slice(at, size) for at in range(0, len(table), size)] if len(table) else table,
    "stream": lambda table, _: _Stream(table),
}


class _Stream:
    """Something that gives Arrow a stream, and is nothing that is known otherwise."""

    def __init__(self, table: pa.Table) -> None:
        self.__arrow_c_stream__ = table.__arrow_c_stream__


TENANTS = [("b", 1), ("b", None), (None, 1)]
"""Keys, in order."""

KINDS: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
    "integers": (int, pa.int64()),
    "small integers": (int, pa.int8()),
    "strings": (lambda number: "éa\U0001f600b\uffffz"[number % 6] * (1 + number % 2), pa.string()),
    "bytes": (lambda number: bytes([255 - number, number]), pa.binary()),
}


@st.composite
def cases(draw: st.DrawFn, size: int = 25, streams: int = 2) -> Case:
    two_streams = streams == 2 and draw(st.booleans())
    as_text = draw(st.booleans())
    id_of, id_type = draw(st.sampled_from(list(KINDS.values())))
    token_of, token_type = (str, pa.string()) if as_text else draw(st.sampled_from(list(KINDS.values())))
    unit = draw(st.sampled_from([None, "s", "ms", "us", "ns"]))
    zone = draw(st.sampled_from([None, "UTC", "Asia/Tokyo"]))
    numbers = st.integers(0, draw(st.integers(1, 12)))
    sets = st.lists(numbers.map(token_of), max_size=draw(st.integers(1, 6)))
    wrong = draw(st.sampled_from([0, 0, 3]))
    rows: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, size))):
        row = {
            "id": id_of(draw(st.integers(0, draw(st.sampled_from([2, 100]))))),
            "time": draw(st.integers(0, 30)),
            "tokens": draw(sets),
            "stream": draw(st.sampled_from(["left", "right"])) if two_streams else "up",
            "key": draw(st.integers(0, 2)),
        }
        if wrong and draw(st.integers(0, 9)) < wrong:
            name = draw(st.sampled_from(["id", "time", "tokens", *(["stream"] if two_streams else [])]))
            row[name] = [*row["tokens"], None] if name == "tokens" and not as_text and draw(st.booleans()) else None
        rows.append(row)
    if draw(st.booleans()):
        rows.sort(key=lambda row: (row["time"] is None, row["time"]))

    def key(row: dict[str, Any]) -> Any:
        tokens = " ".join(row["tokens"]) if as_text else row["tokens"]
        return row["time"], row["id"], tokens, row["stream"]

    usable = [row for row in rows if not any(row[name] is None for name in row) and None not in row["tokens"]]
    usable.sort(key=key)
    records = [Record(r["tokens"], r["time"], r["id"], r["stream"] if two_streams else None) for r in usable]
    times = pa.array([row["time"] for row in rows], pa.int64())
    if unit is not None:
        moved = pa.array([None if row["time"] is None else NOON + row["time"] * dt.timedelta(hours=1) for row in rows])
        times = moved.cast(pa.timestamp("us")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    table = pa.table(
        {
            "more": [n for n, _ in enumerate(rows)],
            "name.of": pa.array([row["id"] for row in rows], id_type),
            "at": times,
            "items": pa.array([row["tokens"] for row in rows], pa.list_(token_type)),
            "side": pa.array([row["stream"] for row in rows], pa.string()),
            "tenant": pa.array([TENANTS[row["key"]][0] for row in rows], pa.string()),
            "class": pa.array([TENANTS[row["key"]][1] for row in rows], pa.int8()),
        }
    )
    tokens: Any = "items"
    if as_text:
        texts = [None if row["tokens"] is None else row["tokens"] for row in rows]
        cut = draw(st.integers(0, 3))
        title = [None if text is None or not text[:cut] else " ".join(text[:cut]) for text in texts]
        body = [None if text is None or (not text[cut:] and text) else " ".join(text[cut:]) for text in texts]
        table = table.append_column("title", pa.array(title, pa.string())).append_column("body", pa.array(body, pa.string()))
        tokens = swoop.words("title", "body")
    similarity = draw(st.sampled_from(SIMILARITIES))
    k = draw(st.sampled_from([1, 2, 5, 100, None]))
    options = {
        "k": k,
        "window": draw(st.integers(1, 20)),
        "similarity": similarity,
        "min_similarity": draw(reachable(similarity) if k is None else thresholds(similarity)),
    }
    keys = tuple(TENANTS[row["key"]] for row in usable)
    return Case(table, records, len(rows) - len(usable), options, tokens, "side" if two_streams else None, keys)


def plain_row(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row of a result with times as integers."""
    *facts, enter, leave = row.values()
    return (*facts, hours(enter), hours(leave))


def run(case: Case, data: Any, **more: Any) -> swoop.History:
    options = dict(case.options)
    if pa.types.is_timestamp(case.table["at"].type):
        options["window"] = dt.timedelta(hours=options["window"])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = swoop.history(data, **options, id="name.of", time="at", tokens=case.tokens, stream=case.stream, **more)
    assert [warning.message.count for warning in warned if isinstance(warning.message, UnusableRows)] == (  # type: ignore[union-attr]
        [case.unusable] if case.unusable else []
    )
    return found


def in_one_go(case: Case) -> list[Stay]:
    """The stays of positive length, of a join that runs over all records."""
    join = swoop.TopKJoin(**case.options, two_streams=case.stream is not None, track_changes=True)
    for r in case.records:
        join.insert(r.tokens, r.time, r.id, r.stream)
    return [stay for stay in stays_of_changes(join.changes()) if stay.leave is None or stay.leave > stay.enter]  # type: ignore[operator]


def hours(time: Any) -> Any:
    """A time as an integer again."""
    if not isinstance(time, dt.datetime):
        return time
    ticks = (time.replace(tzinfo=None) - NOON) / dt.timedelta(hours=1)
    assert ticks == int(ticks)
    return int(ticks)
