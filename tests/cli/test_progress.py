"""Progress for people: bars that only grow, and lines elsewhere.

Tests of swoop.cli.progress.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from swoop.cli import progress
from swoop.cli.progress import Share, Steps

counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30)


@given(counts)
def test_a_share_only_grows(given: list[tuple[int, int]]) -> None:
    """Whatever becomes known: more work, less of it, or nothing any more."""
    share = Share()
    shown = [part for done, more in given if (part := share.of(done, done + more)) is not None]
    assert shown == sorted(shown)
    assert all(0 <= part < 1 for part in shown)


def test_a_share_is_that_of_the_work_if_all_is_known() -> None:
    share = Share()
    assert [round(share.of(done, 999) or 0.0, 3) for done in (0, 100, 500, 999)] == [0, 0.1, 0.5, 0.999]


def draw(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, list[tuple[int, int]]]], terminal: bool) -> str:
    """What is drawn while steps go on, from one count to the next each time that somebody looks."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "messages", lambda: console)
    if not terminal:
        monkeypatch.setattr(progress, "info", console.print)
    looked = [0]

    def counting(given: list[tuple[int, int]]) -> Callable[[], tuple[int, int]]:
        left = list(given)

        def count() -> tuple[int, int]:
            looked[0] += 1
            return left.pop(0) if len(left) > 1 else left[0]

        return count

    with Steps() as shown:
        for what, given in steps:
            looked[0] = 0
            shown.step(what, counting(given))
            until = time.monotonic() + 60
            while looked[0] < (len(given) + 1 if terminal else 1) and time.monotonic() < until:
                time.sleep(0.01)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_bars_do_not_go_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of Spark become known one after the other; the bar of a step that is over is full, and stays."""
    steps = [("reading", [(1, 2), (2, 2), (2, 40), (9, 40), (0, 0)]), ("finding", [(0, 4), (3, 4)])]
    drawn = draw(monkeypatch, steps, terminal=True)
    for what, _ in steps:
        shown = [int(found[1]) for found in re.finditer(rf"{what} [^\r\n]*?(\d+)%", drawn)]
        assert len(set(shown)) > 1
        assert shown == sorted(shown), what
    assert re.search(r"reading .*100%", drawn)


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(monkeypatch, [("reading", [(3, 8)]), ("finding", [(7, 0)])], terminal=False)
    assert [line.partition("s  ")[2] for line in drawn.splitlines()] == ["reading: 3 of 8 tasks", "finding: 7 tasks"]
