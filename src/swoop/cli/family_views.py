"""Views of the families of a live stream: a table that is redrawn, lines, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console, Group
from rich.text import Text

from swoop.cli.console import counted, print_json, results, shown_id, shown_second, shown_time
from swoop.cli.family_render import FamilyTable, ShownFamily
from swoop.cli.render import Side
from swoop.cli.views import LinesView, TableView, View, metrics, short
from swoop.marking import contents
from swoop.messages import message

if TYPE_CHECKING:
    from swoop.results import Family, FamilyChange, FamilyList

SHOWN = 10  # families
LOOKED = 100  # members of a family whose texts are compared


class HasFamilies(Protocol):
    """The handle of a stream of families."""

    def families(self, n: int | None = None, order: Any = "size") -> FamilyList: ...

    def examples(self, family: Any, n: int = 3) -> list[tuple[Any, Any, str | None]]: ...

    def texts(self, change: FamilyChange) -> tuple[str | None, str | None]: ...

    @property
    def stats(self) -> Any: ...


def find_family_view(as_json: bool) -> View:
    """The view to use: JSON if asked for, a table on a terminal, lines elsewhere."""
    view: View = TableView(family_picture) if results().is_terminal else FamilyLinesView(family_picture)
    if as_json:
        view = FamilyJsonView()
    view.what = "of families"
    return view


class FamilyJsonView(View):
    """One JSON object per change, with the text of the newest set."""

    def show_changes(self, changes: Sequence[FamilyChange], handle: HasFamilies) -> None:
        for change in changes:
            print_json(message(change, handle.texts(change)))


class FamilyLinesView(LinesView):
    """A line when a family is born, has grown, becomes part of another one, or ends; and what is there at the end.

    A wave grows with every record, so all of its growth since the last look is one line, which says how many came.
    """

    def show_changes(self, changes: Sequence[FamilyChange], handle: HasFamilies) -> None:
        last = {change.key: place for place, change in enumerate(changes) if change.kind in ("born", "grew")}
        grown = Counter(change.key for change in changes if change.kind == "grew")
        for place, change in enumerate(changes):
            if last.get(change.key, place) != place and change.kind == "grew":
                continue
            line = f"{shown_time(change.time)}  {change.kind:9}  {shown_id(change.family)}"
            line += "" if change.into is None else f" into {shown_id(change.into)}"
            count = change.total if change.kind == "ended" else change.size
            if count is not None:
                line += f", {counted(count, 'record', 'records')}{' in all' if change.kind == 'ended' else ''}"
            if change.kind == "grew" and grown[change.key] > 1:
                line += f", {grown[change.key]:,} of them new"
            text = handle.texts(change)[1]
            line += "" if text is None else f": {short(text)}"
            results().print(line, soft_wrap=True)


def family_picture(handle: HasFamilies, console: Console, rate: float | None) -> Group:
    """The largest families and metrics, as large as the terminal."""
    stats, live = handle.stats, console.is_terminal
    families = handle.families()
    shown = [shown_family(family, handle) for family in families[:SHOWN]]
    many = f"{len(families):,} {'family' if len(families) == 1 else 'families'}"
    none = "no family in the window now" if stats.changes else "no families yet"
    heading = f"{many} at {shown_second(stats.watermark)}, the largest first" if shown else none
    more = [Text(f"... and {len(families) - SHOWN:,} more", "dim")] if len(families) > SHOWN else []
    table = FamilyTable(shown, max(console.size.height - 5, 2) if live else None)
    return Group(Text(heading, "dim"), *([] if live else [""]), table, *more, *metrics(stats, rate))


def shown_family(family: Family, handle: HasFamilies) -> ShownFamily:
    """A family with what is in it."""
    examples = handle.examples(family, LOOKED)
    found = [(Side(c.id, c.time, c.text), c.count) for c in contents(examples) if c.text is not None]
    times = family.first_seen, family.last_seen
    return ShownFamily(family.id, family.size, *times, found, len(examples), handle.stats.watermark)
