"""Takes the pictures of the live page and of the terminal from real runs, light and dark: ``make pictures``."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

from swoop.demo.feed import Feed, write_posts
from tests.support.setup import BROWSER, find_browser

FOLDER = Path(__file__).parent
SWOOP = [sys.executable, "-m", "swoop.cli"]
WIDTH = 100
LIGHT = TerminalTheme(
    (255, 255, 255),
    (43, 58, 71),
    [
        (43, 58, 71),
        (190, 60, 60),
        (40, 120, 70),
        (170, 110, 20),
        (70, 130, 180),
        (140, 80, 150),
        (20, 130, 130),
        (120, 130, 140),
    ],
)
THEMES = {"light": LIGHT, "dark": DIMMED_MONOKAI}
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


def draw_terminal(folder: Path) -> None:
    """What ``swoop run`` prints for a file of posts."""
    write_posts(folder, 0, Feed(dt.datetime(2024, 5, 1, 14, tzinfo=dt.UTC)).between(0, 60))
    (folder / "000000.json").rename(folder / "posts.jsonl")
    command = ["run", "posts.jsonl", "-k", "5", "--show", "4", "--window", "20s"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    done = subprocess.run([*SWOOP, *command], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    for name, theme in THEMES.items():
        console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
        console.print(Text.assemble(("$ ", "bold"), " ".join(["swoop", *command])))
        console.print(Text.from_ansi(done.stdout.rstrip()))
        console.save_svg(str(FOLDER / f"terminal-{name}.svg"), title="", theme=theme, code_format=PICTURE, unique_id="terminal")


def draw_page() -> None:
    """The page of the demo, when it has something to tell."""
    with subprocess.Popen(
        [*SWOOP, "demo", "--seconds", "75", "--report", os.devnull],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        try:
            assert demo.stderr is not None
            address = next(found[0] for line in demo.stderr if (found := re.findall(r"http://\S+", line)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
                for name in THEMES:
                    scheme: Any = name
                    page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
                    page.goto(address)
                    _await_families(page)
                    page.screenshot(path=FOLDER / f"page-{name}.png")
                browser.close()
        finally:
            demo.terminate()


def _await_families(page: Page) -> None:
    page.wait_for_function(
        "document.body.innerText.includes('posts') && document.querySelectorAll('article').length > 4", timeout=70_000
    )
    page.wait_for_timeout(1500)  # charts are drawn


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(BROWSER)
    with tempfile.TemporaryDirectory() as name:
        draw_terminal(Path(name))
    draw_page()
