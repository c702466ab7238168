"""Kept columns on Spark: results show the records of exactly the sets that they name, also where ids repeat."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import swoop
from swoop.errors import InvalidArgument, InvalidData
from swoop.spark import (
    at_least_once,
    families_changes,
    families_history,
    families_stream,
    result_files,
    topk_changes,
    topk_history,
    topk_stream,
    words,
)
from tests.support.changes import run
from tests.support.frames import history
from tests.support.slices import stays_of
from tests.support.streams import posts, write_files

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(("slices", "copies"), [(1, "each"), (4, "each"), (4, "once")])
def test_histories_show_the_records_of_sets_that_all_have_the_same_id(spark: SparkSession, slices: int, copies: Any) -> None:
    records = [replace(record, time=time) for time, record in enumerate(history(80, 3))]
    rows = [("same", time, list(record.tokens), time, f"text {time}") for time, record in enumerate(records)]
    sets = spark.createDataFrame(rows[::-1], "id string, time long, tokens array<string>, number int, Text string")
    options = {"k": 4, "window": 30}
    found = topk_history(sets.repartition(3), **options, slices=slices, copies=copies, keep=["number", "Text"])
    assert found.columns == [
        *("newer", "older", "similarity", "overlap", "enter", "leave"),
        *("newer_number", "newer_Text", "older_number", "older_Text"),
    ]
    told = found.collect()
    for side in ("newer", "older"):
        assert all(row[f"{side}_Text"] == f"text {row[f'{side}_number']}" for row in told)
    named = ("newer_number", "older_number", "similarity", "overlap", "enter", "leave")
    stays = sorted((tuple(row[name] for name in named) for row in told), key=repr)
    assert stays == stays_of(records, **options, copies=copies)
    assert stays


TWINS = [  # values of records, as Spark orders them
    *(("long", value) for value in (None, 9, 10)),
    *(("double", value) for value in (None, -1.5, 0.0, 10.0, float("nan"))),
    *(("string", value) for value in (None, "", "10", "9", "é", "\U0001f600")),
    *(("binary", bytearray(value)) for value in (b"", b"\x7f", b"\xff")),
    *(("array<int>", value) for value in (None, [], [2, None], [2, 1], [10])),
    *(("struct<a: int, b: string>", value) for value in ({"a": None, "b": "z"}, {"a": 2, "b": None}, {"a": 10, "b": "a"})),
    *(("timestamp", value) for value in (None, NOON, NOON + dt.timedelta(microseconds=1))),
]


def test_equal_sets_are_in_the_order_of_their_records(spark: SparkSession, tmp_path: Path) -> None:
    """In whatever order rows come, however results are made."""
    kinds = list(dict.fromkeys(kind for kind, _ in TWINS))
    rows = []
    for place, kind in enumerate(kinds):
        values = [value for known, value in TWINS if known == kind]
        records = [{name: (value if name == kind else None) for name in kinds} for value in values]
        rows += [(place, 100 * place, [f"token {place}"], *record.values()) for record in records]
    columns = [f"kept{place} {kind}" for place, kind in enumerate(kinds)]
    keep = [column.partition(" ")[0] for column in columns]
    sets = spark.createDataFrame(rows[::-1], f"id int, time long, tokens array<string>, {', '.join(columns)}")
    in_order = sets.orderBy("id", *keep).collect()
    assert [repr(tuple(row)[3:]) for row in in_order] == [repr(tuple(row)[3:]) for row in sets.collect()[::-1]]
    options: dict[str, Any] = {"k": 20, "window": 10, "keep": keep}

    def told(table: Any) -> list[str]:
        shown = [f"{side}_{name}" for name in keep for side in ("newer", "older")]
        return sorted(
            repr([row["enter"], *(row[name] for name in shown)]) for row in table.select([*shown, "enter"]).to_pylist()
        )

    expected = told(topk_history(sets, **options).toArrow())
    assert len(expected) == sum(n * (n - 1) // 2 for n in (3, 5, 6, 3, 5, 3, 3))
    for one in (sets, sets.orderBy(F.rand(1))):
        assert told(swoop.history(one.toArrow(), **options).to_arrow()) == expected
    sets.coalesce(1).write.parquet(str(tmp_path / "in"))
    stream = topk_stream(spark.readStream.schema(sets.schema).parquet(str(tmp_path / "in")), **options, lateness=5)
    handle = stream.start(tmp_path / "state", changes=tmp_path / "changes", available_now=True)
    assert handle.await_termination(120)
    changes = spark.read.parquet(*result_files(tmp_path / "changes")).where("kind = 'enter'").withColumnRenamed("time", "enter")
    assert told(changes.toArrow()) == expected


@pytest.mark.parametrize("cells", [1, 3])
def test_columns_that_are_never_null_beside_rows_that_cannot_be_used(spark: SparkSession, tmp_path: Path, cells: int) -> None:
    """Such a row has no record."""
    rows = [{"id": None if n == 3 else n, "time": n, "tokens": ["a", str(n % 2)]} for n in range(5)]
    write_files(tmp_path / "in", rows, 1)
    sets = spark.readStream.schema("id long, time long, tokens array<string>").json(str(tmp_path / "in"))
    inner = F.struct(F.lit(1).alias("a"), F.array(F.struct(F.lit(2).alias("b"))).alias("c"))
    sets = sets.select("*", F.lit(7).alias("seven"), inner.alias("inner"))
    stream = topk_stream(sets, 9, 10, cells=cells, keep=["seven", "inner"], lateness=1)
    handle = stream.start(tmp_path / "state", available_now=True)
    assert handle.await_termination(120)
    assert handle.stats.rejected == 1
    shown = {repr(record) for pair in handle.topk() for record in (pair.newer_record, pair.older_record)}
    assert shown == {repr({"seven": 7, "inner": {"a": 1, "c": [{"b": 2}]}})}
    assert len(handle.topk()) == 6


def test_values_of_many_types(spark: SparkSession) -> None:
    rows = [
        (1, 1, ["a"], bytearray(b"\xff"), NOON, {"x": 1, "y": ["p", None]}, 2.5),
        (2, 2, ["a"], None, None, None, None),
    ]
    inner = "struct<x: int, y: array<string>>"
    schema = f"id int, time int, tokens array<string>, raw binary, when timestamp, inner {inner}, price double"
    sets = spark.createDataFrame(rows, schema).withColumn("bad", F.expr("if(id = 1, cast(X'6F6B20FF' as string), null)"))
    kept = ["raw", "when", "inner", "price", "bad", "id"]
    (stay,) = topk_history(sets, 1, 5, slices=1, keep=kept).collect()
    assert [stay[f"newer_{name}"] for name in kept] == [None] * 5 + [2]
    assert stay["older_raw"] == b"\xff"
    assert stay["older_when"].astimezone(dt.UTC) == NOON
    assert stay["older_inner"].asDict() == {"x": 1, "y": ["p", None]}
    assert (stay["older_price"], stay["older_bad"]) == (2.5, "ok \N{REPLACEMENT CHARACTER} (hex 6F6B20FF)")


def some_posts(spark: SparkSession) -> DataFrame:
    rows = [(n, n, ["a", "b"] if n % 2 else ["c"], f"text {n}", "x" if n < 6 else "y") for n in range(12)]
    return spark.createDataFrame(rows, "id int, time int, tokens array<string>, text string, tenant string")


def test_families_and_keys(spark: SparkSession) -> None:
    posts = some_posts(spark)
    found = families_history(posts, 0.5, 3, slices=3, by="tenant", keep="text").orderBy("tenant", "id").collect()
    assert [(row["tenant"], row["id"], row["total"], row["representative_text"]) for row in found] == [
        *(("x", 0, 3, "text 4"), ("x", 1, 3, "text 5"), ("y", 6, 3, "text 10"), ("y", 7, 3, "text 11"))
    ]
    stays = topk_history(posts, 1, 3, slices=2, by="tenant", keep="text")
    assert stays.columns[0] == "tenant"
    assert all(row["newer_text"] == f"text {row['newer']}" for row in stays.collect())
    assert "older_text" in at_least_once(stays).columns


def test_the_same_as_in_process(spark: SparkSession) -> None:
    posts = some_posts(spark)
    ours = swoop.history(posts.toArrow(), 2, 5, keep=["text", "tenant"], threads=1).to_pandas()
    theirs = topk_history(posts, 2, 5, keep=["text", "tenant"]).toPandas()
    order = ["enter", "newer", "older"]
    assert ours.sort_values(order).astype(str).values.tolist() == theirs.sort_values(order).astype(str).values.tolist()
    assert list(ours.columns) == list(theirs.columns)


def test_what_cannot_be_kept_is_refused(spark: SparkSession) -> None:
    posts = some_posts(spark).withColumn("newer_text", F.lit(1)).withColumn("tags", F.create_map("text", "text"))
    for error, match, options in (
        (InvalidData, "there is no column 'txt' for keep", {"keep": "txt"}),
        (InvalidData, "'tags' for keep has type map<string,string>, which cannot be kept; cast it first", {"keep": ["tags"]}),
        (InvalidArgument, "differ in case only: 'text', 'TEXT'", {"keep": ["text", "TEXT"]}),
        (InvalidArgument, "by='newer_text' has the name of another column of the result", {"keep": "text", "by": "newer_text"}),
    ):
        with pytest.raises(error, match=match):
            topk_history(posts, 1, 5, **options)  # type: ignore[arg-type]


KEEP = ["text", "when", "Side"]


def rows_to_stream(folder: Path) -> dict[int, tuple[Any, ...]]:
    """Files of a stream, and by id what is to be kept of its rows."""
    rows = [{**row, "when": row["time"], "Side": {"x": row["id"]}} for row in posts(60)]
    write_files(folder, rows, 4)
    return {row["id"]: (row["text"], dt.datetime.fromisoformat(row["when"]), {"x": row["id"]}) for row in rows}


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    schema = "id long, time timestamp, text string, when timestamp, Side struct<x: int>"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


@pytest.mark.parametrize(("copies", "cells"), [("each", 1), ("once", 3)])
def test_live_streams_show_their_records(spark: SparkSession, tmp_path: Path, copies: Any, cells: int) -> None:
    """In two runs; results, the feed, and files."""
    told = rows_to_stream(tmp_path / "in")
    found: list[Any] = []
    for flush in (False, True):
        asked: dict[str, Any] = {"copies": copies, "cells": cells, "lateness": "3 s", "keep": KEEP}
        stream = topk_stream(stream_of(spark, tmp_path / "in"), 3, "20 s", tokens=words("text"), **asked)
        handle = stream.start(tmp_path / "state", changes=["memory", tmp_path / "out"], available_now=True, flush=flush)
        assert handle.await_termination(300)
        found += handle.changes()
    assert len(found) > 20
    for pair in [*handle.topk(), *(change.pair for change in found)]:
        assert tuple(pair.newer_record.values()) == told[pair.newer]
        assert tuple(pair.older_record.values()) == told[pair.older]
    written = [row for file in result_files(tmp_path / "out") for row in pq.read_table(file).to_pylist()]
    assert len(written) == len(found)
    for row in (*written, *handle.topk().to_arrow().to_pylist()):
        for side in ("newer", "older"):
            assert tuple(row[f"{side}_{name}"] for name in KEEP) == told[row[side]]


def test_changes_as_a_data_frame_show_their_records(spark: SparkSession, tmp_path: Path) -> None:
    told = rows_to_stream(tmp_path / "in")
    sets = stream_of(spark, tmp_path / "in")
    found = topk_changes(sets, 3, "20 s", tokens=words("text"), lateness="3 s", keep=KEEP)
    assert found.columns[-8:] == [*(f"{side}_{name}" for side in ("newer", "older") for name in KEEP), "reason", "row"]
    query = found.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "state"))
    query = query.trigger(availableNow=True).start(str(tmp_path / "out"))
    assert query.awaitTermination(300)
    rows = spark.read.parquet(str(tmp_path / "out")).where("reason is null").toArrow().to_pylist()
    assert len(rows) > 20
    for row in rows:
        for side in ("newer", "older"):
            assert tuple(row[f"{side}_{name}"] for name in KEEP) == told[row[side]]


def test_live_families_show_the_records_of_representatives(spark: SparkSession, tmp_path: Path) -> None:
    told = rows_to_stream(tmp_path / "in")
    stream = families_stream(stream_of(spark, tmp_path / "in"), 0.6, "20 s", tokens=words("text"), keep=["text", "Side"])
    handle = stream.start(changes="memory", available_now=True)
    assert handle.await_termination(300)
    found = [*handle.changes(), *handle.families()]
    assert found
    for one in found:
        assert one.record == {"text": told[one.representative][0], "Side": told[one.representative][2]}
    changes = run(families_changes(stream_of(spark, tmp_path / "in"), 0.6, "20 s", tokens=words("text"), keep="text"), tmp_path)
    rows = [row for row in changes.to_pylist() if row["reason"] is None]
    assert len(rows) > 20
    assert all(row["representative_text"] == told[row["representative"]][0] for row in rows)
