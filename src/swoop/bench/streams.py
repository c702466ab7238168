"""Synthetic streams shaped like the five of the paper's evaluation (section 7): tweets, tags, publications, mails, workflows.

A shape fixes the sizes of sets, how often tokens occur, how many tokens are new, how many sets are edited copies of earlier
ones, and how arrivals are spread in time. Times are in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

MAGIC = 0x53574F4F50


@dataclass(frozen=True)
class Stream:
    """Sets in the order of arrival; the n-th has the tokens ``offsets[n]`` to ``offsets[n + 1]``."""

    name: str
    times: np.ndarray
    offsets: np.ndarray
    tokens: np.ndarray

    def __len__(self) -> int:
        return len(self.times)

    def sets(self) -> list[list[int]]:
        """The tokens of each set."""
        return [row.tolist() for row in np.split(self.tokens, self.offsets[1:-1])]

    def save(self, path: Path) -> None:
        """Write the stream as flat little-endian arrays: magic, counts, times, offsets, tokens (32 bits)."""
        with path.open("wb") as file:
            np.array([MAGIC, len(self), self.tokens.size], "<i8").tofile(file)
            self.times.astype("<i8").tofile(file)
            self.offsets.astype("<i8").tofile(file)
            self.tokens.astype("<u4").tofile(file)

    @classmethod
    def load(cls, path: Path) -> Stream:
        with path.open("rb") as file:
            magic, sets, tokens = np.fromfile(file, "<i8", 3)
            if magic != MAGIC:
                raise ValueError(f"{path} is not a stream")
            times, offsets = np.fromfile(file, "<i8", sets), np.fromfile(file, "<i8", sets + 1)
            return cls(path.stem, times, offsets, np.fromfile(file, "<u4", tokens).astype(np.int64))

    def window_for(self, average: int) -> int:
        """The duration for which a window holds about ``average`` sets on average."""
        low, high = 1, int(self.times[-1] - self.times[0]) + 1
        while low < high:
            middle = (low + high) // 2
            first = np.searchsorted(self.times, self.times - middle, side="right")
            if (np.arange(1, len(self) + 1) - first).mean() < average:
                low = middle + 1
            else:
                high = middle
        return low


@dataclass(frozen=True)
class Shape:
    """What a stream is like.

    ``skew`` is that of the Zipf distribution of tokens, ``fresh`` the share of tokens never seen before, ``copies`` the share
    of sets that are copies of earlier ones, and ``edits`` the largest share of a copy's tokens that is replaced.
    """

    mean_size: float
    universe: int
    skew: float
    fresh: float
    copies: float
    edits: float


SHAPES = {
    "tweet": Shape(13.44, 400_000, 1.02, 0.075, 0.06, 0.15),
    "flickr": Shape(10.05, 810_000, 0.95, 0.02, 0.02, 0.25),
    "dblp": Shape(12.1, 900_000, 0.90, 0.02, 0.01, 0.25),
    "industry": Shape(13.07, 11_000, 1.05, 0.0, 0.50, 0.20),
    "enron": Shape(302.2, 500_000, 1.02, 0.002, 0.04, 0.05),
}
MEAN_LAG = 20_000  # sets between a set and its copy


def generate(name: str, sets: int, seed: int = 7) -> Stream:
    """A stream of the named shape."""
    shape = SHAPES[name]
    chance = np.random.default_rng(seed)
    bursts = (np.arange(sets) // max(1, sets // 60)) % 3 == 1 if name == "dblp" else np.zeros(sets, bool)
    sizes = _sizes(name, shape, sets, chance)
    drawn = _draw_tokens(shape, int(sizes.sum()), chance)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    lags = np.minimum(chance.geometric(1 / MEAN_LAG, sets), np.arange(sets))
    copied = (chance.random(sets) < shape.copies) & (lags > 0)
    shared = bursts & (chance.random(sets) < 0.9)
    found: list[np.ndarray] = []
    for i in range(sets):
        own = drawn[starts[i] : starts[i + 1]]
        if copied[i]:
            source = found[i - lags[i]]
            kept = chance.random(source.size) >= shape.edits * chance.random()
            own = np.concatenate((source[kept], own[: np.count_nonzero(~kept)]))
        if shared[i]:  # two tokens that become frequent late
            own = np.concatenate((own, [shape.universe - 1, shape.universe - 2]))
        found.append(np.unique(own) if own.size else np.zeros(1, np.int64))
    offsets = np.concatenate(([0], np.cumsum([tokens.size for tokens in found])))
    return Stream(name, _times(name, sets, bursts, chance), offsets, _number_by_appearance(np.concatenate(found)))


def _sizes(name: str, shape: Shape, sets: int, chance: np.random.Generator) -> np.ndarray:
    if name == "enron":
        return np.clip(np.exp(chance.normal(5.0, 1.15, sets)), 1, 6000).astype(np.int64)
    return chance.poisson(shape.mean_size - 1, sets) + 1


def _draw_tokens(shape: Shape, count: int, chance: np.random.Generator) -> np.ndarray:
    weights = np.cumsum(1.0 / np.arange(1, shape.universe + 1) ** shape.skew)
    tokens: np.ndarray = np.searchsorted(weights, chance.random(count) * weights[-1]).astype(np.int64)
    fresh = chance.random(count) < shape.fresh
    tokens[fresh] = shape.universe + np.arange(np.count_nonzero(fresh))
    return tokens


def _times(name: str, sets: int, bursts: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    if name == "flickr":
        return np.sort(chance.integers(0, 10_000_000_000, sets))
    gaps = np.where(bursts, 20.0, 4000.0) if name == "dblp" else np.full(sets, 1000.0)
    return np.cumsum(gaps * chance.exponential(1.0, sets)).astype(np.int64)


def _number_by_appearance(tokens: np.ndarray) -> np.ndarray:
    _, first, numbers = np.unique(tokens, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    appearance: np.ndarray = rank[numbers.ravel()]
    return appearance
