"""All pairs above a threshold: every valid pair that is similar enough, instead of the k most similar ones.

Nothing is outranked, so there is no stock and no floor: a pair is kept from its arrival until its older set leaves the window.
Pairs lie in a pool (``pair_pool.py``); ``all_pairs_search.py`` finds them. The total order is made when somebody asks for it.

An arrival changes nothing until all of it is known, with the pairs that it ends and those that it makes. So an arrival that
would make too many can be given up as if it had not been tried. The set enters its lists first, while those that it will
drive out are still there.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.all_pairs_search import scan
from swoop.engine.arrival import enter_set, entered_set, rebase, request_room
from swoop.engine.candidates import find_candidates, forget
from swoop.engine.compile import int64, jit, kernel, noinline
from swoop.engine.feed import ENTER, describe, describe_copies, note_by_next
from swoop.engine.layout import (
    DONE,
    PENDING_FULL,
    SHRINK,
    STAGE_EXPIRE,
    STAGE_FILL_STOCK,
    Arrival,
    is_ready,
    next_arrival,
)
from swoop.engine.pair_pool import (
    POOL_OF_PAIRS_FULL,
    AllPairsState,
    all_pairs_of,
    count_ending,
    expire_lists,
    keep,
    relink,
    room_for_changes,
    write_kept,
)
from swoop.engine.records import tell_record
from swoop.engine.stock import sort_pairs
from swoop.engine.window import commit_arrival, is_oversized, ring_slot


@jit
def oldest_at(state: AllPairsState, now: int) -> int:
    """The oldest set that is valid at a time to come."""
    window, number = state.window, state.oldest
    if state.duration > 0:
        while number < state.next and window.ring[ring_slot(window, number)].time <= now - state.duration:
            number += 1
    return number


@noinline
def insert_pairs(state: AllPairsState) -> int:
    """Find the pairs of the set that has entered its lists; then let time move on to its arrival, and keep them."""
    stock, all_pairs = state.stock, state.all_pairs
    arrival = entered_set(state)
    oldest = oldest_at(state, arrival.time)
    pre_candidates, verified = state.pre_candidates, state.verified
    count = 0
    if arrival.size > 0 and oldest < state.next and state.records.former < 0:
        hit_count = scan(state, arrival, oldest)
        if hit_count >= stock.pending.size:
            forget(state, hit_count)
            return request_room(state, pre_candidates, verified, hit_count + 1, PENDING_FULL)
        count = find_candidates(state, stock, arrival, hit_count)
    ending, at_once = count_ending(state, oldest)
    code = room_for_changes(state, ending, at_once, count)
    needed = all_pairs.size - ending + count
    if code == DONE and count > 0 and needed > min(all_pairs.pool.size, all_pairs.most):
        code = POOL_OF_PAIRS_FULL
        state.needed = needed
    if code != DONE:
        return request_room(state, pre_candidates, verified, state.needed, code)
    expire_lists(state, oldest, arrival.time)
    if state.records.former >= 0:
        relink(state)
    if state.tracking:
        sort_pairs(state, stock.pending, count)
    for q in range(count):
        pair = stock.pending[q]
        keep(state, state.next, int64(min(pair.newer, pair.older)), int64(pair.overlap))
        if state.tracking:
            note_by_next(state, ENTER, pair)
    state.candidate_count += count
    return DONE


@jit
def move_time(state: AllPairsState, now: int) -> int:
    """Let the pairs end that have ended at a time."""
    oldest = oldest_at(state, now)
    ending, at_once = count_ending(state, oldest)
    code = room_for_changes(state, ending, at_once, 0)
    if code == DONE:
        expire_lists(state, oldest, now)
    return code


@jit
def insert_set(state: AllPairsState, arrival: Arrival) -> int:
    """Let one set arrive. Where copies count once, time moves on before: what has left the window has no copies."""
    if state.stage == STAGE_EXPIRE and state.records.are_kept:
        code = move_time(state, arrival.time)
        if code != DONE:
            return code
    if state.stage == STAGE_EXPIRE:
        code = enter_set(state, arrival)
        if code != DONE:
            return code
        state.stage = STAGE_FILL_STOCK
    code = insert_pairs(state)
    if code != DONE:
        return code
    tell_record(state)
    commit_arrival(state)
    state.stage = STAGE_EXPIRE
    return DONE


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from its next one on, as many as have ids for their tokens."""
    state = all_pairs_of(memory)
    batch = state.batch
    while is_ready(batch):
        code = insert_set(state, next_arrival(batch))
        if code != DONE:
            return code
        batch.at += 1
    return SHRINK if is_oversized(state) else DONE


@kernel
def advance(memory: Any, now: int) -> int:
    """Move the index time without an arrival."""
    state = all_pairs_of(memory)
    code = move_time(state, now)
    return SHRINK if code == DONE and is_oversized(state) else code


@kernel
def rebase_all(memory: Any) -> None:
    """Count arrival numbers from a later base."""
    state = all_pairs_of(memory)
    before = state.base
    rebase(memory)
    shift = state.base - before
    for place in range(state.all_pairs.end):
        state.all_pairs.pool[place].newer -= shift


@kernel
def read_pairs(memory: Any, rows: Any, seen: Any, remainders: Any) -> None:
    """Describe all pairs, by their older sets."""
    state = all_pairs_of(memory)
    window, all_pairs, pair = state.window, state.all_pairs, state.stock.pending[0]
    at = 0
    for older in range(state.oldest, state.next):
        each = all_pairs.lists[ring_slot(window, older)]
        place = int64(each.first)
        for _ in range(each.count):
            write_kept(state, all_pairs.pool[place], older, pair)
            describe(state, pair, rows[at])
            if seen.size > 0:
                describe_copies(state, pair, seen[at])
            remainders[at] = pair.remainder
            place = int64(all_pairs.pool[place].next)
            at += 1
