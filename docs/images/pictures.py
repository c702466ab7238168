"""Takes the pictures of the live page and of the terminal from real runs, light and dark: ``make pictures``."""

from __future__ import annotations

import base64
import datetime as dt
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from rich.color import Color
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from swoop.demo.feed import Feed, write_posts
from swoop.look import COLOURS
from tests.support.setup import BROWSER, find_browser

FOLDER = Path(__file__).parent
SWOOP = [sys.executable, "-m", "swoop.cli"]
WIDTH = 100
THEMES = ("light", "dark")
LATER = 500  # posts
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
    line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""As rich draws it, with the fonts of the reader in place of those of another machine."""


def write_feed(folder: Path) -> None:
    """A minute of posts: a file in the folder ``posts``."""
    (folder / "posts").mkdir()
    write_posts(folder, 0, Feed(dt.datetime(2024, 5, 1, 14, tzinfo=dt.UTC)).between(0, 60))
    (folder / "000000.json").rename(folder / "posts" / "posts.jsonl")


def draw_terminal(folder: Path) -> None:
    """What ``swoop run`` prints for a file of posts."""
    command = ["run", "posts/posts.jsonl", "-k", "5", "--show", "4", "--window", "20s"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "COLORTERM": "truecolor"}
    done = subprocess.run([*SWOOP, *command], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    for name in THEMES:
        console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
        console.print(Text.assemble(("$ ", "bold"), " ".join(["swoop", *command])))
        console.print(Text.from_ansi(done.stdout.rstrip()))
        console.save_svg(
            str(FOLDER / f"terminal-{name}.svg"), title="", theme=_theme(name), code_format=PICTURE, unique_id="terminal"
        )


def _theme(name: str) -> TerminalTheme:
    """The colours of a terminal that looks like the page."""
    ground, ink = (Color.parse(COLOURS[colour][THEMES.index(name)]).get_truecolor() for colour in ("card", "ink"))
    return TerminalTheme(ground, ink, [ink] * 8)


def draw_page(folder: Path) -> None:
    """What ``swoop stream --serve`` shows of the same posts. The last ones come later: the first batch compiles the engine."""
    posts, later = folder / "posts" / "posts.jsonl", folder / "later.jsonl"
    rows = posts.read_text(encoding="utf-8").splitlines(keepends=True)
    posts.write_text("".join(rows[:-LATER]), encoding="utf-8")
    later.write_text("".join(rows[-LATER:]), encoding="utf-8")
    command = [*SWOOP, "stream", "posts", "--window", "30s", "-k", "5", "--no-equal", "--serve", "0", "--title", "Posts"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as stream:
        try:
            assert stream.stderr is not None
            address = next(found[0] for line in stream.stderr if (found := re.findall(r"http://\S+", line)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
                for name in THEMES:
                    page = _open(browser, address, name)
                    page.locator(".pair").nth(4).wait_for(timeout=300_000)
                    if later.exists():
                        later.rename(posts.with_name("later.jsonl"))
                    page.locator("#metric-rows", has_text=f"{len(rows):,}").wait_for(timeout=300_000)
                    page.locator("#timeline canvas").wait_for()
                    page.wait_for_timeout(1500)  # everything is drawn
                    _save(page, FOLDER / f"page-{name}.webp")
                browser.close()
        finally:
            stream.terminate()


def _open(browser: Browser, address: str, scheme: Any) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(address)
    return page


def _save(page: Page, path: Path) -> None:
    """As WebP, a third of a PNG's size."""
    picture = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    path.write_bytes(base64.b64decode(picture["data"]))


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(BROWSER)
    with tempfile.TemporaryDirectory() as name:
        write_feed(Path(name))
        draw_terminal(Path(name))
        draw_page(Path(name))
