"""The cost of running Static only once per batch of sets: windows with a wrong top-k (section 7.2)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import swoop
from swoop.paper.data_sets import DataSet
from swoop.paper.experiments import duration

BATCH, WINDOW, K = 100, 1000, 10


@dataclass(frozen=True)
class Batches:
    """The share of windows whose top-k is not that at the end of the last batch, and of those the share that differ in more
    than one pair.
    """

    data_set: str
    source: str
    sets: int
    wrong: float
    by_more_than_one: float

    @property
    def case(self) -> Hashable:
        return self.data_set, self.source, self.sets


def batches(data_set: DataSet, source: str, sets: int) -> Batches:
    """Compare the exact top-k after each arrival with that after the last batch."""
    part = data_set.first(min(len(data_set), 20 * WINDOW))
    join = swoop.TopKJoin(k=K, window=duration(part, WINDOW))
    shown: set[tuple[Any, Any]] = set()
    looked = wrong = far = 0
    for number, (tokens, at) in enumerate(zip(part.sets(), part.times.tolist(), strict=True), 1):
        join.insert(tokens, at)
        if number < min(WINDOW, len(part) // 2):
            continue
        exact = {(pair.newer, pair.older) for pair in join.topk()}
        if number % BATCH == 0 or not looked:
            shown = exact
        looked += 1
        wrong += shown != exact
        far += len(exact - shown) > 1
    return Batches(data_set.name, source, sets, wrong / max(looked, 1), far / max(wrong, 1))
