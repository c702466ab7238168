"""Histories on Spark: equal to brute force, whatever the slices and partitions.

Tests of swoop.spark.rows.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidType, UnusableRows
from swoop.join.unusable import why_unusable
from swoop.oracle import Record
from swoop.similarity import Similarity
from swoop.spark import at_least_once, char_ngrams, explain, rejected, topk_history, word_ngrams, words
from swoop.text.functions import TokenFunction
from tests.support.frames import SCHEMA, collected, frame, history
from tests.support.histories import unusable_rows
from tests.support.slices import stays_of


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slices", [None, 1, 2, 7])
def test_equal_to_brute_force(spark: SparkSession, seed: int, slices: int | None) -> None:
    two_streams = seed % 2 == 1
    records = history(120, seed, two_streams)
    options = {"k": 4, "window": 9, "similarity": ["jaccard", "cosine", "hamming", "dice"][seed]}
    stays = topk_history(
        frame(spark, records, seed).repartition(3), **options, stream="stream" if two_streams else None, slices=slices
    )
    assert collected(stays) == stays_of(records, **options, two_streams=two_streams)


def test_timestamps(spark: SparkSession) -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    rows = [
        ("a", noon, ["x", "y"]),
        ("b", noon + dt.timedelta(minutes=10), ["x", "y"]),
        ("c", noon + dt.timedelta(hours=2), ["z"]),
    ]
    sets = spark.createDataFrame(rows, "name string, at timestamp, items array<string>")
    stays = topk_history(sets, 1, "1 hour", id="name", time="at", tokens="items")
    (row,) = stays.collect()
    assert (row.newer, row.older, row.similarity, row.overlap) == ("b", "a", 1.0, 2)
    assert row.leave - row.enter == dt.timedelta(minutes=50)


def test_times_without_a_zone_know_no_change_of_clocks(spark: SparkSession) -> None:
    """From half past one to half past three are two hours, also in the night in which a zone leaves one out."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        night = dt.datetime(2024, 3, 31)
        rows = [(hour, night + dt.timedelta(hours=hour, minutes=30), ["x"]) for hour in (1, 3)]
        sets = spark.createDataFrame(rows, "id int, time timestamp_ntz, tokens array<string>")
        assert topk_history(sets, 1, "90 minutes").collect() == []
        (row,) = topk_history(sets, 1, "3 hours").collect()
        assert (row.enter, row.leave) == (night + dt.timedelta(hours=3, minutes=30), None)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def test_at_least_once(spark: SparkSession) -> None:
    records = history(60, 9)
    stays = topk_history(frame(spark, records), 2, 5)
    pairs = {(row.newer, row.older): row.stays for row in at_least_once(stays).collect()}
    expected: dict[Any, int] = {}
    for stay in stays_of(records, k=2, window=5):
        expected[stay[:2]] = expected.get(stay[:2], 0) + 1
    assert pairs == expected


def test_rows_that_cannot_be_used(spark: SparkSession) -> None:
    """They are counted and can be had; they do not disturb the others."""
    rows = [
        (1, 1, ["a"], "left"),
        (None, 1, ["a"], "left"),
        (2, None, ["a"], "left"),
        (3, 2, None, "left"),
        (4, 2, ["a", None], "left"),
        (5, 2, ["a"], "right"),
    ]
    sets = spark.createDataFrame(rows, SCHEMA)
    with pytest.warns(UserWarning, match="^4 rows are unusable"):
        stays = topk_history(sets, 3, 10).collect()
    assert [tuple(row)[:2] for row in stays] == [(5, 1)]
    assert rejected(sets).count() == 4
    strange = spark.createDataFrame([*rows, (6, 3, ["a"], "up"), (7, 3, ["a"], None)], SCHEMA)
    assert {row.id for row in rejected(strange, stream="stream").collect()} == {None, 2, 3, 4, 6, 7}
    with pytest.warns(UserWarning, match="^6 rows"):
        assert topk_history(strange, 3, 10, stream="stream").count() == 1


