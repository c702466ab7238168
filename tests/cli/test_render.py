"""What people see: as wide as the terminal, marks where there are no colours, nothing that acts on the terminal."""

from __future__ import annotations

import datetime as dt
import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from swoop.cli.console import shown_similarity, shown_span, shown_time, shown_wait
from swoop.cli.render import Line, Pairs, ShownPair, Side, cut, marked, marked_tokens
from swoop.unseen import printable

MORNING = dt.datetime(2024, 5, 1, 9, 30)


def shown(pairs: list[ShownPair], width: int, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system="truecolor" if terminal else None)
    console.print(Pairs(pairs, 10, "jaccard"))
    return out.getvalue()


def pair(newer: str, older: str) -> ShownPair:
    return ShownPair(Side("post 2", MORNING, newer), Side("post 1", MORNING, older), 0.6, 3, MORNING, None, 1)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_fits(width: int) -> None:
    text = "every word of a long text 値段が高い " * 20 + "x" * 200
    lines = shown([pair(text, text[50:])] * 12, width).splitlines()
    assert len(lines) > 40
    assert max(map(cell_len, lines[1:3])) <= width
    assert max(map(cell_len, lines)) <= width


def test_marks_without_colour() -> None:
    text = shown([pair("Win a free phone", "win a free big car")], 80)
    assert "Win a free [phone]" in text
    assert "win a free [big car]" in text
    assert "jaccard 0.600" in text
    assert "3 shared, in the top 10 from 1 May 2024 09:30:00 to the end" in text
    assert "\x1b" not in text


def test_colours() -> None:
    text = shown([pair("win phone", "win car")], 80, terminal=True)
    assert "[phone]" not in text
    assert "\x1b[1;38;2;14;140;132mphone" in text


def test_given_tokens() -> None:
    newer, older = (Side(n, n, "", frozenset(tokens), words=False) for n, tokens in enumerate(("bca", "cbd")))
    text = shown([ShownPair(newer, older, 0.5, 2, 0, 1, 3)], 80)
    assert "b c [a]" in text
    assert "b c [d]" in text
    assert "from 0 to 1, 3 stays" in text


def test_an_equal_text_is_there_once() -> None:
    text = shown([pair("Win a free phone", "Win a free phone")], 80)
    assert text.count("Win a free phone") == 1
    assert "3 shared, same text, in the top 10" in text
    assert "post 2" in text
    assert "post 1" in text
    text = shown([pair("Win a free phone!", "win a FREE phone")], 80)
    assert "same words" in text
    assert "FREE" not in text
    newer, older = (Side(n, n, "", frozenset("abc"), words=False) for n in (2, 1))
    text = shown([ShownPair(newer, older, 1.0, 3, 0, 1, 1)], 80)
    assert text.count("a b c") == 1
    assert "same tokens" in text


def test_what_differs_in_long_texts_is_visible() -> None:
    common = "the same words again and again " * 60
    text = shown([pair(f"{common} today {common}", f"{common} tonight {common}")], 100)
    assert "[today]" in text
    assert "[tonight]" in text
    assert len(text) < 1500
    tokens = marked_tokens([f"token{n}" for n in range(200)], frozenset(f"token{n}" for n in range(199)), "", False).plain
    assert tokens.endswith("[token199]")
    assert len(tokens) < 600


def test_nothing_acts_on_the_terminal() -> None:
    assert "\x1b" not in shown([pair("a \x1b[2J b [red]c[/red]", "a\r\x9b1m")], 80)
    assert printable("a\x1bb\u202ec") == "a<U+001B>b<U+202E>c"


def test_long_texts_are_cut() -> None:
    assert len(marked("word " * 1000, frozenset(), "", False).plain) < 600
    assert cut(Text("値段が高い値段が高い値段が高い"), 10).cell_len <= 10


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("one two", "one", "one two"),
        ("one two three four five six", "one two", "one two three …"),
        ("one two three four five six", "one two three four five seven", "… four five six"),
        ("one two three four five seven", "one two three four five six", "… four five seven"),
        ("one two three four five six", "one two three four five six", "one two three …"),
    ],
)
def test_a_line_shows_where_texts_differ(text: str, other: str, expected: str) -> None:
    out = io.StringIO()
    Console(file=out, width=17).print(Line(Text(text), Text(other)))
    assert out.getvalue() == expected + "\n"


def test_figures() -> None:
    assert shown_time(dt.datetime(2024, 5, 1)) == "1 May 2024"
    assert shown_time(dt.datetime(2024, 5, 1, 1, 2, 3, 250_000, dt.UTC)) == "1 May 2024 01:02:03.250 UTC"
    assert shown_time(17) == "17"
    assert shown_span(MORNING, MORNING + dt.timedelta(milliseconds=7)) == "1 May 2024 09:30:00 to 09:30:00.007"
    waits = [dt.timedelta(**{unit: size}) for unit, size in (("seconds", 75), ("minutes", 75), ("hours", 30), ("days", 3))]
    assert [shown_wait(MORNING, MORNING + wait) for wait in waits] == ["75 s", "75 min", "30 h", "3 days"]
    assert shown_span(MORNING, MORNING + dt.timedelta(hours=1)) == "1 May 2024 09:30:00 to 10:30:00"
    assert shown_span(MORNING, MORNING + dt.timedelta(days=1)) == "1 May 2024 09:30:00 to 2 May 2024 09:30:00"
    assert [shown_similarity(x, name) for x, name in ((2 / 3, "dice"), (7.0, "overlap"), (-2.0, "hamming"))] == [
        "0.667",
        "7",
        "-2",
    ]
