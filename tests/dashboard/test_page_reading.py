"""The page as people read it, in a real browser: how much fits, what it says, what is linked, and by keyboard.

Tests of swoop.dashboard.reading.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

import swoop
from swoop.cli.console import shown_second, shown_time
from swoop.dashboard import Page, serve
from swoop.dashboard.wire import key_of
from swoop.reasons import Reasons
from tests.dashboard.conftest import LAPTOP, PHONE, SEEN, SMALL, Watched, settled, sized, wait_until
from tests.support.posts import START, Posts
from tests.support.still import Still

REACHABLE = "a[href], button, input, summary, [tabindex='0']"
LONG = "The committee of the harbour met again and talked for hours about things that nobody remembers now, "


@pytest.fixture
def posts() -> Posts:
    found = Posts(k=20)
    for _ in range(150):
        found.post()
    return found


@pytest.fixture
def page(posts: Posts) -> Iterator[Page]:
    with serve(posts, title="Posts", origin="posts.jsonl") as found:
        found.board.take_changes(posts.changes())
        yield found


def above_the_fold(tab: Tab) -> int:
    seen = "(card) => card.getBoundingClientRect().bottom <= innerHeight"
    return int(tab.evaluate(f"[...document.querySelectorAll('.pair')].filter({seen}).length"))


def focused(tab: Tab) -> dict[str, Any]:
    """What has the focus: its place in the page, and its name."""
    return dict(
        tab.evaluate(
            """() => {
              const it = document.activeElement;
              const name = it.getAttribute("aria-label") || it.labels?.[0]?.textContent || it.textContent;
              return { place: [...document.querySelectorAll("*")].indexOf(it), name: name.trim(), tag: it.tagName };
            }"""
        )
    )


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(("size", "least"), [(LAPTOP, 5), (SMALL, 5), (PHONE, 2)])
def test_enough_fits_and_all_can_be_reached(
    watch: Callable[..., Watched], size: tuple[int, int], least: int, colours: str
) -> None:
    posts = Posts(k=8)
    for number in range(8):  # of long texts, with what differs at their ends
        posts.post(LONG * 3 + " ".join(f"word{n}" for n in range(number, number + 5)))
    if size == SMALL:  # with metrics that take two lines
        posts.counts = {"late": 12_345, "rejected": 98_765, "alerts": 1_234, "alerts_failed": 12, "alerts_left_out": 123}
    with serve(posts, title="Posts", origin="posts.jsonl") as page:
        page.board.take_changes(posts.changes())
        tab = sized(watch(page, width=size[0], color_scheme=colours, reduced_motion="reduce"), size)
        settled(tab)
        assert above_the_fold(tab) >= least
        assert tab.evaluate(f"[...document.querySelectorAll('.side mark:first-of-type')].every({SEEN})")
        assert tab.evaluate("document.documentElement.scrollWidth") == size[0]
        assert tab.evaluate("document.getAnimations().length") == 0
        if size == PHONE:
            expect(tab.locator("#metrics")).to_be_hidden()
            fold = tab.get_by_role("button", name="More", exact=True)
            fold.press("Enter")
            expect(tab.get_by_role("button", name="Less")).to_have_attribute("aria-expanded", "true")
            expect(tab.locator("#metrics")).to_be_visible()
            expect(tab.get_by_role("button", name="Pause")).to_be_visible()
        there = f'[...document.querySelectorAll("{REACHABLE}")].filter((it) => it.checkVisibility()).length'
        expected = tab.evaluate(there)
        tab.locator(".skip").focus()
        reached: dict[int, str] = {}
        for _ in range(expected + 5):
            found = focused(tab)
            tab.keyboard.press("Tab")
            if found["tag"] == "BODY":
                break
            assert found["name"], found
            reached[found["place"]] = found["name"]
        assert len(reached) == expected, reached
        assert {"Pause", "Times: UTC", "Save", "Link to pair 1"} <= set(reached.values())


def test_what_is_shown_and_when(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page, width=1400, timezone_id="Asia/Kolkata").tab
    now = START + dt.timedelta(seconds=149)
    expect(tab.locator("#about")).to_have_text(
        "top 20 · last 2 minutes · jaccard · posts.jsonl · stream time 1 May 2024 12:02 UTC"
    )
    settled(tab)
    for chart in ("#skyband", "#timeline"):
        expect(tab.locator(chart)).to_have_attribute("aria-label", re.compile(r"\. Times are in UTC\.$"))
    pair = posts.topk()[0]
    times = f"from {shown_second(pair.start)} until {shown_second(pair.end)}"  # as the terminal writes them
    assert "1 May 2024 12:0" in times
    ages = tab.locator(".pair .ages").first
    expect(ages).to_have_attribute("title", f"since {shown_second(pair.start)}, until {shown_second(pair.end)}")
    tab.locator(".pair .ask").first.click()
    expect(tab.locator("#why .lead")).to_contain_text(times)
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Times: UTC").click()
    expect(tab.locator("#about")).to_contain_text("stream time 1 May 2024 17:32 GMT+5:30")
    assert (now + dt.timedelta(hours=5, minutes=30)).strftime("%H:%M") == "17:32"
    for chart in ("#skyband", "#timeline"):
        expect(tab.locator(chart)).to_have_attribute("aria-label", re.compile(r"\. Times are in GMT\+5:30\.$"))
    expect(ages).to_have_attribute("title", "since " + local(pair.start) + ", until " + local(pair.end))
    tab.reload()
    expect(tab.locator("#about")).to_contain_text("17:32 GMT+5:30")  # the choice is remembered
    settled(tab)


def local(time: Any) -> str:
    return f"{time + dt.timedelta(hours=5, minutes=30):%-d %b %Y %H:%M:%S} GMT+5:30"


def test_times_without_a_zone_stay_as_they_are(watch: Callable[..., Watched]) -> None:
    join = swoop.TopKJoin(k=2, window="1 hour")
    for minute in range(2):
        join.insert(["a", "b"], dt.datetime(2024, 5, 1, 9, minute), id=f"{minute}")
    days = swoop.TopKJoin(k=1, window="7 days")
    for day in (1, 2):
        days.insert(["a", "b"], dt.datetime(2024, 5, day), id=f"https://example.com/posts/{day}/index.html")
    with serve(join) as page:
        tab = watch(page, timezone_id="Asia/Kolkata").tab
        expect(tab.locator("#about")).to_have_text("top 2 · last 1 hour · jaccard · stream time 1 May 2024 09:01")
        expect(tab.locator("#zone")).to_be_hidden()
        page.show(days)
        expect(tab.locator("#about")).to_contain_text("stream time 2 May 2024")
        (pair,) = days.topk()
        expect(tab.locator(".pair .ages")).to_have_attribute(
            "title", f"since {shown_time(pair.start)}, until {shown_time(pair.end)}"
        )
        expect(tab.locator(".pair .who bdi").first).to_have_text(
            "https://example.com/posts/2/index.html"
        )  # not shortened alike
        assert f"{shown_time(pair.start)} {shown_time(pair.end)}" == "2 May 2024 8 May 2024"  # midnight is a date
        settled(tab)


def test_cards_and_bars_are_linked_both_ways(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = sized(watch(page, width=1400), LAPTOP)
    settled(tab)
    stays = page.board.state["stays"].values()
    texts = {stay["text"] for stay in stays if stay["to"] is None}
    assert texts == {
        str(posts.texts(pair)[0])[:59] + "…" if len(str(posts.texts(pair)[0])) > 60 else posts.texts(pair)[0]
        for pair in posts.topk()
    }
    assert any(stay["text"] for stay in stays if stay["to"] is not None)
    bars = tab.locator("#timeline canvas")
    before = bars.screenshot()
    tab.locator(".pair").nth(1).hover()
    wait_until(tab, lambda: bars.screenshot() != before)
    assert tab.locator(".pair.linked").count() == 1
    box = bars.bounding_box()
    assert box is not None
    linked = "document.querySelector('.pair.linked')?.dataset.key"
    for up in range(20, int(box["height"]), 5):  # along the end of the bars
        tab.mouse.move(box["x"] + box["width"] - 5, box["y"] + up)
        if tab.evaluate(linked) not in (None, key_of(posts.topk()[1])):
            break
    assert tab.evaluate(linked) in page.board.state["order"]
    tab.mouse.move(2, 2)
    wait_until(tab, lambda: tab.evaluate(linked) is None)
    tab.locator(".pair .ask").nth(2).focus()
    assert tab.locator(".pair.linked").count() == 1


def ink(tab: Tab) -> int:
    """How much colour is in the timeline."""
    return int(
        tab.evaluate(
            """() => {
              const it = document.querySelector("#timeline canvas");
              const copy = new OffscreenCanvas(it.width, it.height).getContext("2d", { willReadFrequently: true });
              copy.drawImage(it, 0, 0);
              const data = copy.getImageData(0, 0, it.width, it.height).data;
              return data.reduce((sum, value, place) => (place % 4 === 3 ? sum + value : sum), 0);
            }"""
        )
    )


def test_pairs_behind_a_card_and_marks_by_keyboard(watch: Callable[..., Watched]) -> None:
    posts = Posts(k=9)
    for text in ("alpha beta gamma",) * 3 + ("delta epsilon zeta",) * 2 + ("quite another",):
        posts.post(text)
    with serve(posts) as page:
        page.board.take_changes(posts.changes())
        tab = sized(watch(page, width=1400), LAPTOP)
        settled(tab)
        three, one = (tab.locator(".pair", has_text=text) for text in ("alpha", "delta"))
        inks = [ink(tab)]
        for card in (three, one):  # its bars stand out, the others fade
            card.hover()
            wait_until(tab, lambda: ink(tab) < inks[-1])
            inks.append(ink(tab))
        dots, marks = (
            tab.get_by_role("listbox", name=name).get_by_role("option")
            for name in ("Pairs in the skyband", "Stays in the top-k")
        )
        expect(dots).to_have_count(4)
        expect(marks).to_have_count(4)
        tab.locator(".pair button:visible").last.focus()
        tab.keyboard.press("Tab")
        chart = tab.locator("#skyband canvas").bounding_box()
        assert chart is not None
        for place in range(4):
            expect(dots.nth(place)).to_be_focused()
            expect(dots.nth(place)).to_contain_text(re.compile(rf"^{place + 1}: \d and \d, 1\.000 until 1 May 2024 12:0"))
            expect(tab.locator("#tip")).to_contain_text(f"{place + 1}: ")
            expect(one if "4 and 3" in str(dots.nth(place).text_content()) else three).to_have_class("pair linked")
            tab.keyboard.press("ArrowDown")
        tip = tab.locator("#tip").bounding_box()
        assert tip is not None
        assert chart["y"] < tip["y"] < chart["y"] + 170  # at the dot
        tab.keyboard.press("Enter")
        expect(tab.locator("#why")).to_contain_text("Shared")
        tab.keyboard.press("Escape")
        expect(dots.last).to_be_focused()
        tab.keyboard.press("Tab")
        for place in range(4):
            expect(marks.nth(place)).to_be_focused()
            text = str(marks.nth(place).text_content())
            assert f"{place + 1}.  " in text
            assert "1.000, " in text
            expect(tab.locator("#tip")).to_contain_text("from 1 May 2024 12:00:0")
            assert tab.locator(".pair.linked").count() == 1
            expect(three if "alpha" in text else one).to_have_class("pair linked")
            tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Enter")
        expect(tab.locator("#why")).to_contain_text("Shared")
        behind = tab.url
        tab.keyboard.press("Escape")
        expect(marks.last).to_be_focused()
        again = watch(SimpleNamespace(url=behind), width=1400).tab  # type: ignore[arg-type]
        expect(again.locator("#why")).to_contain_text("Shared")
        again.keyboard.press("Escape")  # of a pair behind a card, to the card
        expect(again.locator(".pair", has_text="alpha").locator(".ask")).to_be_focused()
        settled(again)


class Told(Still):
    """A source whose state is said."""

    def __init__(self, **stats: Any) -> None:
        super().__init__([], **stats)
        self.is_active = True
        self.failure: BaseException | None = None
        self.reasons = Reasons()
        self.late_rows: list[Any] = []


def test_words_for_nothing(watch: Callable[..., Watched]) -> None:
    source = Told(rows=0)
    posts = Posts(k=3, window="20 s")
    with serve() as page:
        tab = watch(page, width=1400).tab
        empty = tab.locator("#empty")
        expect(empty).to_have_text("Waiting for the stream to start …")
        for part in ("#skyband-part", "#timeline-part", "#lives-part", "#charts"):
            expect(tab.locator(part)).to_be_hidden()
        page.show(source)
        expect(empty).to_have_text("Waiting for the first rows …")
        source.stats = SimpleNamespace(rows=7, held=7, window_size=0)
        expect(empty).to_have_text("7 rows wait until later ones arrive, so that all enter in the order of time.")
        source.stats = SimpleNamespace(rows=12, held=0, window_size=12)
        expect(empty).to_have_text("No similar pairs so far, in 12 rows.")
        source.hidden = 2
        expect(empty).to_have_text("Nothing but 2 pairs of equal sets, which are not shown; a larger -k finds others.")
        source.hidden = 0
        source.stats = SimpleNamespace(rows=12, held=0, window_size=0, rejected=12, late=0)
        expect(empty).to_have_text("All 12 rows so far were rejected: see why, above.")
        source.stats, source.is_active = SimpleNamespace(rows=0), False
        expect(empty).to_have_text("The stream has ended without any rows.")
        source.failure = OSError("no space left on device.")
        expect(tab.get_by_role("alert")).to_have_text(
            "The stream has failed before any row came: OSError: no space left on device."
        )
        expect(empty).to_have_text("There is nothing to show: see why, above.")
        source.stats = SimpleNamespace(rows=12, held=0, window_size=12)
        expect(empty).to_have_text("The stream has failed: no similar pairs were found.")
        for text in ("one two three", "one two three four"):
            posts.post(text)
        page.show(posts)
        expect(tab.locator(".pair")).to_have_count(1)
        settled(tab)
        posts.post("quite another", seconds=120)
        page.board.take_changes(posts.changes())
        expect(empty).to_have_text("No similar pairs in the window now; the last left at 12:00:20 UTC.")
        posts.is_active = False
        expect(empty).to_have_text("The stream has ended: no similar pairs in the window now; the last left at 12:00:20 UTC.")
        expect(tab.locator("#status")).to_have_text("the stream has ended")


def test_why_rows_were_not_used(watch: Callable[..., Watched]) -> None:
    source = Told(rows=20, late=2, rejected=4)
    source.reasons.add(
        ['time: cannot read "<img src=x>"', 'time: cannot read "soon"', "the id is null"],
        lambda place: '{"id": null, "time": 7, "text": "<b>x"}',
    )
    late = SimpleNamespace(id="order 7", time=START, watermark=START + dt.timedelta(minutes=3))
    source.late_rows = [late]
    with serve(source) as page:
        tab = watch(page, width=1400).tab
        button = tab.get_by_role("button", name="Rows that were not used: 4 rejected, 2 late. Why?")
        button.press("Enter")
        dialog = tab.locator("#why")
        expect(dialog.locator("li").first).to_have_text('2 time: cannot read "<img src=x>"')
        expect(dialog.locator("li").nth(1)).to_have_text("1 the id is null; for example time 7, text <b>x")
        expect(dialog).to_contain_text("and 1 row whose reasons are not known here")
        expect(dialog).to_contain_text(
            "order 7 of 1 May 2024 12:00:00 UTC, when rows up to 1 May 2024 12:03:00 UTC had been processed"
        )
        tab.keyboard.press("Escape")
        expect(button).to_be_focused()


def test_a_link_to_a_pair(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    pair = posts.topk()[2]
    tab = watch(page, width=1400).tab
    settled(tab)
    tab.get_by_role("link", name="Link to pair 3").click()
    expect(tab.locator("#why")).to_be_visible()
    assert tab.url.endswith(f"#pair-{key_of(pair)}")
    again = watch(SimpleNamespace(url=tab.url), width=1400).tab  # type: ignore[arg-type]
    found = posts.explain(pair)
    expect(again.locator("#why section").first.locator("li")).to_have_text(sorted(map(str, found.shared)))
    again.keyboard.press("Escape")
    wait_until(again, lambda: "#" not in again.url)
    expect(again.locator(f".pair[data-key='{key_of(pair)}'] .ask")).to_be_focused()
    again.goto(f"{page.url}#pair-0123456789abcdef01")
    expect(again.locator("#why-body")).to_have_text("This pair is not in the top-k, and has not been there recently.")
    settled(again)


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_focus_when_the_pair_behind_the_dialog_has_left(
    watch: Callable[..., Watched], page: Page, posts: Posts, size: tuple[int, int]
) -> None:
    tab = sized(watch(page, width=size[0], reduced_motion="reduce"), size)
    settled(tab)
    tab.locator(".pair .ask").nth(1).press("Enter")
    expect(tab.locator("#why")).to_contain_text("Shared")
    key = page.board.state["order"][1]
    for text in ("alpha beta gamma",) * 2 + ("delta epsilon zeta",) * 2:
        posts.post(text, seconds=posts.rows + 300)
    expect(tab.locator(f".pair[data-key='{tab.url.partition('#pair-')[2]}']")).to_have_count(0)
    assert key not in page.board.state["order"]
    tab.keyboard.press("Escape")
    expect(tab.locator(".pair .ask").nth(1)).to_be_focused()  # the card that is in its place now
    posts.post("all the others have left the window", seconds=posts.rows + 3000)
    expect(tab.locator("#pairs")).to_be_focused()  # without any, the list
    expect(tab.locator(".pair")).to_have_count(0)
