"""Families of a history in slices: each slice gives links, and all links together give the families.

The slice [a, b) replays the sets from a - w on, as for a top-k, and gives the links of the sets that arrive in [a, b). How the
sets it meets were linked before, it has seen itself, or the slices before it have told. So the links of all slices, put
together, connect what is connected. They may be more than a forest: where a slice does not know that two sets are of one
family, because that is long ago, it may link both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from swoop.engine.forest import flatten, unite
from swoop.join.algorithms import make_family_engine
from swoop.join.parallel import Cutting, Slice
from swoop.join.rows import Rows
from swoop.join.slices import arrive
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction


class Links(NamedTuple):
    """Links by arrival numbers, and that of the oldest set which may be named later."""

    newer: np.ndarray
    older: np.ndarray
    oldest: int


def replay_links(batches: Iterable[Any], spec: FamilySpec, tokens: str | TokenFunction, start: int) -> Iterator[Links]:
    """Let the sets of a slice arrive, in order, and give the links of those that arrive from ``start`` on. Times are ticks."""
    engine = make_family_engine(spec, links=True)
    first = 0  # of the sets from the start on
    for ticks in arrive(engine, batches, spec.window, tokens):
        first += int(np.count_nonzero(ticks < start))
        newer, older = take_links(engine)
        known = int(np.searchsorted(newer, first))
        yield Links(newer[known:], older[known:], engine.oldest)


def take_links(engine: Any) -> tuple[np.ndarray, np.ndarray]:
    """The links since the last call: arrival numbers of newer and older sets."""
    number, newer, older = engine.links()
    engine.forget_changes(number + len(newer))
    return newer, older


def find_firsts(size: int, links: Iterable[Links]) -> np.ndarray:
    """Of each of so many sets, by arrival number, the first set of its family."""
    firsts = np.arange(size)
    for newer, older, _ in links:
        unite(firsts, newer, older)
    flatten(firsts)
    return firsts


def find_links(histories: Sequence[Rows], spec: FamilySpec, cutting: Cutting) -> list[list[Links]]:
    """The links of each history in one process, of all its slices, which run on all threads."""
    in_ticks = spec.in_ticks()

    def task(rows: Rows) -> Callable[[Slice], list[Links]]:
        def run(part: Slice) -> list[Links]:
            found = replay_links(part.batches, in_ticks, rows.sets.tokens, part.start)
            return [Links(newer + part.first, older + part.first, oldest) for newer, older, oldest in found]

        return run

    found = cutting.run_all([(rows, task(rows)) for rows in histories], spec.window.duration)
    return [[links for part in parts for links in part] for parts in found]


@dataclass(frozen=True)
class Groups:
    """The families of at least two sets, by their first sets: arrival numbers, and how many sets they have."""

    firsts: np.ndarray
    newest: np.ndarray
    totals: np.ndarray
    sizes: np.ndarray  # those that are valid in the end

    @classmethod
    def of(cls, firsts: np.ndarray, is_valid: np.ndarray) -> Groups:
        """Of sets, the first of whose families is given, and which of them are valid in the end."""
        size = len(firsts)
        totals = np.bincount(firsts, minlength=size)
        sizes = np.bincount(firsts[is_valid], minlength=size)
        newest = np.zeros(size, np.int64)
        np.maximum.at(newest, firsts, np.arange(size))
        found = np.flatnonzero(totals > 1)
        return cls(found, newest[found], totals[found], sizes[found])

    def take(self, places: np.ndarray) -> Groups:
        """The same in this order."""
        return Groups(self.firsts[places], self.newest[places], self.totals[places], self.sizes[places])
