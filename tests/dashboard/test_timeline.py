"""Stays in the top-k, from changes and from looking."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

from swoop.dashboard import Board
from swoop.dashboard.wire import key_of
from swoop.results import Change
from tests.support.still import Still, pair


def test_stays_from_changes_are_exact_and_idempotent() -> None:
    board, one = Board(), pair("a", "b")
    feed = [Change(3, "enter", one), Change(5, "outranked", one), Change(7, "enter", one)]
    board.show(Still([one]))
    board.take_changes(feed[:2], 0)
    board.take_changes(feed[2:], 1)
    board.take_changes(feed[2:], 1)
    board.refresh()
    stays = [(stay["from"], stay["to"], stay["how"]) for stay in board.state["stays"].values()]
    assert stays == [(3, 5, "outranked"), (7, None, None)]


def test_a_change_corrects_a_guess() -> None:
    board, one = Board(), pair("a", "b", start=2)
    board.take_changes([], 0)
    board.show(Still([one]))
    board.refresh()
    assert [stay["from"] for stay in board.state["stays"].values()] == [2]
    board.take_changes([Change(4, "enter", one)], 1)
    board.refresh()
    assert [stay["from"] for stay in board.state["stays"].values()] == [4]


def test_changes_may_be_ahead_of_the_top_k() -> None:
    board, old, new = Board(), pair(1), pair(2)
    source = Still([old])
    board.show(source)
    board.take_changes([Change(1, "enter", old)])
    board.refresh()
    board.take_changes([Change(2, "outranked", old), Change(2, "enter", new)])
    board.refresh()
    source.pairs = [new]
    board.refresh()
    assert [(stay["newer"], stay["to"]) for stay in board.state["stays"].values()] == [("1", 2), ("2", None)]


def test_stays_without_changes_come_from_looking() -> None:
    board, gone, beaten = Board(), pair(1, end=5), pair(2, end=50)
    source = Still([gone, beaten], watermark=4)
    board.show(source)
    board.refresh()
    source.pairs, source.stats = [pair(3, start=6)], SimpleNamespace(watermark=6)
    board.refresh()
    stays = [(stay["newer"], stay["to"], stay["how"]) for stay in board.state["stays"].values()]
    assert stays == [("1", 5, "expired"), ("2", 6, "outranked"), ("3", None, None)]


def test_another_source_with_other_times() -> None:
    board = Board()
    board.show(Still([pair(1, start=3)]))
    board.refresh()
    moment = dt.datetime(2024, 5, 1, 12)
    board.show(Still([pair(2, start=moment, end=moment)]))
    board.refresh()
    assert board.state["now"] == "2024-05-01T12:00:00"
    assert [stay["newer"] for stay in board.state["stays"].values() if stay["to"] is None] == ["2"]


def test_the_text_of_a_pair_is_asked_for_once_and_outlives_it() -> None:
    board, first, second = Board(stays=1), pair(1), pair(2)
    board.take_changes([Change(1, "enter", first)])
    board.refresh()  # nobody can be asked yet
    asked: list[object] = []
    source = Still([first])
    source.texts = lambda of: (asked.append(of.newer), ("so  long\n" * 99, None))[1]  # type: ignore[attr-defined]
    board.show(source)
    board.take_changes([Change(1, "enter", first)])
    board.refresh()
    source.texts = lambda of: (None, None)  # type: ignore[attr-defined]
    source.pairs = [second]
    board.take_changes([Change(2, "outranked", first), Change(2, "enter", second)])
    board.refresh()
    texts = {stay["newer"]: stay["text"] for stay in board.state["stays"].values()}
    assert texts == {"1": ("so long " * 8)[:59] + "…", "2": None}
    assert len(asked) == 2  # for the bar and for the card
    board.take_changes([Change(3, "outranked", second)])
    source.pairs = []
    board.refresh()
    assert list(board._timeline._texts) == [key_of(second)]
