"""Base, SCase and the ablations of SWOOP: the way of a set through them (paper, sections 3 and 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.arrival import PENDING_SHARE, enter_set
from swoop.engine.candidates import (
    Probe,
    find_candidates,
    mark_tokens,
    overlap_with_marked,
    probe_of,
    scan_lists,
    unmark_tokens,
    visit_list,
    worth_from,
)
from swoop.engine.compile import apart, array_at, int64, jit, kernel
from swoop.engine.index import Index, index_of, list_of
from swoop.engine.layout import DONE, GROW_PENDING, GROW_STOCK, batch_of, first_of, is_ready, length_of, side_of, state_of
from swoop.engine.rank import ANY_SIZE, above, key, remainder
from swoop.engine.sorting import sort
from swoop.engine.stock import Stock, adopt_draft, copy_pair, draft_s, ending_before, settle, stock_of, write_pair
from swoop.engine.window import Window, expire_sets, has_arrived, place, window_of
from swoop.paper.baselines.codes import BASE, NOINCREMENT, NOOPT, SCASE

_LOW = (1 << 32) - 1


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from ``batch_at`` on, as many as have numbers for their tokens."""
    state = state_of(memory)
    batch = batch_of(state)
    while is_ready(batch, state.batch_at):
        i = state.batch_at
        code = insert_set(state, batch.times[i], side_of(batch, i), batch.tokens, first_of(batch, i), length_of(batch, i))
        if code != DONE:
            return code
        state.batch_at += 1
    return DONE


@apart
def insert_set(state: Any, time: int, side: int, tokens: Any, first: int, length: int) -> int:
    window, index, stock, probe = window_of(state), index_of(state), stock_of(state), probe_of(state)
    expire_sets(state, window, time)
    code = room_for_candidates(state, stock)
    if code != DONE:
        return code
    code = enter_set(state, window, index, probe, time, side, tokens, first, length)
    if code != DONE:
        return code
    if window.tally[place(window, state.next)] > 0 and state.oldest < state.next:
        insert_candidates(state, window, index, stock, probe, tokens, first, side)
    has_arrived(state, window)
    return DONE


@jit
def room_for_candidates(state: Any, stock: Stock) -> int:
    numbers = stock.numbers[0]
    most = numbers.pending + state.next - state.oldest
    if most >= stock.pending.size:
        state.needed = most + 1
        return GROW_PENDING
    if numbers.size + most > stock.pairs.size:
        state.needed = numbers.size + most
        return GROW_STOCK
    return DONE


@jit
def insert_candidates(
    state: Any,
    window: Window,
    index: Index,
    stock: Stock,
    probe: Probe,
    tokens: Any,
    first: int,
    side: int,
) -> None:
    numbers = stock.numbers[0]
    at = place(window, state.next)
    length, signature = window.tally[at], window.ring[at].signature
    other_side = state.streams - 1 - side
    if state.algorithm == NOINCREMENT:
        touched = scan_lists(state, window, index, stock, probe, tokens, first, length, other_side)
        count = find_candidates(state, window, stock, probe, tokens, first, length, signature, touched)
    elif state.algorithm == NOOPT:
        touched = scan_in_token_order(state, window, index, stock, probe, tokens, first, length, other_side)
        count = find_candidates(state, window, stock, probe, tokens, first, length, signature, touched)
    else:
        mark_tokens(probe.membership, tokens, first, length)
        count = compare_with_all(state, window, stock, probe, length, other_side)
        unmark_tokens(probe.membership, tokens, first, length)
    numbers.pending += count
    state.candidate_count += count
    if state.algorithm == BASE:
        keep_all(stock, state.oldest)
    elif state.algorithm == SCASE or state.algorithm == NOINCREMENT:
        make_skyband(state, stock)
    elif numbers.pending >= max(state.pending_least, numbers.size // PENDING_SHARE):
        settle(stock, state.k, state.oldest)


@jit
def compare_with_all(state: Any, window: Window, stock: Stock, probe: Probe, length: int, side: int) -> int:
    """Compare the new set, whose tokens are marked, with all valid sets. Candidates go behind the pending pairs."""
    numbers = stock.numbers[0]
    arena_mask = int64(window.arena.size - 1)
    count = 0
    for number in range(state.oldest, state.next):
        at = place(window, number)
        if state.streams == 2 and window.side[at] != side:
            continue
        state.pre_candidates += 1
        state.verified += 1
        record, size = window.ring[at], window.tally[at]
        overlap = overlap_with_marked(probe.membership, window.arena, record.start & arena_mask, size, 1)
        if overlap <= 0:
            continue
        lower, lower_remainder = numbers.threshold, np.inf
        if state.algorithm != BASE:
            rank = state.k - 1 + ending_before(stock, record.group)
            if rank < numbers.size:
                lower, lower_remainder = stock.pairs[rank].key, stock.pairs[rank].remainder
        if not above(state, length, size, overlap, lower, lower_remainder):
            continue
        value = key(state, length, size, overlap)
        rest = remainder(state, length, size, overlap, value)
        write_pair(stock.pending[numbers.pending + count], value, rest, state.next, number, record.group, overlap)
        count += 1
    return count


@jit
def scan_in_token_order(
    state: Any, window: Window, index: Index, stock: Stock, probe: Probe, tokens: Any, first: int, length: int, side: int
) -> int:
    """Visit the lists in the order in which the tokens first appeared, newest first: without the paper's optimisation."""
    for p in range(length):
        probe.list_order[p] = _LOW - int64(tokens[first + p])
    sort(probe.list_order, 0, length, 0, stock.room)
    touched = 0
    for position in range(length):
        start = worth_from(state, window, stock, length, position)
        probe.list_from[position] = start
        if start < state.next:
            at = list_of(state, _LOW - probe.list_order[position], side)
            touched = visit_list(state, window, index, probe, at, start, ANY_SIZE, touched)
    return touched


@jit
def keep_all(stock: Stock, oldest: int) -> None:
    """Put the pending pairs into S and drop what has ended, nothing else (Base). There is no E."""
    size = draft_s(stock, oldest)
    for rank in range(size):
        copy_pair(stock.pairs[rank], stock.draft[rank])
    stock.numbers[0].size = size
    stock.numbers[0].pending = 0


@jit
def make_skyband(state: Any, stock: Stock) -> None:
    """Put the pending pairs into S and find the relevant ones of all pairs again: fewer than k others precede them in S and end
    no earlier. The ends of the k that end last, of those passed, are in a heap.
    """
    codes = array_at(state.codes, state.codes_size, np.int64)
    heap = array_at(state.heap, state.heap_size, np.int32)
    size = draft_s(stock, state.oldest)
    passed = struck = 0
    for rank in range(size):
        pair = stock.draft[rank]
        codes[rank] = (int64(pair.group) << 32) | (_LOW - rank)
        if passed < state.k:
            sift_up(heap, passed, pair.group)
            passed += 1
        elif heap[0] < pair.group:
            sift_down(heap, passed, pair.group)
        else:
            pair.overlap = 0
            struck += 1
    sort(codes, 0, size, 0, stock.room)
    for e in range(size):
        rank = _LOW - (codes[e] & _LOW)
        stock.draft_ends[e] = codes[e] >> 32
        stock.draft_ranks[e] = rank if stock.draft[rank].overlap > 0 else -1
    adopt_draft(stock, size, struck)


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
    state = state_of(memory)
    stock = stock_of(state)
    keep_all(stock, state.oldest)
    return int64(stock.numbers[0].size)
