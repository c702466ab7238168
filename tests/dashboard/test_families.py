"""Families on the page: what is there, what happened to it, and how it looks in a real browser.

Tests of swoop.dashboard.families, swoop.dashboard.lives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

import swoop
from swoop.dashboard import Board, Page, serve
from swoop.dashboard.families import ENDED, POINTS, SHOWN, Growth
from swoop.dashboard.lives import Lives
from swoop.errors import NotInWindow
from swoop.results import Family, FamilyChange
from swoop.unseen import printable
from tests.dashboard.conftest import Watched, wait_until
from tests.support.posts import Posts
from tests.support.waves import EDITED, SAME, Waves

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnorw\u202c </li></ol> one two three four five"


class Clock:
    """Every look at it takes a second, so that the page never has to wait."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


@pytest.fixture
def waves() -> Waves:
    found = Waves()
    found.run(60)
    return found


def rows(board: Board, order: str = "size") -> list[dict[str, Any]]:
    return [board.state["families"][key] for key in board.state["family_orders"][order]]


def refreshed(board: Board) -> dict[str, Any]:
    board.refresh()
    json.dumps(board.state, allow_nan=False)
    return board.state


def test_families_as_they_are(waves: Waves) -> None:
    board = Board(clock=Clock())
    board.show(waves)
    state = refreshed(board)
    assert state["shows"] == {"pairs": False, "families": True}
    assert [(row["id"], row["size"], row["kinds"]) for row in rows(board)] == [("0", 20, 1), ("1", 20, 2)]
    assert rows(board)[0]["texts"] == [{"count": 20, "parts": [[SAME, False]]}]
    edited = [[text for text, differs in text["parts"] if differs] for text in rows(board)[1]["texts"]]
    assert sorted(edited) == [["today"], ["tonight"]]
    assert [row["id"] for row in rows(board, "newest")] == ["1", "0"]
    assert state["metrics"]["families"] == 2
    assert state["now"] == "2024-05-01T12:00:59+00:00"
    waves.run(6)
    refreshed(board)
    assert (rows(board)[0]["size"], rows(board)[0]["grown"]) == (22, 2)
    assert [size for _, size in rows(board)[0]["trend"]] == [20, 22]


def test_members(waves: Waves) -> None:
    board = Board(clock=Clock())
    board.show(waves)
    key = refreshed(board)["family_orders"]["size"][1]
    found = board.family(key)
    assert (found["id"], found["size"], found["looked"]) == ("1", 20, 20)
    assert [group["count"] for group in found["groups"]] == [10, 10]
    assert found["groups"][0]["members"][0] == ["58", "2024-05-01T12:00:58+00:00"]
    with pytest.raises(NotInWindow):
        board.family("nothing")
    waves.families_of.advance(waves.time.replace(hour=23))
    with pytest.raises(NotInWindow):
        board.family(key)


def test_plain_families_have_no_texts() -> None:
    waves = swoop.Families(0.5, window=10)
    for time, text in enumerate(["abc", "abd", "xyz"]):
        waves.insert(list(text), time, id=text.encode())
    board = Board(clock=Clock())
    board.show(waves)
    key = refreshed(board)["family_orders"]["growing"][0]
    assert rows(board)[0]["texts"] == []
    assert board.family(key)["groups"] == [{"count": 2, "parts": None, "members": [["abc", None], ["abd", None]]}]


