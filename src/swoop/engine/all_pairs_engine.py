"""The engine of all pairs above a threshold as Python sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from swoop.engine.algorithm import Algorithm
from swoop.engine.all_pairs import advance, insert_sets, read_pairs, rebase_all
from swoop.engine.engine import Engine
from swoop.engine.layout import CHANGE, SEEN
from swoop.engine.memory import Memory
from swoop.engine.pair_pool import AllPairsState
from swoop.engine.settings import Settings
from swoop.errors import too_many_pairs


def _read(engine: Engine, most: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """All pairs in the total order. O(n log n)."""
    state = engine.state
    assert isinstance(state, AllPairsState)
    rows, remainders = np.zeros(state.all_pairs.size, CHANGE), np.zeros(state.all_pairs.size)
    seen = np.zeros(len(rows) if engine.settings.copies_once else 0, SEEN)
    read_pairs(engine.memory.words, rows, seen, remainders)
    order = [rows["older"], rows["newer"], -rows["end"], -remainders, -rows["key"]]
    if state.duration == 0:  # there are no end times
        del order[2]
    places = np.lexsort(order)
    return rows[places], seen[places] if engine.settings.copies_once else None


def _settle(engine: Engine) -> int:
    """There is nothing to be settled."""
    state = engine.state
    assert isinstance(state, AllPairsState)
    return state.all_pairs.size


def _grow(memory: Memory, path: str) -> None:
    state = memory.state
    assert isinstance(state, AllPairsState)
    needed, most = state.needed, state.all_pairs.most
    if path == "all_pairs.ended":
        memory.resize((path,), 2 * needed)
        return
    if needed > most:
        raise too_many_pairs(needed, most, f"set {state.base + state.next} has not arrived: with it")
    memory.resize((path,), min(memory.grown(needed), most))


def make_all_pairs(settings: Settings, first: int = 0) -> Engine:
    """An engine that keeps all pairs above the threshold, ``max_pairs`` at most."""

    def start(memory: Memory) -> None:
        state = memory.state
        assert isinstance(state, AllPairsState)
        state.all_pairs.most = settings.max_pairs
        memory.resize(("all_pairs.pool", "all_pairs.ended"), settings.thresholds.stock)

    algorithm = Algorithm(
        insert_sets,
        _settle,
        advance=advance,
        rebase=rebase_all,
        read=_read,
        layout=AllPairsState,
        start=start,
        with_ring=("all_pairs.lists",),
        grow=_grow,
    )
    return Engine(replace(settings, floor=False), first, algorithm)
