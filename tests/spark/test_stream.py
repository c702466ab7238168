"""Live joins on Spark: files of all kinds as sources, outputs, restarts, kill -9, and the same result as the history's.

Tests of swoop.live.metrics, swoop.spark.sessions.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import swoop
from swoop.errors import InvalidArgument, InvalidData, InvalidFile, InvalidType
from swoop.live import lease
from swoop.results import Change
from swoop.spark import alert, explain, folder, result_files, session, timestamps, topk_history, topk_stream, word_ngrams, words
from tests.support import killed_driver
from tests.support.processes import drive
from tests.support.streams import (
    NOON,
    SCHEMA,
    posts,
    read_rows,
    read_stream,
    rows_of,
    wait,
    write_files,
)
from tests.support.web_server import web_server


def stays_of(changes: list[Change]) -> list[Any]:
    """Stays of positive length, from a feed of changes."""
    found, entered = [], {}
    for change in changes:
        pair = change.pair
        if change.kind == "enter":
            entered[pair.newer, pair.older] = (pair, change.time)
        else:
            pair, enter = entered.pop((pair.newer, pair.older))
            if change.time > enter:
                found.append((pair.newer, pair.older, pair.similarity, pair.overlap, enter, change.time))
    found += [(p.newer, p.older, p.similarity, p.overlap, enter, None) for p, enter in entered.values()]
    return sorted(found, key=repr)


def history_of(spark: SparkSession, sets: DataFrame, *arguments: Any, **options: Any) -> list[Any]:
    return sorted(
        (
            (r.newer, r.older, r.similarity, r.overlap, _utc(r.enter), _utc(r.leave))
            for r in topk_history(sets, *arguments, **options).collect()
        ),
        key=repr,
    )


def _utc(time: Any) -> Any:
    return time.astimezone(dt.UTC) if isinstance(time, dt.datetime) else time


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_files_give_what_their_history_gives(spark: SparkSession, tmp_path: Path, form: str) -> None:
    write_files(tmp_path / "json", posts(300), 1)
    rows = spark.read.schema(SCHEMA).json(str(tmp_path / "json"))
    rows.repartition(3).write.format(form).save(str(tmp_path / "in"))
    stream = topk_stream(read_stream(spark, tmp_path / "in", form), 5, "1 minute", "cosine", text="text", lateness="1 hour")
    handle = stream.start(tmp_path / "checkpoint", changes="memory", available_now=True)
    assert handle.await_termination(60)
    sets = rows.withColumn("tokens", words("text").column())
    expected = history_of(spark, sets, 5, "1 minute", "cosine")
    assert len(expected) > 20
    assert stays_of(list(handle.changes())) == expected
    assert handle.stats.sets == 300
    assert handle.stats.held == 0
    assert not handle.is_active
    pair = handle.topk()[0]
    told = handle.explain(pair)
    by_id = {row["id"]: row["text"] for row in posts(300)}
    assert handle.texts(pair) == (by_id[pair.newer], by_id[pair.older])
    assert handle.skyband()[0].similarity == handle.topk()[-1].similarity
    (row,) = explain(spark.createDataFrame([(pair.newer, pair.older)], "newer long, older long"), sets).collect()
    assert told.shared == set(row.shared)
    assert (told.only_newer, told.only_older) == (set(row.only_newer), set(row.only_older))
    assert len(told.shared) == pair.overlap


@pytest.mark.parametrize("cells", [1, 3])
def test_texts_become_tokens_where_the_engine_is(spark: SparkSession, tmp_path: Path, cells: int) -> None:
    """Also after a restart, and only in the way that they did before."""
    rows = posts(120)
    for row in rows:
        accented = row["text"].replace("a", ("é", "e\u0301")[row["id"] % 2])
        row["text"] = {3: None, 4: "", 5: "... \u3000"}.get(row["id"] % 20, accented)
    late = {**rows[0], "time": (NOON - dt.timedelta(hours=1)).isoformat(), "text": "too Late"}
    function = word_ngrams("text", n=2, nfc=True)
    changes: list[Any] = []
    for part in (0, 1):
        write_files(tmp_path / "in", [*rows[60 * part :][:60], *[late] * part], 2, first=2 * part)
        found = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
        stream = topk_stream(found, 5, "20 seconds", tokens=function, lateness="10 seconds", cells=cells)
        handle = stream.start(tmp_path / "checkpoint", changes="memory", available_now=True, flush=part == 1)
        assert handle.await_termination(120)
        changes += handle.changes()
    assert (handle.stats.late, handle.stats.rejected) == (1, 6)
    (shown,) = (row for file in result_files(tmp_path / "checkpoint/swoop/late") for row in pq.read_table(file).to_pylist())
    assert (shown["id"], shown["tokens"]) == (0, "too Late")
    usable = [row for row in rows if row["text"] is not None]
    sets = spark.createDataFrame([(row["id"], dt.datetime.fromisoformat(row["time"]), row["text"]) for row in usable], SCHEMA)
    expected = history_of(spark, sets, 5, "20 seconds", tokens=function)
    assert len(expected) > 5
    assert stays_of(changes) == expected
    pair = handle.topk()[0]
    newer, older = (set(function(rows[name]["text"]) or ()) for name in (pair.newer, pair.older))
    told = handle.explain(pair)
    assert (told.shared, told.only_newer, told.only_older) == (newer & older, newer - older, older - newer)
    with pytest.raises(InvalidArgument, match="other parameters: type of tokens"):
        topk_stream(found, 5, "20 seconds", tokens=words("text"), lateness="10 seconds", cells=cells).start(
            tmp_path / "checkpoint"
        )


def test_two_streams_integers_and_strings(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        (f"row {n}", n // 3, rng.choices(range(9), k=3), rng.choice(["left", "right", "left", "right", "up"]))
        for n in range(200)
    ]
    schema = "name string, at int, items array<int>, side string"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "in"))
    options: Any = {"id": "name", "time": "at", "tokens": "items", "stream": "side"}
    sets = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    handle = topk_stream(sets, 3, 10, "overlap", **options, lateness=0, min_similarity=2).start(
        changes="memory", available_now=True
    )
    assert handle.await_termination(60)
    with pytest.warns(UserWarning, match="rows are unusable"):
        expected = history_of(spark, spark.read.parquet(str(tmp_path / "in")), 3, 10, "overlap", **options, min_similarity=2)
    found = list(handle.changes())
    assert stays_of(found) == expected
    assert handle.stats.rejected == sum(row[3] == "up" for row in rows) > 0
    assert found[0].pair.left != found[0].pair.right


def test_copies_that_count_once(spark: SparkSession, tmp_path: Path) -> None:
    """In two runs; the sets that records are called after have left the window in between."""
    texts = ["win a phone", "win a car", "win a phone", "good morning", "win a car today"]
    rows = [{"id": n, "time": (NOON + dt.timedelta(seconds=10 * n)).isoformat(), "text": texts[n % 5]} for n in range(25)]
    join = swoop.TopKJoin(5, "1 minute", copies="once", track_changes=True)
    for row in rows:
        join.insert(set(row["text"].split()), dt.datetime.fromisoformat(row["time"]), row["id"])
    found: list[Change] = []
    for part in range(2):
        write_files(tmp_path / "in", rows[12 * part :][: 12 + part], 3, first=3 * part)
        sets = read_stream(spark, tmp_path / "in")
        handle = topk_stream(sets, 5, "1 minute", text="text", lateness="5 seconds", copies="once").start(
            tmp_path / "state", changes="memory", available_now=True, flush=part == 1
        )
        assert handle.await_termination(60)
        found += handle.changes()
    assert found == list(join.changes())
    assert list(handle.topk()) == list(join.topk())
    pair = handle.topk()[0]
    assert handle.texts(pair) == (texts[int(pair.newer) % 5], texts[int(pair.older) % 5])


def test_late_and_rejected_rows(spark: SparkSession, tmp_path: Path) -> None:
    first = [
        {"id": 1, "time": "2024-01-01T12:00:00Z", "text": "a b"},
        {"id": None, "time": "2024-01-01T12:00:00Z", "text": "<script>"},
        {"id": 3, "time": "half past nine", "text": "a b"},
        {"id": 4, "time": "2024-01-01T12:01:00Z", "text": None},
        {"id": 5, "time": "2024-01-01T12:01:00Z", "text": "a b c"},
        {"id": 6, "time": None, "text": "a b c"},
    ]
    second = [
        {"id": 7, "time": "2024-01-01T12:00:49.999Z", "text": "a b"},
        {"id": 8, "time": "2024-01-01T12:00:50Z", "text": "a b c d"},
    ]
    write_files(tmp_path / "in", first, 1)
    write_files(tmp_path / "in", second, 1, first=1)
    raw = (
        spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    )
    sets = raw.withColumn("at", timestamps("time")).withColumn("tokens", words("text").column())
    seen: list[Any] = []
    handle = topk_stream(sets, 3, "1 hour", time="at").start(
        tmp_path / "checkpoint", late=lambda rows, batch: seen.append((batch, rows.to_pylist())), available_now=True
    )
    assert handle.await_termination(60)
    stats = handle.stats
    assert (stats.rows, stats.late, stats.rejected, stats.sets) == (8, 1, 4, 3)
    at = dt.datetime(2024, 1, 1, 12, 0, 49, 999_000, dt.UTC)
    assert seen == [(1, [{"id": 7, "time": at, "tokens": ["a", "b"]}])]
    assert handle.late_rows == [(7, at, dt.datetime(2024, 1, 1, 12, 0, 50, tzinfo=dt.UTC))]
    assert (handle.spec.k, handle.spec.window.duration, handle.spec.similarity.name) == (3, 3_600_000_000, "jaccard")
    rejected = {row.row: row.reason for row in spark.read.parquet(str(tmp_path / "checkpoint/swoop/rejected")).collect()}
    assert {json.loads(row)["id"]: reason for row, reason in rejected.items()} == {
        None: "the id is null",
        3: "the time is null",
        4: "the tokens are null",
        6: "the time is null",
    }
    assert any('"time":"half past nine"' in row for row in rejected)
    assert {(p.newer, p.older) for p in handle.topk()} == {(8, 1), (5, 1), (5, 8)}


def test_tokens_that_are_no_array(spark: SparkSession, tmp_path: Path) -> None:
    """A field of JSON lines that does not fit its type is null to Spark."""
    tokens: list[Any] = [["a", "b"], "a b", 7, {"a": 1}, ["a", "b"], None, []]
    write_files(tmp_path / "in", [{"id": n, "time": n, "tokens": found} for n, found in enumerate(tokens)], 1)
    sets = spark.readStream.schema("id int, time int, tokens array<string>").json(str(tmp_path / "in"))
    seen: list[Any] = []
    stream = topk_stream(sets, 3, 10, lateness=0)
    handle = stream.start(rejected=lambda rows, batch: seen.extend(rows.to_pylist()), available_now=True)
    assert handle.await_termination(60)
    assert [(json.loads(row["row"])["id"], row["reason"]) for row in seen] == [
        (number, "the tokens are null") for number in (1, 2, 3, 5)
    ]
    assert [(pair.newer, pair.older) for pair in handle.topk()] == [(4, 0)]
    assert (handle.stats.sets, handle.stats.rejected) == (3, 4)


def test_a_row_appears_before_the_watermark_passes(spark: SparkSession, tmp_path: Path) -> None:
    """Live: batches come and go; what may still be overtaken is held back."""
    write_files(
        tmp_path / "in", [{"id": n, "time": (NOON + dt.timedelta(seconds=n)).isoformat(), "text": "a b"} for n in (0, 1, 9)], 1
    )
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 2, "1 hour", lateness="5 seconds")
    seen: list[Any] = []
    with stream.start(
        tmp_path / "checkpoint",
        changes=[lambda changes, batch: seen.extend((batch, c.kind, c.pair.newer, c.pair.older) for c in changes), "memory"],
        trigger="100 milliseconds",
        metrics_port=0,
        name="posts",
    ) as handle:
        wait(lambda: handle.stats.batch == 0)
        assert seen == [(0, "enter", 1, 0)]
        assert (handle.stats.held, handle.stats.window_size) == (1, 2)
        assert handle.stats.watermark == NOON + dt.timedelta(seconds=4)
        write_files(
            tmp_path / "in", [{"id": 20, "time": (NOON + dt.timedelta(seconds=20)).isoformat(), "text": "c"}], 1, first=1
        )
        wait(lambda: handle.stats.batch == 1)
        assert {(p.newer, p.older) for p in handle.topk()} == {(1, 0), (9, 1)}
        text = urllib.request.urlopen(f"http://127.0.0.1:{handle.metrics_port}/metrics", timeout=10).read().decode()
        assert text == handle.metrics()
        figures = dict(line.split(" ") for line in text.splitlines() if not line.startswith("#"))
        assert float(figures["swoop_up"]) == 1
        assert float(figures["swoop_rows_total"]) == 4
        assert float(figures["swoop_watermark"]) == (NOON + dt.timedelta(seconds=15)).timestamp()
        assert handle.query.name == "posts"
        assert not handle.await_termination(0.1)
        assert [change.kind for change in handle.changes()] == ["enter"] * 2
        assert handle.changes().to_arrow().num_rows == 0
    assert not handle.is_active
    assert handle.await_termination()
    assert "swoop_up 0.0\n" in handle.metrics()
    with pytest.raises(urllib.error.URLError, match="refused"):  # what Prometheus' own "up" tells
        urllib.request.urlopen(f"http://127.0.0.1:{handle.metrics_port}/metrics", timeout=10)


def test_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """Stopped and started again, now with fewer pairs; other parameters are refused, and nothing is changed by that.

    It goes on from a copy of the checkpoint at another place, as docs/operating.md tells; what was copied is an older one then,
    which does not go with the results that have come since.
    """
    rows = posts(240, seed=4)
    write_files(tmp_path / "in", rows[:120], 3)
    sets = read_stream(spark, tmp_path / "in")

    def start(k: int, checkpoint: str = "checkpoint", **options: Any) -> Any:
        stream = topk_stream(sets, k, options.pop("window", "1 minute"), **{"lateness": "10 seconds", **options})
        return stream.start(tmp_path / checkpoint, changes=tmp_path / "changes", trigger="50 milliseconds")

    with start(5) as handle:
        wait(lambda: handle.stats.batch == 2)
        before = handle.topk()
        assert handle.stats.held > 0
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "moved")
    for message, options in {
        "window was '0:01:00' and now is '1:00:00'": {"window": "1 hour"},
        "similarity was 'jaccard' and now is 'dice'": {"similarity": "dice"},
    }.items():
        with pytest.raises(InvalidArgument, match=message):
            start(5, **options)
    with pytest.raises(InvalidArgument, match="k=5, and k may be lowered but not raised to 6"):
        start(6)
    with start(5, "moved") as handle:
        assert handle.topk() == before
        write_files(tmp_path / "in", rows[120:], 3, first=3)
        wait(lambda: handle.stats.batch == 5)
    join = swoop.TopKJoin(5, "1 minute")
    in_order = sorted((dt.datetime.fromisoformat(row["time"]), row["id"], row["text"].split()) for row in rows)
    watermark = in_order[-1][0] - dt.timedelta(seconds=10)
    for at, name, tokens in in_order:
        if at < watermark:
            join.insert(tokens, at, name)
    join.advance(watermark - dt.timedelta(microseconds=1))
    assert handle.topk() == join.topk()
    with start(2, "moved") as handle:
        assert handle.topk() == join.topk()[:2]
        told = handle.stats.changes
    assert [n for file in result_files(tmp_path / "changes") for n in pq.read_table(file)["sequence"].to_pylist()] == [
        *range(told)
    ]
    with pytest.raises(InvalidArgument, match="up to batch 5, but the checkpoint goes only to batch 2: it is an older copy"):
        start(2)


def test_killed_with_signal_9(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Each stream dies at a moment, goes on, and dies at another; what is there in the end is what an undisturbed run leaves.

    All streams share a process, which waits until each has come to its moment; this process is the last that resumes them.
    With ``--kills``, several times: at other batches, and one moment after another one.
    """
    rows = posts(400, seed=7, disorder=12)
    rows[150]["time"] = "soon"
    write_files(tmp_path / "undisturbed/in", rows, 6)
    undisturbed = killed_driver.start(spark, tmp_path / "undisturbed")
    undisturbed.await_termination(120)
    moments = list(killed_driver.MOMENTS)
    for turn in range(request.config.getoption("--kills")):
        folders = [tmp_path / f"killed{turn}-{number}" for number in range(len(moments))]
        for run in folders:
            write_files(run / "in", rows, 6)
        for death in (0, 1):
            batch, shift = 2 + 2 * death + turn % 2, death * (1 + turn % (len(moments) - 1))
            dying = [
                f"{folder}={moment}={batch}" for folder, moment in zip(folders, moments[shift:] + moments[:shift], strict=True)
            ]
            ended = drive("tests.support.killed_driver", *dying)
            assert ended.returncode == -9, f"{dying}: {ended.stdout} {ended.stderr[-2000:]}"
        for handle in [killed_driver.start(spark, run) for run in folders]:
            assert handle.await_termination(240)
            assert handle.topk() == undisturbed.topk()
        for name in ("changes", "late", "rejected"):
            expected = rows_of(tmp_path / "undisturbed" / name)
            assert len(expected) == getattr(undisturbed.stats, name) > 0
            for run in folders:
                assert rows_of(run / name) == expected


