"""Pairs for people: two records side by side, with what they share and what only one of them has.

Words that only one record has are coloured, or put in brackets where there are no colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from swoop import marking
from swoop.cli.console import has_colour, name_of, shown_id, shown_name, shown_similarity, shown_span, shown_time
from swoop.look import ORANGE, TEAL
from swoop.marking import WORD, shortened, words_of
from swoop.unseen import printable

LONGEST = 500  # characters of a text that are shown
LONGEST_KEPT = 60  # of a kept value
NEWER, OLDER = f"bold {TEAL}", f"bold {ORANGE}"


@dataclass(frozen=True)
class Side:
    """One record of a pair. ``words`` False: show its tokens rather than its text. ``copies``: how many equal sets it is.
    ``kept``: columns that are shown beside its name, but for the text.
    """

    id: Any
    time: Any
    text: str
    tokens: frozenset[Any] = frozenset()
    words: bool = True
    copies: int = 1
    last_seen: Any = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called, when it came, how many copies there are, and what is kept of it."""
        when = f"{self.copies:,} copies from {shown_span(self.time, self.last_seen)}"
        when = shown_time(self.time) if self.copies == 1 else when
        return "  ".join(filter(None, (shown_id(self.id), when, self.beside)))

    @property
    def beside(self) -> str:
        """What is kept of it and is not shown otherwise."""
        known = (None, self.id, self.time, self.text)
        found = (f"{printable(name)}: {_short(value)}" for name, value in self.kept.items() if value not in known)
        return "  ".join(found)


def _short(value: Any) -> str:
    return cut(Text(printable(shown_time(value) if not isinstance(value, bytes) else name_of(value))), LONGEST_KEPT).plain


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
    """A text with the words marked that the other text does not have; of a long one, what is around them.

    >>> marked("Big fire in Perth", frozenset(["big", "fire"]), "red", colour=False).plain
    'Big fire [in Perth]'
    """
    return in_colour(marking.marked(printable(text), others, LONGEST), style, colour)


def in_colour(parts: Iterable[marking.Part], style: str, colour: bool) -> Text:
    """Parts of a text, with what differs in a colour, or in brackets."""
    shown = Text()
    for part in parts:
        mark = part.differs and not colour
        shown.append(f"[{part.text}]" if mark else part.text, style if part.differs and colour else None)
    return shown


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
        yield self.shown(options.max_width)

    def shown(self, width: int) -> Text:
        """As much as fits the width."""
        letters = zip(self.text.plain, self.other.plain, strict=False)
        differ = sum(1 for _ in takewhile(lambda both: both[0] == both[1], letters))
        start = min(differ - width // 3, max(len(self.text), len(self.other)) + 2 - width)
        if differ <= width * 2 // 3 or start <= 0 or self.text.plain == self.other.plain:
            begin = 0
        else:  # with the next word, if there is one before the difference
            before = max(self.text.plain.rfind(" ", 0, start) + 1, differ - width * 2 // 3)
            begin = self.text.plain.find(" ", start - 1, differ) + 1 or before
        shown = cut(self.text, width, begin)
        shown.no_wrap = True
        return shown


def marked_tokens(tokens: Iterable[Any], others: frozenset[Any], style: str, colour: bool) -> Text:
    """Tokens: first the shared ones, then those that only this record has."""
    known = sorted(map(shown_name, others))
    shared, own = (
        " ".join(shortened(shown_name(token), WORD, known) for token in sorted(part, key=str))
        for part in _split(tokens, others)
    )
    shown = cut(Text(shared), LONGEST - min(len(own), LONGEST // 2))
    if own:
        mark = cut(Text(own), LONGEST // 2).plain
        shown.append(" " if shared else "").append(mark if colour else f"[{mark}]", style if colour else None)
    return shown


def _split(tokens: Iterable[Any], others: frozenset[Any]) -> tuple[list[Any], list[Any]]:
    tokens = list(tokens)
    return [t for t in tokens if t in others], [t for t in tokens if t not in others]


def same(newer: Side, older: Side) -> str | None:
    """In what two records are the same, so that one of them is enough; None if they differ.

    >>> same(Side(2, 20, "Win a phone!"), Side(1, 10, "win a PHONE"))
    'same words'
    """
    if not newer.words:
        return "same tokens" if newer.tokens == older.tokens else None
    return marking.how_same(newer.text, older.text)


def both_sides(newer: Side, older: Side, colour: bool) -> tuple[Text, Text]:
    """The texts or tokens of both records, each marked against the other."""
    if newer.words:
        return (
            marked(newer.text, words_of(printable(older.text)), NEWER, colour),
            marked(older.text, words_of(printable(newer.text)), OLDER, colour),
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
        what = same(pair.newer, pair.older)
        shared = f"{pair.overlap} shared" if what is None else f"{pair.overlap} shared, {what}"
        where = "" if self._k is None else f"in the top {self._k} "
        return Text.assemble(
            (f"{self._measure} {shown_similarity(pair.similarity, self._measure)}", "bold"),
            (f"  {shared}, {where}from {shown_span(pair.enter, pair.leave)}{stays}", "dim"),
        )


def side_by_side(newer: Side, older: Side, console: Console) -> Group:
    """Two records, each on half of the width; what is the same in both is there once, below them."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for _ in range(2):
        table.add_column(ratio=1, overflow="fold")
    table.add_row(*(Text(side.name, "dim") for side in (newer, older)))
    texts = both_sides(newer, older, has_colour(console))
    if same(newer, older):
        return Group(table, texts[0])
    table.add_row(*texts)
    return Group(table)
