"""A source that says what it was given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from swoop.results import Explanation, Pair, SkybandStep


def pair(newer: Any, older: Any = 0, similarity: float = 0.5, start: Any = 0, end: Any = 100, arrivals: Any = None) -> Pair:
    return Pair(similarity, newer, older, 1, start, end, arrivals=arrivals)


class Still:
    """A source that says what it was given."""

    def __init__(self, pairs: list[Pair], **stats: Any) -> None:
        self.pairs, self.stats = pairs, SimpleNamespace(**stats)
        self.steps: list[SkybandStep] = []
        self.asked = 0

    def topk(self) -> list[Pair]:
        return self.pairs

    def explain(self, pair: Pair) -> Explanation:
        self.asked += 1
        return Explanation(pair, frozenset({"a"}), frozenset({b"\xff"}), frozenset({7}))

    def skyband(self) -> list[SkybandStep]:
        return self.steps
