"""The measurements from text to result run and give numbers, on Spark and in process.

Tests of swoop.paper.in_process, swoop.paper.live_costs, swoop.paper.posts, swoop.paper.spark_jobs, swoop.paper.spent.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from swoop.paper import in_process, live_costs
from swoop.paper import spark as bench
from swoop.paper import spark_jobs as jobs
from swoop.paper.data_sets import generate


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Posts as people have them."""
    path = tmp_path / "posts.parquet"
    times = [dt.datetime(2024, 5, 1) + dt.timedelta(seconds=n) for n in range(700)]
    pq.write_table(pa.table({"ts": times, "text": [f"a b{n % 9} c{n % 5}" for n in range(700)]}), path)
    return path


def test_the_report(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "FILE", 500)
    monkeypatch.setattr(jobs, "WINDOW", 100)
    monkeypatch.setattr(jobs, "quiet_session", lambda: contextlib.nullcontext(spark))
    monkeypatch.setattr(jobs, "ROUNDS", 1)
    monkeypatch.setattr(bench, "WARM", 2)
    monkeypatch.setattr(bench, "FILES", 6)
    monkeypatch.setattr(live_costs, "RECOVERED", 400)
    monkeypatch.setattr(live_costs, "SMALL_BATCHES", 3)
    monkeypatch.setattr(live_costs, "SMALL", 100)
    lines = bench.report(2000, lambda text: None) + live_costs.report(2000, lambda text: None)
    rows = [line.split("|") for line in lines if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) == 6 + 4 + 6
    assert all(figure.strip() for _, _, figure, *_ in rows)


def test_real_posts(texts: Path) -> None:
    """They are repeated, later and later, until there are enough."""
    (_, made), (what, real) = bench._sources(generate("tweet", 4000), 1000, texts)
    assert what == "1,000 real posts of 3 words (posts)"
    assert len(made) == len(real) == 1000
    times = real.column("time").to_pylist()
    assert times == sorted(set(times))


def test_in_process(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "ROUNDS", 1)
    in_process_lines = in_process.report(2000, lambda text: None, texts)
    rows = [line.split("|") for line in in_process_lines if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) == 4 + 4
    assert all(figure.strip() for _, _, figure, *_ in rows)