@pytest.mark.parametrize("told", [True, False])
def test_families_end_and_merge(told: bool) -> None:
    """With changes, it is known when and how; without, when it was noticed."""
    waves = swoop.Families(0.5, window=10)
    board = Board(clock=Clock())
    board.show(waves)

    def arrive(*texts: str, time: int) -> None:
        for text in texts:
            waves.insert(list(text), time, id=f"{text} {time}")
        if told:
            board.take_changes(waves.changes())
        refreshed(board)

    arrive("abc", "abc", "xyz", "xyz", time=1)
    arrive("abcxyz", time=4)
    arrive("pq", time=30)
    state = board.state
    assert state["families"] == {}
    over = {row["id"]: (row["end"], row["into"]) for row in state["ended"].values()}
    lives = {life["family"]: (life["from"], life["to"], life["how"], life["into"]) for life in state["lives"].values()}
    if told:
        assert over == {"xyz 1": (4, "abc 1"), "abc 1": (14, None)}
        assert lives == {"xyz 1": (1, 4, "merged", "abc 1"), "abc 1": (1, 14, "ended", None)}
        assert {life["family"]: life["records"] for life in state["lives"].values()} == {"xyz 1": 2, "abc 1": 5}
    else:
        assert set(over) == set(lives) == {"xyz 1", "abc 1"}
        assert {life[2] for life in lives.values()} == {"ended"}


def test_families_that_come_and_go_between_two_looks() -> None:
    """The card of one that is over says what the chart says, and calls no texts the same that are not."""
    waves = Waves("10 s")
    board = Board(clock=Clock())
    waves.run(4)
    board.take_changes(waves.changes())  # before there is anything to show
    board.show(waves)
    refreshed(board)
    waves.run(197)
    for number in range(5):
        waves.post(f"unseen wave {['one', 'two'][number // 4]} a b c d e f")
    waves.families_of.advance(waves.time.replace(hour=13))
    board.take_changes(waves.changes())
    state = refreshed(board)
    assert not state["families"]
    cards = {row["id"]: row for row in state["ended"].values()}
    lives = {life["family"]: life for life in state["lives"].values()}
    assert {name: row["total"] for name, row in cards.items()} == {"0": 67, "1": 67, "201": 5}
    assert {name: life["records"] for name, life in lives.items()} == {"0": 67, "1": 67, "201": 5}
    assert {name: life["from"] for name, life in lives.items()} == {name: row["first_seen"] for name, row in cards.items()}
    assert {name: (row["kinds"], row["looked"]) for name, row in cards.items()} == {"0": (1, 67), "1": (2, 67), "201": (2, 5)}
    assert [text["count"] for text in cards["201"]["texts"]] == [4, 1]
    assert (cards["201"]["newest"], cards["201"]["last_seen"]) == ("205", "2024-05-01T12:03:25+00:00")
    assert [size for _, size in cards["201"]["trend"]] == [2, 3, 4, 5]


def test_lives_are_told_once_and_bounded() -> None:
    lives = Lives(5)
    for number in range(100):
        for _ in range(2):
            lives.take(FamilyChange(number, "born", number, None, 2, 2, number - 1, "x"))
            lives.take(FamilyChange(number + 1, "grew", number, None, 3, 3, number - 1, "y"))
        if number > 2:
            for _ in range(2):
                lives.take(FamilyChange(number + 1, "ended", number - 3, None, 0, 3, number - 4, "y"))
    assert [(life["family"], life["records"]) for life in lives.rows().values()] == [(str(n), 3) for n in range(92, 100)]
    lives.take(FamilyChange(200, "ended", "unseen", None, 0, 201, 7, "x"))  # what began is not known, but what it was is
    assert list(lives.rows().values())[4] == {
        "family": "unseen", "from": 7, "to": 200, "records": 201, "how": "ended", "into": None
    }  # fmt: skip
    lives.take(FamilyChange(200, "ended", "saved long ago"))
    for number in range(100):
        lives.take(FamilyChange(200, "born", f"open {number}", None, 2, 2, 199, "x"))
    assert len(lives.rows()) <= 10
    family = Family("guessed", 9, 9, 1, 2, "x", 0)
    lives.compare([family], [], 3)
    lives.compare([], [family], 7)
    lives.compare([family], [], 8)  # it is over, though the last look is of before that
    assert [life["to"] for life in lives.rows().values() if life["family"] == "guessed"] == [7]


