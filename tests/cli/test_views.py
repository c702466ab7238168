"""The top-k of a stream as a table: as large as the terminal, whole texts on paper."""

from __future__ import annotations

import datetime as dt
import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from swoop.cli.views import picture
from swoop.results import Pair

NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 250_000, dt.UTC)
TEXT = "does anyone else find the tram to Lima slow, and now I want ramen, ask the cat, it was a noisy idea"


class Handle:
    """A stream in which every pair differs in its last word."""

    stats = SimpleNamespace(watermark=NOON, rows=2000, window_size=900, held=12, late=3, rejected=0)

    def __init__(self, size: int) -> None:
        self.size = size

    def topk(self) -> list[Pair]:
        return [Pair(0.9, n + 100, f"post {n}", 9, NOON, NOON + dt.timedelta(seconds=12)) for n in range(self.size)]

    def texts(self, pair: Pair) -> tuple[str, str]:
        return f"{TEXT} today", f"{TEXT} tonight"


def drawn(size: int, width: int, terminal: bool) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=24, force_terminal=terminal, color_system=None)
    handle: Any = Handle(size)
    console.print(picture(handle, console, 150.0, "jaccard"))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_terminal(width: int) -> None:
    lines = drawn(12, width, terminal=True)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("jaccard")
    assert "most similar at 2024-05-01 12:00:00  " in lines[0] or width < 80
    assert "0.900     100  " in lines[1]
    assert "[today]" in lines[1]
    assert lines[1].endswith("12 s")
    assert "post 0  " in lines[2]
    assert "[tonight]" in lines[2]
    assert "... and 3 more" in lines
    assert lines[-1] == "2,000 rows (150/s), 900 in the window, 12 waiting, 3 late, 0 rejected" or width < 80


def test_paper() -> None:
    lines = drawn(12, 80, terminal=False)
    assert len(lines) > 48
    assert "... and" not in "".join(lines)
    assert drawn(0, 80, terminal=True)[0].split()[2:5] == ["no", "pairs", "yet"]
