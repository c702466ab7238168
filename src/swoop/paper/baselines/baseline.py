"""Engines that run another algorithm."""

from __future__ import annotations

from dataclasses import replace

from swoop.engine.algorithm import Algorithm, settle_engine
from swoop.engine.engine import Engine
from swoop.engine.memory import Memory
from swoop.engine.settings import Settings
from swoop.paper.baselines import arrival, static
from swoop.paper.baselines.layout import BASE, BASELINES, STATIC, BaselineState

_BY_EVENT = ("events.set", "events.position", "events.bound")  # kernels look at the size of the last one
_BY_POST = ("posts.position", "posts.next", "posts.set")
_BY_STOCK = ("skyband.codes", "skyband.heap", "sort_room.spare")


def make_baseline(name: str, settings: Settings, first: int = 0) -> Engine:
    """The engine of one of ``BASELINES``. It has no floor and no change feed."""
    return Engine(replace(settings, floor=False), first, _ALGORITHMS[name])


def _baseline(number: int) -> Algorithm:
    def start(memory: Memory) -> None:
        state = memory.state
        assert isinstance(state, BaselineState)
        state.algorithm = number
        memory.resize(("met",), 1 << 10)

    return Algorithm(
        insert=static.insert_sets if number == STATIC else arrival.insert_sets,
        settle={STATIC: _settle_static, BASE: _settle_base}.get(number, settle_engine),
        layout=BaselineState,
        start=start,
        with_stock=_BY_STOCK,
        grow=_grow,
    )


def _settle_static(engine: Engine) -> int:
    engine.run(static.refresh)
    return engine.state.stock.size


def _settle_base(engine: Engine) -> int:
    return arrival.settle_all(engine.memory.words)


def _grow(memory: Memory, path: str) -> None:
    if path == "met":
        memory.replace(path, memory.new(path, 2 * memory[path].size))
        return
    memory.resize(("posts.heads",), memory["vocabulary.token_key"].size)
    memory.resize(_BY_POST, memory["window.arena"].size)
    memory.resize(_BY_EVENT, 2 * (memory.state.next - memory.state.oldest + 1))


_ALGORITHMS = {name: _baseline(number) for name, number in BASELINES.items()}
