"""Candidate generation: which pairs of a new set must go into the stock (paper, section 5, Algorithm 1).

The lists of the set's tokens are visited shortest first. At position p the upper bound is the same for the whole list, and the
lower bound does not rise with time, so one search in the stock tells from which arrival number on the list is worth visiting;
what lies before is cropped. While scanning, overlaps are counted, but not of sets that are met too late: who is in none of the
first p lists shares at most l - p tokens, which only a set of about that size can make up for. A set that was seen o times and
lies in the cropped part of c lists shares at most o + c tokens; only where that may be enough its tokens are compared with the
new set's.

A new pair that ties with the lower bound is irrelevant: the k pairs behind the bound are older and end no earlier. Hence
lists are cropped where ``ub <= lb``, and a candidate needs ``key > lb``. The bound stays as it is until all candidates of the
set are known. Pairs of a renewed record may be older than the k pairs behind the bound, so what ties is a candidate, too, and
settling decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.compile import LOW, count_ones, forbid_inlining, int64, jit, noinline
from swoop.engine.index import list_of
from swoop.engine.layout import Arrival, Index, Probe, State, Stock, Window
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import (
    ANY_SIZE,
    Sizes,
    above,
    contains,
    key,
    min_overlap,
    remainder,
    sizes_reaching,
    upper_bound,
    within_upper_bound,
)
from swoop.engine.records import first_changed, is_newer
from swoop.engine.sorting import bring_smallest, sort
from swoop.engine.stock import at_least, ending_before, write_pair
from swoop.engine.window import HIT, ring_slot, take_hits

SIZES_KNOWN = 64  # sets of fewer tokens have their crops remembered
ALL = 1 << 40
FIRST_LISTS = 16  # in which sizes are looked at: later, most sets have been met
FEW = 3  # lists that are looked for one by one; for more they are sorted
_SHORT = 2  # to visit a list as short as this costs less than to find out from where on it is worth it


@jit
def signature_bit(token: int) -> int:
    return int64(1) << (((int64(token) * 0x9E3779B1) & LOW) >> 26)


@jit
def first_relevant_arrival(state: State, stock: Stock, size: int, position: int) -> int:
    """The arrival number from which on the list at this position can hold a relevant set (cropping)."""
    if state.records.is_renewed:
        group = cropped_group(state, stock, size, position)
    elif size < SIZES_KNOWN:
        crop = stock.crops[size * SIZES_KNOWN + position]
        if crop.version != stock.version:
            crop.version = stock.version
            crop.group = cropped_group(state, stock, size, position)
        group = crop.group
    else:
        group = cropped_group(state, stock, size, position)
    if group >= state.next:
        return state.next
    oldest = max(state.oldest, stock.first, first_changed(state, stock))
    if group < oldest:
        return oldest
    window = state.window
    return max(int64(window.ring[ring_slot(window, group)].group_last) + 1, oldest)


@jit
def cropped_group(state: State, stock: Stock, size: int, position: int) -> int:
    """The last group of which nothing in the list at this position is relevant; ``ALL`` if nothing is."""
    bound = upper_bound(state, size, position)
    if bound <= stock.threshold:
        return ALL
    if state.records.is_renewed:
        count = at_least(stock, np.nextafter(bound, np.inf), -np.inf)
    else:
        count = at_least(stock, bound, remainder(state, size, size - position, size - position, bound))
    return int64(stock.ends[count - state.k]) if count >= state.k else -1


@jit
def count_below(values: Any, size: int, limit: int) -> int:
    count = np.int32(0)
    for p in range(size):
        count += np.int32(values[p] < np.int32(limit))
    return int64(count)


@jit
def relevant_sizes(state: State, size: int, position: int, bound: float, turn: int) -> Sizes:
    """Of which sizes a set may reach the bound that is met for the first time in the list at a position. All in later turns."""
    return sizes_reaching(state, size, size - position, bound) if turn < FIRST_LISTS else ANY_SIZE


@jit
def count_hit(window: Window, probe: Probe, number: int, sizes: Sizes | None, hit_count: int) -> int:
    """Count a set, unless it is met for the first time and its size tells that it was met too late to be relevant."""
    at = ring_slot(window, number)
    size_and_hits = window.size_and_hits[at]
    if sizes is None:
        is_first = 1 if size_and_hits < HIT else 0
        counts = 1
    else:
        is_first = 1 if contains(sizes, size_and_hits) else 0  # with hits it is no size
        counts = is_first + (1 if size_and_hits >= HIT else 0)
    window.size_and_hits[at] = size_and_hits + counts * HIT
    probe.hit_sets[hit_count] = number
    return hit_count + is_first


@jit
def visit_list(
    state: State, window: Window, index: Index, probe: Probe, at: int, start: int, sizes: Sizes, hit_count: int
) -> int:
    """Count the sets of a list, without the arriving one, from its newest back to arrival number ``start``."""
    slot = index.slots[at]
    if slot.newest < start:
        return hit_count
    if slot.newest < state.next:
        hit_count = count_hit(window, probe, int64(slot.newest), sizes, hit_count)
        state.pre_candidates += 1
    if slot.capacity > 0:
        return visit_segment(state, int64(slot.rest), int64(slot.rest) + slot.size - 2, start, sizes, hit_count)
    if slot.size == 2 and slot.rest >= start:
        hit_count = count_hit(window, probe, int64(slot.rest), sizes, hit_count)
        state.pre_candidates += 1
    return hit_count


@noinline
def visit_segment(state: State, first: int, last: int, start: int, sizes: Sizes, hit_count: int) -> int:
    """Count the sets of a segment likewise. Apart, so that its loop has the registers for itself."""
    forbid_inlining()
    if sizes.span == ANY_SIZE.span:
        return count_hits(state, first, last, start, None, hit_count)
    return count_hits(state, first, last, start, sizes, hit_count)


@jit
def count_hits(state: State, first: int, last: int, start: int, sizes: Sizes | None, hit_count: int) -> int:
    window, pool, probe = state.window, state.index.pool, state.probe
    p = last
    limit = np.int32(start)
    while p >= first:
        number = pool[p]
        if number < limit:
            break
        hit_count = count_hit(window, probe, int64(number), sizes, hit_count)
        p -= 1
    state.pre_candidates += last - p
    return hit_count


@jit
def scan_lists(state: State, stock: Stock, arrival: Arrival) -> int:
    """Visit the lists, shortest first: count hits in the window, and list the sets hit in ``hit_sets``. Returns how many.

    ``list_from[p]`` becomes the arrival number from which on the list at position p was visited; it does not fall with p.
    """
    window, index, probe = state.window, state.index, state.probe
    tokens, first, size = arrival.tokens, arrival.first, arrival.size
    side = state.side_count - 1 - arrival.side
    position = 0
    start = first_relevant_arrival(state, stock, size, 0)
    while start < state.next:  # lists with nothing worth visiting cost nothing and come first
        cropped = count_below(probe.list_newest, size, start)
        if cropped == position:
            break
        for p in range(position, cropped):
            probe.list_from[p] = start
        position = cropped
        if position == size:
            return 0
        start = first_relevant_arrival(state, stock, size, position)
    if start >= state.next:
        return 0
    left = 0
    for p in range(size):
        probe.list_order[left] = (int64(probe.list_size[p]) << 32) | p
        left += 1 if probe.list_newest[p] >= start else 0
    threshold = stock.threshold
    is_sorted = upper_bound(state, size, min(position + FEW, size - 1)) > threshold
    if is_sorted:
        sort(probe.list_order, 0, left, 32, state.sort_room)
    hit_count = 0
    sizes = relevant_sizes(state, size, position, threshold, 0)
    for q in range(left):
        if not is_sorted:
            bring_smallest(probe.list_order, q, left)
        if q > 0:
            if (probe.list_order[q] >> 32) > _SHORT:
                start = first_relevant_arrival(state, stock, size, position)
                sizes = relevant_sizes(state, size, position, threshold, q)
            elif upper_bound(state, size, position) <= threshold:
                start = state.next
            if start >= state.next:
                break
        probe.list_from[position] = start
        position += 1
        at = list_of(state, tokens[first + (probe.list_order[q] & LOW)], side)
        hit_count = visit_list(state, window, index, probe, at, start, sizes, hit_count)
    for p in range(position, size):
        probe.list_from[p] = state.next
    return hit_count


@jit
def find_candidates(state: State, stock: Stock, arrival: Arrival, hit_count: int) -> int:
    """Verify the sets met. Candidates go behind the pending pairs; returns how many."""
    window, probe = state.window, state.probe
    size, signature = arrival.size, window.ring[ring_slot(window, state.next)].signature
    is_marked = False
    arena_mask = window.arena.size - 1
    last, threshold = stock.size, stock.threshold
    visited = size  # at how many positions the set at hand was within the visited part
    count = 0
    for t in range(hit_count):
        number = int64(probe.hit_sets[t])
        overlap, other_size = take_hits(window, number)
        while visited < size and probe.list_from[visited] <= number:
            visited += 1
        while visited > 0 and probe.list_from[visited - 1] > number:
            visited -= 1
        most = min(overlap + size - visited, other_size)
        if most == 0:
            continue  # a copy that counts no more
        if visited < size and within_upper_bound(state, size, other_size, most, visited):
            continue  # the list at this position was cropped before this set: its upper bound is at most the lower bound
        record = window.ring[ring_slot(window, number)]
        if visited < size:
            other = record.signature
            most = min(most, size - count_ones(signature & ~other), other_size - count_ones(other & ~signature))
            if within_upper_bound(state, size, other_size, most, visited):
                continue
        if not above(state, size, other_size, most, threshold, np.inf):
            continue
        lower, lower_remainder = threshold, np.inf
        rank = state.k - 1 + ending_before(stock, record.group)
        if rank < last:
            best = stock.pairs[rank]
            lower, lower_remainder = best.key, best.remainder
            if state.records.is_renewed:
                lower, lower_remainder = np.nextafter(lower, -np.inf), np.inf
        if visited < size:
            if not above(state, size, other_size, most, lower, lower_remainder):
                continue
            needed = min_overlap(state, size, other_size, most, lower, lower_remainder)
            state.verified += 1
            if not is_marked:
                mark_tokens(probe.membership, arrival.tokens, arrival.first, size)
                is_marked = True
            overlap = overlap_with_marked(probe.membership, window.arena, record.start & arena_mask, other_size, needed)
            if overlap < needed:
                continue
        elif not above(state, size, other_size, overlap, lower, lower_remainder):
            continue
        value = key(state, size, other_size, overlap)
        rest = remainder(state, size, other_size, overlap, value)
        candidate = stock.pending[stock.pending_size + count]
        if state.records.is_renewed and is_newer(state, number, state.next):
            write_pair(candidate, value, rest, number, state.next, record.group, overlap)
        else:
            write_pair(candidate, value, rest, state.next, number, record.group, overlap)
        count += 1
    if is_marked:
        unmark_tokens(probe.membership, arrival.tokens, arrival.first, size)
    return count


@jit
def forget(state: State, hit_count: int) -> None:
    """Undo the counts of a scan whose candidates will be looked for again."""
    for t in range(hit_count):
        take_hits(state.window, state.probe.hit_sets[t])
