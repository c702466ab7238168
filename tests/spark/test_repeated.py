"""Files whose names look like patterns to Spark: each is read once, or nothing of a batch is counted.

That ``swoop stream`` reads such files once is tested in tests/cli/test_stream.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from swoop.errors import InvalidData
from swoop.spark import StreamHandle, topk_stream, words
from swoop.spark.repeated import load_once
from tests.support.streams import SCHEMA, posts, write_files

STRANGE = ["a[1]", "b{2,3}", "c*", "d?", "e\\", "%20 #é", "plain"]


def write_ids(folder: Path, names: list[str], first: int = 0) -> None:
    """One row in each file, numbered."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names, first):
        (folder / f"{name}.json").write_text(json.dumps({"id": number}))


def read_on(rows: DataFrame, checkpoint: Path) -> list[tuple[int, ...]]:
    """The rows that a stream has not read before."""
    found: list[tuple[int, ...]] = []

    def take(frame: DataFrame, batch: int) -> None:
        found.extend(map(tuple, frame.collect()))

    writer = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(60)
    return sorted(found)


def test_each_file_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """Of a folder, but not of its subfolders, whose names are as strange."""
    folder, checkpoint = tmp_path / "in [%20] é", tmp_path / "state"

    def stream() -> DataFrame:
        return load_once(spark.readStream.schema("id long").format("json"), str(folder))

    write_ids(folder, STRANGE)
    for name in ("done", "done [1]", ".hidden", "_hidden"):
        write_ids(folder / name, STRANGE, 100)
    assert read_on(stream(), checkpoint) == [(number,) for number in range(7)]
    write_ids(folder, ["f[1]", "g[2]"], 7)
    (folder / "plain.json").rename(folder / "done" / "f[1].json")
    assert read_on(stream(), checkpoint) == [(7,), (8,)]


def test_folders_that_hold_columns(spark: SparkSession, tmp_path: Path) -> None:
    write_ids(tmp_path / "in", [])
    write_ids(tmp_path / "in" / "day=1", STRANGE)
    write_ids(tmp_path / "in" / "day=2", ["a[1]", "b"], 7)
    rows = load_once(spark.readStream.schema("id long").format("json"), str(tmp_path / "in"))
    assert read_on(rows, tmp_path / "state") == [*((number, 1) for number in range(7)), (7, 2), (8, 2)]


def test_a_batch_that_would_be_read_several_times_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The stream goes on where it stopped, as the message says."""
    folder, rows = tmp_path / "in", posts(60)

    def start(recursive: bool = False) -> StreamHandle:
        reader = spark.readStream.schema(SCHEMA).option("recursiveFileLookup", recursive)
        stream = topk_stream(reader.json(str(folder)), 5, "1 minute", tokens=words("text"), lateness="1 hour")
        return stream.start(tmp_path / "state", available_now=True, flush=len(list(folder.iterdir())) > 1)

    def write(number: int, name: str) -> None:
        write_files(folder, rows[20 * number : 20 * number + 20], 1, number)
        (folder / f"{number:03}.json").rename(folder / f"{name}.json")

    write(0, "a[0]")  # alone, it does no harm
    handle = start()
    assert handle.await_termination(60)
    assert handle.stats.rows == 20
    write(1, "b [1]")
    write(2, "c")
    handle = start()
    with pytest.raises(InvalidData, match=r"several times: it takes '.*/b \[1\]\.json' for a pattern"):
        handle.await_termination(60)
    assert handle.stats.rows == 20
    handle = start(recursive=True)
    assert handle.await_termination(60)
    assert (handle.stats.rows, handle.stats.sets, handle.stats.late) == (60, 60, 0)
