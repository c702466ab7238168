"""The change feed is complete, and notices when it would be wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import swoop
from swoop import oracle
from swoop.engine.feed import ENTER, EXPIRED, OUTRANKED
from swoop.engine.layout import CHANGE
from swoop.engine.thresholds import Thresholds, use
from swoop.errors import InternalError, InvalidTime
from swoop.join.feed import Feed
from swoop.join.ids import Ids
from swoop.live.merge import Merge
from swoop.live.record_merge import RecordMerge
from swoop.oracle import Record
from swoop.times import Clock


class Changes:
    """An engine that says what it is told to say."""

    has_changes = True

    def __init__(self, *rows: tuple[int, int, int]) -> None:
        self._rows = np.zeros(len(rows), CHANGE)
        for row, (kind, newer, older) in zip(self._rows, rows, strict=True):
            row["kind"], row["newer"], row["older"], row["time"] = kind, newer, older, 5
        self.forgotten = 0

    def changes(self) -> tuple[int, np.ndarray, None]:
        return 0, self._rows, None

    def forget_changes(self, stop: int) -> None:
        self.forgotten = stop


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(EXPIRED, 1, 0)], "at time 5 that the pair of sets 1 and 0 leaves the top-k, where it is not"),
        ([(OUTRANKED, 1, 0)], "sets 1 and 0 leaves the top-k, where it is not"),
        ([(ENTER, 1, 0), (ENTER, 1, 0)], "sets 1 and 0 enters the top-k, where it is already"),
        ([(ENTER, 1, 0), (EXPIRED, 1, 0), (EXPIRED, 1, 0)], "sets 1 and 0 leaves the top-k, where it is not"),
    ],
)
def test_a_wrong_change_is_never_passed_on(rows: Any, message: str) -> None:
    feed, engine = Feed(), Changes(*rows)
    with pytest.raises(InternalError, match=message):
        feed.take(engine, Ids())
    assert len(feed.waiting()) == 0
    assert engine.forgotten == 0


@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize(("copies", "merge"), [("each", Merge), ("once", RecordMerge)])
def test_no_changes_have_the_columns_of_some(k: int | None, copies: Any, merge: type[Merge]) -> None:
    """Also where cells tell of none."""
    join = swoop.TopKJoin(k, 10, min_similarity=0.5, copies=copies, track_changes=True)
    none = [join.changes().to_arrow(), merge(k, join.similarity, Clock(join.window), False).apply(pa.table({}), 0).to_arrow()]
    for time, tokens in enumerate(["ab", "ab", "abc"]):
        join.insert(list(tokens), time)
    some = join.changes().to_arrow()
    assert some.num_rows
    none.append(join.changes().to_arrow())
    assert [table.num_rows for table in none] == [0, 0, 0]
    assert [table.schema for table in none] == [some.schema] * 3


@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize("copies", ["each", "once"])
def test_a_change_says_which_set_has_brought_it_about(k: int | None, copies: Any) -> None:
    rng = random.Random(5)
    join = swoop.TopKJoin(k, 9, min_similarity=0.2, copies=copies, track_changes=True)
    seen = set()
    for number in range(300):
        time = number // 3
        join.advance(time)
        assert set(join._change_rows().rows["by"].tolist()) <= {-1}
        join.insert(rng.choices(range(5), k=3), time)
        rows = join._change_rows().rows
        assert set(rows["by"].tolist()) <= {number}
        seen |= {(kind, newer == number) for kind, newer in zip(rows["kind"].tolist(), rows["newer"].tolist(), strict=True)}
    assert ((ENTER, False) in seen) == (copies == "once" and k is not None)  # a renewed pair comes into the top-k
    assert ((OUTRANKED, False) in seen) == (k is not None)


def test_pairs_may_come_back() -> None:
    feed = Feed()
    feed.take(Changes((ENTER, 1, 0), (OUTRANKED, 1, 0), (ENTER, 1, 0), (EXPIRED, 1, 0)), Ids())
    assert len(feed.waiting()) == 4


def test_a_feed_goes_on_after_loading(tmp_path: Path) -> None:
    """Pairs that wait to be settled in a new engine may be in the top-k."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = [rng.integers(0, 12, rng.integers(1, 6)).tolist() for _ in range(40)]
        join, other = (swoop.TopKJoin(k=1, window=15, track_changes=True) for _ in range(2))
        for time, tokens in enumerate(rows):
            join.insert(tokens, time)
            other.insert(tokens, time)
            if time == 20:
                join.save(tmp_path / "join")
                join = swoop.TopKJoin.load(tmp_path / "join")
        assert join.changes() == other.changes()


