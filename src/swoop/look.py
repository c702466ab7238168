"""The look of whatever shows results: the colours and the type of charts, reports, the live page, the terminal and the site.

``page.css`` and the site's ``style.css`` say the same in their own language; a test compares them.
"""

from __future__ import annotations

COLOURS = {
    "paper": ("#fbfaf8", "#14181b"),
    "card": ("#ffffff", "#1b2024"),
    "ink": ("#1c2328", "#e8eaeb"),
    "quiet": ("#5a646c", "#9ba6ad"),
    "line": ("#e7e4de", "#2b3238"),
    "accent": ("#0f766e", "#5cc9b8"),
    "wash": ("#dcefeb", "#1f403c"),
    "pale": ("#c3cbc9", "#46535a"),
    "bad": ("#a8321f", "#f0917f"),
    "bad-wash": ("#fbe9e5", "#3a211d"),
}
"""By name, on light and on dark ground."""

FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif'

PAPER, CARD, INK, QUIET, LINE, ACCENT, WASH, PALE, BAD, _ = (light for light, _ in COLOURS.values())
"""Charts are drawn on light ground."""

BLUE, AMBER, PLUM = "#2a5d8f", "#c07a1c", "#6a4c93"
"""Of lines in one chart, beside the accent."""

TEAL, ORANGE, GREEN, RED = "#0e8c84", "#c46210", "#3a8f3a", "#d64545"
"""On terminals, whose ground may be either."""


def variables() -> str:
    """The colours as variables of a style sheet."""
    return "".join(f"--{name}: light-dark({light}, {dark}); " for name, (light, dark) in COLOURS.items())
