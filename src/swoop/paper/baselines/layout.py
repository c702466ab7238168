"""The algorithms as numbers, and what their state has beyond the engine's."""

from __future__ import annotations

import ctypes
from typing import Annotated, Any

import numpy as np

from swoop.engine.layout import Int32s, Int64s, State
from swoop.engine.structures import arrays_of, structure, view_of

BASE, SCASE, STATIC, NOINDEX, NOINCREMENT, NOOPT = range(1, 7)
BASELINES = {
    "base": BASE,
    "scase": SCASE,
    "static": STATIC,
    "swoop-noindex": NOINDEX,
    "swoop-noincrement": NOINCREMENT,
    "swoop-noopt": NOOPT,
}


@structure
class Skyband(ctypes.Structure):
    """Room to make a skyband anew: end times with ranks, and a heap of end times."""

    codes: Int64s
    heap: Int32s


@structure
class Events(ctypes.Structure):
    """A heap of the next tokens of sets, the highest bound first."""

    bound: Annotated[Any, np.dtype(np.float64)]
    set: Int32s
    position: Int32s


@structure
class Posts(ctypes.Structure):
    """For each token a chain of the sets that have shown it; ``heads`` are places plus one, 0: none."""

    heads: Int32s
    set: Int32s
    position: Int32s
    next: Int32s


@structure
class BaselineState(State):
    """The engine's state, and behind it what the baselines need."""

    algorithm: int
    has_entered: int  # whether the set that is next has entered the window, which is still to be joined (Static)
    joined_from: int  # the oldest valid set, from the beginning of the stream, when the window was joined last (Static)
    skyband: Skyband
    events: Events
    posts: Posts
    met: Int64s  # a table of the pairs that were verified (Static)


baseline_of = view_of(BaselineState)
"""How a kernel sees the state."""

_NUMBERS = {path: number for number, path in enumerate(arrays_of(BaselineState))}
EVENTS_FULL, MET_FULL = _NUMBERS["events.bound"], _NUMBERS["met"]
