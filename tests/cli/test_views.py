"""The top-k and the families of a stream as a table: as large as the terminal, whole texts on paper; as lines and as JSON.

Tests of swoop.cli.family_views.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from swoop.cli.family_views import family_picture, find_family_view
from swoop.cli.views import find_view, picture
from swoop.results import Change, Pair
from tests.support.waves import SAME, Waves

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


def console(width: int, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=width, height=24, force_terminal=terminal, color_system=None)


def printed(to: Console, what: Any) -> list[str]:
    to.print(what)
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue().splitlines()


def drawn(size: int, width: int, terminal: bool) -> list[str]:
    handle: Any = Handle(size)
    to = console(width, terminal)
    return printed(to, picture(handle, to, 150.0, "jaccard"))


class Copies(Handle):
    """A stream in which copies count once, or a pair of equal texts."""

    def __init__(self, copies: int | None) -> None:
        super().__init__(1)
        self.copies = copies

    def topk(self) -> list[Pair]:
        first = NOON - dt.timedelta(hours=1)
        counts = {"newer_copies": self.copies, "newer_first_seen": first, "older_copies": 1, "older_first_seen": first}
        return [replace(pair, **counts) if self.copies else pair for pair in super().topk()]

    def texts(self, pair: Pair) -> tuple[str, str]:
        return (TEXT, f"{TEXT} tonight") if self.copies else (TEXT, TEXT)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_terminal(width: int) -> None:
    lines = drawn(12, width, terminal=True)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("jaccard")
    assert "most similar at 1 May 2024 12:00:00" in lines[0] or width < 80
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


def test_copies_are_counted_and_an_equal_text_is_there_once() -> None:
    to, handle = console(100, terminal=True), Copies(12)
    lines = printed(to, picture(handle, to, 150.0, "jaccard"))  # type: ignore[arg-type]
    assert "12 since 11:00" in lines[1]
    assert lines[0].split()[-3:] == ["copies", "ends", "in"]
    to, handle = console(100, terminal=True), Copies(None)
    lines = printed(to, picture(handle, to, 150.0, "jaccard"))  # type: ignore[arg-type]
    assert "does anyone" in lines[1]
    assert lines[2].split() == ["post", "0", "same", "text"]


def test_changes_as_lines_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    for copies in (None, 12):
        handle: Any = Copies(copies)
        change = Change(NOON, "enter", handle.topk()[0])
        find_view(False, "jaccard").show_changes([change], handle)
        line = capsys.readouterr().out
        assert ("same text" in line) == (copies is None)
        assert ("[tonight]" in line) == (copies is not None)  # though it is at the end of a long text
        find_view(True, "jaccard").show_changes([change], handle)
        assert json.loads(capsys.readouterr().out).get("newer_copies") == copies


def test_families_on_a_terminal_and_on_paper() -> None:
    waves = Waves()
    waves.run(60)
    to = console(90, terminal=True)
    lines = printed(to, family_picture(waves, to, 20.0))
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 90
    assert "2 families at 1 May 2024 12:00:59 UTC, the largest first" in lines[0]
    assert "20 records, same text, since 12:00:00 UTC, last 12:00:57 UTC, first 0" in lines[1]
    assert lines[2].split()[:2] == ["20", "×"]
    assert "20 records, 2 different texts" in lines[3]
    assert any("[today]" in line or "[tonight]" in line for line in lines)
    assert lines[-1].startswith("60 rows (20/s)")
    to = console(60, terminal=False)
    assert len(printed(to, family_picture(waves, to, 20.0))) > len(lines)
    to = console(60, terminal=True)
    assert "no families yet" in printed(to, family_picture(Waves(), to, 0.0))[0]


def test_families_as_lines_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    waves = Waves()
    waves.run(30)
    changes = waves.changes()
    find_family_view(False).show_changes(changes, waves)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[5] for line in lines] == ["born", "born", "grew", "grew"]
    assert "0, 10 records, 8 of them new: Win a phone" in lines[-2]
    find_family_view(True).show_changes(changes, waves)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == len(changes)
    assert (told[0]["kind"], told[0]["family"], told[0]["size"], told[0]["into"]) == ("born", 0, 2, None)
    assert (told[-1]["size"], told[-1]["total"], told[-1]["first_seen"]) == (10, 10, "2024-05-01T12:00:01+00:00")
    assert told[0]["text"] == SAME
    waves.families_of.advance(waves.time + dt.timedelta(days=1))
    find_family_view(False).show_changes(waves.changes(), waves)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[5] for line in lines] == ["ended", "ended"]
    assert lines[0].endswith(f"ended      0, 10 records in all: {SAME}")


def test_families_with_the_same_id_have_lines_each(capsys: pytest.CaptureFixture[str]) -> None:
    waves = Waves()
    for time, word in enumerate("abababab"):
        waves.said[time] = (NOON, word)
        waves.families_of.insert([word], NOON + dt.timedelta(seconds=time), id=0)
    find_family_view(False).show_changes(waves.changes(), waves)
    lines = [" ".join(line.split()[5:8]) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["born 0, 2", "born 0, 2", "grew 0, 4", "grew 0, 4"]
