"""Why rows cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

SHOWN = 60  # characters of a value that a reason has

NO_ID, NO_TIME, NO_TEXT = "the id is null", "the time is null", "the text is null"
NO_TOKENS, NO_TOKEN = "the tokens are null", "a token is null"
ID_NOT_UTF8, TEXT_NOT_UTF8, TOKEN_NOT_UTF8 = "the id is not UTF-8", "the text is not UTF-8", "a token is not UTF-8"
TIME_OUT_OF_RANGE, TIME_UNREADABLE = "the time is out of range", "time: cannot read"
NO_SIDE = "the stream is neither 'left' nor 'right'"
NOT_JSON = "row: not JSON"
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

    def add(self, reasons: Iterable[str]) -> None:
        for reason in reasons:
            self.count(reason)

    def count(self, reason: str, rows: int = 1) -> None:
        kind = kind_of(reason)
        self.counts[kind] = self.counts.get(kind, 0) + rows
        self.examples.setdefault(kind, reason)

    def merge(self, other: Reasons) -> None:
        for kind, rows in list(other.counts.items()):
            self.count(other.examples[kind], rows)

    @property
    def rows(self) -> int:
        return sum(list(self.counts.values()))

    def lines(self, hints: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """A line for each reason, the most frequent first, with an example and a hint if there is one."""
        counted = dict(self.counts)
        most = sorted(counted.items(), key=lambda item: -item[1])
        return [f"{count:,}: {self.examples[kind]}" + (f" ({hints[kind]})" if kind in hints else "") for kind, count in most]

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
