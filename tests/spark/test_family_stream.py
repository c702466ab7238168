"""Live families on Spark: the same as in process, in two runs.

Tests of swoop.spark.family_stream, swoop.spark.starting.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.results import FamilyChange
from swoop.spark import families_stream, folder, result_files, words
from tests.support.streams import NOON, posts, read_stream, write_files


def test_two_runs_give_what_one_process_gives(spark: SparkSession, tmp_path: Path) -> None:
    """The first sets of families leave the window in between."""
    rows = posts(120, disorder=1)
    waves = swoop.Families(0.6, "20 seconds")
    texts = {}
    for row in sorted(rows, key=lambda row: (row["time"], row["id"])):
        waves.insert(set(row["text"].split()), dt.datetime.fromisoformat(row["time"]), row["id"])
        texts[row["id"]] = row["text"]
    found: list[FamilyChange] = []
    for part in range(2):
        write_files(tmp_path / "in", rows[60 * part : 60 * part + 60], 3, first=3 * part)
        sets = read_stream(spark, tmp_path / "in").drop("tokens")
        stream = families_stream(
            sets, 0.6, "20 seconds", tokens=words("text"), text="text", lateness="3 seconds", cells="auto", rate=3
        )
        handle = stream.start(
            tmp_path / "state", changes=["memory", folder(tmp_path / "out")], available_now=True, flush=part == 1
        )
        assert handle.await_termination(120)
        found += handle.changes()
    assert found == list(waves.changes())
    assert list(handle.families()) == list(waves.families())
    assert list(handle.families(2, order="growing")) == list(waves.families(2, order="growing"))
    family = handle.families()[0]
    assert family.first_seen < NOON + dt.timedelta(seconds=40)
    assert handle.members(family) == handle.members(family.id) == waves.members(family)
    for name, time, text in handle.examples(family):
        assert text == texts[name]
        assert time > NOON
    written = [row for file in result_files(tmp_path / "out") for row in pq.read_table(file).to_pylist()]
    assert [row["sequence"] for row in written] == list(range(len(found)))
    assert [(row["kind"], row["family"], row["into"]) for row in written] == [(c.kind, c.family, c.into) for c in found]
    assert handle.stats.families == len(waves.families())
    assert f"swoop_families {handle.stats.families}.0" in handle.metrics()
    assert not handle.reasons.counts


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sets = read_stream(spark, tmp_path / "in")
    still = spark.createDataFrame([(1, NOON, ["a"])], "id long, time timestamp, tokens array<string>")
    none: Any = None
    for error, message, call in [
        (InvalidArgument, "not a stream.*families_history", lambda: families_stream(still, 0.5, "1 h")),
        (InvalidType, "min_similarity must be a number", lambda: families_stream(sets, none, "1 h")),
        (InvalidArgument, "min_similarity", lambda: families_stream(sets, 2, "1 h")),
        (InvalidData, "no column 'name' for id", lambda: families_stream(sets, 0.5, "1 h", id="name")),
        (InvalidArgument, "duration or an integer", lambda: families_stream(sets, 0.5, None)),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_cells_give_what_one_process_gives(spark: SparkSession, tmp_path: Path) -> None:
    rows = posts(60, disorder=1)
    waves = swoop.Families(0.6, "20 seconds")
    for row in sorted(rows, key=lambda row: (row["time"], row["id"])):
        waves.insert(set(row["text"].split()), dt.datetime.fromisoformat(row["time"]), row["id"])
    write_files(tmp_path / "in", rows, 2)
    sets = read_stream(spark, tmp_path / "in").drop("tokens")
    stream = families_stream(sets, 0.6, "20 seconds", tokens=words("text"), text="text", lateness="3 seconds", cells=3)
    handle = stream.start(tmp_path / "state", changes="memory", available_now=True)
    assert handle.await_termination(120)
    assert list(handle.changes()) == list(waves.changes())
    assert list(handle.families()) == list(waves.families())
    family = handle.families()[0]
    assert handle.members(family) == waves.members(family.id)
    texts = {row["id"]: row["text"] for row in rows}
    assert [(name, text) for name, _, text in handle.examples(family, 2)] == [
        (name, texts[name]) for name, _, _ in handle.examples(family, 2)
    ]
    assert handle.stats.families == len(waves.families())
