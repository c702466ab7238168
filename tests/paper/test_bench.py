"""The measurements of performance run, and make their report.

Tests of swoop.paper.__main__, swoop.paper.measure, swoop.paper.near_copies.
"""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from swoop.paper import __main__ as bench
from swoop.paper import in_process, measure, near_copies
from swoop.paper.data_sets import generate


def test_rates_with_a_peer(tmp_path: Path) -> None:
    peer = tmp_path / "peer"
    peer.write_text('#!/bin/sh\necho \'{"sets_per_cpu_s": 10.0, "rss_peak_mb": 1.5}\'\n')
    peer.chmod(stat.S_IRWXU)
    (rate,) = measure.rates(generate("flickr", 500), [50], 3, 1, 0.0, str(peer), tmp_path)
    assert rate.peer == 10.0
    assert rate.swoop > 0
    assert rate.memory_per_set > 0


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "start_times", lambda: (1.0, 0.5))
    monkeypatch.setattr(measure, "ALL_PAIRS_WINDOW", 3000)
    monkeypatch.setattr(near_copies, "WAVE", 100)
    monkeypatch.setattr(in_process, "ROUNDS", 1)
    out = tmp_path / "docs" / "report.md"
    out.parent.mkdir()
    sizes = ["--sets", "3000", "--large-k-sets", "3000", "--text-rows", "3000", "--spark-rows", "0"]
    monkeypatch.setattr("sys.argv", ["bench", "performance", *sizes, "--rounds", "1", "--seconds", "0", "--out", str(out)])
    bench.main()
    text = out.read_text()
    assert "| tweet | 3,000 | 1,000 |" in text
    assert "bytes per set in the window" in text
    assert "cost of the change feed" in text
    assert "| `k=None`, with all changes taken |" in text
    assert "| tweet, every other one a copy |" in text
    assert "| one family of different sets, 30 tokens | 100 |" in text
    assert "](charts/performance.svg)" in text
    assert (tmp_path / "docs" / "charts" / "performance.svg").read_text().startswith("<svg")
