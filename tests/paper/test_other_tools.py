"""The others are measured fairly: their answers are those of their moment, and ties are no misses.

Tests of swoop.paper.other_tools.__main__, swoop.paper.other_tools.adapters, swoop.paper.other_tools.comparison.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from swoop.installing import how_to_install
from swoop.paper.data_sets import DataSet
from swoop.paper.other_tools import __main__ as command
from swoop.paper.other_tools import adapters, comparison
from swoop.paper.other_tools.comparison import (
    NAMES,
    TOOLS,
    ToolResult,
    compare,
    measure,
    moments,
    recall,
    table,
    when_full,
)
from swoop.paper.report import write_into

WINDOW = 60
SKETCHES = ["datasketch MinHashLSH", "rensa RMinHashLSH", "FastSketchLSH"]


@pytest.fixture(scope="module")
def data_set() -> DataSet:
    """Sets of eight tokens in which chance makes many a similar pair. Two sets arrive at a time."""
    rng = np.random.default_rng(3)
    sets = [np.sort(rng.choice(30, 8, replace=False)) for _ in range(300)]
    return DataSet("small", np.arange(300) // 2 * 2, np.arange(301) * 8, np.concatenate(sets))


def judged(name: str, data_set: DataSet, threshold: float, k: int = 5) -> ToolResult:
    seen = measure(TOOLS[name], data_set, WINDOW, k, threshold, 10.0)
    return comparison._judged(name, seen, data_set, WINDOW, comparison._exact(data_set, WINDOW, k))


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([1.0, 0.8, 0.5], [1.0, 0.8, 0.5], 1.0),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], 1.0),  # other ones of the same similarity
        ([1.0, 0.5, 0.5], [1.0, 0.8, 0.5], 2 / 3),  # a tie does not make up for a better pair
        ([1.0, 0.5], [1.0, 0.5, 0.5], 2 / 3),
        ([0.8, 0.5, 0.49], [1.0, 0.8, 0.5], 2 / 3),
        ([0.4], [1.0, 0.8], 0.0),
        ([], [1.0, 0.8], 0.0),
        ([0.9] * 5, [0.9, 0.9], 1.0),  # no more than all
        ([], [], 1.0),
    ],
)
def test_recall(found: list[float], exact: list[float], share: float) -> None:
    assert recall(found, exact) == share


def test_moments_begin_when_the_window_is_full(data_set: DataSet) -> None:
    full = when_full(data_set, WINDOW)
    assert data_set.times[full] - data_set.times[0] == WINDOW
    assert data_set.times[full - 1] - data_set.times[0] < WINDOW
    assert list(moments(data_set, WINDOW)) == list(range(full + 1, 300))
    long = DataSet("", np.arange(20_000), np.arange(20_001), np.zeros(20_000, int))
    assert moments(long, 2000).step == 37


def test_swoop_finds_everything(data_set: DataSet) -> None:
    seen = judged("Swoop", data_set, 0.5)
    assert seen.recall == 1.0
    assert seen.rate is not None
    assert seen.rate > 0
    assert "in batches" in seen.note


@pytest.mark.parametrize("name", SKETCHES)
def test_sketches_miss_some(name: str, data_set: DataSet) -> None:
    pytest.importorskip(TOOLS[name].needs[-1])
    low, high = judged(name, data_set, 0.3), judged(name, data_set, 0.9)
    assert low.recall is not None
    assert high.recall is not None
    assert 0.9 < low.recall <= 1.0
    assert high.recall < low.recall


@pytest.mark.parametrize("name", SKETCHES)
def test_sketches_forget_what_has_expired(name: str, data_set: DataSet) -> None:
    pytest.importorskip(TOOLS[name].needs[-1])
    tool = TOOLS[name](WINDOW, 5, 0.1)
    assert isinstance(tool, adapters.Sketches)
    tool._enough = 10
    for number, tokens in enumerate(data_set.sets()):
        tool.insert(number, tokens, int(data_set.times[number]))
        assert len(tool._sets) <= WINDOW
        assert len(tool._pairs) <= tool._enough
        if isinstance(tool, adapters.FastSketch):
            assert len(tool._sketches) == len(tool._numbers) <= 2 * WINDOW
    assert len(tool.topk()) == 5
    assert all(older >= 300 - WINDOW for _, older in tool.topk())


def test_answers_of_batches_grow_old(data_set: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    class EachTime(adapters.SetSimilaritySearch):
        def __init__(self, window: int, k: int, threshold: float) -> None:
            super().__init__(window, k, threshold, batch=1)

    assert (stale := judged("SetSimilaritySearch", data_set, 0.2).recall) is not None
    monkeypatch.setitem(TOOLS, "each time", EachTime)
    assert judged("each time", data_set, 0.2).recall == 1.0
    assert 0.2 < stale < 1.0


def test_pairs_that_do_not_count_are_not_found(data_set: DataSet) -> None:
    exact = {299: [0.0]}
    for pairs, share in ([[299, 298]], 1.0), ([[299, 0]], 0.0), ([[298, 298]], 0.0), ([[300, 299]], 0.0):
        seen = {"answers": [(299, pairs)], "rate": 1.0, "memory": 1.0, "note": ""}
        assert comparison._judged("x", seen, data_set, WINDOW, exact).recall == share


def test_spark_joins_a_window(spark: object, data_set: DataSet) -> None:
    joined = adapters.Spark(100, 2, 0.5)
    sets = [[1, 2, 3], [7, 8], [1, 2, 3], [9], [7, 8]]
    assert set(joined.best([10, 11, 12, 13, 14], sets, 2)) == {(12, 10), (14, 11)}
    assert "5 hash tables" in joined.note(data_set)


def test_each_is_a_process_of_its_own(data_set: DataSet) -> None:
    said: list[str] = []
    found = compare(data_set, WINDOW, 5, said.append, names=NAMES[:2])
    assert [one.name for one in found] == list(NAMES[:2])
    assert found[0].recall == 1.0
    assert all(one.rate and one.memory is not None and "stopped" not in one.note for one in found)
    assert len(said) == 2


def test_a_stream_that_does_not_fill_the_window(data_set: DataSet) -> None:
    with pytest.raises(ValueError, match="300 sets, which do not fill a window of 1000"):
        compare(data_set, 1000, 5, print)


def test_over_the_limit_the_beginning_is_seen(data_set: DataSet) -> None:
    seen = measure(TOOLS["datasketch MinHashLSH"], data_set, WINDOW, 5, 0.5, limit=0.0)
    assert [moment for moment, _ in seen["answers"]] == list(range(61, 161))
    assert seen["note"].endswith("; 100 of 239 arrivals")


def test_over_the_limit_batches_are_spread(data_set: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "BATCH", 10)
    clock = iter(range(1000))
    monkeypatch.setattr(comparison.Meter, "seconds", lambda meter: float(next(clock)))  # a second for each batch
    seen = measure(TOOLS["SetSimilaritySearch"], data_set, WINDOW, 5, 0.5, limit=6.0)
    begun = [moment for moment, _ in seen["answers"] if moment % 10 == 1]
    assert begun[0] == 61
    assert begun[-1] > 250
    assert 6 <= len(begun) <= 7
    assert seen["rate"] == 10.0


def test_short_texts_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has a table and a chart; a headline without words is no set."""
    found = [ToolResult("Swoop", 70_998.4, 1.0, 4249.2, "exact")]
    monkeypatch.setattr(comparison, "compare", lambda data_set, *given: found if np.diff(data_set.offsets).all() else [])
    lines = [f"2003-02-{day:02},{text}" for day, text in enumerate(["fire wins", "?!", "man jailed", "", "rain rain"], 1)]
    for name in ("a.csv", "headlines.csv"):
        (tmp_path / name).write_text("\n".join(["ts,text", *lines]))
    page = tmp_path / "page.md"
    page.write_text("<!-- measurements -->\n<!-- end of measurements -->\n")
    files = [part for name in ("a.csv", "headlines.csv") for part in ("--posts", str(tmp_path / name))]
    command.main(["--docs", str(page), *files, "--window", "2"])
    text = page.read_text()
    assert re.findall(r"The first posts of (\S+): (\d+) sets of (\d) tokens", text) == [
        ("a.csv", "3", "2"),
        ("headlines.csv", "3", "2"),
    ]
    charts = re.findall(r"!\[.+\]\((charts/.+\.svg)\)\n\n\| \| sets/s", text)
    assert charts == ["charts/comparison.svg", "charts/comparison-headlines.svg"]
    assert all((tmp_path / chart).is_file() for chart in charts)


