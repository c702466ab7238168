"""Sets of the same time and id: a history and a live stream let them enter in the same order."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from swoop import oracle
from swoop.oracle import Record
from swoop.spark import topk_history, topk_stream
from tests.spark.test_slices import stays_of

SCHEMA = "id long, time long, tokens array<string>, stream string"


def rows(two_streams: bool) -> list[dict[str, Any]]:
    chance = random.Random(2)
    return [
        {
            "id": chance.randrange(2),
            "time": chance.randrange(40),
            "tokens": chance.sample("abcdef", chance.randint(1, 4)),
            "stream": chance.choice(["left", "right"]) if two_streams else "left",
        }
        for _ in range(200)
    ]


@pytest.mark.parametrize("two_streams", [False, True])
def test_history_and_stream_and_brute_force(spark: SparkSession, tmp_path: Path, two_streams: bool) -> None:
    for part, found in enumerate((rows(two_streams)[:70], rows(two_streams)[70:])):  # in no order of time
        (tmp_path / f"{part}.json").write_text("".join(json.dumps(row) + "\n" for row in found))
    sets = spark.read.schema(SCHEMA).json(str(tmp_path))
    in_order = sets.orderBy("time", "id", "tokens", "stream").collect()
    records = [Record(row["tokens"], row["time"], row["id"], row["stream"] if two_streams else None) for row in in_order]
    assert len({(row["time"], row["id"]) for row in in_order}) < 100  # of 200

    stream = "stream" if two_streams else None
    options: dict[str, Any] = {"k": 4, "window": 9, "two_streams": two_streams}
    other_order = [record for _, same in groupby(records, lambda r: (r.time, r.id)) for record in reversed(list(same))]
    assert stays_of(other_order, **options) != stays_of(records, **options)
    stays = topk_history(sets.repartition(3), 4, 9, stream=stream, slices=3)
    assert sorted(map(tuple, stays.collect()), key=repr) == stays_of(records, **options)

    live = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path))
    handle = topk_stream(live, 4, 9, stream=stream, lateness=40).start(changes="memory", available_now=True)
    assert handle.await_termination(120)
    assert list(map(shown, handle.changes())) == list(map(shown, oracle.changes(records, **options)))


def shown(change: Any) -> tuple[Any, ...]:
    pair = change.pair
    return change.time, change.kind, pair.newer, pair.older, pair.similarity, pair.overlap