def test_a_failure_is_told(spark: SparkSession, tmp_path: Path) -> None:
    def broken(changes: Any, batch: int) -> None:
        raise OSError("the disk is full")

    write_files(tmp_path / "in", posts(50), 1)
    handle = topk_stream(read_stream(spark, tmp_path / "in"), 2, "1 minute").start(changes=broken, available_now=True)
    with pytest.raises(OSError, match="the disk is full"):
        handle.await_termination(60)
    assert not handle.is_active
    assert list(handle.topk()) == []


def test_an_output_belongs_to_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    """The folder of another stream is refused before anything is started, and nothing is left of the try."""
    write_files(tmp_path / "in", posts(100), 2)
    sets = read_stream(spark, tmp_path / "in")

    def start(checkpoint: str, window: str = "1 minute", **outputs: Any) -> Any:
        return topk_stream(sets, 3, window).start(tmp_path / checkpoint, **outputs, available_now=True)

    with start("first", changes=tmp_path / "changes") as first:
        with pytest.raises(InvalidArgument, match="in use by process"):
            start("first", changes=tmp_path / "others")
        with pytest.raises(InvalidArgument, match="belongs to another stream.*checkpoint .*first.*a new folder"):
            start("second", changes=tmp_path / "changes")
        first.await_termination(60)
    before = read_rows(spark, tmp_path, "changes")
    assert len(before) == first.stats.changes > 20
    for outputs, message in (
        ({"changes": tmp_path / "changes"}, "belongs to another stream"),
        ({"late": folder(tmp_path / "changes")}, "for late belongs to another stream"),
        ({"changes": tmp_path / "new", "late": tmp_path / "new"}, "changes and late, go to the same folder"),
        ({"changes": tmp_path / "in"}, "foreign files, such as '000.json'"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            start("second", **outputs)
    assert read_rows(spark, tmp_path, "changes") == before
    assert not list((tmp_path / "second").rglob("*.json"))
    assert not (tmp_path / "new").exists() or not list((tmp_path / "new").iterdir())
    start("second", "2 minutes", changes=tmp_path / "new").await_termination(60)
    write_files(tmp_path / "in", [{**row, "id": row["id"] + 1000} for row in posts(100)], 1, first=2)
    assert start("first", changes=tmp_path / "changes").await_termination(60)
    assert len(read_rows(spark, tmp_path, "changes")) >= len(before)


def test_while_no_rows_come(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results become final though no batch follows; a checkpoint that is taken away ends the stream with the reason."""
    monkeypatch.setattr(lease, "BEAT", 0.2)
    write_files(tmp_path / "in", posts(60), 1)
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 3, "1 minute", lateness="1 second")
    handle = stream.start(tmp_path / "checkpoint", changes=tmp_path / "changes", trigger="100 milliseconds")
    wait(lambda: handle.stats.batch == 0)
    assert spark.read.parquet(*result_files(tmp_path / "changes")).count() == handle.stats.changes > 20
    wait(lambda: len(list((tmp_path / "changes").glob("*.parquet"))) > 0)
    rows = spark.read.parquet(str(tmp_path / "changes"))
    assert sorted(row.sequence for row in rows.collect()) == list(range(handle.stats.changes))
    assert handle.stats.batch == 0
    assert handle.is_active
    owner = tmp_path / "checkpoint/swoop/owner-999999999999.json"
    while handle.is_active:
        owner.write_text(json.dumps({"lease": "other", "machine": "elsewhere", "pid": 7}))
        time.sleep(0.1)
    with pytest.raises(InvalidFile, match="no longer held by this process, but by process 7 on elsewhere"):
        handle.await_termination(60)
    assert isinstance(handle.failure, InvalidFile)
    assert json.loads(owner.read_text())["lease"] == "other"


def test_alerts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is down does not stop the stream; the next run delivers what waits, in order, and then the rest."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with web_server() as server:
        address = server.url
    write_files(tmp_path / "in", posts(20, disorder=1), 2)
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 3, "20 seconds", text="text", lateness="0 seconds")
    changes: list[Any] = []

    def start(to: str, **options: Any) -> Any:
        told = alert(to, min_similarity=0.4, per_minute=1000)
        return stream.start(tmp_path / "checkpoint", changes=[told, lambda part, _: changes.extend(part)], **options)

    with start(address) as handle:
        handle.query.processAllAvailable()
        until = time.monotonic() + 60
        while handle.alert_problem is None and time.monotonic() < until:
            time.sleep(0.05)
        assert "cannot be reached" in str(handle.alert_problem)
        assert handle.stats.alerts_waiting > 3
        assert handle.failure is None
    write_files(tmp_path / "in", posts(40, disorder=1)[20:], 1, first=2)
    with web_server() as server:
        handle = start(server.url, available_now=True)
        assert handle.await_termination(120)
        told = server.arrived
    pairs = [c.pair for c in changes if c.kind == "enter" and c.pair.similarity >= 0.4]
    assert [(one["newer"], one["older"], one["similarity"]) for one in told] == [
        (p.newer, p.older, p.similarity) for p in pairs
    ]
    assert all(one["newer_text"] and one["older_text"] for one in told)
    assert (handle.stats.alerts, handle.stats.alerts_waiting, handle.stats.alerts_failed) == (len(pairs), 0, 0)
    assert f"swoop_alerts_total {len(pairs)}.0" in handle.metrics()
    with pytest.raises(InvalidArgument, match="one alert at most"):
        stream.start(changes=[alert(address), alert(address)])
    with pytest.raises(InvalidArgument, match="not about late rows"):
        stream.start(late=alert(address))


def test_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sets = read_stream(spark, tmp_path / "in")
    still = spark.createDataFrame([(1, NOON, ["a"])], "id long, time timestamp, tokens array<string>")
    for error, message, call in [
        (InvalidData, "no column 'body' for text", lambda: topk_stream(sets, 1, "1 h", text="body")),
        (InvalidArgument, "not a stream.*topk_history", lambda: topk_stream(still, 1, "1 h")),
        (InvalidArgument, "k must be.*not 0", lambda: topk_stream(sets, 0, "1 h")),
        (InvalidArgument, "cells must be 1, 3, 6, 10, .*: 3 or 6, not 4", lambda: topk_stream(sets, 1, "1 h", cells=4)),
        (InvalidArgument, "'base' has no change feed", lambda: topk_stream(sets, 1, "1 h", algorithm="base")),
        (InvalidArgument, "duration or an integer, not None", lambda: topk_stream(sets, 1, None)),
        (InvalidData, "no column 'name' for id", lambda: topk_stream(sets, 1, "1 h", id="name")),
        (
            InvalidData,
            "'text' for tokens has type string; tokens must be arrays",
            lambda: topk_stream(sets, 1, "1 h", tokens="text"),
        ),
        (InvalidData, "'text' for time has type string.*timestamps", lambda: topk_stream(sets, 1, "1 h", time="text")),
        (InvalidData, "'time' for id has type timestamp; ids must be", lambda: topk_stream(sets, 1, "1 h", id="time")),
        (InvalidType, "lateness must be a duration.*not 7", lambda: topk_stream(sets, 1, "1 h", lateness=7)),
        (InvalidArgument, "at least 0", lambda: topk_stream(sets, 1, "1 h", lateness=-dt.timedelta(1))),
        (InvalidArgument, "mutually exclusive", lambda: topk_stream(sets, 1, "1 h").start(trigger="1 s", available_now=True)),
        (InvalidType, "changes must be a function.*not 5", lambda: topk_stream(sets, 1, "1 h").start(changes=5)),
        (InvalidArgument, "names no topic", lambda: topk_stream(sets, 1, "1 h").start(changes="kafka://topic")),
    ]:
        with pytest.raises(error, match=message):
            call()
    handle = topk_stream(sets, 1, "1 h").start(available_now=True)
    handle.await_termination(60)
    assert handle.stats.watermark is None
    assert "swoop_watermark" not in handle.metrics()
    with pytest.raises(InvalidArgument, match='changes="memory"'):
        handle.changes()
    with pytest.raises(InvalidType, match="seconds"):
        handle.await_termination(-1)
    assert session() is spark
    assert spark.conf.get("spark.sql.catalog.not_used") == "with an underscore"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