@pytest.mark.parametrize("slices", [None, 1, 3, 50])
@pytest.mark.parametrize("seed", range(3))
def test_a_history_ends_with_its_last_set(spark: SparkSession, slices: int | None, seed: int) -> None:
    """Rows without a text that are earlier or later than all sets, or in between: slices may be cut by them, no result is."""
    rng = random.Random(seed)
    rows: list[Any] = [(n, rng.randrange(10, 40), rng.choice(["a b", "a b c", "b c", "d"])) for n in range(40)]
    usable = list(rows)
    rows += [(100 + n, rng.choice([rng.randrange(10), rng.randrange(10, 40), rng.randrange(40, 90)]), None) for n in range(60)]
    posts = spark.createDataFrame(rows, "id long, time long, text string").repartition(2)
    with pytest.warns(UnusableRows, match="^60 rows"):
        stays = collected(topk_history(posts, 3, 9, tokens=words("text"), slices=slices))
    usable.sort(key=lambda row: (row[1], row[0]))
    assert stays == stays_of([Record(words("text")(row[2]), row[1], row[0]) for row in usable], k=3, window=9)


def test_a_history_without_a_set(spark: SparkSession) -> None:
    posts = spark.createDataFrame([(1, 1, None), (2, 5, None)], "id long, time long, text string")
    with pytest.warns(UnusableRows, match="^2 rows"):
        assert topk_history(posts, 3, 9, tokens=words("text")).collect() == []


def test_no_rows_at_all(spark: SparkSession) -> None:
    assert topk_history(spark.createDataFrame([], SCHEMA), 3, 10).collect() == []


def test_a_user_defined_similarity(spark: SparkSession) -> None:
    records = history(60, 2)
    share = Similarity(lambda r, s, o: o / max(r, s), name="share")
    stays = topk_history(frame(spark, records), 3, 6, share, slices=3)
    assert collected(stays) == stays_of(records, k=3, window=6, similarity=share)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, InvalidArgument, "k must be at least 1, not 0"),
        ({"slices": 0}, InvalidArgument, "slices must be at least 1"),
        ({"window": None}, InvalidArgument, "a duration or an integer"),
        ({"window": "1 hour"}, InvalidData, "column 'time' for time has type bigint, but times must be timestamps"),
        ({"time": "when"}, InvalidData, "no column 'when' for time; columns: 'id', 'time', 'tokens', 'stream'"),
        ({"tokens": "id"}, InvalidData, "column 'id' for tokens has type bigint; tokens must be arrays"),
        ({"stream": "id"}, InvalidData, "column 'id' for stream has type bigint; the stream must be 'left' or 'right'"),
        ({"id": "nope"}, InvalidData, "no column 'nope' for id"),
    ],
)
def test_bad_input(spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        topk_history(spark.createDataFrame([], SCHEMA), **{"k": 1, "window": 5, **options})


@pytest.mark.parametrize("as_text", [False, True])
def test_equal_to_a_history_in_one_process(spark: SparkSession, as_text: bool) -> None:
    """With sets of equal times and ids, unusable rows, and two streams; also the reasons are the same."""
    rng = random.Random(11)
    rows: list[Any] = []
    for _ in range(200):
        tokens = rng.choices(["a", "B", "é", "\uffff", "😀", "c d"], k=rng.randrange(4))
        row: list[Any] = [rng.choice("xyé\uffff😀"), rng.randrange(40), tokens, rng.choice(["left", "right"]), None]
        if rng.random() < 0.1:
            row[rng.randrange(4)] = None
        row[4] = None if row[2] is None else " ".join(row[2])
        if rng.random() < 0.03 and row[2] is not None:
            row[2] = [*row[2], None]
        rows.append(row)
    names = ["id", "time", "tokens", "stream", "text"]
    sets = spark.createDataFrame(rows, "id string, time int, tokens array<string>, stream string, text string").repartition(3)
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    columns: dict[str, Any] = {"tokens": char_ngrams("text", n=1) if as_text else "tokens", "stream": "stream"}
    expected = topk_history(sets, 4, 9, **columns, slices=3)
    with pytest.warns(UnusableRows) as on_spark:
        stays = collected(expected)
    with pytest.warns(UnusableRows) as here:
        found = swoop.history(table, 4, 9, **columns, slices=2, threads=2)
    assert unusable_rows(on_spark) == unusable_rows(here) > 9
    assert sorted((tuple(row.values()) for row in found.to_arrow().to_pylist()), key=repr) == stays
    assert found.to_arrow().schema.types == expected.toArrow().schema.types
    reasons = [reason for reason in why_unusable(table, **columns).to_pylist() if reason]
    assert sorted(reasons) == sorted(row.reason for row in rejected(sets, **columns).collect())


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_are_those_of_a_history_in_one_process(spark: SparkSession, zone: str | None) -> None:
    times = pa.array([1, 5, 5_000_001], pa.timestamp("us", zone))
    table = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "time": times, "tokens": [["a"], ["a"], ["a"]]})
    found = swoop.history(table, 1, "5 s").to_arrow()
    kind = "timestamp" if zone else "timestamp_ntz"
    sets = spark.createDataFrame(table).selectExpr("id", f"cast(time as {kind}) as time", "tokens")
    expected = topk_history(sets, 1, "5 s").toArrow().sort_by("enter")
    assert found.to_pylist() == expected.to_pylist()
    assert [kind.tz is None for kind in found.schema.types[4:]] == [zone is None] * 2
    assert found.schema.types[:4] == expected.schema.types[:4]


