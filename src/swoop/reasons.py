"""Why rows cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from swoop.unseen import clipped

SHOWN = 60  # characters of a value that a reason has
OF_VALUE, OF_ROW = 30, 100  # characters of each value of a row that is an example, and of all of them
PARSED = 100_000  # characters of a row; of a longer one, only the beginning is shown

NO_ID, NO_TIME, NO_TEXT = "the id is null", "the time is null", "the text is null"
NO_TOKENS, NO_TOKEN = "the tokens are null", "a token is null"
ID_NOT_UTF8, TEXT_NOT_UTF8, TOKEN_NOT_UTF8 = "the id is not UTF-8", "the text is not UTF-8", "a token is not UTF-8"
TIME_OUT_OF_RANGE, TIME_UNREADABLE = "the time is out of range", "time: cannot read"
NO_SIDE = "the stream is neither 'left' nor 'right'"
NOT_JSON = "row: not JSON"
TOO_FAR_AHEAD = "the time is further ahead of the latest row than allowed (max_ahead)"
"""Reasons that are given in several places, and those for which there are hints."""


def too_many_tokens(most: int) -> str:
    return f"there are more than {most} tokens"


def text_too_long(most: int) -> str:
    return f"the text is longer than {most} bytes"


@dataclass
class Reasons:
    """Why rows were rejected: how many for each reason, and an example.

    A part in double quotes is a value; reasons that only differ in it are the same. One thread may count while others read.

    >>> reasons = Reasons()
    >>> reasons.add(['time: cannot read "soon"', 'time: cannot read "late"', "the id is null"])
    >>> reasons.counts, reasons.examples["time: cannot read"]
    ({'time: cannot read': 2, 'the id is null': 1}, 'time: cannot read "soon"')
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    example_rows: dict[str, str] = field(default_factory=dict)  # of reasons without a value, where the rows are known

    def add(self, reasons: Iterable[str], row_at: Callable[[int], str] | None = None) -> None:
        """Count reasons. ``row_at`` gives the row that has one of them, in JSON or as the line that it is."""
        for place, reason in enumerate(reasons):
            kind = kind_of(reason)
            if row_at is not None and kind == reason and kind not in self.example_rows:
                self.example_rows[kind] = shown_row(row_at(place), reason)
            self.count(reason)

    def count(self, reason: str, rows: int = 1) -> None:
        kind = kind_of(reason)
        self.examples.setdefault(kind, reason)  # first: who reads the counts looks for it
        self.counts[kind] = self.counts.get(kind, 0) + rows

    def merge(self, other: Reasons) -> None:
        for kind, rows in list(other.counts.items()):
            if kind in other.example_rows:
                self.example_rows.setdefault(kind, other.example_rows[kind])
            self.count(other.examples[kind], rows)

    def example(self, kind: str) -> str:
        """A reason with an example: with the value in it, else with a row, if one is known.

        >>> reasons = Reasons()
        >>> rows = ['{"text": null, "id": 7, "time": "2024-05-01"}']
        >>> reasons.add(["the text is null"], rows.__getitem__)
        >>> reasons.example("the text is null")
        'the text is null; for example id 7, time 2024-05-01'
        """
        row = self.example_rows.get(kind)
        return f"{self.examples[kind]}; for example {row}" if row else self.examples[kind]

    @property
    def rows(self) -> int:
        return sum(list(self.counts.values()))

    def lines(self, hints: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """A line for each reason, the most frequent first, with an example and a hint if there is one."""
        counted = dict(self.counts)
        most = sorted(counted.items(), key=lambda item: -item[1])
        return [f"{count:,}: {self.example(kind)}" + (f" ({hints[kind]})" if kind in hints else "") for kind, count in most]

    def told(self) -> list[dict[str, Any]]:
        """The same for programs: each reason without a value, its number of rows, and the value of one of them, if it has one.

        >>> reasons = Reasons()
        >>> reasons.add(['time: cannot read "soon"', 'time: cannot read "late"', "the id is null"])
        >>> reasons.told()[0]
        {'reason': 'time: cannot read', 'rows': 2, 'example': 'soon'}
        """
        most = sorted(dict(self.counts).items(), key=lambda item: -item[1])
        return [{"reason": kind, "rows": count, "example": example_in(self.examples[kind])} for kind, count in most]


def kind_of(reason: str) -> str:
    """A reason without the value in it."""
    before, quote, rest = reason.partition(' "')
    return before + rest.rpartition('"')[2] if quote else reason


def example_in(reason: str) -> str | None:
    """The value in a reason; None if there is none."""
    _, quote, rest = reason.partition(' "')
    return rest.rpartition('"')[0] if quote else None


def shown_row(row: str, reason: str | None = None) -> str:
    """A row in short, as an example: its values, the id and the time first. Without those that say no more than the reason."""
    try:
        found = json.loads(row) if len(row) <= PARSED else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return clipped(row, OF_ROW)
    names = sorted(found, key=lambda name: name not in ("id", "time"))
    values = {name: found[name] for name in names if found[name] is not None and found[name] != reason}
    texts = (
        (name, value.encode(errors="replace").decode() if isinstance(value, str) else json.dumps(value))
        for name, value in values.items()
    )
    return clipped(", ".join(f"{name} {clipped(text, OF_VALUE)}" for name, text in texts), OF_ROW)
