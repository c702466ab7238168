"""``swoop run --families``: groups of near copies in a whole history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from swoop.cli.console import has_colour, name_of, print_json, results, shown_name, shown_span
from swoop.cli.history import FoundFamilies, History, JoinOptions, RunOptions
from swoop.cli.progress import Steps
from swoop.cli.render import Side, both_sides
from swoop.cli.where import why_spark
from swoop.reading.files import Files
from swoop.reading.sets import ReadingOptions

TEXTS = 3  # of a family are shown


@dataclass(frozen=True)
class ShownFamily:
    """A family, and its different texts or sets, the most frequent first, with how often each is there."""

    id: Any
    total: int
    first_seen: Any
    last_seen: Any
    contents: list[tuple[Side, int]]


def find(files: Files, reading: ReadingOptions, join: JoinOptions, least: float, options: RunOptions) -> FoundFamilies:
    """All families of a history, in process or on Spark: the largest, with all written to a file if asked for."""
    with Steps() as steps:
        if why_spark(files, options.spark, options.master):
            from swoop.cli import on_spark

            return on_spark.find_families(files, reading, join, least, options, steps)
        from swoop.cli import in_process

        return in_process.find_families(files, reading, join, least, options, steps)


def shown_families(found: FoundFamilies) -> list[ShownFamily]:
    """Families with what is in them."""
    shown = []
    for family in found.largest:
        sides: dict[Any, Side] = {}
        counts: Counter[Any] = Counter()
        for name in found.members[name_of(family["id"])]:
            side = found.records[name_of(name)][0]
            key = side.text if side.words else side.tokens
            sides.setdefault(key, side)
            counts[key] += 1
        contents = [(sides[key], count) for key, count in counts.most_common()]
        shown.append(ShownFamily(family["id"], family["total"], family["first_seen"], family["last_seen"], contents))
    return shown


class FamilyTable:
    """Families one below the other: how large, since when, and the texts, each marked against the most frequent one."""

    def __init__(self, families: Sequence[ShownFamily]) -> None:
        self._families = families

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 0, 0, 2), expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1)
        for place, family in enumerate(self._families, 1):
            table.add_row(str(place), Group(self._heading(family), self._contents(family, has_colour(console)), ""))
        yield table

    def _heading(self, family: ShownFamily) -> Text:
        kinds, what = len(family.contents), "text" if family.contents[0][0].words else "set"
        how = f"the same {what}" if kinds == 1 else f"{kinds:,} different {what}s"
        when = shown_span(family.first_seen, family.last_seen)
        return Text.assemble(
            (f"{family.total:,} records", "bold"), (f", {how}, from {when}, first {shown_name(family.id)}", "dim")
        )

    def _contents(self, family: ShownFamily, colour: bool) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        first = family.contents[0][0]
        for side, count in family.contents[:TEXTS]:
            text = both_sides(side, side if side is first else first, colour)[0]
            table.add_row(Text(f"{count:,} ×", "dim"), text)
        if len(family.contents) > TEXTS:
            table.add_row("", Text(f"and {len(family.contents) - TEXTS:,} more", "dim"))
        return table


def run_families(files: Files, reading: ReadingOptions, join: JoinOptions, least: float, options: RunOptions) -> History:
    """Find the families and show them."""
    options.check_files(files.paths)
    found = find(files, reading, join, least, options)
    shown = shown_families(found)
    if options.as_json:
        print_json(_in_json(found.history, shown, join, least), indent=2)
    elif shown:
        results().print(FamilyTable(shown))
    return found.history


def _in_json(history: History, shown: list[ShownFamily], join: JoinOptions, least: float) -> dict[str, Any]:
    return {
        "min_similarity": least,
        "window": join.window,
        "similarity": join.similarity,
        "rows": history.rows,
        "families": history.stays,
        "seconds": round(history.seconds, 3),
        "largest": [
            {
                "id": family.id,
                "total": family.total,
                "first_seen": family.first_seen,
                "last_seen": family.last_seen,
                "contents": [
                    {"count": count, **({"text": side.text} if side.words else {"tokens": sorted(side.tokens, key=str)})}
                    for side, count in family.contents
                ],
            }
            for family in shown
        ],
    }
