"""Views of a live join: a table that is redrawn, lines, or JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from swoop.cli.console import (
    ID,
    has_colour,
    print_json,
    results,
    shown_id,
    shown_second,
    shown_similarity,
    shown_since,
    shown_time,
    shown_wait,
)
from swoop.cli.render import Line, Side, both_sides, cut, same
from swoop.messages import message
from swoop.unseen import printable

if TYPE_CHECKING:
    from swoop.results import Change, Pair
    from swoop.spark import StreamHandle

LONGEST = 60  # characters of a text in a line

Draw = Callable[[Any, Console, float | None], Group]
"""Draws the results of a handle, as large as the console, with metrics if there is a rate of rows per second."""


def find_view(as_json: bool, measure: str) -> View:
    """The view to use: JSON if asked for, a table on a terminal, lines elsewhere."""
    if as_json:
        return JsonView()

    def draw(handle: StreamHandle, console: Console, rate: float | None) -> Group:
        return picture(handle, console, rate, measure)

    return TableView(draw) if results().is_terminal else PairLinesView(draw, measure)


class View:
    """What all views have in common; ``handle`` is that of the stream, of pairs or of families."""

    what = "to the top-k"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def show_changes(self, changes: Sequence[Any], handle: Any) -> None:
        """Called with what has changed."""

    def show_progress(self, handle: Any, rate: float) -> None:
        """Called from time to time."""

    def show_end(self, handle: Any) -> None:
        """Called once, at the end; a summary follows."""


class JsonView(View):
    """One JSON object per change."""

    def show_changes(self, changes: Sequence[Change], handle: StreamHandle) -> None:
        for change in changes:
            print_json(message(change, handle.texts(change.pair)))


class LinesView(View):
    """Lines, and what is there at the end."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def show_end(self, handle: Any) -> None:
        console = results()
        console.print()
        console.print(self._draw(handle, console, None))


class PairLinesView(LinesView):
    """One line per change, and the top-k at the end."""

    def __init__(self, draw: Draw, measure: str) -> None:
        super().__init__(draw)
        self._measure = measure

    def show_changes(self, changes: Sequence[Change], handle: StreamHandle) -> None:
        for change in changes:
            pair = change.pair
            what = f"{shown_time(change.time)}  {change.kind:9}  {shown_similarity(pair.similarity, self._measure)}"
            line = f"{what}  {shown_id(pair.newer)} ~ {shown_id(pair.older)}"
            if change.kind == "enter":
                newer, older = sides(pair, handle)
                beside = " ~ ".join(side.beside or "-" for side in (newer, older)) if newer.beside or older.beside else ""
                line += _in_a_line(newer, older) + (f"  ({beside})" if beside else "")
            results().print(line, soft_wrap=True)


