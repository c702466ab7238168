"""Whether the first row of a CSV file names the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swoop.reading.columns import IDS, ITEMS, LATER_TIMES, TEXTS, TIMES, TOKENS, plain
from swoop.reading.guesses import is_time

_KNOWN = {*IDS, *TIMES, *LATER_TIMES, *TEXTS, *TOKENS, *ITEMS}
_NUMBER = re.compile(r"[+-]?[$€£]?([0-9][0-9,. ]*|[.,][0-9]+)([eE][+-]?[0-9]+)?%?")
_LONGEST_NAME = 64
_MOST_WORDS = 6


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows is a header: it has names where the rows below have values.

    >>> has_header([["id", "posted"], ["1", "2024-05-01"]]), has_header([["1", "2024-05-01"], ["2", "2024-05-02"]])
    (True, False)
    """
    if not rows or not rows[0]:
        return False
    header, below = [cell.strip() for cell in rows[0]], [row for row in rows[1:] if any(cell.strip() for cell in row)]
    names = header[1:] if header[0] == "" and len(header) > 1 else header  # the index of a table often has no name
    if "" in names or any(_is_value(cell) for cell in names):
        return False
    if any(plain(cell) in _KNOWN for cell in names):
        return True
    if len(set(names)) < len(names):
        return False
    columns = [[row[place].strip() for row in below if place < len(row)] for place in range(len(header))]
    if any(cells and all(_is_value(cell) for cell in cells if cell) and any(cells) for cells in columns):
        return True
    again = any(cell in cells for cell, cells in zip(header, columns, strict=True) if cell)
    return not again and all(_may_be_name(cell) for cell in names)


def column_names(count: int) -> list[str]:
    """Names for columns without a header.

    >>> column_names(3)
    ['column1', 'column2', 'column3']
    """
    return [f"column{number}" for number in range(1, count + 1)]


def _is_value(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None or is_time(cell)


def _may_be_name(cell: str) -> bool:
    """Texts are longer than names, and have more words."""
    return len(cell) <= _LONGEST_NAME and len(cell.split()) <= _MOST_WORDS and "://" not in cell
