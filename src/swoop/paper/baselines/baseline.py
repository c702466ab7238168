"""An engine that runs another algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from swoop.engine.engine import Engine, Settings
from swoop.paper.baselines import arrival, static
from swoop.paper.baselines.codes import BASE, BASELINES, GROW_MET, GROW_STATIC, STATIC

_BY_EVENT = ("event_set", "event_position", "event_bound")  # kernels look at the size of the last one
_BY_POST = ("post_position", "post_next", "post_set")


class Baseline(Engine):
    """One of ``BASELINES``. Without a change feed."""

    _by_stock = ("codes", "heap", "sort_spare", *Engine._by_stock)

    def __init__(self, settings: Settings, first: int = 0, *, algorithm: int) -> None:
        self._algorithm = algorithm
        self._insert_kernel = static.insert_sets if algorithm == STATIC else arrival.insert_sets
        super().__init__(settings, first)

    def _another(self, settings: Settings, first: int) -> Baseline:
        return Baseline(settings, first, algorithm=self._algorithm)

    def _start(self, first: int) -> None:
        super()._start(first)
        self._state["algorithm"] = self._algorithm
        self._resize("met", 1 << 10)

    def _grow(self, code: int, needed: int) -> None:
        if code == GROW_STATIC:
            state = self._state
            sets, tokens = int(state["next"] - state["oldest"]) + 1, int(self._arrays["arena"].size)
            self._resize_all(("heads",), self._arrays["token_key"].size)
            self._resize_all(_BY_POST, tokens)
            self._resize_all(_BY_EVENT, 2 * sets)
        elif code == GROW_MET:
            self._replace("met", self._zeros(2 * self._arrays["met"].size, np.dtype(np.int64)))
        else:
            super()._grow(code, needed)

    def settle(self) -> int:
        """Put the pairs that have come since in order. How many pairs the stock holds."""
        if self._algorithm == STATIC:
            self._run(static.refresh)
            return int(self._arrays["stock"]["size"][0])
        if self._algorithm == BASE:
            return int(arrival.settle_all(self._memory))
        return super().settle()

    def warm(self) -> None:
        """There is nothing to warm: a baseline compiles when it runs."""


def make_baseline(name: str, settings: Settings) -> Baseline:
    return Baseline(replace(settings, floor=False), algorithm=BASELINES[name])
