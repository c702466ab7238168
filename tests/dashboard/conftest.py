"""A browser for the tests of the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

from swoop.dashboard import Page
from swoop.dashboard.bundle import bundle
from tests.support.setup import BROWSER, find_browser, lacking

LAPTOP, SMALL, PHONE = (1440, 790), (1366, 650), (390, 844)
SEEN = "(mark) => mark.getBoundingClientRect().bottom <= mark.closest('.text').getBoundingClientRect().bottom + 2"

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")  # while it is there, its event loop runs in this thread
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        lacking(BROWSER)
    bundle()  # a busy machine takes its time for it
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


class Watched:
    """A tab, and what went wrong in it."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.troubles: list[str] = []
        self.asked: list[str] = []
        self.links_may_fail = False
        tab.on("dialog", self._dialog)
        tab.on("pageerror", lambda error: self.troubles.append(f"error {error}"))
        tab.on("console", self._console)
        tab.on("request", lambda request: self.asked.append(request.url))

    def _dialog(self, dialog: object) -> None:
        self.troubles.append("a dialog")
        dialog.dismiss()  # type: ignore[attr-defined]

    def _console(self, message: object) -> None:
        text = f"{message.type} {message.text}"  # type: ignore[attr-defined]
        if not (self.links_may_fail and "net::ERR" in text):
            self.troubles.append(text)


@pytest.fixture
def watch(browser: Browser, page: Page) -> Iterator[Callable[..., Watched]]:
    """Opens pages, and closes them before the one of the fixture is no longer served: they may still load something."""
    made: list[Watched] = []

    def opened(shown: Page, width: int = 1280, **options: object) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)  # type: ignore[arg-type]
        made.append(Watched(context.new_page()))
        made[-1].tab.goto(shown.url)
        return made[-1]

    yield opened
    for one in made:
        one.tab.context.close()
    for one in made:
        assert one.troubles == []
        assert all(url.startswith("http://127.0.0.1:") for url in one.asked)


def wait_until(tab: Tab, holds: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        tab.wait_for_timeout(50)


def settled(tab: Tab) -> None:
    """Wait until all is loaded and drawn."""
    expect(tab.locator("#timeline canvas")).to_be_visible(timeout=30_000)


def sized(watched: Watched, size: tuple[int, int]) -> Tab:
    watched.tab.set_viewport_size({"width": size[0], "height": size[1]})
    return watched.tab
