"""What streams are like: the paper's table of sizes and vocabularies, and the bursts of DBLP."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from swoop.paper.streams import DAY, Stream

SHOWN = 400  # positions of a curve


@dataclass(frozen=True)
class Profile:
    """A row of the paper's table, and how many distinct tokens there were on the way."""

    stream: str
    source: str
    sets: int
    mean_size: float
    distinct: int
    after_tenth: int
    after_hundredth: int

    @property
    def case(self) -> Hashable:
        return self.stream, self.source, self.sets


def profile(stream: Stream, source: str, sets: int) -> Profile:
    """Tokens are numbered in the order of appearance, so the largest number tells how many there were."""
    distinct = [int(stream.tokens[: stream.offsets[max(1, len(stream) // part)]].max(initial=-1)) + 1 for part in (1, 10, 100)]
    return Profile(stream.name, source, sets, stream.tokens.size / len(stream), *distinct)


@dataclass(frozen=True)
class Bursts:
    """Sets in a window of one day, and the share of them that have each of the two late tokens, along the stream.

    Curves have a value per part of the stream, of the moment with the largest window. ``firsts`` are the positions where the
    two tokens appear first.
    """

    stream: str
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
        return self.stream, self.source, self.sets

    @property
    def share_in_spikes(self) -> float:
        """Of the more frequent token, where the window is at least half as large as ever."""
        return float(np.mean([share for share, size in zip(self.shares, self.sizes, strict=True) if 2 * size >= self.largest]))


def bursts(stream: Stream, source: str, sets: int) -> Bursts:
    """The two late tokens are the most frequent of those that are not among the first thousand sets."""
    window = stream.window_sizes(DAY)
    early = stream.offsets[min(1000, len(stream) // 20)]
    known = int(stream.tokens[:early].max(initial=-1)) + 1
    frequency = np.bincount(stream.tokens[stream.tokens >= known], minlength=known + 2)
    tokens = np.argsort(frequency)[::-1][:2]
    held, firsts = [], []
    for token in tokens:
        owners = np.searchsorted(stream.offsets, np.flatnonzero(stream.tokens == token), side="right") - 1
        firsts.append(int(owners[0]) if owners.size else len(stream))
        held.append(np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(stream))))))
    edges = np.linspace(0, len(stream), min(SHOWN, len(stream)) + 1).astype(np.int64)
    looks = np.array([start + int(window[start:stop].argmax()) for start, stop in pairwise(edges.tolist())])
    sizes = window[looks]
    shares = [(has[looks + 1] - has[looks + 1 - sizes]) / sizes for has in held]
    return Bursts(
        stream.name,
        source,
        sets,
        int(window.max()),
        sorted(firsts),
        looks.tolist(),
        sizes.tolist(),
        shares[0].tolist(),
        shares[1].tolist(),
    )
