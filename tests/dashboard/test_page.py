"""The page in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from swoop.dashboard import Page, serve
from swoop.dashboard.wire import key_of
from swoop.marking import how_same
from swoop.unseen import printable
from tests.dashboard.conftest import Watched, wait_until
from tests.support.posts import Posts

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnorw si siht\u202c &amp; {{7*7}} "
    "javascript:alert(3) \u0645\u0631\u062d\u0628\u0627 \u2028 </li></ol>"
)


@pytest.fixture
def posts() -> Posts:
    found = Posts(k=5)
    for _ in range(80):
        found.post()
    return found


@pytest.fixture
def page(posts: Posts) -> Iterator[Page]:
    with serve(posts, title="Posts") as found:
        yield found


def shown(tab: Tab) -> list[tuple[str, ...]]:
    """Similarity and the texts of each pair, from top to bottom, read at one moment."""
    return [
        tuple(row)
        for row in tab.evaluate(
            """[...document.querySelectorAll(".pair")].map((row) =>
              [row.querySelector(".similarity"), ...row.querySelectorAll(".text")].map((part) => part.textContent))"""
        )
    ]


def said(posts: Posts) -> list[tuple[str, ...]]:
    """The same, of the source: what is the same in both records, or in several pairs, is there once."""
    found = {}
    for pair in posts.topk():
        newer, older = (printable(str(text)) for text in posts.texts(pair))
        texts = [newer] if how_same(newer, older) else [newer, older]
        found.setdefault(tuple(sorted(texts)), (f"{pair.similarity:.3f}", *texts))
    return list(found.values())


def test_it_shows_what_the_engine_says(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page).tab
    for _ in range(4):
        wait_until(tab, lambda: shown(tab) == said(posts))
        for _ in range(15):
            posts.post()
            page.board.take_changes(posts.changes())
    wait_until(tab, lambda: shown(tab) == said(posts))
    expect(tab.locator("#status")).to_have_text("live")
    expect(tab).to_have_title("Posts")
    expect(tab.locator("#metric-rows")).to_have_text(str(posts.rows))
    expect(tab.locator("#metric-window_size")).to_have_text(str(posts.stats.window_size))
    expect(tab.locator("#skyband canvas")).to_be_visible()
    expect(tab.locator("#timeline canvas")).to_be_visible()
    for pair in posts.topk():
        found, card = posts.explain(pair), tab.locator(f".pair[data-key='{key_of(pair)}']")
        if not card.count():
            continue
        for side, own in ((0, found.only_newer), (1, found.only_older)):
            marked = card.locator(".side").nth(side).locator("mark").all_text_contents()
            assert {word.strip(",.:!") for run in marked for word in run.lower().split()} == own


def test_it_comes_back_after_the_server(watch: Callable[..., Watched], posts: Posts) -> None:
    with serve(posts) as page:
        watched = watch(page)
        tab = watched.tab
        wait_until(tab, lambda: shown(tab) == said(posts))
        expect(tab.locator("#timeline canvas")).to_be_visible(timeout=15_000)  # all is loaded
        watched.links_may_fail = True
    expect(tab.locator("#status")).to_have_text("reconnecting …")
    for _ in range(30):
        posts.post()
    with serve(posts, port=page.port):
        expect(tab.locator("#status")).to_have_text("live", timeout=15_000)
        wait_until(tab, lambda: shown(tab) == said(posts))


def test_hostile_texts_do_no_harm(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page).tab
    long = "swoop" * 2000
    for text in (HOSTILE, HOSTILE + " again", long + " one two", long + " one two"):
        posts.post(text)
    wait_until(tab, lambda: [row[0] for row in shown(tab)][:1] == ["1.000"])
    wait_until(
        tab, lambda: (f"{posts.topk()[1].similarity:.3f}", printable(HOSTILE + " again"), printable(HOSTILE)) in shown(tab)
    )
    assert "<U+202E>gnorw si siht<U+202C>" in printable(HOSTILE)
    assert tab.evaluate("document.querySelectorAll('.pair script, .pair img').length") == 0
    assert tab.locator(".pair").first.bounding_box()["height"] < 300  # type: ignore[index]
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.locator(".pair", has_text="onerror").first.locator(".ask").click()
    dialog = tab.locator("#why")
    expect(dialog.locator(".side").first).to_contain_text("<script>alert(1)</script>")
    expect(dialog.locator("section").first).to_contain_text("onerror")
    isolated = "[...document.querySelectorAll('.pair .text')].every((e) => getComputedStyle(e).unicodeBidi === 'isolate')"
    assert tab.evaluate(isolated)
    tab.wait_for_timeout(1200)  # the charts have seen it too


def test_pause_and_go_on(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page).tab
    wait_until(tab, lambda: shown(tab) == said(posts))
    before = shown(tab)
    tab.get_by_role("button", name="Pause").click()
    expect(tab.locator("#status")).to_have_text("paused")
    for text in ("one two three four five",) * 3:
        posts.post(text)
    tab.wait_for_timeout(1000)
    assert shown(tab) == before
    tab.get_by_role("button", name="Resume").click()
    wait_until(tab, lambda: shown(tab) == said(posts))
    assert shown(tab) != before


def test_filters(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    words = " ".join(f"word{number}" for number in range(20))
    for last in ("gamma", "gamma", "gamma other"):
        posts.post(f"{words} {last}")
    tab = watch(page).tab
    wait_until(tab, lambda: shown(tab) == said(posts))
    tab.get_by_role("searchbox", name="containing").fill("GAMMA other")
    wanted = [row for row in said(posts) if "other" in "".join(row) and "gamma" in "".join(row)]
    wait_until(tab, lambda: shown(tab) == wanted)
    assert wanted
    expect(tab.locator("#shown")).to_have_text("2 of 5 pairs")
    tab.get_by_role("button", name="and 1 more pair of the same texts").click()
    expect(tab.locator(".pair")).to_have_count(2)
    expect(tab.locator(".rank")).to_have_text(["2", "3"])
    tab.get_by_role("button", name="Show them once").click()
    expect(tab.locator(".pair")).to_have_count(1)
    tab.get_by_role("searchbox", name="containing").fill("nowhere")
    expect(tab.locator("#empty")).to_have_text("No pair matches the filters.")
    tab.get_by_role("searchbox", name="containing").fill("")
    tab.get_by_label("at least").fill("0.95")
    wait_until(tab, lambda: shown(tab) == [row for row in said(posts) if float(row[0]) >= 0.95])
    expect(tab.locator("#least-text")).to_have_text("0.95")


def test_the_explanation_by_keyboard(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page).tab
    wait_until(tab, lambda: shown(tab) == said(posts))
    button = tab.locator(".pair").first.get_by_role("button")
    button.focus()
    tab.keyboard.press("Enter")
    found = posts.explain(posts.topk()[0])
    for number, tokens in enumerate((found.shared, found.only_newer, found.only_older)):
        section = tab.locator("#why section").nth(number)
        expect(section.locator("h3 span")).to_have_text(str(len(tokens)))
        assert section.locator("li").all_text_contents() == sorted(tokens)
    tab.keyboard.press("Escape")
    expect(tab.locator("#why")).to_be_hidden()
    expect(button).to_be_focused()
    tab.locator(".pair").nth(1).click()
    expect(tab.locator("#why")).to_be_visible()


def test_an_explanation_that_came_too_late(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    watched = watch(page)
    tab = watched.tab
    wait_until(tab, lambda: shown(tab) == said(posts))
    tab.get_by_role("button", name="Pause").click()
    posts.post("all the others have left the window", seconds=10_000)
    page.board.refresh()
    tab.locator(".pair").first.get_by_role("button").click()
    expect(tab.locator("#why-body")).to_have_text("These two sets have left the window, so their tokens are gone.")
    watched.troubles = [text for text in watched.troubles if "404" not in text]


def test_the_end_of_the_stream(watch: Callable[..., Watched], page: Page, posts: Posts) -> None:
    tab = watch(page).tab
    wait_until(tab, lambda: shown(tab) == said(posts))
    tab.get_by_role("button", name="Pause").click()
    posts.is_active = False
    expect(tab.get_by_role("alert")).to_have_text("The stream has ended. This is its final state.")
    posts.failure = RuntimeError("the <b>disk</b> is full")
    expect(tab.get_by_role("alert")).to_contain_text("RuntimeError: the <b>disk</b> is full")
    expect(tab.locator("#status")).to_have_text("the stream has failed")


def test_before_the_stream(watch: Callable[..., Watched], posts: Posts) -> None:
    with serve() as page:
        tab = watch(page).tab
        expect(tab.locator("#status")).to_have_text("waiting for the stream")
        expect(tab.locator("#empty")).to_be_visible()
        page.show(posts)
        wait_until(tab, lambda: shown(tab) == said(posts))
        # the page is left only when it has loaded everything
        loaded = "performance.getEntriesByType('resource').some((one) => one.name.includes('vega.js'))"
        wait_until(tab, lambda: tab.evaluate(loaded))


def test_a_plain_join_shows_tokens_and_distances(watch: Callable[..., Watched]) -> None:
    import swoop

    join = swoop.TopKJoin(k=3, window=10, similarity="hamming")
    for moment, text in enumerate(["abcd", "abce", "abxy"]):
        join.insert(list(text), moment, id=text.encode())
    with serve(join) as page:
        tab = watch(page).tab
        expect(tab.locator(".similarity")).to_have_text(["-2", "-4", "-4"])
        expect(tab.locator(".pair").first.locator(".side").first.locator("li")).to_have_text(["e", "a", "b", "c"])
        expect(tab.locator("#timeline canvas")).to_be_visible()
        tab.get_by_label("at least").fill("-3")
        expect(tab.locator(".similarity")).to_have_text(["-2"])


def test_narrow_dark_and_token(watch: Callable[..., Watched], posts: Posts) -> None:
    with serve(posts, token="secret") as page:
        tab = watch(page, width=360, color_scheme="dark", reduced_motion="reduce").tab
        wait_until(tab, lambda: shown(tab) == said(posts))
        assert "secret" not in tab.url
        expect(tab.locator("#timeline canvas")).to_be_visible()
        tab.wait_for_timeout(300)
        assert tab.evaluate("document.documentElement.scrollWidth") == 360
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.get_by_role("button", name="More", exact=True).click()
        tab.locator("#theme").click()
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        tab.reload()
        wait_until(tab, lambda: shown(tab) == said(posts))
        assert tab.evaluate("document.documentElement.dataset.theme") == "light"
        tab.locator(".pair").first.get_by_role("button").click()
        expect(tab.locator("#why")).to_contain_text("Shared")
        assert tab.evaluate("document.documentElement.scrollWidth") == 360
