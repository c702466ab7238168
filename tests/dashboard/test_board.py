"""The state of the page: differences add up, however many changes come, and nothing grows without bound.

Tests of swoop.dashboard.differences, swoop.dashboard.pace, swoop.dashboard.reading.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.dashboard import Board
from swoop.dashboard.board import DIFFERENCES, PENDING
from swoop.dashboard.differences import applied, difference, merged
from swoop.dashboard.wire import STEPS, key_of, shown_texts, shown_tokens, stairs
from swoop.errors import NotInWindow
from swoop.results import Change, Explanation, SkybandStep
from tests.support.posts import Posts
from tests.support.still import Still, pair


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Client:
    """Does with events what the page does."""

    def __init__(self, board: Board) -> None:
        self.board, self.last, self.state = board, None, {}
        self.kinds: list[str] = []

    def follow(self) -> None:
        event = self.board.since(self.last)
        if event is not None:
            content = json.loads(event.data)
            self.state = content if event.kind == "snapshot" else applied(self.state, content)
            self.last = event.id
            self.kinds.append(event.kind)


def jsoned(state: Any) -> Any:
    return json.loads(json.dumps(state))


states = st.fixed_dictionaries(
    {
        "now": st.integers(0, 3),
        "order": st.lists(st.sampled_from("abc"), max_size=3),
        "pairs": st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3)),
        "stays": st.dictionaries(st.sampled_from("12345"), st.integers(0, 3)),
    }
)


@given(st.lists(states, min_size=2, max_size=6))
def test_differences_add_up(versions: list[dict[str, Any]]) -> None:
    changes = [difference(old, new) for old, new in pairwise(versions)]
    state = versions[0]
    for change, version in zip(changes, versions[1:], strict=True):
        state = applied(state, change)
        assert state == version
    assert applied(versions[0], merged(changes)) == versions[-1]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["post", "refresh", "first follows", "second follows", "pause"]), max_size=60), st.integers(0, 9)
)
def test_clients_that_look_now_and_then_see_the_state(steps: list[str], seed: int) -> None:
    clock = Clock()
    board, posts = Board(clock=clock), Posts(k=3, window="20 s", seed=seed)
    first, second = Client(board), Client(board)
    board.show(posts)
    for step in steps:
        if step == "post":
            posts.post()
            board.take_changes(posts.changes())
        elif step == "refresh":
            board.refresh()
        elif step == "pause":
            clock.now += 2
        else:
            (first if step.startswith("first") else second).follow()
    board.refresh()
    for client in (first, second):
        client.follow()
        assert client.state == jsoned(board.state)
    assert list(board.state["order"]) == [key_of(pair) for pair in posts.topk()]
    opened = {stay["pair"] for stay in board.state["stays"].values() if stay["to"] is None}
    assert opened == set(board.state["order"])


def test_nothing_new_is_no_version() -> None:
    board = Board(clock=Clock())
    board.show(Still([pair(1)]))
    told: list[int] = []
    end = board.listen(lambda: told.append(1))
    assert board.watched
    assert [board.refresh(), board.refresh(), board.refresh()] == [True, False, False]
    end()
    assert told == [1]
    assert not board.watched


def test_many_changes_become_one_event() -> None:
    board, posts = Board(), Posts(k=5)
    client = Client(board)
    board.show(posts)
    client.follow()
    for _ in range(1000):
        posts.post()
        board.take_changes(posts.changes())
    board.refresh()
    client.follow()
    client.follow()
    assert client.kinds == ["snapshot", "difference"]
    assert client.state == jsoned(board.state)


def test_old_or_strange_ids_get_the_whole_state() -> None:
    board, posts = Board(), Posts(k=2)
    board.show(posts)
    old = board.since(None)
    assert old is not None
    for _ in range(DIFFERENCES + 1):
        posts.post()
        board.refresh()
    life = old.id.partition("-")[0]
    for strange in (None, "", old.id, "x-1", f"{life}-", f"{life}-²", f"{life}-{10**30}", f"{life}--1", f"{life}-99999"):
        event = board.since(strange)
        assert event is not None
        assert event.kind == "snapshot", strange
    recent = board.since(f"{life}-{DIFFERENCES}")
    assert recent is not None
    assert recent.kind == "difference"


def test_memory_is_bounded() -> None:
    board = Board(stays=20)
    source = Still([])
    board.show(source)
    board.refresh()
    for number in range(3 * PENDING):
        board.take_changes([Change(number, "enter", pair(number))])
        board.take_changes([Change(number + 1, "outranked", pair(number))])
        assert board._changes.waiting <= PENDING
    board.refresh()
    assert len(board.state["stays"]) == 20
    for number in range(5000):
        board.take_changes([Change(number, "enter", pair(number))])
    board.refresh()
    assert len(board.state["stays"]) <= 40
    assert len(board._differences) <= DIFFERENCES
    assert not board._changes.waiting


def test_a_skyband_begins_at_a_time_and_is_not_stale() -> None:
    class Busy(Still):
        def skyband(self) -> list[SkybandStep]:
            clock.now += 30
            return self.steps

    clock = Clock()
    board, source = Board(clock=clock), Busy([], watermark=None)
    source.steps = [SkybandStep(9, 0.5)]  # the engine is ahead: it is in the middle of the first batch
    board.show(source)
    board.refresh()
    assert board.state["skyband"] == {"from": None, "steps": []}
    source.stats = SimpleNamespace(watermark=5)
    board.refresh()
    assert board.state["skyband"] == {"from": 5, "steps": [[9, 0.5]]}
    source.stats, source.steps = SimpleNamespace(watermark=7), [SkybandStep(12, 0.6)]
    board.refresh()  # that it had to wait for the engine is no reason to wait again
    assert board.state["skyband"] == {"from": 7, "steps": [[12, 0.6]]}


def test_the_shown_part_of_a_large_top_k() -> None:
    board = Board(limit=7)
    source = Still([pair(n, similarity=1 - n / 1000) for n in range(1000)])
    source.steps = [SkybandStep(n, 1 - n / 10_000) for n in range(5000)]
    board.show(source)
    board.refresh()
    assert [board.state["pairs"][key]["newer"] for key in board.state["order"]] == list("0123456")
    assert len(board.state["skyband"]["steps"]) <= STEPS
    assert board.state["skyband"]["steps"][0] == [20, 1.0]
    assert board.state["skyband"]["steps"][-1][0] == 4999
    asked = source.asked
    board.refresh()
    assert asked == source.asked == 7


def test_stairs_of_few_steps_are_exact() -> None:
    assert stairs([SkybandStep(3, 0.5), SkybandStep(None, 0.25)]) == [[3, 0.5], [None, 0.25]]


def test_everything_becomes_json() -> None:
    aware = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    board = Board()
    source = Still([pair(b"\xff\x00", b"name", float("-inf"), aware, None), pair("\ud800<script>", 2**70, start=aware)])
    board.show(source)
    board.refresh()
    event = board.since(None)
    assert event is not None
    rows = list(json.loads(event.data)["pairs"].values())
    assert (rows[0]["newer"], rows[0]["older"], rows[0]["similarity"], rows[0]["end"]) == ("0xff00", "name", None, None)
    assert rows[0]["start"] == "2024-05-01T12:00:00+00:00"
    assert (rows[0]["shared"], rows[0]["only_newer"], rows[0]["only_older"]) == (["a"], ["0xff"], ["7"])
    assert (rows[1]["newer"], rows[1]["older"]) == ("<U+D800><script>", str(2**70))
    assert board.since(event.id) is None


def test_the_rate_is_measured() -> None:
    clock = Clock()
    board, source = Board(clock=clock), Still([], rows=1000)
    board.show(source)
    board.refresh()
    assert board.state["metrics"]["rate"] is None
    clock.now, source.stats = 104.0, SimpleNamespace(rows=3000)
    board.refresh()
    assert board.state["metrics"]["rate"] == 500.0
    clock.now = 130.0
    board.refresh()
    clock.now = 132.0
    board.refresh()
    assert board.state["metrics"]["rate"] == 0.0
    clock.now, source.stats = 134.0, SimpleNamespace(rows=5)  # begun anew
    board.refresh()
    assert board.state["metrics"]["rate"] is None


def test_what_state_the_stream_is_in() -> None:
    board, posts = Board(), Posts()
    assert board.state["status"]["state"] == "waiting"
    board.show(posts)
    board.refresh()
    assert board.state["status"]["state"] == "running"
    posts.is_active = False
    board.refresh()
    assert board.state["status"]["state"] == "stopped"
    posts.failure = ValueError("no more disk\nat line 1\n" + "x" * 1000)
    board.refresh()
    assert board.state["status"] == {"state": "failed", "reason": "ValueError: no more disk"}


def test_a_source_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    board, posts = Board(), Posts()
    posts.post("one two")
    posts.post("one two three")
    board.show(posts)
    board.refresh()
    with monkeypatch.context() as patch:
        patch.setattr(posts, "topk", lambda: 1 / 0)
        board.refresh()
        assert "ZeroDivisionError" in board.state["status"]["reason"]
        assert len(board.state["order"]) == 1
    board.refresh()
    assert board.state["status"]["state"] == "running"


def test_explanations() -> None:
    board, posts = Board(), Posts(k=1, window="5 s")
    posts.post("win a free phone")
    posts.post("win a free car" + " and more" * 5000)
    board.show(posts)
    board.refresh()
    key = board.state["order"][0]
    found = board.explain("1", "0", key)
    assert found["shared"] == ["a", "free", "win"]
    assert found["counts"] == [3, 3, 1]
    assert found["older_text"] == [["win a free ", False], ["phone", True]]
    assert 19_950 < sum(len(text) for text, _ in found["newer_text"]) < 20_050
    shown = board.state["pairs"][key]["newer_text"]
    assert shown[0] == ["win a free ", False]
    assert 250 < sum(len(text) for text, _ in shown) < 300
    json.dumps(found)
    for wrong in (("1", "7", None), ("1", "0", "other")):
        with pytest.raises(NotInWindow):
            board.explain(*wrong)
    posts.post("quite different", seconds=60)
    board.refresh()
    with pytest.raises(NotInWindow):
        board.explain("1", "0")


def test_a_plain_join_is_a_source() -> None:
    join = swoop.TopKJoin(k=2, window=10)
    for time, text in enumerate(["abc", "abd"]):
        join.insert(list(text), time)
    board = Board()
    board.show(join)
    board.refresh()
    assert board.state["metrics"]["sets"] == 2
    assert board.state["status"]["state"] == "running"
    assert next(iter(board.state["pairs"].values()))["newer_text"] is None


def test_what_is_above_is_not_imported() -> None:
    import subprocess

    program = "import sys, swoop.dashboard; print(sorted({'fastapi', 'pyspark', 'numba', 'numpy'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_what_differs_only_at_the_end_or_is_not_seen_looks_different() -> None:
    tokens = [frozenset({"shared"}), frozenset({"x" * 500 + "a"}), frozenset({"x" * 500 + "b"})]
    shown = shown_tokens(Explanation(pair(1), *tokens), 80)
    assert shown["only_newer"][0][-3:] == "xxa"
    assert shown["only_older"][0][-3:] == "xxb"
    assert len(shown["only_newer"][0]) == 80
    texts = shown_texts("pay anna\u202e\nnow", "pay anna\nnow", 280)
    assert "".join(text for text, _ in texts["newer_text"]) == "pay anna<U+202E>\nnow"
