"""How a run on Spark ends: drained, stopped, failed; and what waits then.

Tests of swoop.spark.handle.
"""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.spark import StreamHandle, topk_stream
from tests.support.streams import NOON, posts, read_stream, wait, write_files

NAMES = ("time", "kind", "newer", "older", "similarity")


def start(spark: SparkSession, folder: Path, cells: int = 1, changes: Any = (), **options: Any) -> StreamHandle:
    stream = topk_stream(read_stream(spark, folder / "in"), 4, "40 seconds", lateness="20 seconds", cells=cells)
    return stream.start(folder / "state", changes=[folder / "changes", changes], available_now=True, **options)


def ended(folder: Path) -> list[str]:
    """The states at ends of the stream, without the number of the driver that wrote them."""
    return sorted(path.name.partition("~")[0] for path in (folder / "state/swoop/states").glob("*-end~*.json"))


def rows_of(spark: SparkSession, folder: Path) -> list[Any]:
    return sorted(map(repr, spark.read.parquet(str(folder / "changes")).select(*NAMES).collect()))


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What one run gives that takes everything."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_files(folder / "in", posts(240, seed=6), 6)
    handle = start(spark, folder)
    assert handle.await_termination(60)
    assert ended(folder) == ["000000000005-end"]
    assert (handle.stats.held, handle.stats.late, handle.stats.sets) == (0, 0, 240)
    return rows_of(spark, folder)


@pytest.mark.parametrize("how", ["query", "streams", "failure"])
def test_a_run_that_does_not_come_to_its_end(spark: SparkSession, tmp_path: Path, undisturbed: list[Any], how: str) -> None:
    """Rows that wait go on waiting: the source is not drained."""
    write_files(tmp_path / "in", posts(240, seed=6), 6)
    handles: list[StreamHandle] = []
    begun = threading.Event()

    def disturb(changes: Any, batch: int) -> None:
        if batch < 2:
            return
        begun.wait(60)
        if how == "failure":
            raise OSError("the disk is full")
        query = handles[0].query if how == "query" else spark.streams.get(handles[0].query.id)
        threading.Thread(target=query.stop, daemon=True).start()
        while query.isActive:
            pass

    handles.append(start(spark, tmp_path, changes=disturb))
    begun.set()
    if how == "failure":
        with pytest.raises(OSError, match="the disk is full"):
            handles[0].await_termination(60)
    else:
        assert handles[0].await_termination(60)
    assert ended(tmp_path) == []
    assert not (tmp_path / "state" / "commits" / "3").exists()
    handle = start(spark, tmp_path)
    assert handle.await_termination(60)
    assert (handle.stats.held, handle.stats.late, handle.stats.sets) == (0, 0, 240)
    assert rows_of(spark, tmp_path) == undisturbed


@pytest.mark.parametrize(("cells", "sizes"), [(1, (80, 0, 80, 80)), (3, (120, 120))])
def test_runs_every_hour(
    spark: SparkSession, tmp_path: Path, undisturbed: list[Any], cells: int, sizes: tuple[int, ...]
) -> None:
    """With flush=False several runs give the very changes of one; rows that wait in between are not forgotten."""
    rows = posts(240, seed=6)
    for hour, size in enumerate(sizes, 1):
        write_files(tmp_path / "in", rows[:size], 1, first=hour)
        rows = rows[size:]
        handle = start(spark, tmp_path, cells, flush=hour == len(sizes))
        assert handle.await_termination(60)
        assert bool(handle.stats.held) == (hour < len(sizes))
    assert (handle.stats.late, handle.stats.sets) == (0, 240)
    assert len(ended(tmp_path)) == 1
    assert rows_of(spark, tmp_path) == undisturbed


def test_time_that_moves_on_by_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    """Rows enter that waited, pairs expire, and a row from before is late; the next run knows how late it is."""

    def begin() -> StreamHandle:
        stream = topk_stream(read_stream(spark, tmp_path / "in"), 3, "4 seconds", lateness="1 second")
        options: Any = {"changes": [tmp_path / "changes", "memory"], "idle": "1 second", "trigger": "50 milliseconds"}
        return stream.start(tmp_path / "state", **options)

    def post(number: int, second: int) -> dict[str, Any]:
        return {"id": number, "time": (NOON + dt.timedelta(seconds=second)).isoformat(), "text": "a b"}

    write_files(tmp_path / "in", [post(0, 0), post(1, 1)], 1)
    with begin() as handle:
        wait(lambda: handle.stats.sets == 2 and len(handle.topk()) == 0)
        found = handle.changes()
        assert [(change.kind, change.time) for change in found] == [
            ("enter", NOON + dt.timedelta(seconds=1)),
            ("expired", NOON + dt.timedelta(seconds=4)),
        ]
        wait(lambda: handle.stats.window_size == 0)
        assert handle.stats.batch == 0
    reached = handle.stats.watermark
    with begin() as handle:
        assert handle.stats.watermark == reached
        write_files(tmp_path / "in", [post(2, 2)], 1, first=1)
        wait(lambda: handle.stats.late == 1)
    assert handle.failure is None


def test_clocks_that_cannot_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sets = read_stream(spark, tmp_path / "in")
    numbers = sets.withColumn("time", sets.id)
    for message, stream, options in [
        ("times are integers", topk_stream(numbers, 1, 10, lateness=0), {}),
        ("not possible with cells", topk_stream(sets, 1, "1 h", cells=3), {}),
        ("mutually exclusive", topk_stream(sets, 1, "1 h"), {"available_now": True}),
        ("at least one second", topk_stream(sets, 1, "1 h"), {"idle": "1 ms"}),
        ("cannot parse the idle 'soon'", topk_stream(sets, 1, "1 h"), {"idle": "soon"}),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            stream.start(**{"idle": "5 s", **options})
