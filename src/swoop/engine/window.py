"""The window W: a ring of the valid sets, numbered by arrival, and an arena with their tokens (paper, section 3).

Both are rings whose capacity is a power of two. Sets arrive at the end and expire at the beginning, in order, so expiry is a
step of ``oldest``. The tokens of a set lie in one piece.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit, kernel
from swoop.engine.layout import Arrival, State, Window, state_of

HIT = 1 << 32  # is added to the size of a set each time that it is met


@jit
def ring_slot(window: Window, number: int) -> int:
    """Where the set with the given arrival number is in the ring."""
    return int64(number & (window.ring.size - 1))


@jit
def take_hits(window: Window, number: int) -> tuple[int, int]:
    """How often a set was met, and its size. A new scan can begin."""
    at = ring_slot(window, number)
    size_and_hits = window.size_and_hits[at]
    size = size_and_hits & (HIT - 1)
    window.size_and_hits[at] = size
    return size_and_hits >> 32, size


@jit
def start_in_arena(window: Window, size: int) -> int:
    """Where the next set's tokens go: at the end, or at the beginning of the next round if they do not fit in one piece."""
    end, room = window.arena_end, window.arena.size
    if (end & (room - 1)) + size > room:
        return (end | (room - 1)) + 1
    return end


@jit
def needed_in_arena(state: State, window: Window, start: int, size: int) -> int:
    """Elements from the oldest valid token to the end of a set that starts at ``start``."""
    if state.oldest == state.next:
        return size
    return start + size - window.ring[ring_slot(window, state.oldest)].start


@jit
def group_of_next(state: State, window: Window, time: int) -> int:
    """The group of a set that arrives at the given time. In an unbounded window no pair ends, so there is one group."""
    if state.duration == 0:
        return 0
    if state.oldest < state.next:
        newest = window.ring[ring_slot(window, state.next - 1)]
        if newest.time == time:
            return int64(newest.group)
    return state.next


@jit
def write_set(state: State, arrival: Arrival, signature: int, start: int, size: int) -> None:
    """Describe the set that is arriving, whose tokens are in the arena: so many, without repeated ones."""
    window, at = state.window, ring_slot(state.window, state.next)
    group = group_of_next(state, window, arrival.time)
    record = window.ring[at]
    record.time = arrival.time
    record.signature = signature
    record.start = start
    record.group = group
    window.ring[ring_slot(window, group)].group_last = state.next
    window.size_and_hits[at] = size
    window.side[at] = arrival.side


@jit
def leave_group(state: State) -> None:
    """Undo that: the set will not arrive."""
    window = state.window
    group = window.ring[ring_slot(window, state.next)].group
    window.ring[ring_slot(window, group)].group_last = state.next - 1


@jit
def commit_arrival(state: State) -> None:
    """The set that was described is in the window now."""
    window = state.window
    at = ring_slot(window, state.next)
    window.arena_end = window.ring[at].start + window.size_and_hits[at]
    state.next += 1


@jit
def is_oversized(state: State) -> bool:
    """Whether the window has shrunk so much that smaller arrays are due."""
    window, limits = state.window, state.limits
    ring, arena = window.ring.size, window.arena.size
    if ring > limits.smallest_ring and limits.oversize * (state.next - state.oldest) < ring:
        return True
    needed = needed_in_arena(state, window, window.arena_end, 0)
    return bool(arena > limits.smallest_arena and limits.oversize * needed < arena)


@kernel
def move_sets(memory: Any, ring: Any, size_and_hits: Any, side: Any, record: Any, arena: Any) -> int:
    """Copy the valid sets to a ring and an arena of other sizes. Returns where their tokens end."""
    state = state_of(memory)
    window = state.window
    end = 0
    for number in range(state.oldest, state.next):
        source = ring_slot(window, number)
        target = number & (ring.size - 1)
        old, new = window.ring[source], ring[target]
        new.time = old.time
        new.signature = old.signature
        new.start = end
        new.group = old.group
        new.group_last = old.group_last
        size = window.size_and_hits[source]
        size_and_hits[target] = size
        side[target] = window.side[source]
        if record.size > 0:
            record[target] = window.record[source]
        at = old.start & (window.arena.size - 1)
        for p in range(size):
            arena[end + p] = window.arena[at + p]
        end += size
    return end