WORDS = ["Win", "a", "FREE", "the", "phone!", "नमस्ते", "ΣΑΣ", "https://x.org/a", "❤️"]


@pytest.mark.parametrize(
    "function",
    [words("text"), word_ngrams("title", "text", stop_words=["the"]), char_ngrams("title", "text"), words("text", nfc=True)],
)
def test_texts_travel_and_become_the_tokens_of_the_reference(spark: SparkSession, function: TokenFunction) -> None:
    """Several columns, nulls, in slices or not. A row without any text cannot be used."""
    rng = random.Random(7)

    def text() -> str | None:
        return None if rng.random() < 0.1 else " ".join(rng.choices(WORDS, k=4))

    rows = [(n, time, text(), text()) for n, time in enumerate(sorted(rng.choices(range(60), k=120)))]
    columns = {"title": 2, "text": 3}
    tokens = [function(*(row[columns[name]] for name in function.columns)) for row in rows]
    records = [Record(found, row[1], row[0]) for row, found in zip(rows, tokens, strict=True) if found is not None]
    posts = spark.createDataFrame(rows, "id long, time long, title string, text string").repartition(3)
    for slices in (1, 5):
        with pytest.warns(UnusableRows):
            stays = collected(topk_history(posts, 4, 9, tokens=function, slices=slices))
        assert stays == stays_of(records, k=4, window=9)
    assert rejected(posts, tokens=function).count() == len(rows) - len(records)


def test_texts_that_are_none(spark: SparkSession) -> None:
    rows = [(b"win a phone", 1), (b"\xff", 2), (None, 3), (b"win a phone", 4)]
    posts = spark.createDataFrame(rows, "text binary, time long").selectExpr("time as id", "time", "cast(text as string) text")
    with pytest.warns(UnusableRows):
        assert collected(topk_history(posts, 1, 10, tokens=words("text"))) == [(4, 1, 1.0, 3, 4, None)]
    reasons = {row.id: row.reason for row in rejected(posts, tokens=words("text")).collect()}
    assert reasons == {2: "the text is not UTF-8", 3: "the text is null"}
    with pytest.raises(InvalidData, match="column 'time' for tokens has type bigint; words are made from strings"):
        topk_history(posts, 1, 10, tokens=words("time"))
    with pytest.raises(InvalidType, match="tokens must be the name of a column or a token function"):
        topk_history(posts, 1, 10, tokens=words("text").column())  # type: ignore[arg-type]
    stays = topk_history(posts.filter("id in (1, 4)"), 1, 10, tokens=words("text"))
    (row,) = explain(stays, posts, tokens=words("text")).collect()
    assert set(row.shared) == {"win", "a", "phone"}
    with pytest.raises(InvalidData, match="there is no column 'body' for tokens"):
        topk_history(posts, 1, 10, tokens=words("text", "body"))
