"""The report of a run: one HTML file without scripts."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from swoop.demo.waves import Wave
from swoop.look import COLOURS, FONT, variables
from swoop.marking import Part, how_same, marked, marked_together, words_of
from swoop.results import Changes, FamilyChanges, Id, Pair
from swoop.unseen import clipped, printable, printable_lines

TEXTS, LONGEST = 4, 500  # different texts of a wave, and characters of each
NAME = 22  # characters of a text by which a bar of a chart is known; of a family twice as many
WIDE = 2  # units by which letters may be wider in a browser than when they were measured

_STYLE = (
    f":root {{ color-scheme: light dark; {variables()}font: 16px/1.5 {FONT}; }}"
    """
body { color: var(--ink); background: var(--paper); margin: 3rem auto; max-width: 70rem;
       padding: 0 1.5rem; }
h1 { font-weight: 650; letter-spacing: -0.02em; } p { color: var(--quiet); max-width: 46rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { border-top: 1px solid var(--line); padding: .6rem; text-align: left;
         vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--quiet); font-weight: 500; }
th:first-child, td:first-child { width: 5rem; font-variant-numeric: tabular-nums; }
mark { background: var(--wash); color: inherit; border-radius: .2em; padding: 0 .1em;
       text-decoration: underline 2px var(--accent); text-underline-offset: 2.5px; text-decoration-skip-ink: none; }
h2 { margin-top: 2.5rem; font-weight: 600; } h3 { font-weight: 600; margin: 1.5rem 0 .25rem; }
ul { list-style: none; margin: .5rem 0; padding: 0; } li { margin: .25rem 0; } li span { color: var(--quiet); }
figure { margin: 2rem 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
         overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
svg [fill="white"] { fill: var(--card); }
"""
    + "".join(
        f'svg [{part}="{light}"] {{ {part}: var(--{name}); }}\n'
        for name, (light, _) in COLOURS.items()
        for part in ("fill", "stroke")
    )
)


def write_report(
    path: Path,
    summary: str,
    waves: Sequence[Wave],
    pairs: Sequence[tuple[Pair, str | None, str | None]],
    changes: Changes,
    family_changes: FamilyChanges,
    text_of: Callable[[Id], str | None] = lambda _: None,
) -> None:
    """Write the report: the summary, the largest waves, the final top-k with texts, and what was there when.

    ``text_of`` gives the text of a record, or of a family, as far as it is known.
    """
    rows = "".join(_row(pair, newer or "", older or "") for pair, newer, older in pairs)
    waved = f"<h2>Waves of near copies</h2>{''.join(map(_wave, waves))}" if waves else ""
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Swoop: the most similar posts</title>"
        "<meta name=viewport content='width=device-width'>"
        f"<style>{_STYLE}</style><h1>The most similar posts</h1><p>{html.escape(summary)}</p>"
        f"{waved}{_chart(family_changes, 'Families over time', text_of)}<h2>The most similar pairs</h2><table>"
        f"<tr><th>similarity</th><th>newer</th><th>older</th></tr>{rows}</table>"
        f"{_chart(changes, 'Pairs in the top-k over time', text_of)}</html>",
        encoding="utf-8",
    )


def _row(pair: Pair, newer: str, older: str) -> str:
    """A pair with its texts; a text that both have is there once."""
    same = how_same(newer, older)
    newer, older = printable_lines(newer), printable_lines(older)
    words = [words_of(older or newer), words_of(newer or older)]  # of one that is gone, nothing is known
    cells = [_marked(marked(text, of, LONGEST)) for text, of in zip((newer, older), words, strict=True)]
    if same:
        cells[1] = html.escape(same)
    for place, copies in enumerate((pair.newer_copies, pair.older_copies)):
        if copies is not None and copies > 1:
            cells[place] += f" <small>{copies} copies</small>"
    return f"<tr><td>{pair.similarity:.2f}</td><td>{cells[0]}</td><td>{cells[1]}</td></tr>"


def _wave(wave: Wave) -> str:
    """A wave as it was when it was largest."""
    kinds = len(wave.contents)
    what = "the same text" if kinds == 1 else f"{kinds} different texts"
    texts = [printable_lines(content.text or "") for content in wave.contents[:TEXTS]]
    items = "".join(
        f"<li><span>{content.count} ×</span> {_marked(parts)}</li>"
        for content, parts in zip(wave.contents, marked_together(texts, LONGEST), strict=False)
    )
    more = f"<li><span>and {kinds - TEXTS} more</span></li>" if kinds > TEXTS else ""
    when = f"from {wave.family.first_seen:%H:%M:%S} to {wave.family.last_seen:%H:%M:%S %Z}".rstrip()
    return f"<h3>{wave.family.size} posts, {what}, {when}</h3><ul>{items}{more}</ul>"


def _marked(parts: Iterable[Part]) -> str:
    """A text with the words marked that another one does not have."""
    shown = (f"<mark>{html.escape(part.text)}</mark>" if part.differs else html.escape(part.text) for part in parts)
    return f"<bdi>{''.join(shown)}</bdi>"


def load_chart_packages() -> None:
    """Load the packages that draw charts, which takes a while."""
    try:
        import altair  # noqa: F401
        import vl_convert

        vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}})
    except ImportError:
        pass


def _chart(changes: Changes | FamilyChanges, title: str, text_of: Callable[[Id], str | None]) -> str:
    """What was there when as a chart, if the packages for it are installed."""
    try:
        import vl_convert

        chart: Any = changes.chart(20)
        spec = json.loads(chart.to_json())
    except ImportError:
        return ""
    longest = _name_rows(list(_rows_in(spec)), text_of)
    spec["padding"] = {"left": 5 + WIDE * longest, "right": 5, "top": 5, "bottom": 5}
    return f"<h2>{title}</h2><figure>{vl_convert.vegalite_to_svg(spec)}</figure>"


def _rows_in(spec: Any) -> Iterator[dict[str, Any]]:
    """The rows of data in the specification of a chart."""
    if isinstance(spec, dict):
        if "row" in spec and "label" in spec:
            yield spec
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from _rows_in(part)


def _name_rows(rows: list[dict[str, Any]], text_of: Callable[[Id], str | None]) -> int:
    """Let rows have the beginnings of texts as labels, where these are known. How long the longest label is."""

    def beginning(name: Any, longest: int) -> str:
        text = text_of(name)
        return str(name) if text is None else clipped(printable(text).replace("<", "‹"), longest)

    names: dict[int, str] = {}
    for row in rows:
        if "family" in row:
            names[row["row"]] = beginning(row["family"], 2 * NAME)
        elif "newer" in row:
            names[row["row"]] = f"{beginning(row['newer'], NAME)} ~ {beginning(row['older'], NAME)}"
    for row in rows:
        row["label"] = names.get(row["row"], row["label"])
    return max((len(row["label"]) for row in rows), default=0)
