"""Pairs, families, times, ids, texts and tokens as JSON of bounded size."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from hashlib import blake2s
from typing import Any

from swoop.marking import Part, how_same, left_out, marked, shortened, words_of
from swoop.results import Explanation, Family, FamilyChange, Id, Pair, SkybandStep, Token
from swoop.times import Time
from swoop.unseen import printable, printable_lines

SAFE = 2**53 - 1  # the largest integer that JavaScript's numbers hold exactly
STEPS = 240
TOKEN_LENGTH = 80


def shown_id(name: Id | Token) -> str:
    r"""An id or token as text in which everything is seen; bytes as text if they are printable, else in hexadecimal digits.

    >>> shown_id(7), shown_id("seven\u202e"), shown_id(b"seven"), shown_id(b"\xff\x00")
    ('7', 'seven<U+202E>', 'seven', '0xff00')
    """
    if not isinstance(name, bytes):
        return printable(str(name))
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return f"0x{name.hex()}"
    return text if text.isprintable() else f"0x{name.hex()}"


def shown_time(time: Time | None) -> int | str | None:
    """A time as JSON: datetimes in ISO format, integers as they are, or as digits where JavaScript would round them.

    >>> shown_time(5), shown_time(2**60), shown_time(dt.datetime(2024, 5, 1, 12))
    (5, '1152921504606846976', '2024-05-01T12:00:00')
    """
    if isinstance(time, dt.datetime):
        return time.isoformat()
    if time is not None and abs(time) > SAFE:
        return str(time)
    return time


def number(value: float) -> float | None:
    """A number that JSON can represent; None for infinity and NaN."""
    return value if math.isfinite(value) else None


def key_of(pair: Pair) -> str:
    """A stable key for a pair; ids alone may repeat."""
    facts = (pair.arrivals, type(pair.newer).__name__, pair.newer, type(pair.older).__name__, pair.older, pair.start)
    return blake2s(repr(facts).encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def family_key(family: Family | FamilyChange) -> str:
    """A stable key for a family; ids alone may repeat."""
    name = family.id if isinstance(family, Family) else family.family
    facts = (family.arrival, type(name).__name__, name)
    return blake2s(repr(facts).encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def facts_of(pair: Pair) -> dict[str, Any]:
    """The attributes of a pair."""
    return {
        "newer": shown_id(pair.newer),
        "older": shown_id(pair.older),
        "similarity": number(pair.similarity),
        "overlap": pair.overlap,
        "start": shown_time(pair.start),
        "end": shown_time(pair.end),
        "copies": None if pair.newer_copies is None else [_copies(pair, "newer"), _copies(pair, "older")],
    }


def _copies(pair: Pair, side: str) -> list[Any]:
    """How many copies of a record are in the window, and when the first and the last one was seen."""
    seen = (shown_time(getattr(pair, f"{side}_{when}_seen")) for when in ("first", "last"))
    return [getattr(pair, f"{side}_copies"), *seen]


def in_json(parts: Iterable[Part]) -> list[list[Any]]:
    """The parts of a text as lists ``[text, differs]``."""
    return [[part.text, part.differs] for part in parts]


def shown_texts(newer: str | None, older: str | None, length: int) -> dict[str, Any]:
    """The texts of a pair, each marked against the other, if both are there, and in what they are the same.

    ``left_out`` is how many differences are not in what is shown of each.
    """
    both = newer is not None and older is not None
    shown: dict[str, Any] = {"left_out": [0, 0], "same": how_same(newer or "", older or "") if both else None}
    newer, older = (None if text is None else printable_lines(text) for text in (newer, older))
    for place, (name, text, other) in enumerate((("newer", newer, older), ("older", older, newer))):
        others = words_of((other if both else text) or "")
        parts = None if text is None else marked(text, others, length)
        shown[f"{name}_text"] = None if parts is None else in_json(parts)
        shown["left_out"][place] = 0 if text is None or parts is None else left_out(text, others, parts)
    return shown


def shown_tokens(explanation: Explanation | None, most: int) -> dict[str, Any]:
    """The tokens of a pair in three lists, and how many there are of each kind."""
    kinds = ("shared", "only_newer", "only_older")
    sets: list[frozenset[Token]] = [frozenset() if explanation is None else getattr(explanation, kind) for kind in kinds]
    lists = [_in_order(tokens, most) for tokens in sets]
    known = sorted(token for tokens in lists for token in tokens if len(token) > TOKEN_LENGTH)
    shown: dict[str, Any] = {
        kind: [shortened(token, TOKEN_LENGTH, known) for token in tokens] for kind, tokens in zip(kinds, lists, strict=True)
    }
    return {**shown, "counts": None if explanation is None else [len(tokens) for tokens in sets]}


def _in_order(tokens: Iterable[Token], most: int) -> list[str]:
    return [shown_id(token) for token in sorted(tokens, key=lambda token: (type(token).__name__, token))[:most]]


def stairs(steps: Sequence[SkybandStep]) -> list[list[Any]]:
    """The skyband as lists ``[until, similarity]``. Very many steps are thinned out, each group at the height of its first."""
    size = max(1, math.ceil(len(steps) / STEPS))
    chunks = [steps[first : first + size] for first in range(0, len(steps), size)]
    return [[shown_time(chunk[-1].until), number(chunk[0].similarity)] for chunk in chunks]