def test_a_quiet_night_after_a_busy_day() -> None:
    """The window shrinks in the middle of a batch, with the usual thresholds; the feed goes on."""
    rng = np.random.default_rng(1)
    times = np.concatenate((np.sort(rng.integers(0, 1000, 15_000)), np.arange(1100, 6000, 40)))
    tokens = (rng.random((len(times), 10)) ** 2 * 3000).astype(np.int64).tolist()
    join, other = (swoop.TopKJoin(k=10, window=300, track_changes=True) for _ in range(2))
    join.insert_many({"tokens": tokens, "time": times})
    for start in range(0, len(times), 100):
        other.insert_many({"tokens": tokens[start : start + 100], "time": times[start : start + 100]})
    assert join._engine.paths["window shrunk"] > 0
    assert join.changes() == other.changes()


@pytest.mark.parametrize("first", [[1, 2], ["a"], []])
def test_an_empty_text_is_a_token_of_its_own(first: list[Any]) -> None:
    join = swoop.TopKJoin(k=3, window=10)
    join.insert(first, time=1)
    for time, token in enumerate(["", b"", "", b""], 2):
        join.insert([token], time=time)
    assert [(pair.newer, pair.older, pair.similarity) for pair in join.topk()] == [(4, 2, 1.0), (3, 1, 1.0)]


def test_an_interrupted_arrival_is_known_to_all() -> None:
    """A set that arrived before the interruption has its id, its time and its changes."""
    join = swoop.TopKJoin(k=1, window=10, track_changes=True)
    join.insert([1], 1, id="first")
    run = join._engine.run

    def interrupted(*arguments: Any) -> None:
        run(*arguments)
        raise KeyboardInterrupt

    join._engine.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        join.insert([1], 2, id="second")
    join._engine.run = run
    assert [(pair.newer, pair.older) for pair in join.topk()] == [("second", "first")]
    assert [change.kind for change in join.changes()] == ["enter"]
    with pytest.raises(InvalidTime):
        join.insert([1], 1, id="third")
    join.insert([1], 2, id="third")
    assert join.topk()[0].newer == "third"
    join._engine.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        join.advance(100)
    join._engine.run = run
    assert list(join.topk()) == []
    with pytest.raises(InvalidTime):
        join.advance(99)


@pytest.mark.parametrize("array", ["stock.pending", "stock.pairs", "index.pool"])
@pytest.mark.parametrize("n", [1, 2])
def test_interrupted_again_while_an_arrival_is_given_up(array: str, n: int) -> None:
    """A second Ctrl-C comes before the first is dealt with; whatever comes next deals with both."""
    rng = np.random.default_rng(3)
    with use(Thresholds(sets=2, pool=1, pending=2, stock=1, pending_least=1)):
        join = swoop.TopKJoin(k=3, window=20, track_changes=True)
    engine, memory = join._engine, join._engine.memory
    left = [n]

    def interrupt() -> None:
        raise KeyboardInterrupt

    def resize(path: str, size: int) -> None:
        left[0] -= path == array
        if left[0] == 0 and path == array:
            engine.recover = interrupt
            raise KeyboardInterrupt
        type(memory)._resize(memory, path, size)

    memory._resize = resize
    arrived: list[Record] = []
    for time in range(60):
        record = Record(rng.integers(0, 9, 6).tolist(), time, time)
        try:
            join.insert(record.tokens, time, id=time)
            arrived.append(record)
        except KeyboardInterrupt:  # this set is not tried again
            del engine.recover
    assert len(arrived) == 59
    assert list(join.changes()) == oracle.changes(
        [Record(record.tokens, record.time, record.id) for record in arrived], k=3, window=20
    )
    join._check()