def test_many_families_are_bounded() -> None:
    waves = Waves("1 min")
    board = Board(clock=Clock())
    board.show(waves)
    for number in range(600):
        waves.post(f"only {number // 2} said {number // 2}x by {number // 2}y")
        if number % 7 == 0:
            refreshed(board)
    state = refreshed(board)
    assert max(len(keys) for keys in state["family_orders"].values()) <= SHOWN
    assert len(state["ended"]) <= 2 * ENDED
    waves.run(300)
    for _ in range(200):
        waves.post()
        refreshed(board)
    assert max(len(row["trend"]) for row in rows(board)) <= 2 * POINTS


def test_what_was_told_and_dropped_does_not_come_back_from_a_look() -> None:
    """More families end at once than are remembered: the smallest ones are not, though they were shown."""
    waves, board = swoop.Families(0.9, window=10), Board(clock=Clock())
    board.show(waves)
    for number in range(3 * ENDED):
        for copy in range(2 + (number >= 20)):
            waves.insert([f"wave {number}"], 1, id=f"{number} {copy}")
    waves.changes()
    refreshed(board)
    waves.advance(50)
    board.take_changes(waves.changes())
    ended = refreshed(board)["ended"].values()
    assert len(ended) == ENDED
    assert {row["total"] for row in ended} == {3}


def test_a_trend_keeps_its_peak() -> None:
    growth = Growth()
    for number in range(1000):
        size = 77 if number == 501 else number % 5 + 1
        growth.note(number, Family("x", size, 100 + number, 0, number, "y", 0), number)
        assert number < 501 or [501, 77] in growth.points()
    assert len(growth.sizes) <= 2 * POINTS


# in a browser


@pytest.fixture
def page(waves: Waves) -> Iterator[Page]:
    with serve(waves, title="Waves") as found:
        yield found


def test_cards(watch: Callable[..., Watched], page: Page, waves: Waves) -> None:
    tab = watch(page).tab
    cards = tab.locator(".family")
    expect(cards).to_have_count(2)
    expect(cards.first.locator(".size")).to_have_text("20 records")
    expect(cards.first.locator(".badge")).to_have_text("same text")
    expect(cards.first.locator(".text")).to_have_text([SAME])
    expect(cards.first.locator(".ages")).to_contain_text("since")
    expect(cards.nth(1).locator(".badge")).to_have_text("2 different texts")
    assert sorted(cards.nth(1).locator("mark").all_text_contents()) == ["today", "tonight"]
    expect(tab.locator("#pairs-part")).to_be_hidden()
    expect(tab.locator("#skyband-part")).to_be_hidden()
    expect(tab.locator("#lives canvas")).to_be_visible()
    expect(tab.locator("#metric-families")).to_have_text("2")
    waves.run(30)
    expect(cards.first.locator(".size")).to_have_text("30 records")
    expect(cards.first.locator(".grown")).to_have_text("+10 in 10 s")
    tab.get_by_role("searchbox", name="containing").fill("PARCEL customs")
    expect(cards).to_have_count(1)
    expect(cards.first.locator(".rank")).to_have_text("2")
    tab.get_by_role("searchbox", name="containing").fill("nowhere")
    expect(tab.locator("#families-empty")).to_have_text("No family matches the filter.")


def test_orders_by_keyboard_and_ended_ones(watch: Callable[..., Watched], page: Page, waves: Waves) -> None:
    tab = watch(page).tab
    expect(tab.locator(".family")).to_have_count(2)
    tab.get_by_role("radio", name="largest").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("radio", name="newest")).to_be_checked()
    expect(tab.locator(".family .text").first).to_contain_text("parcel")
    tab.get_by_role("radio", name="ended").check()
    expect(tab.locator("#families-empty")).to_have_text("No family has ended yet.")
    waves.families_of.advance(waves.time.replace(hour=13))
    page.board.take_changes(waves.changes())
    expect(tab.locator(".family")).to_have_count(2)
    expect(tab.locator(".family .ages").first).to_contain_text("ended")
    expect(tab.locator(".family").first.get_by_role("button")).to_be_hidden()
    tab.get_by_role("radio", name="largest").check()
    expect(tab.locator(".family")).to_have_count(0)


