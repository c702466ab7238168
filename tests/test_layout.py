"""Tests mirror the package: who looks for the tests of a module finds them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "swoop"


def named(file: Path) -> list[str]:
    """The modules that a file of tests says it is about, beside the one of its name."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    found = re.search(r"^Tests of (swoop\.[\w., \n]+)\.$", said, re.MULTILINE)
    return re.split(r",\s+", found[1]) if found else []


def test_every_module_has_its_tests() -> None:
    """A file of the same name, or another one that says so; and none says so of a module that is gone."""
    modules = {
        ".".join(("swoop", *path.with_suffix("").parts)): TESTS / path.parent / f"test_{path.name}"
        for path in (file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py"))
        if path.name != "__init__.py"
    }
    elsewhere = {name for file in TESTS.rglob("test_*.py") for name in named(file)}
    assert elsewhere - set(modules) == set()
    assert {name for name, tests in modules.items() if not tests.exists()} - elsewhere == set()


def test_every_module_has_its_place_in_the_architecture() -> None:
    """The table of layers names each package and each module that is beside them."""
    rows = re.findall(r"^\| (`swoop\.[^|]+) \|", (TESTS.parent / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = [name.removeprefix("swoop.") for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    assert sorted(told) == sorted(file.stem for file in PACKAGE.iterdir() if file.suffix in ("", ".py") and file.stem[0] != "_")
