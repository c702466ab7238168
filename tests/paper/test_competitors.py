"""The others are measured fairly: their answers are those of their moment, and ties are no misses.

Tests of swoop.paper.contenders.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from swoop.paper import competitors, contenders
from swoop.paper.competitors import (
    COMPETITORS,
    CONTENDERS,
    Competitor,
    compare,
    measure,
    moments,
    recall,
    table,
    when_full,
    write_into,
)
from swoop.paper.streams import Stream

WINDOW = 60


@pytest.fixture(scope="module")
def stream() -> Stream:
    """Sets of eight tokens in which chance makes many a similar pair. Two sets arrive at a time."""
    chance = np.random.default_rng(3)
    sets = [np.sort(chance.choice(30, 8, replace=False)) for _ in range(300)]
    return Stream("small", np.arange(300) // 2 * 2, np.arange(301) * 8, np.concatenate(sets))


def judged(name: str, stream: Stream, threshold: float, k: int = 5) -> Competitor:
    seen = measure(CONTENDERS[name], stream, WINDOW, k, threshold, 10.0)
    return competitors._judged(name, seen, stream, WINDOW, competitors._exact(stream, WINDOW, k))


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


def test_moments_begin_when_the_window_is_full(stream: Stream) -> None:
    full = when_full(stream, WINDOW)
    assert stream.times[full] - stream.times[0] == WINDOW
    assert stream.times[full - 1] - stream.times[0] < WINDOW
    assert list(moments(stream, WINDOW)) == list(range(full + 1, 300))
    long = Stream("", np.arange(20_000), np.arange(20_001), np.zeros(20_000, int))
    assert moments(long, 2000).step == 37


def test_swoop_finds_everything(stream: Stream) -> None:
    seen = judged("Swoop", stream, 0.5)
    assert seen.recall == 1.0
    assert seen.rate is not None
    assert seen.rate > 0
    assert "in bulk" in seen.note


def test_datasketch_misses_some(stream: Stream) -> None:
    low, high = judged("datasketch MinHashLSH", stream, 0.3), judged("datasketch MinHashLSH", stream, 0.9)
    assert low.recall is not None
    assert high.recall is not None
    assert 0.9 < low.recall <= 1.0
    assert high.recall < low.recall


def test_datasketch_forgets_what_has_expired(stream: Stream) -> None:
    contender = contenders.Datasketch(WINDOW, 5, 0.1)
    contender._enough = 10
    for number, tokens in enumerate(stream.sets()):
        contender.insert(number, tokens, int(stream.times[number]))
        assert len(contender._sets) <= WINDOW
        assert len(contender._pairs) <= contender._enough
    assert all(older >= 300 - WINDOW for _, older in contender.topk())


def test_answers_of_batches_grow_old(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    class EachTime(contenders.SetSimilaritySearch):
        def __init__(self, window: int, k: int, threshold: float) -> None:
            super().__init__(window, k, threshold, batch=1)

    assert (stale := judged("SetSimilaritySearch", stream, 0.2).recall) is not None
    monkeypatch.setitem(CONTENDERS, "each time", EachTime)
    assert judged("each time", stream, 0.2).recall == 1.0
    assert 0.2 < stale < 1.0


def test_pairs_that_do_not_count_are_not_found(stream: Stream) -> None:
    exact = {299: [0.0]}
    for pairs, share in ([[299, 298]], 1.0), ([[299, 0]], 0.0), ([[298, 298]], 0.0), ([[300, 299]], 0.0):
        seen = {"answers": [(299, pairs)], "rate": 1.0, "memory": 1.0, "note": ""}
        assert competitors._judged("x", seen, stream, WINDOW, exact).recall == share


def test_spark_joins_a_window(spark: object, stream: Stream) -> None:
    joined = contenders.Spark(100, 2, 0.5)
    sets = [[1, 2, 3], [7, 8], [1, 2, 3], [9], [7, 8]]
    assert set(joined.best([10, 11, 12, 13, 14], sets, 2)) == {(12, 10), (14, 11)}
    assert "5 hash tables" in joined.note(stream)


def test_each_is_a_process_of_its_own(stream: Stream) -> None:
    said: list[str] = []
    found = compare(stream, WINDOW, 5, said.append, names=COMPETITORS[:2])
    assert [one.name for one in found] == list(COMPETITORS[:2])
    assert found[0].recall == 1.0
    assert all(one.rate and one.memory is not None and "stopped" not in one.note for one in found)
    assert len(said) == 2


def test_a_stream_that_does_not_fill_the_window(stream: Stream) -> None:
    with pytest.raises(ValueError, match="300 sets, which do not fill a window of 1000"):
        compare(stream, 1000, 5, print)


def test_over_the_limit_the_beginning_is_seen(stream: Stream) -> None:
    seen = measure(CONTENDERS["datasketch MinHashLSH"], stream, WINDOW, 5, 0.5, limit=0.0)
    assert [moment for moment, _ in seen["answers"]] == list(range(61, 161))
    assert seen["note"].endswith("; 100 of 239 arrivals")


def test_over_the_limit_batches_are_spread(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competitors, "BATCH", 10)
    clock = iter(range(1000))
    monkeypatch.setattr(competitors.Meter, "seconds", lambda meter: float(next(clock)))  # a second for each batch
    seen = measure(CONTENDERS["SetSimilaritySearch"], stream, WINDOW, 5, 0.5, limit=6.0)
    begun = [moment for moment, _ in seen["answers"] if moment % 10 == 1]
    assert begun[0] == 61
    assert begun[-1] > 250
    assert 6 <= len(begun) <= 7
    assert seen["rate"] == 10.0


def test_a_package_that_is_not_there(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competitors, "find_spec", lambda name: None)
    found = compare(stream, WINDOW, 5, print)
    assert [one.name for one in found] == list(COMPETITORS)
    assert {one.rate for one in found} == {None}
    assert found[1].note == "pip install 'swoop-join[competitors]'"
    assert found[3].note == "pip install 'swoop-join[competitors,spark]'"


def test_a_process_that_fails_says_why(stream: Stream) -> None:
    said = competitors._run(["Swoop", "/nowhere/stream.bin", "1", "0.5"], 1, 1.0)
    assert "failed: FileNotFoundError" in str(said)
    assert competitors._judged("Swoop", said, stream, WINDOW, {}) == Competitor("Swoop", None, None, None, str(said))


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert competitors._run(["Swoop", "/nowhere/stream.bin", "1", "0.5"], 1, -11.99) == "no result within 0 s"


def test_the_table_goes_into_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Competitor("Swoop", 70_998.4, 1.0, 4249.2, "exact"), Competitor("Other", None, None, None, "not there")]
    lines = table(found)
    assert lines[2:] == ["| Swoop | 70,998 | 100.0 % | 4,249 | exact |", "| Other |  |  |  | not there |"]
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- figures -->\nold\n<!-- end of figures -->\n\nafter\n")
    monkeypatch.setattr(competitors, "compare", lambda *given: found)
    competitors.main(["--docs", str(page), "--sets", "3000", "--window", "100"])
    text = page.read_text()
    assert text.startswith("before\n\n<!-- figures -->\n\nA stream shaped like tweet: 3,000 sets of 13 tokens on average, 100")
    assert text.endswith(lines[-1] + "\n\n<!-- end of figures -->\n\nafter\n")
    write_into(page, lines)
    write_into(page, lines)
    assert page.read_text() == "\n".join(["before\n\n<!-- figures -->\n", *lines, "\n<!-- end of figures -->\n\nafter\n"])
    page.write_text("nothing")
    with pytest.raises(ValueError, match="has no place for figures"):
        write_into(page, lines)
