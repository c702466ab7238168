"""An engine that runs another algorithm."""

from __future__ import annotations

import numpy as np

from swoop.baselines import arrival, static
from swoop.baselines.codes import BASE, GROW_MET, GROW_STATIC, STATIC
from swoop.engine.engine import Engine, Settings

_BY_EVENT = ("event_bound", "event_set", "event_position")
_BY_POST = ("post_set", "post_position", "post_next")


class Baseline(Engine):
    """One of ``BASELINES``. Without a change feed."""

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
            for names, size in ((_BY_EVENT, 2 * sets), (_BY_POST, tokens), (("heads",), self._arrays["token_key"].size)):
                for name in names:
                    if self._arrays[name].size < size:
                        self._resize(name, size)
        elif code == GROW_MET:
            self._replace("met", np.zeros(2 * self._arrays["met"].size, np.int64))
        else:
            super()._grow(code, needed)
            size = self._arrays["pairs"].size
            for name in ("codes", "heap"):
                if self._arrays[name].size < size:
                    self._resize(name, size)
            self._make_sort_room(size)

    @property
    def stock_size(self) -> int:
        """How many pairs the stock holds at the index time."""
        if self._algorithm == STATIC:
            self._run(static.refresh)
            return int(self._arrays["stock"]["size"][0])
        if self._algorithm == BASE:
            return int(arrival.settle_all(self._memory))
        return super().stock_size

    def warm(self) -> None:
        """There is nothing to warm: a baseline compiles when it runs."""
