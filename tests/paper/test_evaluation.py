"""The paper's evaluation runs, goes on where it was, and says what it saw.

Tests of swoop.paper.other_tools.experiment, swoop.paper.batches, swoop.paper.claims, swoop.paper.experiments,
swoop.paper.charts, swoop.paper.result_store, swoop.paper.latency, swoop.paper.report.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from swoop.errors import InvalidArgument
from swoop.paper import __main__ as bench
from swoop.paper import batches, evaluation, experiments, latency, result_store
from swoop.paper.claims import CLAIMS, Seen
from swoop.paper.data_sets import SHAPES, generate
from swoop.paper.experiments import DataSets, Result, Run, Scale
from swoop.paper.other_tools.comparison import ToolResult

SMALL = Scale("tiny", dict.fromkeys(SHAPES, 300) | {"enron": 200}, (20, 60), (1, 100), (1, 5), 0.1)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(bench, "QUICK", SMALL)
    monkeypatch.setattr(bench, "info", said.append)
    return said


def compare(data_set: object, window: int, k: int, info: object, limit: float, names: list[str]) -> list[ToolResult]:
    return [ToolResult(name, *((None,) * 3 if "Spark" in name else (5.0, 0.5, 7.0)), note="how") for name in names]


def test_all_of_it(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swoop.paper.other_tools.comparison.compare", compare)
    monkeypatch.setattr(evaluation.other_tools, "generate_warm", generate)
    monkeypatch.setattr(evaluation.other_tools, "WINDOW", 60)
    monkeypatch.setattr(evaluation.other_tools, "SETS", 600)
    folder, docs = tmp_path / "out", tmp_path / "docs"
    bench.main(["--folder", str(folder), "--docs", str(docs)])
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 10
    assert "SWOOP clearly outperforms all other approaches." in page
    assert "not measured" in page  # there are no windows of 1,000 sets here
    assert "datasketch MinHashLSH" in page
    for name in ("set-rate", "stock", "dblp", "latency", "other-tools"):
        assert (folder / f"{name}.png").stat().st_size > 1000
        assert (docs / "charts" / f"{name}.svg").stat().st_size < 60_000
    text = (docs / "evaluation.md").read_text()
    assert text.startswith("# Evaluation\n\nMade by `swoop bench --docs docs`")
    assert "![Largest stock](charts/stock.svg)" in text
    assert "| TWEET | 20 |" in text
    runs = [line for line in said if "sets/s" in line]
    assert any(line.startswith(f"{len(runs)}/{len(runs)} ") for line in runs)


def test_it_goes_on_where_it_was(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--folder", str(tmp_path), "--only", "large-k", "--only", "batches"]
    done: list[Run] = []

    def perform(run: Run, data_sets: DataSets, limit: float) -> Result:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(run)
        return real(run, data_sets, limit)

    real = evaluation.perform
    monkeypatch.setattr(evaluation, "perform", perform)
    with pytest.raises(KeyboardInterrupt):
        bench.main(arguments)
    monkeypatch.setattr(evaluation, "perform", real)
    said.clear()
    bench.main(arguments)
    assert len([line for line in said if "sets/s" in line]) == 10 - 4
    said.clear()
    bench.main(arguments)
    assert said == ["drawing", f"written: {tmp_path / 'report.html'}"]
    stopped = [row for row in result_store.ResultStore(tmp_path / "results.parquet", Result) if row.stopped]
    bench.main([*arguments, "--limit", "60"])
    assert len([line for line in said if "sets/s" in line]) == len(stopped), "with more time, they are done again"
    said.clear()
    monkeypatch.setattr(result_store, "version", lambda: "another one")
    bench.main([*arguments[:4], "--limit", "0.1"])
    assert len([line for line in said if "sets/s" in line]) == 10, "results of another version are not these"
    monkeypatch.undo()
    assert len(list(result_store.ResultStore(tmp_path / "results.parquet", Result))) == 10, "and are not lost"


def test_the_version_is_that_of_the_sources() -> None:
    assert result_store.version() == result_store.version()
    assert len(result_store.version().split()) in (2, 3)
    assert result_store.commit() in result_store.version()


def test_a_run_over_its_limit_is_kept_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    data_sets = DataSets(replace(SMALL, sets={"tweet": 3000}))
    result = experiments.perform(data_sets.run("tweet", 1000, 10, "base"), data_sets, 0.01)
    assert result.stopped == "time"
    assert 0 < result.done < 3000
    assert result.rate > 0
    assert not result.has_filled_windows
    monkeypatch.setattr(experiments, "MEMORY", 1)
    assert experiments.perform(data_sets.run("tweet", 1000, 10, "base"), data_sets, 10.0).stopped == "memory"


def test_real_data_sets(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from swoop.paper import loaders

    path = tmp_path / "dblp.xml"
    path.write_text("")
    monkeypatch.setattr("swoop.spark.session", lambda: None)
    monkeypatch.setitem(loaders.LOADERS, "dblp", lambda spark, path: SimpleNamespace(path=path))
    monkeypatch.setattr(loaders, "to_data_set", lambda name, frame: generate(name, 700))
    bench.main(["--folder", str(tmp_path), "--only", "dblp", "--only", "data-sets", "--data-set", f"dblp={path}"])
    assert f"DBLP from {path}" in (tmp_path / "report.html").read_text()
    with pytest.raises(InvalidArgument, match="does not exist"):
        bench.main(["--data-set", "dblp=nowhere"])
    with pytest.raises(InvalidArgument, match="such as dblp="):
        bench.main(["--data-set", "nowhere"])


def test_the_table_of_data_sets(tmp_path: Path, said: list[str]) -> None:
    for _ in range(2):
        said.clear()
        bench.main(["data-sets", "--share", "0.0002", "--folder", str(tmp_path)])
        assert said[0].startswith("data set | sets | paper")
        assert any(line.startswith("TWEET | 6,800 | 34,000,000 | ") for line in said)


def test_latency_is_that_of_a_queue() -> None:
    seen = latency.latency(generate("tweet", 2000), "generated", 2000, 200)
    assert seen.longest >= seen.longest_processing > 0
    assert seen.median <= seen.p99 <= seen.p999 <= seen.longest
    assert seen.longest_queue >= max(seen.queue) >= 1
    slow = latency._queue(np.array([1.0, 1.0, 10.0, 1.0]), "", "", 4, 0)  # one every 65/16 seconds
    assert slow.longest == pytest.approx(10)
    assert slow.longest_queue == 2


def test_batches_are_wrong_where_the_topk_changes() -> None:
    seen = batches.batches(generate("tweet", 1500), "generated", 1500)
    assert 0 < seen.wrong < 1
    assert 0 <= seen.by_more_than_one <= 1


def test_claims_without_anything_seen() -> None:
    assert {claim.look(Seen([]))[0] for claim in CLAIMS} == {None}


def test_claims() -> None:
    def result(algorithm: str, rate: float, window: int = 1000, data_set: str = "flickr", k: int = 10) -> Result:
        run = (data_set, "generated", 10_000, window, k, algorithm)
        return Result(*run, 10_000, "", 10_000 / rate, 10.0, 5.0, 150, 1)

    seen = Seen([result("swoop-minimal", 1000), result("scase", 50), result("static", 20), result("base", 10)])
    looked = {claim.says: claim.look(seen) for claim in CLAIMS}
    assert looked["SWOOP clearly outperforms all other approaches."][0] is True
    assert looked["SWOOP is faster than SCase and Static by more than an order of magnitude."] == (
        True,
        "faster by 20.0 to 50.0 times; Swoop with its floor by nothing",
    )
    slow = Seen([result("swoop-minimal", 10), result("scase", 50)])
    assert next(claim for claim in CLAIMS if "clearly" in claim.says).look(slow)[0] is False
