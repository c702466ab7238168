"""Histories that are defined without a job, in slices of a length, and those of many keys: each is that of brute force."""

from __future__ import annotations

import datetime as dt
import logging
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidType, UnusableRows
from swoop.oracle import Record
from swoop.spark import at_least_once, every, families_history, family_members, topk_history, words
from tests.support import rhythms
from tests.support.frames import SCHEMA, collected, frame, history
from tests.support.slices import stays_of

KEYED = "tenant string, place int, id long, time long, tokens array<string>, stream string"
KEYS: list[tuple[Any, Any]] = [(None, None), (None, 1), ("a", None), ("é", 1), ("", 1), *(("b", n) for n in range(9))]
SLICES = [every(5), every(13), every(2000), 1, 4, None]
EPOCH = dt.datetime(1970, 1, 1)


def keyed_histories(seed: int, two_streams: bool) -> dict[Any, list[Record]]:
    """Bursts, days, nights and silences of as many tenants, each with its own end."""
    rng = random.Random(seed)
    found = {}
    for key in KEYS:
        records = rhythms.stream(rng, rng.choice([1, 20, 60]), two_streams)
        found[key] = [Record([str(token) for token in r.tokens], r.time, n, r.stream) for n, r in enumerate(records)]
    return found


def keyed_rows(histories: dict[Any, list[Record]], unusable: int, seed: int) -> list[Any]:
    """In any order, with rows that cannot be used, some of them later than all sets of their key."""
    rng = random.Random(seed)
    rows: list[Any] = [
        (*key, r.id, r.time, list(r.tokens), r.stream or "left") for key, records in histories.items() for r in records
    ]
    for _ in range(unusable):
        key, time = rng.choice(KEYS), rng.choice([None, 2**62, rng.randrange(-100, 10**5)])
        rows.append((*key, 1000, time, None, "left"))
    rng.shuffle(rows)
    return rows


@pytest.mark.parametrize("slices", SLICES, ids=str)
def test_each_key_is_as_if_it_were_alone(spark: SparkSession, slices: Any) -> None:
    seed = SLICES.index(slices)
    two_streams, all_pairs = seed % 2 == 1, seed % 3 == 2
    options: dict[str, Any] = {
        "k": None if all_pairs else 3,
        "window": 17,
        "similarity": ["jaccard", "cosine", "hamming"][seed % 3],
        "min_similarity": {0: None, 1: 0.3, 2: -4}[seed % 3],
    }
    histories = keyed_histories(seed, two_streams)
    sets = spark.createDataFrame(keyed_rows(histories, 25, seed), KEYED).repartition(3)
    stream = "stream" if two_streams else None
    stays = topk_history(sets, **options, stream=stream, slices=slices, by=["tenant", "place"])
    assert stays.columns == ["tenant", "place", "newer", "older", "similarity", "overlap", "enter", "leave"]
    with pytest.warns(UnusableRows, match="^25 rows"):
        found = collected(stays)
    expected = [
        (*key, *stay) for key, records in histories.items() for stay in stays_of(records, **options, two_streams=two_streams)
    ]
    assert found == sorted(expected, key=repr)
    assert len(found) > 50


@pytest.mark.parametrize("length", [2, 30, 10**6])
def test_slices_of_a_length(spark: SparkSession, length: int) -> None:
    """Without keys, from timestamps, with silences and rows that cannot be used."""
    rng = random.Random(length)
    records = [Record([str(t) for t in r.tokens], r.time, n) for n, r in enumerate(rhythms.stream(rng, 150, False))]
    late = [(1000 + n, records[-1].time + n, None) for n in range(20)]
    rows = [(r.id, r.time, list(r.tokens)) for r in records] + late
    sets = spark.createDataFrame(rows, "id long, time long, tokens array<string>").withColumn(
        "time", F.timestamp_micros("time")
    )
    with pytest.warns(UnusableRows, match="^20 rows"):
        stays = topk_history(sets, 4, "9 us", slices=dt.timedelta(microseconds=length)).toArrow()
    ticks = [stays[name].cast(pa.int64()).to_pylist() for name in ("enter", "leave")]
    found = zip(*(stays[name].to_pylist() for name in stays.column_names[:4]), *ticks, strict=True)
    assert sorted(found, key=repr) == stays_of(records, k=4, window=9)


def test_copies_count_once_in_one_slice(spark: SparkSession) -> None:
    """For each key; a length only says that no job may run."""
    records = {key: history(60, seed) for seed, key in enumerate(["a", "b"])}
    sets = (
        frame(spark, records["a"]).withColumn("by", F.lit("a")).union(frame(spark, records["b"]).withColumn("by", F.lit("b")))
    )
    found = collected(topk_history(sets, 3, 9, copies="once", slices=every(20), by="by"))
    judged = ((key, *stay) for key in "ab" for stay in stays_of(records[key], k=3, window=9, copies="once"))
    assert found == sorted(judged, key=repr)
    assert {row[0] for row in found} == {"a", "b"}


def jobs(spark: SparkSession, name: str) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(name))


