"""Tests of swoop.look: the style sheets, which cannot read it, have its colours and its type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swoop.demo import report
from swoop.look import COLOURS, FONT
from swoop.paper import report as evaluation

ROOT = Path(__file__).parents[1]
SHEETS = {
    "page": (ROOT / "src/swoop/dashboard/static/page.css").read_text(encoding="utf-8"),
    "site": (ROOT / "docs/style.css").read_text(encoding="utf-8"),
    "demo": report._STYLE,
    "evaluation": evaluation._PAGE,
}


@pytest.mark.parametrize("name", SHEETS)
def test_one_look_everywhere(name: str) -> None:
    found = {one: (light, dark) for one, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);", SHEETS[name])}
    assert {one: found.get(one) for one in COLOURS} == COLOURS
    assert FONT in SHEETS[name]


@pytest.mark.parametrize("name", SHEETS)
def test_every_colour_that_is_used_is_there(name: str) -> None:
    sheets = [SHEETS[name]]
    if name == "page":
        sheets += [path.read_text(encoding="utf-8") for path in (ROOT / "src/swoop/dashboard/static").glob("*.css")]
    used = {one for sheet in sheets for one in re.findall(r"var\(--(?!bs-)([\w-]+)\)", sheet)}
    assert used <= set(re.findall(r"--([\w-]+):", SHEETS[name]))
