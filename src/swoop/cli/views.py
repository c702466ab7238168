"""Views of a live join: a table that is redrawn, lines, or JSON."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from swoop.cli.console import (
    has_colour,
    print_json,
    printable,
    results,
    shown_name,
    shown_second,
    shown_similarity,
    shown_time,
    shown_wait,
)
from swoop.cli.render import Line, Side, both_sides, cut

if TYPE_CHECKING:
    from swoop.results import Change, Pair
    from swoop.spark import StreamHandle

LONGEST = 60  # characters of a text in a line


def find_view(as_json: bool, measure: str) -> View:
    """The view to use: JSON if asked for, a table on a terminal, lines elsewhere."""
    if as_json:
        return JsonView(measure)
    return TableView(measure) if results().is_terminal else LinesView(measure)


class View:
    """What all views have in common."""

    def __init__(self, measure: str) -> None:
        self._measure = measure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def changed(self, change: Change, handle: StreamHandle) -> None:
        """Called for each change of the top-k."""

    def moved(self, handle: StreamHandle, rate: float) -> None:
        """Called from time to time."""

    def ended(self, handle: StreamHandle, rate: float) -> None:
        """Called once, at the end."""


class JsonView(View):
    """One JSON object per change."""

    def changed(self, change: Change, handle: StreamHandle) -> None:
        pair = change.pair
        newer, older = handle.texts(pair)
        print_json(
            {
                "time": change.time,
                "kind": change.kind,
                "similarity": pair.similarity,
                "overlap": pair.overlap,
                "newer": pair.newer,
                "older": pair.older,
                "start": pair.start,
                "end": pair.end,
                "newer_text": newer,
                "older_text": older,
            }
        )


class LinesView(View):
    """One line per change, and the top-k at the end."""

    def changed(self, change: Change, handle: StreamHandle) -> None:
        pair = change.pair
        what = f"{shown_time(change.time)}  {change.kind:9}  {shown_similarity(pair.similarity, self._measure)}"
        line = f"{what}  {shown_name(pair.newer)} ~ {shown_name(pair.older)}"
        texts = [text for text in handle.texts(pair) if text is not None] if change.kind == "enter" else []
        if len(texts) == 2:
            line += ": " + " ~ ".join(map(_short, texts))
        results().print(line, soft_wrap=True)

    def ended(self, handle: StreamHandle, rate: float) -> None:
        console = results()
        console.print()
        console.print(picture(handle, console, rate, self._measure))


class TableView(View):
    """The top-k as a table, redrawn when something has changed."""

    def __init__(self, measure: str) -> None:
        super().__init__(measure)
        self._console = results()
        self._live = Live(console=self._console, auto_refresh=False)
        self._drawn: Any = None
        self._next = 0.0

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.__exit__(kind, error, trace)

    def moved(self, handle: StreamHandle, rate: float) -> None:
        now = time.monotonic()
        state = (handle.stats, self._console.size)
        if state != self._drawn and now >= self._next:
            self._drawn, self._next = state, now + 0.1
            self._live.update(picture(handle, self._console, rate, self._measure), refresh=True)

    def ended(self, handle: StreamHandle, rate: float) -> None:
        self._live.update(picture(handle, self._console, rate, self._measure), refresh=True)


def picture(handle: StreamHandle, console: Console, rate: float, measure: str) -> Group:
    """The top-k and metrics, as large as the terminal, with the newer record of each pair above the older one."""
    stats, topk = handle.stats, list(handle.topk())
    now, live = stats.watermark, console.is_terminal
    room = max((console.size.height - 5) // 2, 1) if live else len(topk)
    table = Table(expand=True, box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column(measure, justify="right", no_wrap=True, style="bold")
    longest = max(8, console.width // 5) if live else None
    table.add_column("id", justify="right", no_wrap=live, overflow="ellipsis", max_width=longest, style="dim")
    heading = f"most similar at {shown_second(now)}" if topk else "no pairs yet"
    table.add_column(heading, ratio=1, no_wrap=live, overflow="ellipsis" if live else "fold")
    table.add_column("ends in", justify="right", no_wrap=True)
    for pair in topk[:room]:
        both = sides(pair, handle)
        newer, older = both_sides(*both, has_colour(console))
        left = "" if pair.end is None else shown_wait(now, pair.end)
        # where nothing is redrawn, there is room for whole texts
        lines = (Line(newer, older), Line(older, newer)) if live else (newer, older)
        table.add_row(shown_similarity(pair.similarity, measure), shown_name(pair.newer), lines[0], left)
        table.add_row("", shown_name(pair.older), lines[1], "")
    more = [Text(f"... and {len(topk) - room} more", "dim")] if len(topk) > room else []
    metrics = f"{stats.rows:,} rows ({rate:,.0f}/s), {stats.window_size:,} in the window, {stats.held:,} waiting"
    return Group(table, *more, Text(f"{metrics}, {stats.late:,} late, {stats.rejected:,} rejected", "dim"))


def sides(pair: Pair, handle: StreamHandle) -> tuple[Side, Side]:
    """The two records of a pair in the window."""
    newer, older = handle.texts(pair)
    return Side(pair.newer, pair.start, newer or ""), Side(pair.older, None, older or "")


def _short(text: str) -> str:
    return cut(Text(printable(text)), LONGEST).plain
