"""Pairs for people: two records side by side, with what they share and what only one of them has.

Words that only one record has are coloured, or put in brackets where there are no colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from swoop.cli.console import ORANGE, TEAL, has_colour, printable, shown_name, shown_similarity, shown_span, shown_time

WORD = re.compile(r"(?:https?://|www\.)\S+|\w+")
LONGEST = 500  # characters of a text that are shown
NEWER, OLDER = f"bold {TEAL}", f"bold {ORANGE}"


@dataclass(frozen=True)
class Side:
    """One record of a pair. ``words`` False: show its tokens rather than its text."""

    id: Any
    time: Any
    text: str
    tokens: frozenset[Any] = frozenset()
    words: bool = True


@dataclass(frozen=True)
class ShownPair:
    """A pair, and when it was in the top-k; ``leave`` None: it still was at the end."""

    newer: Side
    older: Side
    similarity: float
    overlap: int
    enter: Any = None
    leave: Any = None
    stays: int = 0


def marked(text: str, others: frozenset[str], style: str, colour: bool) -> Text:
    """A text with the words marked that the other text does not have.

    >>> marked("Big fire in Perth", frozenset(["big", "fire"]), "red", colour=False).plain
    'Big fire [in Perth]'
    """
    text = cut(Text(printable(text)), LONGEST).plain
    shown = Text()
    place = 0
    for begin, end in _runs(text, others):
        shown.append(text[place:begin])
        shown.append(text[begin:end] if colour else f"[{text[begin:end]}]", style if colour else None)
        place = end
    return shown.append(text[place:])


def cut(text: Text, width: int, start: int = 0) -> Text:
    """As much of a text, from a position on, as fits the width; whole words, unless they are too long.

    >>> cut(Text("a long story about a fire"), 17).plain
    'a long story …'
    """
    shown = Text("… ") + text[start:] if start else text
    if shown.cell_len <= width:
        return shown
    shown = shown.copy()
    shown.truncate(max(width - 2, 0))
    space = shown.plain.rfind(" ")
    return (shown[:space] if space > len(shown) // 2 else shown).append(" …")


@dataclass(frozen=True)
class Line:
    """One of two texts on a single line, cut so that the first difference is visible."""

    text: Text
    other: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        letters = zip(self.text.plain, self.other.plain, strict=False)
        differ = sum(1 for _ in takewhile(lambda both: both[0] == both[1], letters))
        start = min(differ - width // 3, max(len(self.text), len(self.other)) + 2 - width)
        if differ <= width * 2 // 3 or start <= 0 or self.text.plain == self.other.plain:
            begin = 0
        else:  # with the next word, if there is one before the difference
            begin = self.text.plain.find(" ", start - 1, differ) + 1 or self.text.plain.rfind(" ", 0, start) + 1
        shown = cut(self.text, width, begin)
        shown.no_wrap = True
        yield shown


def _runs(text: str, others: frozenset[str]) -> list[tuple[int, int]]:
    """The positions of words that are not among the others; neighbours are merged."""
    runs: list[tuple[int, int]] = []
    follows = False
    for word in WORD.finditer(text):
        own = word[0].lower() not in others
        if own and follows:
            runs[-1] = (runs[-1][0], word.end())
        elif own:
            runs.append(word.span())
        follows = own
    return runs


def marked_tokens(tokens: Iterable[Any], others: frozenset[Any], style: str, colour: bool) -> Text:
    """Tokens: first the shared ones, then those that only this record has."""
    shared, own = ([shown_name(token) for token in sorted(part, key=str)] for part in _split(tokens, others))
    shown = Text(" ".join(shared))
    if own:
        shown.append(" " if shared else "").append(" ".join(own) if colour else f"[{' '.join(own)}]", style if colour else None)
    return cut(shown, LONGEST)


def _split(tokens: Iterable[Any], others: frozenset[Any]) -> tuple[list[Any], list[Any]]:
    tokens = list(tokens)
    return [t for t in tokens if t in others], [t for t in tokens if t not in others]


def words_of(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))


def both_sides(newer: Side, older: Side, colour: bool) -> tuple[Text, Text]:
    """The texts or tokens of both records, each marked against the other."""
    if newer.words:
        return (
            marked(newer.text, words_of(older.text), NEWER, colour),
            marked(older.text, words_of(newer.text), OLDER, colour),
        )
    return (
        marked_tokens(newer.tokens, older.tokens, NEWER, colour),
        marked_tokens(older.tokens, newer.tokens, OLDER, colour),
    )


class Pairs:
    """The most similar pairs, one below the other, as wide as the terminal."""

    def __init__(self, pairs: Sequence[ShownPair], k: int | None, measure: str) -> None:
        self._pairs, self._k, self._measure = pairs, k, measure

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 0, 0, 2), expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1)
        for place, pair in enumerate(self._pairs, 1):
            table.add_row(str(place), Group(self._heading(pair), side_by_side(pair.newer, pair.older, console), ""))
        yield table

    def _heading(self, pair: ShownPair) -> Text:
        stays = f", {pair.stays} stays" if pair.stays > 1 else ""
        where = "" if self._k is None else f"in the top {self._k} "
        return Text.assemble(
            (f"{self._measure} {shown_similarity(pair.similarity, self._measure)}", "bold"),
            (f"  {pair.overlap} shared, {where}from {shown_span(pair.enter, pair.leave)}{stays}", "dim"),
        )


def side_by_side(newer: Side, older: Side, console: Console) -> Table:
    """Two records, each on half of the width."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for _ in range(2):
        table.add_column(ratio=1, overflow="fold")
    table.add_row(*(Text(f"{shown_name(side.id)}  {shown_time(side.time)}", "dim") for side in (newer, older)))
    table.add_row(*both_sides(newer, older, has_colour(console)))
    return table
