"""What differs is seen: marks in texts, tokens of one side, and long texts that are cut around them, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

import swoop
from swoop.dashboard import Page, serve
from tests.dashboard.conftest import LAPTOP, PHONE, SEEN, Watched, settled, sized, wait_until
from tests.support.posts import Posts


@pytest.fixture
def page() -> Iterator[Page]:
    with serve(Posts(k=1)) as found:
        yield found


def test_what_differs_is_a_button_away(watch: Callable[..., Watched]) -> None:
    posts = Posts(k=1)
    words = [f"w{number}" for number in range(120)]
    for own in ("x", "y"):
        posts.post(" ".join(word if number % 12 else f"{own}{number}" for number, word in enumerate(words)))
    join = swoop.TopKJoin(k=1, window=10)
    for time, own in enumerate("xy"):
        join.insert([*(f"shared{n}" for n in range(60)), *(f"{own}{n}" for n in range(40))], time, id=own * 99)
    with serve(posts) as page:
        tab = watch(page, width=1400).tab
        settled(tab)
        card = tab.locator(".pair")
        seen = card.locator(".side").first.locator("mark").first
        assert seen.bounding_box()["y"] < card.bounding_box()["y"] + card.bounding_box()["height"]  # type: ignore[index]
        rest = card.locator(".rest")
        hidden = int(str(rest.text_content()).strip("+ more"))
        assert 0 < hidden < 20
        rest.click()
        marks = card.locator("mark").count()
        beyond = int(str(rest.text_content()).strip("+ more"))
        assert marks + beyond == 20
        rest.click()  # what is not even in the card is in the dialog
        expect(tab.locator("#why mark")).to_have_count(20)
        tab.keyboard.press("Escape")
        page.show(join)
        name = tab.locator(".pair .who bdi").first
        expect(name).to_have_text("y" * 12 + "…" + "y" * 11)
        expect(name).to_have_attribute("title", "y" * 99)
        own = tab.locator(".pair .side").first.locator("li")
        expect(own.first).to_have_text("y0")  # before those that are shared
        assert int(str(tab.locator(".pair .rest").text_content()).strip("+ more")) > 0
        tab.locator(".pair .rest").click()
        expect(own.nth(39)).to_be_in_viewport()
        expect(tab.get_by_role("button", name="Show less of the text")).to_be_visible()
        equal = swoop.TopKJoin(k=5, window=10)
        for time in range(3):
            equal.insert(["espresso", "ramen"], time, id=f"basket {time}")
        page.show(equal)
        expect(tab.locator(".pair")).to_have_count(1)
        expect(tab.locator(".pair .badge")).to_have_text("same tokens")
        expect(tab.locator(".pair li")).to_have_text(["espresso", "ramen"])
        expect(tab.get_by_role("button", name="and 2 more pairs of the same tokens")).to_be_visible()


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
@pytest.mark.parametrize(
    "begin",
    [
        "W" * 300,
        "W" * 230,
        "see " + "W" * 90 + " and " + "W" * 70,
        "W" * 8 + "\u200b" + "W" * 120,
        "W" * 11 + "\U0001f600" + "W" * 120,
    ],
)
def test_a_long_word_that_both_have_hides_no_difference(
    watch: Callable[..., Watched], begin: str, size: tuple[int, int]
) -> None:
    posts = Posts(k=1)
    for own in ("one", "two"):
        posts.post(f"{begin} same long word tail {own}")
    with serve(posts) as page:
        tab = sized(watch(page, width=size[0]), size)
        settled(tab)
        expect(tab.locator(".pair mark")).to_have_text(["two", "one"])
        wait_until(tab, lambda: bool(tab.evaluate(f"[...document.querySelectorAll('.side mark')].every({SEEN})")))
        expect(tab.locator(".pair .rest")).to_have_text("more")
        left = "(text) => [...text.childNodes].map((part) => (part.className === 'middle' ? '…' : part.textContent)).join('')"
        shown = tab.locator(".pair .text").first.evaluate(left)
        assert re.search(r"…\s*…|<[U+0-9A-F]*…|…[U+0-9A-F]*>", shown) is None, shown
        assert "\ufffd" not in shown  # no half of a letter
        tab.locator(".pair .rest").click()
        whole = str(tab.locator(".pair .text").first.inner_text())
        assert whole.endswith("same long word tail two")
        assert len(whole) > len(shown)


CONTRAST = """(it) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const shares = [...context.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
    const [red, green, blue] = shares.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const line = it.tagName === "MARK" ? getComputedStyle(it).textDecorationColor : getComputedStyle(it).borderTopColor;
  const [low, high] = [light(line), light(getComputedStyle(it.closest(".pair, dialog")).backgroundColor)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_what_differs_stands_out(watch: Callable[..., Watched], colours: str) -> None:
    posts = Posts(k=1)
    for text in ("zero\u200bwidth \u202ehere", "zerowidth here"):
        posts.post(text)
    with serve(posts) as page:
        tab = watch(page, color_scheme=colours).tab
        expect(tab.locator(".pair mark")).to_have_text(["zerowidth", "zero<U+200B>width <U+202E>"])
        settled(tab)
        tab.locator(".pair .ask").click()
        for place in (".pair mark", "#why mark"):
            mark = tab.locator(place).first
            expect(mark).to_have_css("text-decoration-line", "underline")
            assert mark.evaluate(CONTRAST) >= 3
        tab.keyboard.press("Escape")
        join = swoop.TopKJoin(k=1, window=10)
        for time, token in enumerate("xy"):
            join.insert(["both", token], time)
        page.show(join)
        expect(tab.locator(".pair .own")).to_have_count(2)
        tab.locator(".pair .ask").click()
        for place in (".pair", "#why"):
            own, shared = tab.locator(f"{place} .own").first, tab.locator(f"{place} .shared").first
            assert own.evaluate(CONTRAST) >= 3
            ground = "(it) => getComputedStyle(it).backgroundColor"
            assert own.evaluate(ground) != shared.evaluate(ground)
            assert shared.evaluate(CONTRAST) < 1.5
