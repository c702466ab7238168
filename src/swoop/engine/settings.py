"""What an engine is asked to do, and the state with which it begins."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from swoop.engine.layout import State
from swoop.engine.thresholds import Thresholds, current


@dataclass(frozen=True)
class Settings:
    """What an engine is asked to do. ``duration`` 0: unbounded. ``threshold``: the largest key that does not count.

    ``tracking``: whether there is a change feed; one of families may tell of links instead (``families.LINKS``).
    ``max_pairs``: of an engine that keeps all pairs.
    """

    k: int
    duration: int
    kind: int
    function: int = 0
    threshold: float = -np.inf
    side_count: int = 1
    tracking: int = 0
    floor: bool = True
    copies_once: bool = False
    max_pairs: int = 0
    thresholds: Thresholds = field(default_factory=current)


def write_settings(state: State, settings: Settings, first: int) -> None:
    """Fill in a new state; ``first`` is the arrival number of the next set."""
    thresholds, outlook = settings.thresholds, _outlook(settings)
    state.k = min(settings.k, 2**62)
    state.duration = settings.duration
    state.kind = settings.kind
    state.function = settings.function
    state.lowest = settings.threshold
    state.side_count = settings.side_count
    state.tracking = settings.tracking
    state.base = first
    state.records.are_kept = settings.copies_once
    state.records.former = -1
    state.feed.entering = -1
    state.floor.outlook = outlook
    state.floor.early = outlook // thresholds.early
    for name, *_ in state.limits._fields_:
        setattr(state.limits, name, getattr(thresholds, name))
    for stock in (state.stock, state.spare):
        stock.threshold = settings.threshold
        stock.version = 1


def _outlook(settings: Settings) -> int:
    """For how long a floor is to last: measured best; flat around it."""
    if not settings.floor:
        return -1
    return settings.duration // 2 if settings.k < 100 else settings.duration * 3 // 10
