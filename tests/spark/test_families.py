"""Families of a history on Spark are those of one process, which brute force has judged, whatever brings and cuts the rows.

Tests of swoop.spark.slicing.
"""

from __future__ import annotations

import datetime as dt
import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidType, UnusableRows
from swoop.oracle import Record
from swoop.similarity import Similarity
from swoop.spark import char_ngrams, families_history, family_members
from swoop.spark import slices as module
from swoop.spark.slices import LinkedSets, replay_links_of_slice
from swoop.spec import FamilySpec
from tests.support.family_trials import THRESHOLDS
from tests.support.histories import SIMILARITIES, records, unusable_rows

SCHEMA = "id long, time long, tokens array<string>"


def plain(table: pa.Table) -> list[Any]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def members_of(found: Any) -> list[Any]:
    """The rows of a history in one process that are in a family of at least two."""
    rows = [tuple(row.values()) for row in found.rows().to_pylist()]
    names = [row[2] for row in rows]
    return sorted((row for row in rows if names.count(row[2]) > 1), key=repr)


@settings(max_examples=150)
@given(st.data(), records(False), st.integers(1, 30), st.sampled_from(SIMILARITIES))
def test_however_time_is_cut(data: st.DataObject, history: list[Record], window: int, similarity: str) -> None:
    """Without Spark: what tasks do, one after the other. Links of slices may come in any order."""
    least = data.draw(st.sampled_from(THRESHOLDS.get(similarity, (0.2, 0.5, 0.7, 1.0))))
    history.sort(key=lambda record: record.time)  # type: ignore[arg-type, return-value]
    table = pa.table(
        {
            "id": pa.array(range(len(history)), pa.int64()),
            "time": pa.array([record.time for record in history], pa.int64()),
            "tokens": pa.array([[str(token) for token in record.tokens] for record in history], pa.list_(pa.string())),
        }
    )
    expected = swoop.families_history(table, least, window, similarity, threads=1)
    if not history:
        return
    first, last = int(history[0].time), int(history[-1].time)  # type: ignore[arg-type]
    inner = data.draw(st.lists(st.integers(first + 1, last), unique=True, max_size=6)) if last > first else []
    spec, parts = FamilySpec(least, window, similarity), []
    for start, stop in pairwise([first, *sorted(inner), last + 1]):
        places = [place for place, record in enumerate(history) if start - window < record.time < stop]  # type: ignore[operator]
        if places:
            batches = table.take(places).to_batches(data.draw(st.integers(1, 9)))
            parts.append(list(replay_links_of_slice(batches, spec, "tokens", start, pa.int64())))
    found = LinkedSets.of(batch for part in data.draw(st.permutations(parts)) for batch in part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_ROWS", data.draw(st.sampled_from([2, 1000])))
        families = [tuple(row.values()) for batch in found.families(window) for row in batch.to_pylist()]
        members = [tuple(row.values()) for batch in found.members() for row in batch.to_pylist()]
    assert families == [tuple(row.values()) for row in expected.to_arrow().to_pylist()]
    assert sorted(members, key=repr) == members_of(expected)


@pytest.mark.parametrize("slices", [None, 1, 4])
@pytest.mark.parametrize("as_text", [False, True])
def test_equal_to_one_process(spark: SparkSession, slices: int | None, as_text: bool) -> None:
    """With sets of equal times and ids, ids and tokens of any letters, and rows that cannot be used."""
    rng = random.Random(11)
    rows: list[Any] = []
    for _ in range(200):
        tokens = rng.choices(["a", "B", "é", "\uffff", "😀", "c d"], k=rng.randrange(4))
        row: list[Any] = [rng.choice("xyé\uffff😀"), rng.randrange(60), tokens, None]
        if rng.random() < 0.1:
            row[rng.randrange(3)] = None
        row[3] = None if row[2] is None else " ".join(row[2])
        if rng.random() < 0.03 and row[2] is not None:
            row[2] = [*row[2], None]
        rows.append(row)
    sets = spark.createDataFrame(rows, "id string, time int, tokens array<string>, text string").repartition(3)
    table = pa.table(dict(zip(["id", "time", "tokens", "text"], zip(*rows, strict=True), strict=True)))
    tokens_option: Any = char_ngrams("text", n=1) if as_text else "tokens"
    with pytest.warns(UnusableRows) as here:
        expected = swoop.families_history(table, 0.7, 4, tokens=tokens_option)
    with pytest.warns(UnusableRows) as on_spark:
        families = families_history(sets, 0.7, 4, tokens=tokens_option, slices=slices).toArrow()
    assert unusable_rows(on_spark) == unusable_rows(here) > 9
    assert plain(families) == plain(expected.to_arrow())
    assert families.schema == expected.to_arrow().schema
    with pytest.warns(UnusableRows):
        members = family_members(sets, 0.7, 4, tokens=tokens_option, slices=slices).toArrow()
    assert members.column_names == ["id", "time", "family"]
    assert members.num_rows == sum(family.total for family in expected)


def test_timestamps(spark: SparkSession) -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    rows = [(name, noon + dt.timedelta(minutes=at), ["x", "y"]) for name, at in (("a", 0), ("b", 40), ("c", 90), ("d", 150))]
    for kind in ("timestamp", "timestamp_ntz"):
        sets = spark.createDataFrame(rows, f"name string, at {kind}, items array<string>")
        (family,) = families_history(sets, 0.5, "1 hour", id="name", time="at", tokens="items").collect()
        assert tuple(family) == ("a", 0, 3, noon, noon + dt.timedelta(minutes=90), "c")
        found = family_members(sets, 0.5, "1 hour", id="name", time="at", tokens="items").collect()
        assert [(row.id, row.family) for row in found] == [("a", "a"), ("b", "a"), ("c", "a")]


@pytest.mark.parametrize("slices", [None, 3])
def test_a_history_ends_with_its_last_set(spark: SparkSession, slices: int | None) -> None:
    """Not with a later row that cannot be used: how many sets are in the window then depends on it."""
    rows = [(n, n, ["a"]) for n in range(20)] + [(100, 40, None), (101, 2**62, ["a"])]
    with pytest.warns(UnusableRows, match="^2 rows"):
        (family,) = families_history(spark.createDataFrame(rows, SCHEMA), 1.0, 5, slices=slices).collect()
    assert tuple(family) == (0, 5, 20, 0, 19, 19)


def test_no_families(spark: SparkSession) -> None:
    assert families_history(spark.createDataFrame([], SCHEMA), 0.5, 5).collect() == []
    assert family_members(spark.createDataFrame([(1, 1, ["a"]), (2, 2, ["b"])], SCHEMA), 0.5, 5).collect() == []
    with pytest.warns(UnusableRows, match="^1 row"):
        assert families_history(spark.createDataFrame([(1, 1, None)], SCHEMA), 0.5, 5).collect() == []


def test_a_user_defined_similarity_and_known_reasons(spark: SparkSession) -> None:
    share = Similarity(lambda r, s, o: o / max(r, s), name="share")
    rows = [(n, n // 2, [f"w{n % 7}", f"w{n % 5}"], "known" if n % 11 == 0 else None) for n in range(80)]
    sets = spark.createDataFrame(rows, f"{SCHEMA}, wrong string")
    good = pa.Table.from_pylist([dict(zip(("id", "time", "tokens"), row[:3], strict=True)) for row in rows if row[3] is None])
    expected = swoop.families_history(good, 1.0, 6, share)
    with pytest.warns(UnusableRows, match="^8 rows"):
        found = family_members(sets, 1.0, 6, share, reason="wrong", slices=3).toArrow()
    assert plain(found) == members_of(expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_similarity": 2}, InvalidArgument, "from 0 to 1"),
        ({"min_similarity": None}, InvalidType, "min_similarity must be a number"),
        ({"slices": 0}, InvalidArgument, "slices must be at least 1"),
        ({"window": swoop.last(5)}, InvalidArgument, "a duration or an integer"),
        ({"window": "1 hour"}, InvalidData, "column 'time' for time has type bigint, but times must be timestamps"),
        ({"tokens": "id"}, InvalidData, "column 'id' for tokens has type bigint; tokens must be arrays"),
        ({"reason": "nope"}, InvalidData, "no column 'nope' for reason"),
    ],
)
def test_bad_input(spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str) -> None:
    sets: DataFrame = spark.createDataFrame([], SCHEMA)
    for function in (families_history, family_members):
        with pytest.raises(error, match=message):
            function(sets, **{"min_similarity": 0.5, "window": 5, **options})


def test_a_stream_has_no_end(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value as id", "timestamp as time", "array('a') as tokens")
    with pytest.raises(InvalidArgument, match="sets is a stream, and a history has an end"):
        families_history(stream, 0.5, "1 hour")
