"""Which families an arriving set is linked with; ``families.py`` says how little is looked at for that."""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.arrival import entered_set
from swoop.engine.candidates import FEW, count_below
from swoop.engine.compile import LOW, count_ones, forbid_inlining, int64, jit, noinline
from swoop.engine.index import list_of
from swoop.engine.kinship import FamilyState
from swoop.engine.layout import Arrival
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import Sizes, above, contains, min_overlap, sizes_reaching, upper_bound
from swoop.engine.sorting import bring_smallest, sort
from swoop.engine.window import HIT, ring_slot, take_hits

LONG = 4  # sets of a list whose run is known


@noinline
def find_families(state: FamilyState) -> int:
    """The families of the valid sets that are linked with the arriving one. Returns how many."""
    forbid_inlining()
    kinship, probe, lowest = state.kinship, state.probe, state.lowest
    arrival = entered_set(state)
    size = arrival.size
    kinship.turn += 1
    kinship.found_count, kinship.found_size, kinship.is_complete = 0, 0, 0
    position = count_below(probe.list_newest, size, state.oldest)  # lists with no valid set cost nothing and come first
    if position == size or upper_bound(state, size, position) <= lowest:
        return 0
    left = 0
    for p in range(size):
        probe.list_order[left] = (int64(probe.list_size[p]) << 32) | p
        left += 1 if probe.list_newest[p] >= state.oldest else 0
    is_sorted = upper_bound(state, size, min(position + FEW, size - 1)) > lowest
    if is_sorted:
        sort(probe.list_order, 0, left, 32, state.sort_room)
    hit_count = 0
    for q in range(left):
        if kinship.is_complete or (q > 0 and upper_bound(state, size, position) <= lowest):
            break
        if not is_sorted:
            bring_smallest(probe.list_order, q, left)
        sizes = sizes_reaching(state, size, size - position, lowest)
        place = list_of(state, arrival.tokens[arrival.first + (probe.list_order[q] & LOW)], 0)
        hit_count = visit_list(state, arrival, place, sizes, hit_count)
        position += 1
    for t in range(hit_count):
        take_hits(state.window, probe.hit_sets[t])
    if kinship.is_marked:
        unmark_tokens(probe.membership, arrival.tokens, arrival.first, size)
        kinship.is_marked = 0
    return kinship.found_count


@jit
def visit_list(state: FamilyState, arrival: Arrival, place: int, sizes: Sizes, hit_count: int) -> int:
    """Look for links with the valid sets of a list, but for the arriving one, from the newest back."""
    slot = state.index.slots[place]
    if slot.capacity > 0:
        return visit_segment(state, arrival, place, sizes, hit_count)
    if slot.size == 2 and slot.rest >= state.oldest:
        state.pre_candidates += 1
        return visit_set(state, arrival, int64(slot.rest), sizes, hit_count)
    return hit_count


@noinline
def visit_segment(state: FamilyState, arrival: Arrival, place: int, sizes: Sizes, hit_count: int) -> int:
    forbid_inlining()
    kinship, window, pool = state.kinship, state.window, state.index.pool
    slot = state.index.slots[place]
    first = int64(slot.rest)
    p = last = first + slot.size - 2
    if slot.size >= LONG:
        run = max(int64(kinship.runs[place]), state.oldest)
        number = int64(kinship.family[ring_slot(window, pool[p])])
        while p >= first and pool[p] >= run:
            if kinship.turn_found[number] == kinship.turn:
                p = last_before(pool, first, p, run)
                break
            hit_count = visit_set(state, arrival, int64(pool[p]), sizes, hit_count)
            p -= 1
            state.pre_candidates += 1
        last = p
    left = p - first + 1
    if left > state.limits.long_list and 2 * (state.next - state.oldest - kinship.found_size + kinship.count) < left:
        kinship.is_complete = 1
        return visit_others(state, arrival, sizes, hit_count)
    oldest = np.int32(state.oldest)
    while p >= first and pool[p] >= oldest:
        hit_count = visit_set(state, arrival, int64(pool[p]), sizes, hit_count)
        p -= 1
    state.pre_candidates += last - p
    return hit_count


@noinline
def visit_others(state: FamilyState, arrival: Arrival, sizes: Sizes, hit_count: int) -> int:
    """Look for links with all valid sets, but for those of families that are found."""
    kinship, window = state.kinship, state.window
    for number in range(kinship.count):
        family = kinship.entries[number]
        member = int64(family.newest)
        for _ in range(family.size):
            if kinship.turn_found[number] == kinship.turn:
                break
            hit_count = visit_set(state, arrival, member, sizes, hit_count)
            state.pre_candidates += 1
            member = int64(kinship.after[ring_slot(window, member)])
    return hit_count


@jit
def last_before(pool: Any, first: int, last: int, limit: int) -> int:
    """The place of the last entry from ``first`` to ``last`` that is below a limit; ``first - 1`` if there is none."""
    low, high = first, last + 1
    while low < high:
        middle = (low + high) >> 1
        if pool[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low - 1


@jit
def visit_set(state: FamilyState, arrival: Arrival, number: int, sizes: Sizes, hit_count: int) -> int:
    """Look for a link with a set, unless its family is found, its size cannot be right, or it was looked at before."""
    window, kinship = state.window, state.kinship
    at = ring_slot(window, number)
    family = int64(kinship.family[at])
    if kinship.turn_found[family] == kinship.turn:
        return hit_count
    size = window.size_and_hits[at]
    if size == 0 or not contains(sizes, size):  # with hits it is no size
        return hit_count
    if is_linked(state, arrival, at, size):
        kinship.turn_found[family] = kinship.turn
        kinship.found[kinship.found_count] = family
        kinship.found_count += 1
        kinship.found_size += kinship.entries[family].size
        return hit_count
    window.size_and_hits[at] = size + HIT
    state.probe.hit_sets[hit_count] = number
    return hit_count + 1


@jit
def is_linked(state: FamilyState, arrival: Arrival, at: int, size: int) -> bool:
    """Whether the arriving set has a token in common with a set and is similar enough."""
    window, membership = state.window, state.probe.membership
    one, other = window.ring[ring_slot(window, state.next)].signature, window.ring[at].signature
    most = min(arrival.size - count_ones(one & ~other), size - count_ones(other & ~one))
    if most < 1 or not above(state, arrival.size, size, most, state.lowest, np.inf):
        return False
    if not state.kinship.is_marked:
        mark_tokens(membership, arrival.tokens, arrival.first, arrival.size)
        state.kinship.is_marked = 1
    state.verified += 1
    needed = min_overlap(state, arrival.size, size, most, state.lowest, np.inf)
    start = window.ring[at].start & (window.arena.size - 1)
    return overlap_with_marked(membership, window.arena, start, size, needed) >= needed
