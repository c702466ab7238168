"""Copies that count once, in cells on Spark: the changes are those of one engine in this process.

Tests of swoop.spark.cells.
"""

from __future__ import annotations

import random
from pathlib import Path

from pyspark.sql import SparkSession

import swoop
from swoop.spark import topk_stream
from swoop.text.functions import words


def test_copies_count_once(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(7)
    parts = ["Über den Wolken", "über den WOLKEN!", "den Wolken über", "ΑΣ ας b", "b ας", "one two three", "one two four", "x"]
    rows = [(n, n // 3, rng.choice(parts) + rng.choice(["", " so", " b c"])) for n in range(150)]
    schema = "id long, time int, text string"
    for part in range(3):
        spark.createDataFrame(rows[50 * part :][:50], schema).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    sets = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    stream = topk_stream(sets, 3, 5, tokens=words("text"), text="text", lateness=0, cells=3, copies="once")
    handle = stream.start(tmp_path / "state", changes="memory", available_now=True)
    assert handle.await_termination(120)
    join = swoop.TopKJoin(3, 5, copies="once", track_changes=True)
    for name, time, text in rows:
        join.insert(words("text")(text), time, name)
    expected = join.changes()
    assert len(expected) > 50
    assert max(change.pair.newer_copies for change in expected) > 2
    assert handle.changes() == expected
    assert handle.topk() == join.topk()
    assert [handle.explain(pair) for pair in handle.topk()] == [join.explain(pair) for pair in join.topk()]
    newest = {frozenset(words("text")(text)): text for _, _, text in rows}  # of each record, as its copies came
    told = (newest[frozenset(words("text")(rows[name][2]))] for name in (join.topk()[0].newer, join.topk()[0].older))
    assert handle.texts(handle.topk()[0]) == tuple(told)