def test_members_in_a_dialog(watch: Callable[..., Watched], page: Page) -> None:
    watched = watch(page)
    tab = watched.tab
    button = tab.get_by_role("button", name="Members of family 2, 20 records")
    button.focus()
    tab.keyboard.press("Enter")
    dialog = tab.locator("#why")
    expect(dialog).to_contain_text("20 records in the window, 2 different texts. The first was 1.")
    expect(dialog.locator("section")).to_have_count(2)
    expect(dialog.locator("section").first.locator("li")).to_have_count(10)
    expect(dialog.locator("section").first.locator(".text")).to_have_text(
        EDITED.format(word=dialog.locator("section").first.locator("mark").text_content())
    )
    tab.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_hostile_families_beside_pairs_narrow_and_dark(watch: Callable[..., Watched], waves: Waves) -> None:
    posts = Posts(k=3)
    for _ in range(30):
        posts.post()
    for number in range(8):
        waves.post(HOSTILE)
        waves.post(f"another family {number // 2} {number // 2}a {number // 2}b {number // 2}c")
    with serve(posts) as page:
        page.show(waves)
        tab = watch(page, width=360, color_scheme="dark", reduced_motion="reduce").tab
        expect(tab.locator(".pair")).to_have_count(3)
        expect(tab.locator(".family")).to_have_count(4)
        tab.get_by_role("button", name="Show 3 more").click()
        expect(tab.locator(".family")).to_have_count(7)
        expect(tab.locator(".family", has_text="onerror").locator(".text")).to_have_text([printable(HOSTILE)])
        assert tab.evaluate("document.querySelectorAll('.family script, .family img').length") == 0
        expect(tab.locator("#lives canvas")).to_be_visible()
        expect(tab.locator("#skyband canvas")).to_be_visible()
        wait_until(tab, lambda: tab.evaluate("document.documentElement.scrollWidth") == 360)


def test_copies_of_a_pair(watch: Callable[..., Watched]) -> None:
    join = swoop.TopKJoin(k=3, window=100, copies="once")
    for time, text in enumerate(["abcd", "abcd", "abce", "abcd", "xy"]):
        join.insert(list(text), time, id=f"{text}{time}")
    with serve(join) as page:
        tab = watch(page).tab
        sides = tab.locator(".pair .who")
        expect(sides).to_have_text(["newer abce2", "older abcd0 · 3 copies since 0, last 3"])
        row = tab.locator(".pair").element_handle()
        join.insert(list("abcd"), 5, id="again")
        expect(sides.nth(1)).to_have_text("older abcd0 · 4 copies since 0, last 5")
        assert tab.evaluate("(row) => row.isConnected", row)  # only the number is drawn anew
        tab.context.close()  # before its server ends: it may still load something


@pytest.mark.parametrize("width", [390, 1400])
def test_long_ids_do_not_push_anything_out_of_view(watch: Callable[..., Watched], width: int) -> None:
    join = swoop.TopKJoin(k=3, window=100, copies="once")
    waves = swoop.Families(0.5, window=100)
    for time, text in enumerate(["abcd", "abcd", "abce"]):
        join.insert(list(text), time, id=f"{text}{time}" * 60)
        waves.insert(list(text), time, id=f"{text}{time}" * 60)
    with serve(join) as page:
        page.show(waves)
        tab = watch(page, width=width).tab
        expect(tab.locator(".family")).to_have_count(1)
        for inside in (tab.locator(".pair .copies").nth(1), tab.locator(".family .who"), tab.locator(".pair .who").nth(1)):
            box = inside.bounding_box()
            assert box is not None
            assert box["width"] > 0
            assert box["x"] + box["width"] <= width
            assert inside.evaluate("(place) => place.scrollWidth <= place.clientWidth || place.tagName === 'SPAN'")
        wait_until(tab, lambda: tab.evaluate("document.documentElement.scrollWidth") == width)
        tab.context.close()  # before its server ends: it may still load something
