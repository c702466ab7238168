"""Which sets an arriving one may be similar enough to, where all pairs above a threshold are kept.

Candidates are generated as for a stock that stays empty, but the bound is the same for all sets, so lists are visited as a
whole: the shortest, as many as are needed to meet each set that may be similar enough. Where many of those met may be, the
other lists are visited, too, to count what they share: that costs less than to compare them one by one.
"""

from __future__ import annotations

from swoop.engine.candidates import FEW, count_below, relevant_sizes, visit_list
from swoop.engine.compile import LOW, int64, jit, noinline
from swoop.engine.index import list_of
from swoop.engine.layout import Arrival
from swoop.engine.pair_pool import AllPairsState
from swoop.engine.rank import Sizes, key, upper_bound
from swoop.engine.sorting import bring_smallest, sort
from swoop.engine.window import HIT, ring_slot
from swoop.similarity import MAX_SET_SIZE

SAMPLE = 16  # of the sets met, to tell how many may be similar enough
COMPARED = 12  # entries of lists are visited in the time that it takes to compare two sets
ALREADY_MET = Sizes(MAX_SET_SIZE + 1, 0)  # no size: only sets that were met before are counted


@jit
def promising(state: AllPairsState, size: int, visited: int, hit_count: int) -> int:
    """How many of the sets met may be similar enough, about."""
    window, probe = state.window, state.probe
    count = 0
    for n in range(SAMPLE):
        size_and_hits = window.size_and_hits[ring_slot(window, probe.hit_sets[n * hit_count // SAMPLE])]
        other_size = size_and_hits & (HIT - 1)
        most = min((size_and_hits >> 32) + size - visited, other_size)
        count += 1 if key(state, size, other_size, most) > state.lowest else 0
    return count * hit_count // SAMPLE


@noinline
def scan(state: AllPairsState, arrival: Arrival, oldest: int) -> int:
    """Count hits of the sets from ``oldest`` on, and list the sets hit in ``hit_sets``. Returns how many.

    ``list_from`` becomes ``oldest`` at as many positions as there are lists visited, and those without such a set.
    """
    window, index, probe = state.window, state.index, state.probe
    tokens, first, size = arrival.tokens, arrival.first, arrival.size
    side = state.side_count - 1 - arrival.side
    visited = count_below(probe.list_newest, size, oldest)
    if visited == size or upper_bound(state, size, visited) <= state.lowest:
        return 0
    left = rest = 0
    for p in range(size):
        probe.list_order[left] = (int64(probe.list_size[p]) << 32) | p
        if probe.list_newest[p] >= oldest:
            rest += int64(probe.list_size[p])
            left += 1
    is_sorted = upper_bound(state, size, min(visited + FEW, size - 1)) > state.lowest
    if is_sorted:
        sort(probe.list_order, 0, left, 32, state.sort_room)
    hit_count = 0
    is_needed = True
    for q in range(left):
        if is_needed and upper_bound(state, size, visited) <= state.lowest:
            if hit_count < SAMPLE or rest > COMPARED * promising(state, size, visited, hit_count):
                break
            is_needed = False
        if not is_sorted:
            bring_smallest(probe.list_order, q, left)
        sizes = relevant_sizes(state, size, visited, state.lowest, q) if is_needed else ALREADY_MET
        at = list_of(state, tokens[first + (probe.list_order[q] & LOW)], side)
        hit_count = visit_list(state, window, index, probe, at, oldest, sizes, hit_count)
        rest -= probe.list_order[q] >> 32
        visited += 1
    for p in range(size):
        probe.list_from[p] = oldest if p < visited else state.next
    return hit_count