def test_defining_runs_no_job(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = history(80, 5)
    frame(spark, records).write.parquet(str(tmp_path / "sets"))
    sets = spark.read.schema(SCHEMA).parquet(str(tmp_path / "sets"))
    caplog.set_level(logging.INFO, "swoop.spark")
    spark.sparkContext.setJobGroup("defining", "")
    try:
        stays = topk_history(sets, 4, 9, slices=every(20), by="stream")
        stays.createOrReplaceTempView("stays")
        spark.sql("create temp view twice as select stream, newer, older from stays where similarity >= 0.5")
        at_least_once(stays)
        topk_history(sets, 4, 9, slices=every(20), copies="once")
        families_history(sets, 0.5, 9, slices=every(20))
        family_members(sets, 0.5, 9, slices=every(20), by="stream")
        assert jobs(spark, "defining") == 0
        assert not caplog.messages
        topk_history(sets, 4, 9)
        assert jobs(spark, "defining") > 0  # the measured form says so
        assert "a Spark job measures times" in caplog.text
        expected = [("left", *stay) for stay in stays_of(records, k=4, window=9)]
        stays.write.option("path", str(tmp_path / "table")).saveAsTable("written")
        assert collected(spark.table("written")) == collected(spark.table("stays")) == expected
        assert spark.table("twice").count() == sum(stay[3] >= 0.5 for stay in expected)
    finally:
        spark.sparkContext._jsc.clearJobGroup()
        spark.sql("drop table if exists written")
        for view in ("stays", "twice"):
            spark.catalog.dropTempView(view)


def test_pairs_of_a_key_at_least_once(spark: SparkSession) -> None:
    rows = [(key, n, n, ["x", str(n % 3)], "left") for key in (1, 2) for n in range(12)]
    sets = spark.createDataFrame(rows, f"`my key` int, {SCHEMA}")
    found = at_least_once(topk_history(sets, 2, 5, by="my key", slices=every(6)))
    assert found.columns == ["my key", "newer", "older", "similarity", "overlap", "first_enter", "stays"]
    counts = {row[0]: row[1] for row in found.groupBy("`my key`").count().collect()}
    assert counts[1] == counts[2] == len({row[:2] for row in stays_of([Record(r[3], r[1]) for r in rows[:12]], k=2, window=5)})


@pytest.mark.parametrize("slices", [every(7), 3, None], ids=str)
def test_families_of_each_key(spark: SparkSession, slices: Any) -> None:
    histories = keyed_histories(3, False)
    sets = spark.createDataFrame(keyed_rows(histories, 9, 3), KEYED).repartition(3)
    with pytest.warns(UnusableRows, match="^9 rows"):
        families = collected(families_history(sets, 0.6, 17, slices=slices, by=["tenant", "place"]))
    with pytest.warns(UnusableRows):
        members = collected(family_members(sets, 0.6, 17, slices=slices, by=["tenant", "place"]))
    expected: list[Any] = []
    for key, records in histories.items():
        columns = {"id": [r.id for r in records], "time": [r.time for r in records], "tokens": [r.tokens for r in records]}
        found = swoop.families_history(pa.table(columns), 0.6, 17, threads=1)
        expected += [(*key, *row.values()) for row in found.to_arrow().to_pylist()]
    assert families == sorted(expected, key=repr)
    assert len(members) == sum(row[4] for row in expected) > 50


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"slices": "1 day"},
            InvalidArgument,
            r"the window is 5, so the length of slices must be one such as every\(1000\), not 1 day",
        ),
        ({"slices": dt.timedelta(days=1)}, InvalidArgument, "the window is 5, so"),
        (
            {"window": "1 h", "slices": every(5)},
            InvalidArgument,
            r"the window is 1:00:00, so .* such as '1 day', not every\(5\)",
        ),
        ({"window": 500, "slices": every(2)}, InvalidArgument, "slices of 2 are too short for a window of 500"),
        ({"slices": True}, InvalidType, "slices is a number, a duration"),
        ({"slices": 0.5}, InvalidType, "slices is a number, a duration"),
        ({"slices": "soon"}, InvalidArgument, "cannot parse the slice 'soon'"),
        ({"window": None, "slices": "1 day"}, InvalidArgument, "a window must be a duration or an integer, not None"),
        ({"window": swoop.last(5), "slices": every(9)}, InvalidArgument, "a window must be a duration or an integer"),
        ({"by": "nope"}, InvalidData, "there is no column 'nope' for by"),
        ({"by": ["stream", "Stream"]}, InvalidArgument, "by names a column twice"),
        ({"by": []}, InvalidType, "by is the name of a column"),
        ({"by": "enter"}, InvalidArgument, "by='enter' has the name of another column of the result"),
        ({"by": "tokens"}, InvalidData, "column 'tokens' for by has type array<string>; keys are strings"),
    ],
)
def test_bad_input(spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str) -> None:
    sets: DataFrame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(error, match=message):
        topk_history(sets, **{"k": 1, "window": 5, "slices": every(9), **options})


@pytest.mark.parametrize(
    ("length", "error"), [(0, InvalidArgument), (True, InvalidType), (None, InvalidType), (2**62, InvalidArgument)]
)
def test_a_length_is_positive(length: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="slice|every"):
        every(length)


def test_times_at_the_edge(spark: SparkSession) -> None:
    """The earliest and the latest times, in slices that are as long as can be or begin before all time."""
    late = 2**62 - 1
    rows = [(n, time, "x") for n, time in enumerate([-late, 1 - late, -1, 0, late - 1, late])]
    sets = spark.createDataFrame(rows, "id long, time long, text string")
    for length in (3, 2**62 - 1):
        found = collected(topk_history(sets, 9, 3, tokens=words("text"), slices=every(length)))
        assert found == [(1, 0, 1.0, 1, 1 - late, 3 - late), (3, 2, 1.0, 1, 0, 2), (5, 4, 1.0, 1, late, None)]
