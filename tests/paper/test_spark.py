"""The measurements on Spark run and give numbers."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.sql import SparkSession

from swoop.paper import spark as bench


def test_the_report(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "FILE", 500)
    monkeypatch.setattr(bench, "WINDOW", 100)
    monkeypatch.setattr(bench, "WARM", 2)
    monkeypatch.setattr(bench, "FILES", 6)
    monkeypatch.setattr(bench, "_quiet_session", lambda: contextlib.nullcontext(spark))
    lines = bench.report(2000, lambda text: None)
    rows = [line.split("|") for line in lines if line.startswith("| ")][1:]
    assert len(rows) == 11
    assert all(figure.strip() for _, _, figure, *_ in rows)
    assert not any("-" in cpu for *_, cpu, _ in rows)
