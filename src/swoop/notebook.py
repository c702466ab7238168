"""How results and metrics look in notebooks, on light or dark backgrounds: small HTML tables in which text stays text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from swoop.look import TEAL
from swoop.marking import shortened
from swoop.unseen import printable

LONGEST = 300  # characters of a value
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


class Metrics:
    """A dataclass of numbers, which notebooks show as a table with one row each."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [(field.name.removesuffix("_bytes"), getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        sizes = {field.name.removesuffix("_bytes") for field in fields(self) if field.name.endswith("_bytes")}  # type: ignore[arg-type]
        return html_table((), [(name.replace("_", " "), _shown(value, name in sizes)) for name, value in rows])


def _shown(value: Any, is_size: bool) -> Any:
    """Numbers with commas, sizes in units."""
    if is_size:
        return _size(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value


def _size(count: float) -> str:
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or count >= 99.5 else f"{count:.1f} {_UNITS[unit]}"


class Markup(str):
    """HTML made by this module; everything else is text."""

    __slots__ = ()


def html_table(header: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    """A table. Text stays text; None is empty; long values of a row that differ look different."""

    def cells(values: tuple[Any, ...], tag: str) -> str:
        known = sorted(text for value in values if isinstance(value, str) and len(text := printable(value)) > LONGEST)
        return "".join(f"<{tag}>{_cell(value, known)}</{tag}>" for value in values)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>" if header else ""
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _cell(value: Any, others: Sequence[str]) -> str:
    if value is None:
        return ""
    if isinstance(value, Markup):
        return value
    return html.escape(f"{value:.4g}" if isinstance(value, float) else shortened(printable(str(value)), LONGEST, others))


def bar(share: float) -> str:
    """A bar that fills this share of its cell."""
    style = f"width:{80 * share:.0f}px;height:0.7em;border-radius:2px;background:{TEAL}99"
    return f'<div style="width:80px"><div style="{style}"></div></div>'


def chips(tokens: list[str], others: Sequence[str] = ()) -> str:
    """Tokens side by side, at most 200. ``others``, sorted: all that they must look different from."""
    style = f"display:inline-block;margin:1px;padding:0 6px;border-radius:8px;background:{TEAL}40"
    more = f" ... {len(tokens) - 200} more" if len(tokens) > 200 else ""
    shown = (html.escape(shortened(printable(token), LONGEST, others)) for token in tokens[:200])
    return " ".join(f'<bdi style="{style}">{token}</bdi>' for token in shown) + more
