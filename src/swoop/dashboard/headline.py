"""What the page says that it shows: "top 20 · last 6 hours · jaccard · posts.jsonl"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swoop.times import WindowSpec
from swoop.unseen import clipped, printable

UNITS = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000), ("ms", 1000))
NAME = 80  # characters of where the stream comes from


def headline(sources: Sequence[Any], origin: str | None) -> list[str]:
    """The parts of the line, as far as they are known; two sources with the same window and similarity share these.

    >>> import swoop
    >>> headline([swoop.TopKJoin(k=20, window="6 hours"), swoop.Families(0.8, window="6 hours")], "posts.jsonl")
    ['top 20', 'families from 0.8', 'last 6 hours', 'jaccard', 'posts.jsonl']
    """
    asked = [spec for source in sources if hasattr(spec := getattr(source, "spec", source), "window")]
    parts = [_wanted(spec) for spec in asked] + [_window(spec.window) for spec in asked] + [_measure(spec) for spec in asked]
    parts += [] if origin is None else [clipped(printable(origin), NAME)]
    return list(dict.fromkeys(part for part in parts if part))


def _wanted(spec: Any) -> str:
    least = getattr(spec, "min_similarity", None)
    if not hasattr(spec, "k"):
        return f"families from {least:g}"
    if spec.k is None:
        return f"all pairs from {least:g}"
    return f"top {spec.k:,}" + ("" if least is None else f" from {least:g}")


def _measure(spec: Any) -> str:
    similarity = getattr(spec, "similarity", "")
    return str(getattr(similarity, "name", similarity))


def _window(window: WindowSpec) -> str:
    """The window in the largest unit in which it is a whole number.

    >>> from swoop.times import find_window, last
    >>> [_window(find_window(window)) for window in ("90 s", "7 days", 500, last(1000), None)]
    ['last 90 seconds', 'last 7 days', 'window of 500', 'last 1,000 sets', 'all sets']
    """
    if window.kind == "duration":
        name, unit = next(((name, unit) for name, unit in UNITS if not window.duration % unit), ("µs", 1))
        count = window.duration // unit
        return f"last {count:,} {name}{'s' if count != 1 and name not in ('ms', 'µs') else ''}"
    return {
        "integer": f"window of {window.duration:,}",
        "count": f"last {window.duration:,} sets",
        "unbounded": "all sets",
    }[window.kind]
