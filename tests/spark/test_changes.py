"""Changes as streaming DataFrames: those of live streams, bit for bit, with any sink, by key, after restarts and kill -9.

Tests of swoop.spark.changes, swoop.spark.embedding.

The engine behind them: tests/live/test_embedded.py.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument, InvalidData
from swoop.live.chunks import from_bytes
from swoop.live.embedded import EmbeddedStream
from swoop.live.manifest import result_files
from swoop.live.stream_spec import StreamSpec
from swoop.spark import embedding, families_changes, families_stream, topk_changes, topk_stream, words
from swoop.spark.embedding import packing
from swoop.spark.versions import ROCKS_DB, STORE
from swoop.spec import JoinSpec
from tests.support import killed_changes
from tests.support.changes import SCHEMA, posts, run, source
from tests.support.judge import judge
from tests.support.live_cases import SPEC, Row, Run, table
from tests.support.live_judge import arrivals, columns_of
from tests.support.processes import drive
from tests.support.stores import MemoryStore
from tests.support.streams import write_batches, write_files

CHANGE = "reason is null"


def of_kind(found: pa.Table, *kinds: str) -> list[dict[str, Any]]:
    """Without those columns that are null for all rows of these kinds."""
    rows = [row for row in found.to_pylist() if row["kind"] in kinds]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


TICKS = {"time": "tick", "lateness": 3, "max_ahead": 3600}
TIMES = {"time": "time", "lateness": "3 seconds", "max_ahead": "1 hour"}
CASES: dict[str, dict[str, Any]] = {
    "texts": {"k": 5, "window": "20 seconds", "tokens": words("text"), **TIMES},
    "records of two streams": {"k": 3, "window": 15, "tokens": "tokens", "stream": "side", "copies": "once", **TICKS},
    "all pairs": {"k": None, "window": 12, "similarity": "cosine", "min_similarity": 0.7, "tokens": words("text"), **TICKS},
    "families": {"min_similarity": 0.7, "window": "20 seconds", "tokens": words("text"), **TIMES},
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_changes_of_a_live_stream(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """The same columns, rows, order and numbers, also where the query is started again; and late and rejected rows."""
    asked = CASES[name]
    stream, changes = (families_stream, families_changes) if name == "families" else (topk_stream, topk_changes)
    rows, sink = posts(240), "function" if name in ("all pairs", "families") else "files"
    write_files(tmp_path / "in", rows[:120], 3)
    run(changes(source(spark, tmp_path / "in"), **asked), tmp_path, sink)
    write_files(tmp_path / "in", rows[120:], 3, first=3)
    found = run(changes(source(spark, tmp_path / "in"), **asked), tmp_path, sink)

    live = stream(source(spark, tmp_path / "in"), **asked)
    outputs = {output: tmp_path / output for output in ("changes", "late", "rejected")}
    handle = live.start(tmp_path / "checkpoint", **outputs, available_now=True, flush=False)
    assert handle.await_termination(240)
    expected, late, rejected = (pa.concat_tables(map(pq.read_table, result_files(tmp_path / output))) for output in outputs)

    mine = found.filter(pa.compute.is_null(found["reason"]))
    assert len(expected) > 60
    for column in expected.drop_columns("batch").column_names:
        assert mine[column].to_pylist() == expected[column].to_pylist(), column
    if name in ("texts", "records of two streams"):
        ranks = mine["rank"].to_pylist()
        assert set(ranks) == set(range(1, asked["k"] + 1))
    assert late.num_rows > 5
    told = of_kind(found, "late")
    assert [row["time"] for row in told] == late["time"].to_pylist()
    assert [json.loads(row["row"])["id"] for row in told] == late["id"].to_pylist()
    assert {row["reason"] for row in told} == {"the time is before the watermark"}
    assert of_kind(found, "rejected") == [{"kind": "rejected", **row} for row in rejected.drop_columns("batch").to_pylist()]
    assert rejected.num_rows > 5


def test_one_result_for_each_key(spark: SparkSession, tmp_path: Path) -> None:
    """As if the rows of each key had come alone: copies are those of the key."""
    rows = [row for row in posts(300) if row["text"] is not None and row["tick"] < 10**9]
    write_files(tmp_path / "in", rows, 4)
    asked: dict[str, Any] = {"k": 3, "window": 15, "tokens": "tokens", "time": "tick", "lateness": 2, "copies": "once"}
    found = run(topk_changes(source(spark, tmp_path / "in"), by=["tenant", "side"], **asked), tmp_path, "memory")
    size = -(-len(rows) // 4)
    spec = StreamSpec(JoinSpec(3, 15, copies="once"), lateness=2, time_kind="integer")
    for key in itertools.product(("one", "two", None), ("left", "right")):
        batches = [
            [
                Row(row["id"], row["tick"], tuple(row["tokens"]))
                for row in rows[first : first + size]
                if (row["tenant"], row["side"]) == key
            ]
            for first in range(0, len(rows), size)
        ]
        case = Run(batches, frozenset(), spec)
        records, late, _ = arrivals(case, flushed=False)
        judged = judge(records, **case.options())
        mine = [row for row in found.to_pylist() if (row["tenant"], row["side"]) == key]
        changes = [row for row in mine if row["reason"] is None]
        names = columns_of(spec)
        assert [(row["time"], row["kind"], *(row[name] for name in names)) for row in changes] == [
            (change.time, change.kind, *(getattr(change.pair, name) for name in names)) for change in judged.changes
        ]
        assert [row["rank"] for row in changes] == judged.ranks
        assert [row["sequence"] for row in changes] == list(range(len(changes)))
        assert len(changes) > 20
        assert [json.loads(row["row"])["id"] for row in mine if row["kind"] == "late"] == late


def test_keys_that_are_numbers_and_nulls(spark: SparkSession, tmp_path: Path) -> None:
    """They come as they are, from several tasks, and each null is of one key: none of its rows is late because of others."""
    keys = [None, 1, 2**53 + 1, 2**53]
    for part in range(2):
        rows = [{"id": n, "tick": 50 - n, "tokens": ["a"], "key": keys[n % 4]} for n in range(part, 40, 2)]
        write_files(tmp_path / "in", rows, 1, first=part)
    schema = "id int, tick long, tokens array<string>, key long"
    sets = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).json(str(tmp_path / "in")).repartition(3)
    asked: dict[str, Any] = {"k": None, "min_similarity": 0.5, "window": 100, "time": "tick", "lateness": 2}
    found = run(topk_changes(sets, by="key", **asked), tmp_path).to_pylist()
    assert {row["kind"] for row in found} == {"enter"}
    for place, key in enumerate(keys):
        # what is not before the watermark, 2 before the latest of the key, waits
        ids = {name for row in found if row["key"] == key for name in (row["newer"], row["older"])}
        assert ids == {n for n in range(place, 40, 4) if 50 - n < 50 - place - 2}


def test_keys_of_any_type_are_packed() -> None:
    """Rows of a key come together, whatever else is in the batch; null is a key."""
    for keys in ([1, 2, 1, None, 2, 1], [b"\xff", b"", b"\xff", None], [True, None, False], [dt.date(2024, 1, 1)] * 3):
        rows = pa.table({"key": keys, "other": [n % 2 for n in range(len(keys))], "n": range(len(keys))})
        parts = [*rows.slice(0, 2).to_batches(), *rows.slice(2).to_batches()]
        for names in (["key"], ["other", "key"]):
            (packed,) = packing(names)(parts)
            *found, data = (packed[name].to_pylist() for name in (*names, "rows"))
            mine = [*zip(*(rows[name].to_pylist() for name in names), strict=True)]
            assert dict(zip(zip(*found, strict=True), (from_bytes(part)["n"].to_pylist() for part in data), strict=True)) == {
                key: [n for n, other in enumerate(mine) if other == key] for key in set(mine)
            }


def test_a_worker_forgets_what_is_too_much_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """And takes from memory only what the state tells of."""
    known, stores = embedding._Streams(), [MemoryStore() for _ in range(4)]
    streams = [EmbeddedStream(SPEC, store) for store in stores]
    for stream, store in zip(streams, stores, strict=True):
        stream.step(table([Row(1, 1, (1, 2))]), store)
    monkeypatch.setattr(embedding, "MEMORY", 5 * streams[0].memory_bytes // 2)
    for stream in streams:
        known.keep(stream)
    from_memory = [known.take(SPEC, store) is stream for stream, store in zip(streams, stores, strict=True)]
    assert from_memory == [False, False, True, True]
    before = stores[2].text, dict(stores[2].chunks)
    streams[2].step(table([Row(2, 2, (1, 2))]), stores[2])
    known.keep(streams[2])
    stores[2].text, stores[2].chunks = before  # the attempt did not count
    assert known.take(SPEC, stores[2]) is not streams[2]
    known.keep(streams[2])
    monkeypatch.setattr(embedding, "IDLE", -1)
    known.keep(streams[3])
    assert list(known._kept) == [streams[3].kept.run]  # type: ignore[union-attr]
    known.take(SPEC, stores[3])
    assert known._bytes == 0


def test_killed_with_signal_9(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A sink that has each row once has the rows of an undisturbed run of the same batches.

    Batches may be others than before: a driver that dies between the source's notes and those of the query leaves a file
    that comes together with the next one.
    """
    rows = posts(200, seed=4)
    lines = [json.dumps(row) + "\n" for row in rows]
    undisturbed: dict[tuple[str, str], list[str]] = {}
    for turn in range(request.config.getoption("--kills")):
        folder = tmp_path / f"killed{turn}"
        write_files(folder / "in", rows, 4)
        ended = drive("tests.support.killed_changes", str(folder), str(turn))
        assert ended.returncode == -9, ended.stderr[-2000:]
        for query in [killed_changes.start(spark, folder, way) for way in killed_changes.WAYS]:
            assert query.awaitTermination(240)
        for way in killed_changes.WAYS:
            ends = killed_changes.ends_of_batches(folder, way)
            assert ends[-1] == 4
            if (key := (way, str(ends))) not in undisturbed:
                whole = tmp_path / f"whole{len(undisturbed)}"
                write_batches(whole / "in", [lines[50 * first : 50 * last] for first, last in itertools.pairwise([0, *ends])])
                assert killed_changes.start(spark, whole, way).awaitTermination(240)
                undisturbed[key] = found_in(spark, whole / way)
            assert found_in(spark, folder / way) == undisturbed[key]
            assert len(undisturbed[key]) > 100


