"""Hostile rows, through every way to run: they are rejected, each with its reason, and the others' results are exact."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from swoop import oracle
from swoop.errors import InvalidData
from swoop.join.slices import Extent
from swoop.live.manifest import result_files
from swoop.oracle import Record
from swoop.reasons import TOO_FAR_AHEAD
from swoop.spark import explain, rejected, rows, topk_changes, topk_history, topk_stream, transitions
from swoop.times import FIRST_DATETIME, LATEST
from tests.support.hostile import MOST, NAMES, READ, HostileRow, as_given, bad_rows, good_rows, write
from tests.support.judge import judge
from tests.support.live_cases import SPEC, Row, table, with_join
from tests.support.live_runs import start
from tests.support.slices import stays_of

COLUMNS: dict[str, Any] = {name: NAMES[name] for name in ("id", "time", "tokens", "stream")}


@pytest.fixture(autouse=True)
def few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_SET_SIZE", MOST)


class Case:
    """Good rows among bad ones, and what comes of the good ones."""

    def __init__(self, kind: str, texts: bool, size: int) -> None:
        rng = random.Random(5)
        good = good_rows(rng, kind, size)
        bad = [[row for row in bad_rows(rng, kind) if texts or row.reason != "the text is not UTF-8"] for _ in good]
        if texts:
            tomorrow = good[1][-1].time + 86_400_000_000  # type: ignore[operator]
            bad[1].append(replace(good[1][0], time=tomorrow, reason=TOO_FAR_AHEAD))
        self.files = [rng.sample([*some, *others], len(some) + len(others)) for some, others in zip(good, bad, strict=True)]
        self.bad = [row for part in bad for row in part]
        self.records = [row.record(kind) for row in sorted((row for part in good for row in part), key=_order)]
        self.kind = kind
        self.options = {
            "k": 4,
            "window": dt.timedelta(seconds=20) if kind != "bigint" else 20_000_000,
            "two_streams": True,
        }

    def check_rejected(self, found: list[tuple[str, str]]) -> None:
        """Reasons and rows in JSON."""
        assert Counter(reason for reason, _ in found) == Counter(row.reason for row in self.bad)
        given = Counter((row.reason, _shown(row.id)) for row in self.bad)
        told = [(reason, json.loads(row)) for reason, row in found]
        assert Counter((reason, row["id" if reason == TOO_FAR_AHEAD else NAMES["id"]]) for reason, row in told) == given
        for reason, row in told:
            assert set(row) == set(NAMES) if reason == TOO_FAR_AHEAD else set(NAMES.values()) < set(row)


def _order(row: HostileRow) -> Any:
    return row.time, row.id, row.tokens, row.stream


def _shown(text: bytes | None) -> str | None:
    """How a value is written that may be no text."""
    if text is None:
        return None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return f"{text.decode(errors='replace')} (hex {text.hex().upper()})"


@pytest.mark.parametrize(("kind", "slices"), [("timestamp", None), ("timestamp_ntz", 9), ("bigint", None)])
def test_history(spark: SparkSession, tmp_path: Path, kind: str, slices: int | None) -> None:
    case = Case(kind, texts=False, size=40)
    write(tmp_path / "in", case.files)
    sets = as_given(spark.read.parquet(str(tmp_path / "in")), kind)
    stays = topk_history(sets, 4, case.options["window"], **COLUMNS, slices=slices)
    with pytest.warns(UserWarning, match=f"^{len(case.bad)} rows are unusable"):
        found = [tuple(row.values()) for row in stays.toArrow().to_pylist()]
    assert sorted(found, key=repr) == stays_of(case.records, **case.options)
    left_out = rejected(sets, **COLUMNS).toArrow()
    assert left_out.column_names == [*(name for name in sets.columns if name != "reason"), "reason", "row"]
    left_out.validate(full=True)
    case.check_rejected([(row["reason"], row["row"]) for row in left_out.to_pylist()])


@pytest.mark.parametrize(("kind", "cells"), [("timestamp", 1), ("timestamp_ntz", 1), ("bigint", 1), ("timestamp", 3)])
def test_live(spark: SparkSession, tmp_path: Path, kind: str, cells: int) -> None:
    case = Case(kind, texts=True, size=40)
    write(tmp_path / "in", case.files)
    source = spark.readStream.schema(READ).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    minute: Any = "1 minute" if kind != "bigint" else 60_000_000
    options = {**COLUMNS, "text": NAMES["text"], "lateness": minute, "max_ahead": minute, "cells": cells}
    stream = topk_stream(as_given(source, kind), 4, case.options["window"], **options)
    handle = stream.start(
        tmp_path / "checkpoint", changes=["memory", tmp_path / "changes"], rejected=tmp_path / "rejected", available_now=True
    )
    assert handle.await_termination(300)
    expected = oracle.changes(case.records, **case.options)
    assert len(expected) > 50
    assert [_key(change) for change in handle.changes()] == [_key(change) for change in expected]
    assert (handle.stats.rejected, handle.stats.late, handle.stats.sets) == (len(case.bad), 0, len(case.records))
    case.check_rejected([(row["reason"], row["row"]) for row in _read(tmp_path / "rejected")])
    written = _read(tmp_path / "changes")
    assert [(row["time"], row["end"]) for row in written] == [(change.time, change.pair.end) for change in expected]
    if kind != "bigint":
        assert max(row["end"] for row in written).replace(tzinfo=None) == dt.datetime.max


@pytest.mark.parametrize(("kind", "by"), [("timestamp", None), ("timestamp_ntz", NAMES["id"]), ("bigint", None)])
def test_changes(spark: SparkSession, tmp_path: Path, kind: str, by: str | None) -> None:
    """As a DataFrame, also one result for each of the ids, which may be any bytes."""
    case = Case(kind, texts=False, size=40)
    write(tmp_path / "in", case.files)
    source = spark.readStream.schema(READ).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    lateness: Any = "0 seconds" if kind != "bigint" else 0
    changes = topk_changes(as_given(source, kind), 4, case.options["window"], **COLUMNS, lateness=lateness, by=by)
    writer = changes.writeStream.format("memory").queryName(f"hostile_{kind}")
    query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    found = spark.table(f"hostile_{kind}").orderBy("sequence")
    told = found.where("reason is not null").select("reason", "row").toArrow()
    case.check_rejected([(row["reason"], row["row"]) for row in told.to_pylist()])
    rows = found.where("reason is null").toArrow().to_pylist()
    expected = []
    for key in sorted({record.id if by else None for record in case.records}, key=repr):
        records = [record for record in case.records if by is None or record.id == key]
        last: Any = max(record.time for record in records)
        before = last - (1 if kind == "bigint" else dt.timedelta(microseconds=1))
        judged = judge([record for record in records if record.time < last], **case.options, now=before)
        expected += [(key, *_key(change), rank) for change, rank in zip(judged.changes, judged.ranks, strict=True)]
    names = ("time", "kind", "similarity", "newer", "older", "overlap", "start", "end", "rank")
    told_of = [(row[by] if by else None, *(row[name] for name in names)) for row in rows]
    assert sorted(told_of, key=lambda change: repr(change[0])) == expected
    assert len(expected) > 30


def _key(change: Any) -> Any:
    pair = change.pair
    return change.time, change.kind, pair.similarity, pair.newer, pair.older, pair.overlap, pair.start, pair.end


def _read(path: Path) -> list[dict[str, Any]]:
    parts = [pq.read_table(file) for file in result_files(path)]
    for part in parts:
        part.validate(full=True)
    return [row for part in parts for row in part.to_pylist()]


@pytest.mark.parametrize("times", [[1 - LATEST, LATEST - 1], [LATEST - 1], [1 - LATEST, 0, 0]])
def test_the_longest_window_and_lateness(folder: Path, times: list[int]) -> None:
    """No sum of them is beyond 64 bits."""
    length = LATEST - 1
    live = start(folder, replace(with_join(SPEC, window=length), lateness=length, max_ahead=length))
    for batch, time in enumerate(times):
        live.process(batch, table([Row(batch, time, (1, 2))]))
    live.finish()
    records = [Record((1, 2), time, number) for number, time in enumerate(times) if time - times[0] <= length]
    assert list(live.topk) == oracle.topk(records, 3, length)
    assert live.stats.rejected == len(times) - len(records)


@pytest.mark.parametrize("kind", ["aware", "naive"])
def test_the_first_time_that_there_is(folder: Path, kind: Any) -> None:
    """The watermark is before it, and is shown as it."""
    live = start(folder, replace(with_join(SPEC, window="1 hour"), lateness=4, time_kind=kind))
    live.process(0, table([Row(1, FIRST_DATETIME, (1, 2))]))
    assert live.stats.watermark.replace(tzinfo=None) == dt.datetime.min  # type: ignore[union-attr]
    live = start(folder, replace(with_join(SPEC, window="1 hour"), lateness=4, time_kind=kind))
    live.process(1, table([Row(2, FIRST_DATETIME + 1, (1, 2)), Row(3, FIRST_DATETIME + 9, (3,))]))
    assert [(pair.newer, pair.older) for pair in live.topk] == [(2, 1)]


def test_quantiles_beyond_the_last_time() -> None:
    """They are made with doubles, which know no odd numbers of this size."""
    last = LATEST - 1
    cuts = Extent(10, last - 9, last, [last - 9, last - 5, LATEST, LATEST]).cuts(2, 3, 1)
    assert cuts == [last - 9, last - 5, last + 1]


@pytest.mark.parametrize("first", [-(2**31), 2**31 - 5])
def test_times_of_32_bits(spark: SparkSession, first: int) -> None:
    """What is added to them needs more."""
    sets = spark.createDataFrame([(n, first + n, ["a"]) for n in range(3)], "id int, time int, tokens array<string>")
    stays = topk_history(sets, 9, 2**31 - 1, slices=2)
    assert {(row.newer, row.older) for row in stays.collect()} == {(1, 0), (2, 0), (2, 1)}


def test_strings_that_compare_by_a_collation(spark: SparkSession) -> None:
    """Tokens are compared as they are, and LEFT is not left."""
    given = [("x", 1, ["a", "B"], "left"), ("X", 2, ["A", "B"], "left"), ("x", 3, ["a"], "LEFT")]
    sets = spark.createDataFrame(given, "id string, time int, tokens array<string>, stream string").selectExpr(
        "collate(id, 'UTF8_LCASE') id",
        "time",
        "cast(tokens as array<string collate UTF8_LCASE>) tokens",
        "collate(stream, 'UTF8_LCASE') stream",
    )
    (stay,) = topk_history(sets, 3, 10).filter("enter = 2").collect()
    assert (stay.newer, stay.older, stay.overlap) == ("X", "x", 1)
    assert [row.time for row in rejected(sets, stream="stream").collect()] == [3]


def test_a_name_that_two_columns_have(spark: SparkSession) -> None:
    sets = spark.sql("select 1 as id, 2 as id, 3 as time, array('a') as tokens")
    with pytest.raises(InvalidData, match="there is more than one column 'id' for id"):
        topk_history(sets, 1, 5)
    with pytest.raises(InvalidData, match="there is no column 'ID' for id"):
        topk_history(sets, 1, 5, id="ID")


def test_explain_and_transitions_with_odd_names(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(7, "a", 1), (7, "b", 2), (7, "c", 3), (8, "b", 3), (8, "c", 4)], "`a.b` int, `s``t` string, T int"
    )
    sets = transitions(events, "a.b", "s`t", "T").withColumnRenamed("id", "i.d").withColumnRenamed("tokens", "to kens")
    pairs = topk_history(sets, 1, 5, id="i.d", tokens="to kens").withColumnRenamed("overlap", "over.lap")
    (row,) = explain(pairs, sets, id="i.d", tokens="to kens").collect()
    assert (row.newer, row.older, row.shared, row.only_older) == (8, 7, ["b→c"], ["a→b"])
