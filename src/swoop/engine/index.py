"""The candidate index I: for each token the list of the sets that hold it, oldest first (paper, section 5.2).

Most tokens are rare, so a list of one or two sets lives in its 16-byte slot. Longer lists have all but their newest entry in a
segment of a pool; segments have sizes 8, 16, 32, ... and are reused through free lists, one per size. Nothing is deleted when a
set expires: readers stop at the oldest valid set, and a list drops its expired head when its segment is full.

In a two-stream join a token has two lists, one of left and one of right sets.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit, noinline
from swoop.engine.layout import Index, State

SMALLEST_SEGMENT = 8
SIZES = 32


@jit
def list_of(state: State, token: int, side: int) -> int:
    """The place of the list of the token's sets on one side."""
    return int64(token) * state.side_count + side


@jit
def size_class(capacity: int) -> int:
    size = 0
    while capacity > SMALLEST_SEGMENT:
        capacity >>= 1
        size += 1
    return size


@jit
def free_segment(index: Index, start: int, capacity: int) -> None:
    size = size_class(capacity)
    index.pool[start] = index.free_segments[size]
    index.free_segments[size] = start


@jit
def new_segment(state: State, index: Index, capacity: int) -> int:
    """Where a new segment starts; -1 if the pool has no room for it."""
    size = size_class(capacity)
    start = int64(index.free_segments[size])
    if start >= 0:
        index.free_segments[size] = index.pool[start]
        return start
    start = index.pool_end
    if start + capacity > index.pool.size:
        state.needed = start + capacity
        return -1
    index.pool_end += capacity
    return start


@jit
def append_to_list(state: State, index: Index, at: int, number: int) -> bool:
    """Append a set to a list. Amortised O(1). False if the pool has no room for it."""
    slot = index.slots[at]
    newest = slot.newest
    if slot.size == 0 or newest < state.oldest:  # nothing valid in the list
        if slot.capacity > 0:
            free_segment(index, slot.rest, slot.capacity)
            slot.capacity = 0
        slot.size = 1
    elif slot.capacity > 0:
        if slot.size > slot.capacity and not make_room(state, index, slot):
            return False
        index.pool[int64(slot.rest) + slot.size - 1] = newest
        slot.size += 1
    elif slot.size == 1 or slot.rest < state.oldest:
        slot.rest = newest
        slot.size = 2
    else:
        start = new_segment(state, index, SMALLEST_SEGMENT)
        if start < 0:
            return False
        index.pool[start] = slot.rest
        index.pool[start + 1] = newest
        slot.rest = start
        slot.capacity = SMALLEST_SEGMENT
        slot.size = 3
    slot.newest = number
    return True


@jit
def undo_append(index: Index, at: int) -> None:
    """Undo what was appended last."""
    slot = index.slots[at]
    slot.size -= 1
    if slot.size == 0:
        slot.newest = -1
    else:
        slot.newest = index.pool[int64(slot.rest) + slot.size - 1] if slot.capacity > 0 else slot.rest


@noinline
def drop_copies(state: State, index: Index, slot: Any) -> None:
    """Drop the sets of a segment that are copies which count no more, or have expired."""
    window, kept = state.window, int64(slot.rest)
    for p in range(slot.rest, int64(slot.rest) + slot.size - 1):
        number = index.pool[p]
        index.pool[kept] = number
        kept += 1 if number >= state.oldest and window.size_and_hits[number & (window.ring.size - 1)] > 0 else 0
    slot.size = kept - slot.rest + 1


@jit
def make_room(state: State, index: Index, slot: Any) -> bool:
    """The segment is full: drop the expired head, and move to a segment of another size if that pays."""
    capacity, start = int64(slot.capacity), int64(slot.rest)
    if state.records.are_kept:
        drop_copies(state, index, slot)
    expired, end = 0, int64(slot.size) - 1
    while expired < end:
        middle = (expired + end) >> 1
        if index.pool[start + middle] < state.oldest:
            expired = middle + 1
        else:
            end = middle
    valid = int64(slot.size) - 1 - expired
    wanted = capacity
    if valid > capacity // 2:
        wanted = 2 * capacity
    while wanted > SMALLEST_SEGMENT and valid <= wanted // 4:
        wanted //= 2
    target = start
    if wanted != capacity:
        target = new_segment(state, index, wanted)
        if target < 0:
            return False
    for p in range(valid):
        index.pool[target + p] = index.pool[start + expired + p]
    if wanted != capacity:
        free_segment(index, start, capacity)
    slot.rest = target
    slot.capacity = wanted
    slot.size = valid + 1
    return True


@jit
def rebase_lists(state: State, shift: int) -> None:
    """Count all set numbers from a base that is ``shift`` later; numbers of expired sets become -1."""
    index = state.index
    for at in range(state.vocabulary.id_count * state.side_count):
        slot = index.slots[at]
        slot.newest = max(int64(slot.newest) - shift, -1)
        if slot.capacity > 0:
            for p in range(slot.rest, int64(slot.rest) + slot.size - 1):
                index.pool[p] = max(int64(index.pool[p]) - shift, -1)
        elif slot.size == 2:
            slot.rest = max(int64(slot.rest) - shift, -1)
