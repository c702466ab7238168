"""Tests mirror the package: who looks for the tests of a module finds them. And what is told of the tree is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.endurance import FAULTS

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


def test_files_that_are_named_are_there() -> None:
    """In documentation and docstrings, by their paths."""
    root = TESTS.parent
    pages = [*root.glob("*.md"), root / "Makefile", root / "pyproject.toml", *(root / "docs").rglob("*.md")]
    sources = [file for folder in (TESTS, PACKAGE) for file in folder.rglob("*.py")]
    path = re.compile(r"(?<![\w/.-])(?:src|tests|docs)/[\w./-]*\w")
    named = {(page.name, found) for page in (*pages, *sources) for found in path.findall(page.read_text(encoding="utf-8"))}
    assert {(page, found) for page, found in named if not (root / found).exists()} == set()
    modules = {path.name for path in sources}
    told = re.findall(r"\b[a-z_]+\.py\b", (root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert set(told) - modules == set()


def test_the_soak_has_all_faults() -> None:
    """Tests that kill, interrupt, let memory run out, or take ``--kills``; properties are in it anyway."""
    found = set()
    for file in TESTS.rglob("test_*.py"):
        path = file.relative_to(TESTS.parent).as_posix()
        for test in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and path not in FAULTS:
                is_asked = "request" in ast.unparse(test.args) and "--kills" in ast.unparse(test)
                is_fault = is_asked or re.search("kill|interrupted|runs_out", test.name)
                is_property = any(ast.unparse(decorator).startswith("given(") for decorator in test.decorator_list)
                found |= {f"{path}::{test.name}"} if is_fault and not is_property else set()
    assert found - set(FAULTS) == set()


def test_helpers_are_in_support() -> None:
    """Nothing is imported from a file of tests."""
    found = set()
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            modules = [f"{node.module}.{name}" for name in names] if isinstance(node, ast.ImportFrom) else names
            found |= {(file.name, name) for name in modules if name.startswith("tests.") and ".test_" in name}
    assert found == set()
