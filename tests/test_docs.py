"""The documentation tells the truth: its code runs, its links lead somewhere, and the site is built from this machine alone."""

from __future__ import annotations

import doctest
import json
import logging
import re
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from swoop.dashboard import Page
from swoop.spark import StreamHandle
from tests.support.setup import BROWSER, find_browser, lacking

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
SPARK = "swoop.spark import"


@dataclass(frozen=True)
class Block:
    line: int
    code: str
    run: bool


def blocks_of(text: str) -> list[Block]:
    """The Python of a page. A comment ``<!-- not run: why -->`` right before a block says that it needs more than we have."""
    text = "\n" + re.sub(r"(?m)^(<!-- not run: .* -->)\n\n", r"\1\n", text)  # a blank line between them is fine
    return [
        Block(text.count("\n", 0, found.start("code")), found["code"], not NOT_RUN.fullmatch(found["before"].strip()))
        for found in BLOCK.finditer(text)
    ]


def run_block(block: Block, page: str, names: dict[str, Any]) -> None:
    """Run a block in the names of its page: as a doctest if it shows what comes out, as code otherwise."""
    if ">>>" not in block.code:
        code = block.code.replace('("posts', f'("{Path.cwd()}/posts')  # Spark's Java keeps the folder that it was started in
        exec(compile("\n" * block.line + code, page, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line)
    test.globs = names  # what a block defines, later ones may use
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)


@pytest.fixture
def posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages read, as the current one."""
    rows = [
        {"id": number, "time": f"2024-05-01T12:{number:02}:00", "text": text}
        for number, text in enumerate(["win a free phone", "lovely morning", "win a free car", "coffee first", "late train"])
    ]
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, posts: Path, request: pytest.FixtureRequest) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "page"}
    if any(SPARK in block.code for block in blocks if block.run):
        request.getfixturevalue("spark")
    running: dict[int, Any] = {}  # a later block may give the name of a handle or of a page to another one
    try:
        for block in blocks:
            if block.run:
                run_block(block, str(page), names)
                running |= {id(value): value for value in names.values() if isinstance(value, StreamHandle | Page)}
        for handle in running.values():
            if isinstance(handle, StreamHandle):
                handle.query.processAllAvailable()
                assert [(pair.newer, pair.older) for pair in handle.topk()] == [(2, 0)]
    finally:
        for value in running.values():
            value.stop() if isinstance(value, StreamHandle) else value.close()


def test_blocks_are_found_and_run() -> None:
    fence = "```"
    page = f"text\n{fence}python\nx = 1\n{fence}\n\n<!-- not run: needs a broker -->\n\n{fence}python\nboom()\n{fence}\n\n"
    page += f"{fence}python\n>>> x\n1\n\n{fence}\n"
    blocks = blocks_of(page)
    assert [block.run for block in blocks] == [True, False, True]
    names: dict[str, Any] = {}
    run_block(blocks[0], "page", names)
    run_block(blocks[2], "page", names)
    with pytest.raises(AssertionError, match="Expected"):
        run_block(Block(1, ">>> x\n2\n", True), "page", names)
    with pytest.raises(NameError):
        run_block(blocks[1], "page", names)


def test_few_blocks_are_not_run() -> None:
    left_out = {page.name: [b.line for b in blocks_of(page.read_text(encoding="utf-8")) if not b.run] for page in PAGES}
    assert {name for name, lines in left_out.items() if lines} <= {"spark.md", "storage.md"}  # Kafka, pipelines, a bucket


def test_installing_is_told_as_it_is() -> None:
    """Swoop is on no package index."""
    files = [*PAGES, *(ROOT / "src").rglob("*.py")]
    told = [
        (file.name, line) for file in files for line in file.read_text(encoding="utf-8").splitlines() if "pip install" in line
    ]
    assert {"README.md", "page.md", "doctor.py", "installing.py"} <= {name for name, _ in told}
    assert [(name, line) for name, line in told if "swoop-join" in line] == []


def test_docstrings_become_markdown() -> None:
    spec = spec_from_file_location("docstrings", ROOT / "docs" / "docstrings.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    tested = doctest.testmod(module)
    assert tested.attempted
    assert not tested.failed


def test_the_site_is_built_without_warnings_and_without_the_network(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from mkdocs.commands import build as mkdocs
    from mkdocs.config import load_config

    with caplog.at_level(logging.WARNING):
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        mkdocs.build(config)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("mkdocs")] == []
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert {"index.html", "recipes.html", "swoop.html", "example.html"} <= {page.name for page in built}
    for page in built:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?((?:https?:)?//[^\"' >]+)", text)
        loaded += re.findall(r"<link[^>]*\shref=[\"']?((?:https?:)?//[^\"' >]+)", text)
        assert loaded == [], page.name
        assert not re.search(r":(class|func|meth|mod|attr):`", text), page.name
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style.name
    _look_at_pictures(tmp_path / "site" / "index.html")


def _look_at_pictures(index: Path) -> None:
    """README and site begin with the page and the terminal, light and dark as the machine is, or as the switch says."""
    names = {
        f"{what}-{scheme}.{kind}" for what, kind in (("page", "webp"), ("terminal", "svg")) for scheme in ("light", "dark")
    }
    for text in ("README.md", "docs/index.md"):
        lines = (ROOT / text).read_text(encoding="utf-8").split("\n\n")
        assert "page-dark" in lines[2], text
        assert names <= set(re.findall(r"images/([\w.-]+)", (ROOT / text).read_text(encoding="utf-8")))
    if (path := find_browser()) is None:
        lacking(BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(color_scheme="dark")
        tab.goto(index.as_uri())
        for scheme in ("dark", "light"):
            if scheme == "light":
                tab.locator("#theme-menu").click()
                tab.locator("[data-bs-theme-value=light]").click()
            shown = tab.locator("img:visible").evaluate_all("(all) => all.map((one) => one.src.replace(/^.*\\/|#.*$/g, ''))")
            assert shown[:2] == [f"page-{scheme}.webp", f"terminal-{scheme}.svg"]
        browser.close()