def test_a_package_that_is_not_there(data_set: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    found = compare(data_set, WINDOW, 5, print)
    assert [one.name for one in found] == list(NAMES)
    assert {one.rate for one in found} == {None}
    assert found[1].note == how_to_install("other-tools")
    assert found[-1].note == how_to_install("other-tools,spark")


def test_a_process_that_fails_says_why(data_set: DataSet) -> None:
    said = comparison._run(["Swoop", "/nowhere/stream.bin", "1", "0.5"], 1, 1.0)
    assert "failed: FileNotFoundError" in str(said)
    assert comparison._judged("Swoop", said, data_set, WINDOW, {}) == ToolResult("Swoop", None, None, None, str(said))


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert comparison._run(["Swoop", "/nowhere/stream.bin", "1", "0.5"], 1, -11.99) == "no result within 0 s"


def test_the_table_goes_into_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [ToolResult("Swoop", 70_998.4, 1.0, 4249.2, "exact"), ToolResult("Other", None, None, None, "not there")]
    lines = table(found)
    assert command.draw(found[1:], tmp_path / "none") == []  # nothing was measured
    assert lines[2:] == ["| Swoop | 70,998 | 100.0 % | 4,249 | exact |", "| Other |  |  |  | not there |"]
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- measurements -->\nold\n<!-- end of measurements -->\n\nafter\n")
    monkeypatch.setattr(comparison, "compare", lambda *given: found)
    command.main(["--docs", str(page), "--sets", "3000", "--window", "100"])
    text = page.read_text()
    assert text.startswith(
        "before\n\n<!-- measurements -->\n\nA stream shaped like tweet: 3,000 sets of 13 tokens on average, 100"
    )
    (chart,) = re.findall(r"!\[.+\]\((.+\.svg)\)\n\n\| \| sets/s", text)
    assert "finds 100.0 %" in (tmp_path / chart).read_text(encoding="utf-8")
    assert text.endswith(lines[-1] + "\n\n<!-- end of measurements -->\n\nafter\n")
    write_into(page, lines)
    write_into(page, lines)
    assert page.read_text() == "\n".join(
        ["before\n\n<!-- measurements -->\n", *lines, "\n<!-- end of measurements -->\n\nafter\n"]
    )
    page.write_text("nothing")
    with pytest.raises(ValueError, match="has no place for measurements"):
        write_into(page, lines)
