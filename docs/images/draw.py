"""Draws swoop.svg, the picture of the idea, from what Swoop really answers: ``python docs/images/draw.py``."""

from __future__ import annotations

from pathlib import Path

import swoop
from swoop.look import ACCENT, FONT, INK, PALE, PAPER, QUIET, WASH

WINDOW = 60
SETS = {
    "A": (4, "abcd"),
    "B": (15, "efgh"),
    "C": (25, "aijk"),
    "D": (36, "abcd"),
    "E": (46, "efkl"),
    "F": (54, "cijk"),
    "G": (66, "dlmg"),
}
MOMENTS = [(58, "12:58"), (70, "13:10")]

COLOURS = """
    #5b8db8 #f0a35e #6fb08a #c97b84 #8f7fb8 #d8b34c #56a6a6 #b0885f #a3b65a #7d9bd1 #cf8fc0 #7a8794 #e08267
"""
TOKENS = dict(zip("abcdefghijklm", COLOURS.split(), strict=True))
LEFT, SCALE, CARD, HEIGHT = 60, 8.2, 36, 190


def x_of(time: float) -> float:
    """Where a time lies in the picture."""
    return LEFT + SCALE * time


def text(x: float, y: float, words: str, size: int = 13, colour: str = INK, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" {more}>{words}</text>'


def card(name: str, time: float, tokens: str, y: float, opacity: float) -> str:
    """A set: its tokens as dots."""
    x = x_of(time) - CARD / 2
    dots = "".join(
        f'<circle cx="{x + 11 + 14 * (place % 2):.1f}" cy="{y + 11 + 14 * (place // 2):.1f}" r="5" fill="{TOKENS[token]}"/>'
        for place, token in enumerate(tokens)
    )
    box = f'<rect x="{x:.1f}" y="{y}" width="{CARD}" height="{CARD}" rx="7" fill="#ffffff" stroke="{PALE}" stroke-width="1.5"/>'
    label = text(x_of(time), y + CARD + 16, name, 12, QUIET, 'text-anchor="middle"')
    return f'<g opacity="{opacity}">{box}{dots}{label}</g>'


def moment(now: int, clock: str, top: float) -> list[str]:
    """The stream at one moment: the window, its sets, arcs between those of the top 2, and the top 2 as a list."""
    join = swoop.TopKJoin(k=2, window=WINDOW)
    for name, (time, tokens) in SETS.items():
        if time <= now:
            join.insert(list(tokens), time, id=name)
    join.advance(now)
    y = top + 92
    begin, end = x_of(max(now - WINDOW, 0)), x_of(now)
    parts = [
        f'<rect x="{begin:.1f}" y="{top + 20}" width="{end - begin:.1f}" height="{HEIGHT - 38}" rx="10" fill="{WASH}"/>',
        f'<path d="M{x_of(0):.0f},{y + CARD / 2} H{x_of(74):.0f}" stroke="{PALE}" stroke-width="2"/>',
        f'<line x1="{end:.1f}" y1="{top + 14}" x2="{end:.1f}" y2="{top + HEIGHT - 12}" stroke="{ACCENT}" stroke-width="2"/>',
        text(end, top + 8, f"now, {clock}", 13, ACCENT, 'text-anchor="middle"'),
        text(begin + 10, top + 38, "the window: the last hour", 12, QUIET),
    ]
    best = join.topk()
    for pair in best:
        a, b = x_of(SETS[str(pair.older)][0]), x_of(SETS[str(pair.newer)][0])
        peak = y - 14 - 0.13 * (b - a)
        curve = f"M{a:.1f},{y - 3} C{a:.1f},{peak:.1f} {b:.1f},{peak:.1f} {b:.1f},{y - 3}"
        parts.append(f'<path d="{curve}" fill="none" stroke="{ACCENT}" stroke-width="{1 + 3 * pair.similarity:.1f}"/>')
    for name, (time, tokens) in SETS.items():
        if time <= now:
            parts.append(card(name, time, tokens, y, 1.0 if now - WINDOW < time else 0.3))
    parts.append(text(690, top + 46, "top 2", 13, QUIET))
    for place, pair in enumerate(best):
        row = top + 62 + 34 * place
        parts.append(f'<rect x="690" y="{row}" width="{130 * pair.similarity:.0f}" height="26" rx="5" fill="{WASH}"/>')
        parts.append(text(700, row + 18, f"{pair.newer} and {pair.older}", 14))
        parts.append(text(828, row + 18, f"{pair.similarity:.2g}", 13, ACCENT))
    return parts


def main() -> None:
    """Write the picture."""
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 880 440' role='img' font-family='{FONT}'>",
        "<title>The two most similar pairs of the last hour, before and after a set leaves the window</title>",
        f'<rect x="1" y="1" width="878" height="438" rx="14" fill="{PAPER}" stroke="{PALE}"/>',
        *moment(*MOMENTS[0], 28),
        f'<line x1="30" y1="228" x2="850" y2="228" stroke="{PALE}" stroke-dasharray="2 5"/>',
        *moment(*MOMENTS[1], 248),
        text(690, 400, "A has left the window,", 12, QUIET),
        text(690, 416, "another pair moves up.", 12, QUIET),
        "</svg>",
    ]
    Path(__file__).with_name("swoop.svg").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
