"""Profiles of data sets: the paper's table of sizes and vocabularies, and the bursts of DBLP."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from swoop.paper.data_sets import DAY, DataSet

SHOWN = 400  # positions of a curve


@dataclass(frozen=True)
class Profile:
    """A row of the paper's table, and the numbers of distinct tokens after a part of the sets."""

    data_set: str
    source: str
    sets: int
    mean_size: float
    distinct: int
    after_tenth: int
    after_hundredth: int

    @property
    def case(self) -> Hashable:
        return self.data_set, self.source, self.sets


def profile(data_set: DataSet, source: str, sets: int) -> Profile:
    """Token ids are given in the order of appearance, so the largest id tells how many tokens there were."""
    distinct = [
        int(data_set.tokens[: data_set.offsets[max(1, len(data_set) // part)]].max(initial=-1)) + 1 for part in (1, 10, 100)
    ]
    return Profile(data_set.name, source, sets, data_set.tokens.size / len(data_set), *distinct)


@dataclass(frozen=True)
class Bursts:
    """Sets in a window of one day, and the shares of them that have each of the two late tokens, along the data set.

    Curves have one value per part of the data set, at the moment with the largest window. ``firsts`` are the first positions
    of the two tokens.
    """

    data_set: str
    source: str
    sets: int
    largest: int
    firsts: list[int]
    positions: list[int]
    sizes: list[int]
    shares: list[float]
    other_shares: list[float]

    @property
    def case(self) -> Hashable:
        return self.data_set, self.source, self.sets

    @property
    def share_in_spikes(self) -> float:
        """Share of the more frequent token where the window is at least half of its maximum."""
        return float(np.mean([share for share, size in zip(self.shares, self.sizes, strict=True) if 2 * size >= self.largest]))


def bursts(data_set: DataSet, source: str, sets: int) -> Bursts:
    """The two late tokens are the most frequent of those that are not in the first thousand sets."""
    window = data_set.window_sizes(DAY)
    early = data_set.offsets[min(1000, len(data_set) // 20)]
    known = int(data_set.tokens[:early].max(initial=-1)) + 1
    frequency = np.bincount(data_set.tokens[data_set.tokens >= known], minlength=known + 2)
    tokens = np.argsort(frequency)[::-1][:2]
    held, firsts = [], []
    for token in tokens:
        owners = np.searchsorted(data_set.offsets, np.flatnonzero(data_set.tokens == token), side="right") - 1
        firsts.append(int(owners[0]) if owners.size else len(data_set))
        held.append(np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(data_set))))))
    edges = np.linspace(0, len(data_set), min(SHOWN, len(data_set)) + 1).astype(np.int64)
    looks = np.array([start + int(window[start:stop].argmax()) for start, stop in pairwise(edges.tolist())])
    sizes = window[looks]
    shares = [(has[looks + 1] - has[looks + 1 - sizes]) / sizes for has in held]
    return Bursts(
        data_set.name,
        source,
        sets,
        int(window.max()),
        sorted(firsts),
        looks.tolist(),
        sizes.tolist(),
        shares[0].tolist(),
        shares[1].tolist(),
    )
