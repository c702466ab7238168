"""Batches of any size come to the driver in pieces of some size, and nobody can tell from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.live.pieces import Backlog
from swoop.spark import fetching, timestamps, topk_stream, words
from swoop.spark.fetching import _borders, fetch
from tests.support.streams import posts, read_rows, read_stream, write_files


@given(st.lists(st.integers(0, 20)), st.integers(1, 10))
def test_borders(times: list[int], rows: int) -> None:
    ordered = np.sort(np.array(times, np.int64))
    borders = _borders(ordered, rows)
    assert borders == sorted(set(borders))
    pieces = [[time for time in times if low <= time < high] for low, high in zip([-1, *borders], [*borders, 99], strict=True)]
    assert sum(map(len, pieces)) == len(times)
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        assert piece or not times
        assert len(piece) <= rows or len(set(piece)) == 1
        if following:  # one more time would have been too much
            assert len(piece) + following.count(min(following)) > rows


def test_a_backlog_gives_what_small_batches_give(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of many rows, some of them late, some that cannot be used; two pieces at least."""
    rows = posts(400, seed=7, disorder=12)
    for place in (3, 150, 151, 390):
        rows[place]["time"] = "soon"
    write_files(tmp_path / "in", rows, 3)
    pieces: list[int] = []

    def counted(frame: Any, piece_rows: int) -> Any:
        found = fetch(frame, piece_rows)
        if not isinstance(found, Backlog):
            return found

        def count() -> Any:
            for piece in found.pieces:
                pieces.append(piece.num_rows)
                yield piece

        return Backlog(found.times, count())

    monkeypatch.setattr("swoop.spark.starting.fetch", counted)
    results = []
    for piece_rows in (fetching.PIECE_ROWS, 40):
        folder = tmp_path / str(piece_rows)
        source = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1)
        sets = source.json(str(tmp_path / "in")).select(
            "id", "text", timestamps("time").alias("time"), words("text").column().alias("tokens")
        )
        handle = topk_stream(sets, 4, "40 seconds", lateness="2 seconds", text="text").start(
            folder / "state",
            changes=folder / "changes",
            late=folder / "late",
            rejected=folder / "rejected",
            available_now=True,
            piece_rows=piece_rows,
        )
        assert handle.await_termination(120)
        assert bool(pieces) == (piece_rows == 40)
        found = {name: read_rows(spark, folder, name) for name in ("changes", "late", "rejected")}
        results.append((found, handle.topk(), handle.stats.rows, handle.stats.sets, handle.stats.late))
    assert results[0] == results[1]
    assert len(pieces) >= 9
    assert max(pieces) <= 60
    assert results[0][4] > 0
    assert len(results[0][0]["rejected"]) == 4
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().isEmpty()  # type: ignore[union-attr]


def test_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 1, "1 h")
    with pytest.raises(InvalidArgument, match="piece_rows must be an integer of at least 1, not 0"):
        stream.start(piece_rows=0)
