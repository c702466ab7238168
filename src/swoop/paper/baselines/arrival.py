"""Base, SCase and the ablations of SWOOP: the way of a set through them (paper, sections 3 and 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.arrival import PENDING_SHARE, enter_set, entered_set
from swoop.engine.candidates import (
    find_candidates,
    first_relevant_arrival,
    scan_lists,
    visit_list,
)
from swoop.engine.compile import LOW, int64, jit, kernel, noinline
from swoop.engine.index import list_of
from swoop.engine.layout import DONE, PENDING_FULL, STOCK_FULL, Arrival, Stock, is_ready, next_arrival
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import ANY_SIZE, above, key, remainder
from swoop.engine.records import expire_sets
from swoop.engine.sorting import sort
from swoop.engine.stock import adopt_draft, copy_pair, draft_s, ending_before, settle, write_pair
from swoop.engine.window import commit_arrival, ring_slot
from swoop.paper.baselines.layout import BASE, NOINCREMENT, NOOPT, SCASE, BaselineState, baseline_of


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from its next one on, as many as have ids for their tokens."""
    state = baseline_of(memory)
    batch = state.batch
    while is_ready(batch):
        code = insert_set(state, next_arrival(batch))
        if code != DONE:
            return code
        batch.at += 1
    return DONE


@noinline
def insert_set(state: BaselineState, arrival: Arrival) -> int:
    expire_sets(state, arrival.time)
    code = room_for_candidates(state, state.stock)
    if code != DONE:
        return code
    code = enter_set(state, arrival)
    if code != DONE:
        return code
    entered = entered_set(state)
    if entered.size > 0 and state.oldest < state.next:
        insert_candidates(state, entered)
    commit_arrival(state)
    return DONE


@jit
def room_for_candidates(state: BaselineState, stock: Stock) -> int:
    most = stock.pending_size + state.next - state.oldest
    if most >= stock.pending.size:
        state.needed = most + 1
        return PENDING_FULL
    if stock.size + most > stock.pairs.size:
        state.needed = stock.size + most
        return STOCK_FULL
    return DONE


@jit
def insert_candidates(state: BaselineState, arrival: Arrival) -> None:
    stock, membership = state.stock, state.probe.membership
    if state.algorithm == NOINCREMENT:
        count = find_candidates(state, stock, arrival, scan_lists(state, stock, arrival))
    elif state.algorithm == NOOPT:
        count = find_candidates(state, stock, arrival, scan_in_token_order(state, arrival))
    else:
        mark_tokens(membership, arrival.tokens, arrival.first, arrival.size)
        count = compare_with_all(state, arrival)
        unmark_tokens(membership, arrival.tokens, arrival.first, arrival.size)
    stock.pending_size += count
    state.candidate_count += count
    if state.algorithm == BASE:
        keep_all(state, stock)
    elif state.algorithm == SCASE or state.algorithm == NOINCREMENT:
        make_skyband(state, stock)
    elif stock.pending_size >= max(state.limits.pending_least, stock.size // PENDING_SHARE):
        settle(state, stock)


@jit
def compare_with_all(state: BaselineState, arrival: Arrival) -> int:
    """Compare the new set, whose tokens are marked, with all valid sets. Candidates go behind the pending pairs."""
    window, stock, probe = state.window, state.stock, state.probe
    arena_mask = window.arena.size - 1
    count = 0
    for number in range(state.oldest, state.next):
        at = ring_slot(window, number)
        if state.side_count == 2 and window.side[at] == arrival.side:
            continue
        state.pre_candidates += 1
        state.verified += 1
        record, size = window.ring[at], window.size_and_hits[at]
        overlap = overlap_with_marked(probe.membership, window.arena, record.start & arena_mask, size, 1)
        if overlap <= 0:
            continue
        lower, lower_remainder = stock.threshold, np.inf
        if state.algorithm != BASE:
            rank = state.k - 1 + ending_before(stock, record.group)
            if rank < stock.size:
                lower, lower_remainder = stock.pairs[rank].key, stock.pairs[rank].remainder
        if not above(state, arrival.size, size, overlap, lower, lower_remainder):
            continue
        value = key(state, arrival.size, size, overlap)
        rest = remainder(state, arrival.size, size, overlap, value)
        write_pair(stock.pending[stock.pending_size + count], value, rest, state.next, number, record.group, overlap)
        count += 1
    return count


@jit
def scan_in_token_order(state: BaselineState, arrival: Arrival) -> int:
    """Visit the lists in the order in which the tokens first appeared, newest first: without the paper's optimisation."""
    window, index, stock, probe = state.window, state.index, state.stock, state.probe
    side = state.side_count - 1 - arrival.side
    for p in range(arrival.size):
        probe.list_order[p] = LOW - int64(arrival.tokens[arrival.first + p])
    sort(probe.list_order, 0, arrival.size, 0, state.sort_room)
    hit_count = 0
    for position in range(arrival.size):
        start = first_relevant_arrival(state, stock, arrival.size, position)
        probe.list_from[position] = start
        if start < state.next:
            at = list_of(state, LOW - probe.list_order[position], side)
            hit_count = visit_list(state, window, index, probe, at, start, ANY_SIZE, hit_count)
    return hit_count


@jit
def keep_all(state: BaselineState, stock: Stock) -> None:
    """Put the pending pairs into S and drop what has ended, nothing else (Base). There is no E."""
    size = draft_s(state, stock)
    for rank in range(size):
        copy_pair(stock.pairs[rank], state.draft.pairs[rank])
    stock.size = size
    stock.pending_size = 0


@jit
def make_skyband(state: BaselineState, stock: Stock) -> None:
    """Put the pending pairs into S and find the relevant ones of all pairs again: fewer than k others precede them in S and end
    no earlier. The ends of the k that end last, of those passed, are in a heap.
    """
    draft, codes, heap = state.draft, state.skyband.codes, state.skyband.heap
    size = draft_s(state, stock)
    passed = struck = 0
    for rank in range(size):
        pair = draft.pairs[rank]
        codes[rank] = (int64(pair.group) << 32) | (LOW - rank)
        if passed < state.k:
            sift_up(heap, passed, pair.group)
            passed += 1
        elif heap[0] < pair.group:
            sift_down(heap, passed, pair.group)
        else:
            pair.overlap = 0
            struck += 1
    sort(codes, 0, size, 0, state.sort_room)
    for e in range(size):
        rank = LOW - (codes[e] & LOW)
        draft.ends[e] = codes[e] >> 32
        draft.ranks[e] = rank if draft.pairs[rank].overlap > 0 else -1
    adopt_draft(state, stock, size, struck)


@jit
def sift_up(heap: Any, at: int, value: int) -> None:
    """Put a value at the end of a heap."""
    while at > 0 and heap[(at - 1) >> 1] > value:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = value


@jit
def sift_down(heap: Any, size: int, value: int) -> None:
    """Put a value in the place of the smallest one."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@kernel
def settle_all(memory: Any) -> int:
    """Bring the stock of Base up to the index time. Returns its size."""
    state = baseline_of(memory)
    keep_all(state, state.stock)
    return int64(state.stock.size)
