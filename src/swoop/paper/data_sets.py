"""Synthetic data sets, shaped like the five of the paper's section 7: tweets, tags, publications, mails, workflows.

A shape fixes the sizes of sets, the frequencies of tokens, the share of new tokens, the share of sets that are edited copies of
earlier ones, and the distribution of arrivals over time. Times are in microseconds. With as many sets as in the paper, the mean
set size and the number of distinct tokens match its table: ``swoop bench data-sets`` shows both. A data set of any length is
generated in one pass, about ten million tokens per second, in little more memory than it occupies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swoop.engine.compile import kernel

MAGIC = 0x53574F4F50
DAY = 86_400_000_000


@dataclass(frozen=True)
class DataSet:
    """A stream as arrays: sets in the order of arrival; the n-th has the tokens ``offsets[n]`` to ``offsets[n + 1]``."""

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
        """Write flat little-endian arrays: magic, counts, times, offsets, tokens (32 bits)."""
        with path.open("wb") as file:
            np.array([MAGIC, len(self), self.tokens.size], "<i8").tofile(file)
            self.times.astype("<i8").tofile(file)
            self.offsets.astype("<i8").tofile(file)
            self.tokens.astype("<u4").tofile(file)

    @classmethod
    def load(cls, path: Path) -> DataSet:
        with path.open("rb") as file:
            magic, sets, tokens = np.fromfile(file, "<i8", 3)
            if magic != MAGIC:
                raise ValueError(f"{path} is not a saved data set")
            times, offsets = np.fromfile(file, "<i8", sets), np.fromfile(file, "<i8", sets + 1)
            return cls(path.stem, times, offsets, np.fromfile(file, "<u4", tokens).astype(np.int64))

    def first(self, sets: int) -> DataSet:
        """The first sets."""
        offsets = self.offsets[: sets + 1]
        return DataSet(self.name, self.times[:sets], offsets, self.tokens[: offsets[-1]])

    def window_sizes(self, duration: int) -> np.ndarray:
        """How many sets a window of this duration holds after each arrival."""
        first = np.searchsorted(self.times, self.times - duration, side="right")
        sizes: np.ndarray = np.arange(1, len(self) + 1) - first
        return sizes

    def window_for(self, average: int) -> int:
        """The duration for which a window holds about ``average`` sets on average."""
        low, high = 1, int(self.times[-1] - self.times[0]) + 1
        while low < high:
            middle = (low + high) // 2
            if self.window_sizes(middle).mean() < average:
                low = middle + 1
            else:
                high = middle
        return low


@dataclass(frozen=True)
class Shape:
    """The characteristics of a data set.

    ``paper_sets``, ``mean_size`` and ``paper_universe`` are the row of the paper's table. Tokens are drawn from a Zipf
    distribution with ``skew`` over ``universe`` tokens, except for the share ``fresh`` of new tokens. ``copies`` is
    the share of sets that are copies of earlier ones, and ``edits`` the largest share of a copy's tokens that is replaced.
    """

    paper_sets: int
    mean_size: float
    paper_universe: int
    universe: int
    skew: float
    fresh: float
    copies: float
    edits: float


SHAPES = {
    "tweet": Shape(34_000_000, 13.44, 37_000_000, 400_000, 1.02, 0.0802, 0.06, 0.15),
    "flickr": Shape(1_200_000, 10.05, 810_000, 591_000, 0.95, 0.02, 0.02, 0.25),
    "dblp": Shape(5_500_000, 12.10, 1_700_000, 900_000, 0.90, 0.0127, 0.01, 0.25),
    "industry": Shape(49_000_000, 13.07, 11_000, 10_000, 1.05, 0.000_002_5, 0.50, 0.20),
    "enron": Shape(250_000, 302.2, 730_000, 500_000, 1.02, 0.00203, 0.04, 0.05),
}
MEAN_LAG = 20_000  # sets between a set and its copy


def generate(name: str, sets: int, seed: int = 7) -> DataSet:
    """A data set of the named shape."""
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    late = np.zeros(sets, np.int8)
    if name == "dblp":
        times, late = _publications(sets, rng)
    elif name == "flickr":
        times = np.sort(rng.integers(0, 10_000_000_000, sets))
    else:
        times = np.cumsum(1000.0 * rng.exponential(1.0, sets)).astype(np.int64)
    sizes = _sizes(name, shape.mean_size, late, rng)
    lags = np.minimum(rng.geometric(1 / MEAN_LAG, sets), np.arange(sets))  # early on, most copies are of the first set
    lags[rng.random(sets) >= shape.copies] = 0
    lags[(late > 0) | (late[np.arange(sets) - lags] > 0)] = 0  # home pages are not copied
    _resize_copies(sizes, lags)
    offsets = np.zeros(sets + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    tokens = np.empty(offsets[-1], np.int64)
    weights = 1.0 / np.arange(1, shape.universe + 1) ** shape.skew
    weights *= (1 - shape.fresh) / weights.sum()
    columns, others = _columns(np.append(weights, shape.fresh))
    names = _fill(rng, columns, others, lags, late, shape.edits, offsets, tokens)
    _number_by_appearance(tokens, np.full(names, -1, np.int32))
    return DataSet(name, times, offsets, tokens)


def generate_warm(name: str, sets: int) -> DataSet:
    """The end of a longer data set: at its beginning, far too many sets are copies of the very first one."""
    whole = generate(name, 5 * MEAN_LAG + sets)
    offsets = whole.offsets[-sets - 1 :]
    return DataSet(name, whole.times[-sets:], offsets - offsets[0], whole.tokens[offsets[0] :])


def _sizes(name: str, mean: float, late: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    sets = late.size
    if name == "enron":  # a few mails are very long
        spread = 1.15
        sizes: np.ndarray = np.clip(rng.lognormal(np.log(mean) - spread**2 / 2, spread, sets), 1, 8000).astype(np.int64)
        return sizes
    pages = np.flatnonzero(late)  # the late tokens and a name
    page_sizes = late[pages] + 2 + rng.poisson(0.5, pages.size)
    sizes = rng.poisson((mean * sets - page_sizes.sum()) / max(sets - pages.size, 1) - 1, sets) + 1
    sizes[pages] = page_sizes
    return sizes


# DBLP: most days bring some publications and home pages of persons, few days very many home pages

DAYS = 5500
BURSTS = 0.061 * 0.6 ** np.arange(12)  # shares of all sets, one day each
FAMILY = 7919  # a step from one last name to the next, prime
LATE = ((2018, 0.1), (9764, 0.2))  # first positions of the two tokens of home pages; at these shares of a short data set


def _publications(sets: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Times of arrival, and how many of the tokens "page" and "home" each set has."""
    activity = rng.lognormal(0, 1, DAYS) * np.linspace(1, 3, DAYS)
    activity[rng.random(DAYS) < 0.15] = 1e-9
    bursts = (DAYS * (1 / 8 + 7 / 8 * (np.arange(12) + rng.random(12)) / 12)).astype(np.int64)
    activity[bursts] = 0
    activity *= (1 - BURSTS.sum()) / activity.sum()
    activity[bursts] = rng.permutation(BURSTS)
    ends = np.concatenate(([0], np.cumsum(activity)))
    moments = np.sort(rng.random(sets))
    times = (np.interp(moments, ends / ends[-1], np.arange(DAYS + 1)) * DAY).astype(np.int64)
    day = np.minimum(times // DAY, DAYS - 1)
    share = 0.24 + 0.14 * np.sin(np.arange(DAYS) / 200)
    share[bursts] = 0.97
    late = (rng.random(sets) < share[day]).astype(np.int8)
    page, home = (min(position, int(part * sets)) for position, part in LATE)
    late[:page] = 0
    late[page : page + 1] = 1
    late[home:] *= 2
    late[home : home + 1] = 2
    return times, late


# the kernels


@kernel
def _columns(weights: Any) -> Any:
    """Tables for drawing tokens by weight in constant time (Walker's alias method)."""
    count = weights.size
    heights = weights * (count / weights.sum())
    others = np.arange(count)
    low = np.flatnonzero(heights < 1)
    high = np.flatnonzero(heights >= 1)
    left, tall = low.size, high.size
    room = np.empty(count, np.int64)
    room[:left] = low
    while left > 0 and tall > 0:
        left -= 1
        short, giver = room[left], high[tall - 1]
        others[short] = giver
        heights[giver] -= 1 - heights[short]
        if heights[giver] < 1:
            tall -= 1
            room[left] = giver
            left += 1
    return heights, others


@kernel
def _resize_copies(sizes: Any, lags: Any) -> None:
    """A copy has the size of the set it is a copy of."""
    for number in range(sizes.size):
        if lags[number] > 0:
            sizes[number] = sizes[number - lags[number]]


@kernel
def _fill(rng: Any, columns: Any, others: Any, lags: Any, late: Any, edits: float, offsets: Any, tokens: Any) -> int:
    """Draw the tokens of all sets. Returns an upper bound of the number of tokens.

    Tokens drawn by weight come first, then the two late ones, then fresh ones, for which the last column stands. A set with
    late tokens is the home page of a person, with a last name that the home pages around it do not have.
    """
    universe = columns.size - 1
    fresh = universe + 2
    persons = 0
    holder = np.full(fresh, -1, np.int64)  # the last set with this token
    for number in range(lags.size):
        at, end = offsets[number], offsets[number + 1]
        if lags[number] > 0:
            source = number - lags[number]
            change = edits * rng.random()
            for p in range(offsets[source], offsets[source + 1]):
                if rng.random() >= change:
                    tokens[at] = tokens[p]
                    if tokens[p] < universe + 2:
                        holder[tokens[p]] = number
                    at += 1
        elif late[number] > 0:
            for token in range(universe, universe + late[number]):
                tokens[at] = token
                at += 1
            persons += 1
            tokens[at] = persons * FAMILY % universe
            holder[tokens[at]] = number
            at += 1
        while at < end:
            drawn = rng.random() * columns.size
            token = int(drawn)
            if drawn - token >= columns[token]:
                token = others[token]
            if token == universe:
                token = fresh
                fresh += 1
            elif holder[token] == number:
                continue
            else:
                holder[token] = number
            tokens[at] = token
            at += 1
        tokens[offsets[number] : end].sort()
    return int(fresh)


@kernel
def _number_by_appearance(tokens: Any, numbers: Any) -> None:
    """Replace tokens by token ids 0, 1, ... in the order of first appearance."""
    next_id = 0
    for p in range(tokens.size):
        token = tokens[p]
        if numbers[token] < 0:
            numbers[token] = next_id
            next_id += 1
        tokens[p] = numbers[token]
