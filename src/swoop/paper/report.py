"""A report as a list of parts, rendered as HTML, or as Markdown with its charts beside it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swoop.look import FONT, variables


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of cells. Kinds are ``numbers``, which are right-aligned but for the first column; ``notes``, the same but for the
    last column; and ``words``.
    """

    head: list[str]
    rows: list[list[str]]
    kind: str = "numbers"


@dataclass(frozen=True)
class Chart:
    """A chart, and what it shows in words."""

    name: str
    chart: Any
    says: str


BEGIN, END = "<!-- measurements -->", "<!-- end of measurements -->"

Part = Heading | Text | Table | Chart


def save(parts: list[Part], folder: Path, kinds: tuple[str, ...]) -> None:
    """Save all charts."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        if isinstance(part, Chart):
            for kind in kinds:
                path = folder / f"{part.name}.{kind}"
                part.chart.save(path, **({"scale_factor": 2} if kind == "png" else {}))
                if kind == "svg":
                    path.write_text(_smaller(path.read_text(encoding="utf-8")), encoding="utf-8")


def _smaller(svg: str) -> str:
    """Round to hundredths of a pixel, and drop the descriptions of single marks."""
    return re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", re.sub(r"(\.\d\d)\d+", r"\1", svg))


def as_html(title: str, parts: list[Part], folder: Path) -> str:
    """One HTML page that contains the charts of a folder."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for part in parts:
        match part:
            case Heading(text):
                body.append(f"<h2>{html.escape(text)}</h2>")
            case Text(text):
                body.append("<p>" + re.sub("`(.+?)`", r"<code>\1</code>", html.escape(text)) + "</p>")
            case Table(head, rows, kind):
                lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
                lines += ["".join(_cell(cell) for cell in row) for row in rows]
                body.append(
                    f"<div class=wide><table class={kind}>{''.join(f'<tr>{line}</tr>' for line in lines)}</table></div>"
                )
            case Chart(name, _, says):
                svg = _with_own_names((folder / f"{name}.svg").read_text(encoding="utf-8"), name)
                body.append(f'<figure class=wide role=img aria-label="{html.escape(says, quote=True)}">{svg}</figure>')
    return _PAGE.replace("TITLE", html.escape(title)).replace("BODY", "\n".join(body))


def _cell(cell: str) -> str:
    kind = {"seen": "seen", "not seen": "not-seen", "not measured": "not-measured"}.get(cell)
    return f"<td class={kind}>{cell}</td>" if kind else f"<td>{html.escape(cell)}</td>"


def _with_own_names(svg: str, name: str) -> str:
    """Clip paths of several charts in one page must not share names."""
    return re.sub(r'(id="|url\(#)clip', rf"\1{name}-clip", svg)


def as_markdown(title: str, parts: list[Part], charts: str) -> str:
    """A Markdown page with its charts in a folder beside it."""
    blocks = [f"# {title}"]
    for part in parts:
        match part:
            case Heading(text):
                blocks.append(f"## {text}")
            case Text(text):
                blocks.append(text)
            case Table(head, rows, kind):
                under = ["---"] + ["---" if kind == "words" else "--:"] * (len(head) - 1)
                under[-1] = "--:" if kind == "numbers" else "---"
                lines = (head, under, *([f"**{cell}**" if cell == "not seen" else cell for cell in row] for row in rows))
                blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            case Chart(name, _, says):
                blocks.append(f"![{says}]({charts}/{name}.svg)")
    return "\n\n".join(blocks) + "\n"


def write_into(page: Path, lines: list[str]) -> None:
    """Replace the lines between the two comments of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for measurements, between {BEGIN} and {END}")
    page.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


_PAGE = (
    f"""<!doctype html><html lang=en><meta charset=utf-8><title>TITLE</title>
<meta name=viewport content='width=device-width'><style>
:root {{ color-scheme: light; {variables()}font: 16px/1.5 {FONT}; }}
"""
    """body { color: var(--ink); background: #fff; margin: 3rem auto; max-width: 66rem;
padding: 0 1.5rem; }
h1, h2 { font-weight: 650; letter-spacing: -0.02em; line-height: 1.25; } h2 { margin-top: 3.5rem; }
p { color: var(--quiet); max-width: 48rem; } .wide { overflow-x: auto; } figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: 1rem 0; width: 100%; }
td, th { border-top: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top; }
th { color: var(--quiet); font-weight: 500; } .numbers td { white-space: nowrap; }
.numbers td + td, .numbers th + th, .notes td + td, .notes th + th { text-align: right; font-variant-numeric: tabular-nums; }
.notes td:last-child, .notes th:last-child { text-align: left; width: 45%; }
.words td:first-child { width: 38%; } .words td:nth-child(2) { white-space: nowrap; width: 7rem; }
.seen { color: var(--accent); font-weight: 600; } .not-seen { color: var(--bad); font-weight: 600; }
.not-measured { color: var(--quiet); }
</style>
BODY
</html>
"""
)
