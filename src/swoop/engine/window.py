"""The window W: a ring of the valid sets, numbered by arrival, and an arena with their tokens (paper, section 3).

Both are rings whose capacity is a power of two. Sets arrive at the end and expire at the beginning, in order, so expiry is a
step of ``oldest``. The tokens of a set lie in one piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine.compile import array_at, int64, jit, kernel, uint64
from swoop.engine.layout import RING, state_of

MET = 1 << 32


class Window(NamedTuple):
    """The tally of a set is its size. While lists are scanned, ``MET`` is added each time the set is met."""

    ring: Any
    tally: Any
    side: Any
    arena: Any


@jit
def window_of(state: Any) -> Window:
    return Window(
        array_at(state.ring, state.ring_size, RING),
        array_at(state.tally, state.tally_size, np.int64),
        array_at(state.side, state.side_size, np.int8),
        array_at(state.arena, state.arena_size, np.int32),
    )


@jit
def place(window: Window, number: int) -> int:
    """Where the set with the given arrival number is in the ring. Unsigned, which spares a check for negative indices."""
    return uint64(number & int64(window.ring.size - 1))


@jit
def take_tally(window: Window, number: int) -> tuple[int, int]:
    """How often a set was met, and its size. A new scan can begin."""
    at = place(window, number)
    tally = window.tally[at]
    size = tally & (MET - 1)
    window.tally[at] = size
    return tally >> 32, size


@jit
def start_in_arena(state: Any, window: Window, length: int) -> int:
    """Where the next set's tokens go: at the end, or at the beginning of the next round if they do not fit in one piece."""
    end = state.arena_end
    size = int64(window.arena.size)
    if (end & (size - 1)) + length > size:
        return (end | (size - 1)) + 1
    return end


@jit
def needed_in_arena(state: Any, window: Window, start: int, length: int) -> int:
    """Elements from the oldest valid token to the end of a set that starts at ``start``."""
    if state.oldest == state.next:
        return length
    return start + length - window.ring[place(window, state.oldest)].start


@jit
def group_of_next(state: Any, window: Window, time: int) -> int:
    """The group of a set that arrives at the given time. In an unbounded window no pair ends, so there is one group."""
    if state.duration == 0:
        return 0
    if state.oldest < state.next:
        newest = window.ring[place(window, state.next - 1)]
        if newest.time == time:
            return int64(newest.group)
    return state.next


@jit
def write_set(state: Any, window: Window, time: int, side: int, signature: int, group: int, start: int, length: int) -> None:
    """Describe the set that is arriving, whose tokens are in the arena."""
    record = window.ring[place(window, state.next)]
    record.time = time
    record.signature = signature
    record.start = start
    record.group = group
    window.ring[place(window, group)].group_last = state.next
    window.tally[place(window, state.next)] = length
    window.side[place(window, state.next)] = side


@jit
def leave_group(state: Any, window: Window) -> None:
    """Undo that: the set will not arrive."""
    group = int64(window.ring[place(window, state.next)].group)
    window.ring[place(window, group)].group_last = state.next - 1


@jit
def has_arrived(state: Any, window: Window) -> None:
    """The set that was described is in the window now."""
    at = place(window, state.next)
    state.arena_end = window.ring[at].start + window.tally[at]
    state.next += 1


@jit
def expire_sets(state: Any, window: Window, now: int) -> None:
    """Valid is what came after ``now - duration``."""
    state.now = now
    if state.duration == 0:
        return
    while state.oldest < state.next and window.ring[place(window, state.oldest)].time <= now - state.duration:
        state.oldest += 1


@jit
def is_oversized(state: Any, window: Window) -> bool:
    """Whether the window has shrunk so much that smaller arrays are due."""
    ring, arena = int64(window.ring.size), int64(window.arena.size)
    if ring > state.smallest_ring and state.oversize * (state.next - state.oldest) < ring:
        return True
    return arena > state.smallest_arena and state.oversize * needed_in_arena(state, window, state.arena_end, 0) < arena


@kernel
def move_sets(memory: Any, ring: Any, tally: Any, side: Any, arena: Any) -> int:
    """Copy the valid sets to a ring and an arena of other sizes. Returns where their tokens end."""
    state = state_of(memory)
    window = window_of(state)
    end = 0
    for number in range(state.oldest, state.next):
        source = place(window, number)
        target = number & int64(ring.size - 1)
        old, new = window.ring[source], ring[target]
        new.time = old.time
        new.signature = old.signature
        new.start = end
        new.group = old.group
        new.group_last = old.group_last
        length = window.tally[source]
        tally[target] = length
        side[target] = window.side[source]
        at = old.start & int64(window.arena.size - 1)
        for p in range(length):
            arena[end + p] = window.arena[at + p]
        end += length
    return end