class TableView(View):
    """A table, redrawn when something has changed."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._console = results()
        self._live = Live(console=self._console, auto_refresh=False)
        self._drawn: Any = None
        self._next = 0.0

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.__exit__(kind, error, trace)

    def show_progress(self, handle: Any, rate: float) -> None:
        now = time.monotonic()
        state = (handle.stats, self._console.size)
        if state != self._drawn and now >= self._next:
            self._drawn, self._next = state, now + 0.1
            self._live.update(self._draw(handle, self._console, rate), refresh=True)

    def show_end(self, handle: Any) -> None:
        self._live.update(self._draw(handle, self._console, None), refresh=True)


def picture(handle: StreamHandle, console: Console, rate: float | None, measure: str, above: int = 0) -> Group:
    """The top-k and metrics, with the newer record of each pair above the older one.

    On a terminal it is as large as that, but for the lines ``above`` it.
    """
    stats, topk = handle.stats, list(handle.topk())
    now, live = stats.watermark, console.is_terminal
    room = max((console.size.height - above - 5) // 2, 1) if live else len(topk)
    table = Table(expand=True, box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column(measure, justify="right", no_wrap=True, style="bold")
    longest = max(8, console.width // 5) if live else ID
    table.add_column("id", justify="right", no_wrap=True, style="dim")
    heading = f"most similar at {shown_second(now)}" if topk else "no pairs yet"
    table.add_column(heading, ratio=1, no_wrap=live, overflow="ellipsis" if live else "fold")
    copies = any((count or 0) > 1 for pair in topk[:room] for count, _ in copies_of(pair))
    if copies:
        table.add_column("copies", justify="right", no_wrap=True, style="dim")
    shown = [sides(pair, handle) for pair in topk[:room]]
    kept = any(side.beside for both in shown for side in both)
    if kept:
        table.add_column("record", no_wrap=live, overflow="ellipsis" if live else "fold", max_width=longest, style="dim")
    table.add_column("ends in", justify="right", no_wrap=True)
    for pair, both in zip(topk[:room], shown, strict=True):
        newer, older = both_sides(*both, has_colour(console))
        what = same(*both) if both[0].text else None
        left = "" if pair.end is None else shown_wait(now, pair.end)
        # where nothing is redrawn, there is room for whole texts
        lines = (Line(newer, older), Line(older, newer)) if live else (newer, older)
        counts = [[_copies(*of, now)] if copies else [] for of in copies_of(pair)]
        counts = [[*of, *([side.beside] if kept else [])] for of, side in zip(counts, both, strict=True)]
        table.add_row(shown_similarity(pair.similarity, measure), shown_id(pair.newer, longest), lines[0], *counts[0], left)
        table.add_row("", shown_id(pair.older, longest), lines[1] if what is None else Text(what, "dim"), *counts[1], "")
    more = [Text(f"... and {len(topk) - room} more", "dim")] if len(topk) > room else []
    return Group(table, *more, *metrics(stats, rate))


def metrics(stats: Any, rate: float | None) -> list[Text]:
    """A line about the stream, if there is a rate."""
    if rate is None:
        return []
    line = f"{stats.rows:,} rows ({rate:,.0f}/s), {stats.window_size:,} in the window, {stats.held:,} waiting"
    told = getattr(stats, "alerts", 0), getattr(stats, "alerts_failed", 0), getattr(stats, "alerts_waiting", 0)
    alerts = f", {told[0]:,} alerts, {told[1]:,} given up, {told[2]:,} not delivered yet" if any(told) else ""
    return [Text(f"{line}, {stats.late:,} late, {stats.rejected:,} rejected{alerts}", "dim")]


def copies_of(pair: Pair) -> tuple[tuple[int | None, Any], tuple[int | None, Any]]:
    """How many copies of the newer and of the older record are in the window, and since when there are any."""
    return (pair.newer_copies, pair.newer_first_seen), (pair.older_copies, pair.older_first_seen)


def _copies(count: int | None, first_seen: Any, now: Any) -> str:
    return f"{count:,} since {shown_since(first_seen, now)}" if count is not None and count > 1 else ""


def sides(pair: Pair, handle: StreamHandle) -> tuple[Side, Side]:
    """The two records of a pair in the window."""
    newer, older = handle.texts(pair)
    records = pair.newer_record or {}, pair.older_record or {}
    return Side(pair.newer, pair.start, newer or "", kept=records[0]), Side(pair.older, None, older or "", kept=records[1])


def _in_a_line(newer: Side, older: Side) -> str:
    """Both texts behind a change, as far as they are there; an equal one once."""
    if not newer.text or not older.text:
        return ""
    what = same(newer, older)
    if what is not None:
        return f": {what}, {short(newer.text)}"
    texts = both_sides(newer, older, colour=False)
    lines = (Line(texts[0], texts[1]).shown(LONGEST), Line(texts[1], texts[0]).shown(LONGEST))
    return ": " + " ~ ".join(line.plain for line in lines)


def short(text: str) -> str:
    """The beginning of a text, in a line."""
    return cut(Text(printable(text)), LONGEST).plain
