"""The report of a run: one HTML file without scripts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from swoop.results import Changes, Pair

_WORD = re.compile(r"\w+")

_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1d2433, #e6e9f0); --soft: light-dark(#667085, #98a2b3);
        --line: light-dark(#e4e7ec, #333a48); --mark: light-dark(#fff1c2, #5a4a12); --paper: light-dark(#fff, #12161f); }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 3rem auto; max-width: 70rem;
       padding: 0 1.5rem; }
h1 { font-weight: 650; letter-spacing: -0.02em; } p { color: var(--soft); max-width: 46rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { border-top: 1px solid var(--line); padding: .6rem; text-align: left;
         vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { width: 5rem; font-variant-numeric: tabular-nums; }
mark { background: var(--mark); color: inherit; border-radius: .2em; padding: 0 .1em; }
figure { margin: 2rem 0; padding: 1rem; background: #fff; border-radius: .75rem; overflow-x: auto; }
"""


def write_report(path: Path, summary: str, pairs: Sequence[tuple[Pair, str | None, str | None]], changes: Changes) -> None:
    """Write the report: the summary, the final top-k with texts, and which pairs were in the top-k when."""
    rows = "".join(
        f"<tr><td>{pair.similarity:.2f}</td><td>{_marked(newer, older)}</td><td>{_marked(older, newer)}</td></tr>"
        for pair, newer, older in pairs
    )
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Swoop: the most similar posts</title>"
        "<meta name=viewport content='width=device-width'>"
        f"<style>{_STYLE}</style><h1>The most similar posts</h1><p>{html.escape(summary)}</p>"
        f"<table><tr><th>similarity</th><th>newer</th><th>older</th></tr>{rows}</table>{_timeline(changes)}</html>",
        encoding="utf-8",
    )


def _marked(text: str | None, other: str | None) -> str:
    """A text with the words marked that the other one also has."""
    shared = {word.lower() for word in _WORD.findall(other or "")}
    parts = re.split(r"(\w+)", text or "")
    marked = (f"<mark>{html.escape(p)}</mark>" if p.lower() in shared else html.escape(p) for p in parts)
    return f"<bdi>{''.join(marked)}</bdi>"


def load_chart_packages() -> None:
    """Load the packages that draw charts, which takes a while."""
    try:
        import altair  # noqa: F401
        import vl_convert

        vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}})
    except ImportError:
        pass


def _timeline(changes: Changes) -> str:
    """The stays in the top-k as a chart, if the packages for it are installed."""
    try:
        import vl_convert

        chart_svg = vl_convert.vegalite_to_svg(json.loads(changes.chart().to_json()))
    except ImportError:
        return ""
    return f"<h2>Pairs in the top-k over time</h2><figure>{chart_svg}</figure>"
