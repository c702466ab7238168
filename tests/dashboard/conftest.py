"""A browser for the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from swoop.dashboard.bundle import bundle
from tests.support.setup import BROWSER, find_browser, lacking

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
