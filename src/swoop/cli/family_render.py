"""Families for people: how many records, since when, and in what their texts differ; of a history, and of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from swoop.cli.console import counted, has_colour, shown_id, shown_since, shown_span
from swoop.cli.render import LONGEST, NEWER, Line, Side, in_colour, marked_tokens
from swoop.marking import marked_together
from swoop.unseen import printable

TEXTS = 3  # of a family are shown


@dataclass(frozen=True)
class ShownFamily:
    """A family, and its different texts or sets, the most frequent first, with how often each is there.

    Attributes
    ----------
    size
        How many records it has: in the window, or in the whole history.
    contents
        Of the records that were looked at.
    looked
        How many these are.
    now
        The time of the stream; None in a history.
    """

    id: Any
    size: int
    first_seen: Any
    last_seen: Any
    contents: list[tuple[Side, int]]
    looked: int
    now: Any = None

    @property
    def when(self) -> str:
        """Since when there are such records, and when the last one came."""
        if self.now is None:
            return f"from {shown_span(self.first_seen, self.last_seen)}"
        return f"since {shown_since(self.first_seen, self.now)}, last {shown_since(self.last_seen, self.now)}"

    @property
    def what(self) -> str:
        """In what its records differ, as far as that is known.

        >>> text = Side(1, 10, "win a phone")
        >>> ShownFamily(1, 57, 10, 99, [(text, 57)], 57).what, ShownFamily(1, 570, 10, 99, [(text, 99)], 99).what
        ('same text', 'same text in 99 of them')
        """
        if not self.contents:
            return ""
        kinds, what = len(self.contents), "text" if self.contents[0][0].words else "set"
        how = f"same {what}" if kinds == 1 else f"{kinds:,} different {what}s"
        return how if self.looked >= self.size else f"{how} in {self.looked:,} of them"

    def heading(self) -> Text:
        """How large, in what its records differ, since when, and what it is called."""
        rest = ", ".join(part for part in (self.what, self.when, f"first {shown_id(self.id)}") if part)
        return Text.assemble((counted(self.size, "record", "records"), "bold"), (f", {rest}", "dim"))

    def texts(self, colour: bool) -> list[tuple[int, Text]]:
        """Its texts or sets, with what differs between them marked, and how often each is there."""
        shown = self.contents[:TEXTS]
        sides = [side for side, _ in shown]
        if sides and sides[0].words:
            found = [in_colour(parts, NEWER, colour) for parts in marked_together([printable(s.text) for s in sides], LONGEST)]
        else:
            found = [marked_tokens(side.tokens, sides[0].tokens, NEWER, colour) for side in sides]
        return [(count, text) for text, (_, count) in zip(found, shown, strict=True)]


class FamilyTable:
    """Families one below the other. Where they are redrawn, on few lines: as many families as there is room for."""

    def __init__(self, families: Sequence[ShownFamily], lines: int | None = None) -> None:
        self._families, self._lines = families, lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 0, 0, 2), expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1)
        left, colour = self._lines, has_colour(console)
        for place, family in enumerate(self._families, 1):
            texts = family.texts(colour)
            if left is None:
                table.add_row(str(place), Group(family.heading(), self._contents(family, texts), ""))
                continue
            left -= 1 + len(texts)
            if left < 0 and place > 1:
                table.add_row("", Text(f"and {len(self._families) - place + 1:,} more", "dim"))
                break
            lines = [(count, Line(text, texts[0][1])) for count, text in texts]
            table.add_row(str(place), Group(family.heading(), self._contents(family, lines)))
        yield table

    def _contents(self, family: ShownFamily, texts: Sequence[tuple[int, RenderableType]]) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        for count, text in texts:
            table.add_row(Text(f"{count:,} ×", "dim"), text)
        if len(family.contents) > TEXTS and self._lines is None:
            table.add_row("", Text(f"and {len(family.contents) - TEXTS:,} more", "dim"))
        return table
