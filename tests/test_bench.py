"""The benchmarks run, and their streams have the shapes they should have."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from swoop.bench import __main__ as bench
from swoop.bench import experiments, measure
from swoop.bench.streams import SHAPES, Stream, generate


@pytest.mark.parametrize("name", list(SHAPES))
def test_streams(name: str, tmp_path: Path) -> None:
    stream = generate(name, 2000)
    assert len(stream) == 2000
    assert np.all(np.diff(stream.times) >= 0)
    mean = stream.tokens.size / len(stream)
    assert 0.5 * SHAPES[name].mean_size < mean < 1.2 * SHAPES[name].mean_size
    again = generate(name, 2000)
    assert np.array_equal(again.tokens, stream.tokens)
    stream.save(tmp_path / f"{name}.bin")
    loaded = Stream.load(tmp_path / f"{name}.bin")
    assert np.array_equal(loaded.tokens, stream.tokens)
    assert loaded.name == name
    duration = stream.window_for(100)
    sizes = np.arange(1, 2001) - np.searchsorted(stream.times, stream.times - duration, side="right")
    assert abs(sizes.mean() - 100) < 15


def test_a_foreign_file_is_not_a_stream(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(100))
    with pytest.raises(ValueError, match="is not a stream"):
        Stream.load(tmp_path / "x.bin")


def test_rates_with_a_peer(tmp_path: Path) -> None:
    peer = tmp_path / "peer"
    peer.write_text('#!/bin/sh\necho \'{"sets_per_cpu_s": 10.0, "rss_peak_mb": 1.5}\'\n')
    peer.chmod(stat.S_IRWXU)
    (rate,) = measure.rates(generate("flickr", 500), [50], 3, 1, str(peer), tmp_path)
    assert rate.peer == 10.0
    assert rate.swoop > 0
    assert rate.memory_per_set > 0


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "start_times", lambda: (1.0, 0.5))
    out = tmp_path / "report.md"
    monkeypatch.setattr(
        "sys.argv",
        ["bench", "--sets", "3000", "--large-k-sets", "3000", "--rounds", "1", "--spark-rows", "0", "--out", str(out)],
    )
    bench.main()
    text = out.read_text()
    assert "| tweet | 3,000 | 1,000 |" in text
    assert "bytes per set in the window" in text
    assert "cost of the change feed" in text


def test_the_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = experiments.Scale(600, 200, (20, 60), (1, 5), 0.3)
    monkeypatch.setattr(bench, "QUICK", small)
    said: list[str] = []
    monkeypatch.setattr(bench, "say", said.append)
    bench.main(["paper", "--folder", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 7
    assert "SWOOP clearly outperforms all other approaches." in page
    assert "not looked at" in page  # there are no windows of 1,000 sets here
    assert all((tmp_path / "out" / f"{name}.png").stat().st_size > 1000 for name in ("set-rate", "stock", "dblp"))
    runs = [line for line in said if "sets/s" in line]
    assert any(line.startswith(f"{len(runs)}/{len(runs)} ") for line in runs)
    said.clear()
    bench.main(["paper", "--folder", str(tmp_path / "out"), "--only", "set-rate"])
    assert not [line for line in said if "sets/s" in line], "a run that is there is not done again"


def test_a_run_over_its_limit_is_kept() -> None:
    result = experiments.perform(experiments.Run("tweet", 3000, 1000, 10, "base"), 0.01)
    assert not result.is_complete
    assert 0 < result.done < 3000
    assert result.rate > 0


def test_latency_is_that_of_a_queue() -> None:
    seen = experiments.latency(generate("tweet", 2000), 200)
    assert seen.longest >= seen.longest_processing > 0
    assert seen.percentiles["p50"] <= seen.percentiles["p99"] <= seen.longest
    assert seen.longest_queue >= 1