def found_in(spark: SparkSession, folder: Path) -> list[str]:
    return sorted(map(repr, spark.read.parquet(str(folder)).collect()))


def test_defining_runs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in", posts(60), 1)
    spark.sparkContext.setJobGroup("defining", "")
    try:
        sets = source(spark, tmp_path / "in")
        changes = topk_changes(sets, 3, "1 minute", tokens=words("text"), by="tenant", copies="once")
        families_changes(sets, 0.5, "1 minute", tokens=words("text"))
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("defining") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert changes.isStreaming
    pair = "rank bigint, similarity double, newer int, older int, overlap bigint, start timestamp, end timestamp"
    seen = ", ".join(
        f"{name}_copies bigint, {name}_first_seen timestamp, {name}_last_seen timestamp" for name in ("newer", "older")
    )
    shown = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in changes.schema)
    assert shown == f"tenant string, sequence bigint, time timestamp, kind string, {pair}, {seen}, reason string, row string"


def test_other_parameters_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in", posts(40), 1)
    run(topk_changes(source(spark, tmp_path / "in"), 3, "1 minute"), tmp_path)
    write_files(tmp_path / "in", posts(40), 1, first=1)
    with pytest.raises(StreamingQueryException, match=r"window was '0:01:00' and now is '0:02:00'; k was 3 and now is 4"):
        run(topk_changes(source(spark, tmp_path / "in"), 4, "2 minutes"), tmp_path)


def test_what_is_refused_at_the_call(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in", posts(10), 1)
    sets = source(spark, tmp_path / "in")
    with pytest.raises(InvalidArgument, match="sets is not a stream; .* or use topk_history"):
        topk_changes(spark.read.schema(SCHEMA).json(str(tmp_path / "in")), 3, "1 minute")
    with pytest.raises(InvalidData, match="there is no column 'who' for by"):
        topk_changes(sets, 3, "1 minute", by="who")
    with pytest.raises(InvalidData, match=r"column 'tokens' for by has type array<string>; keys are strings"):
        topk_changes(sets, 3, "1 minute", by="tokens")
    with pytest.raises(InvalidArgument, match="by='time' has the name of another column of the result"):
        families_changes(sets.withColumn("time", sets.tick), 0.5, 60, by="time")
    spark.conf.unset(STORE)
    try:
        for call in (lambda: topk_changes(sets, 3, "1 minute"), lambda: families_changes(sets, 0.5, "1 minute")):
            with pytest.raises(InvalidArgument, match=f"set {STORE} to .*RocksDBStateStoreProvider, as swoop.spark.session"):
                call()
    finally:
        spark.conf.set(STORE, ROCKS_DB)
