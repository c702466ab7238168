"""All pairs above a threshold: every valid pair that is similar enough, instead of the k most similar ones.

Nothing is outranked, so there is no stock and no floor: a pair is kept from its arrival until its older set leaves the window.
Pairs lie in a pool. Each set has the list of the pairs that end with it, in which it is the older one; when it leaves, its list
as a whole goes to the free places of the pool. Both sets of a pair are valid, so what else there is to know of it, such as its
similarity, follows from them. The total order is made when somebody asks for it.

Candidates are generated as for a stock that stays empty, but the bound is the same for all sets, so lists are visited as a
whole: the shortest, as many as are needed to meet each set that may be similar enough. Where many of those met may be, the
other lists are visited, too, to count what they share: that costs less than to compare them one by one.

An arrival changes nothing until all of it is known, with the pairs that it ends and those that it makes. So an arrival that
would make too many can be given up as if it had not been tried. The set enters its lists first, while those that it will
drive out are still there.

Where a set may be renewed, its list is what has to go to another end time: see ``expire_lists`` and ``keep``.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from swoop.engine.arrival import enter_set, entered_set, rebase, request_room
from swoop.engine.candidates import FEW, count_below, find_candidates, forget, relevant_sizes, visit_list
from swoop.engine.compile import LOW, int64, jit, kernel, noinline
from swoop.engine.feed import ENTER, EXPIRED, describe, describe_copies, note, note_by_next
from swoop.engine.index import list_of
from swoop.engine.layout import (
    CHANGE,
    DONE,
    FEED_FULL,
    PENDING_FULL,
    SEEN,
    SHRINK,
    STAGE_EXPIRE,
    STAGE_FILL_STOCK,
    Arrival,
    Pairs,
    State,
    is_ready,
    next_arrival,
)
from swoop.engine.memory import Memory
from swoop.engine.rank import Sizes, key, remainder, upper_bound
from swoop.engine.records import expire_sets, is_newer, newest_of, tell_record
from swoop.engine.settings import Settings
from swoop.engine.sorting import bring_smallest, sort
from swoop.engine.stock import sort_pairs, write_pair
from swoop.engine.structures import arrays_of, structure, view_of
from swoop.engine.window import HIT, commit_arrival, is_oversized, ring_slot
from swoop.errors import too_many_pairs
from swoop.similarity import MAX_SET_SIZE

if TYPE_CHECKING:
    from swoop.engine.engine import Engine

KEPT = np.dtype([("newer", "i4"), ("overlap", "i4"), ("next", "i4")], align=True)
"""A pair of the pool, and the place of the next one in its list."""

LIST = np.dtype([("first", "i4"), ("last", "i4"), ("count", "i4")], align=True)
"""The pairs that end with a set: where the first and the last of them are, and how many there are."""

SAMPLE = 16  # of the sets met, to tell how many may be similar enough
COMPARED = 12  # entries of lists are visited in the time that it takes to compare two sets
ALREADY_MET = Sizes(MAX_SET_SIZE + 1, 0)  # no size: only sets that were met before are counted


@structure
class AllPairs(ctypes.Structure):
    """The pairs that are valid now."""

    most: int  # pairs that there may be
    size: int
    end: int  # of the places that were ever used; those without a pair are in a list
    free: int  # the first of them, if there are any
    pool: Annotated[Any, KEPT]
    lists: Annotated[Any, LIST]  # of the sets of the ring
    ended: Pairs  # room for those that end at one time


@structure
class AllPairsState(State):
    """The engine's state, and behind it the pairs."""

    all_pairs: AllPairs


all_pairs_of = view_of(AllPairsState)
"""How a kernel sees the state."""

_NUMBERS = {path: number for number, path in enumerate(arrays_of(AllPairsState))}
POOL_OF_PAIRS_FULL, ENDED_FULL = _NUMBERS["all_pairs.pool"], _NUMBERS["all_pairs.ended"]


@jit
def oldest_at(state: AllPairsState, now: int) -> int:
    """The oldest set that is valid at a time to come."""
    window, number = state.window, state.oldest
    if state.duration > 0:
        while number < state.next and window.ring[ring_slot(window, number)].time <= now - state.duration:
            number += 1
    return number


@jit
def count_ending(state: AllPairsState, oldest: int) -> tuple[int, int]:
    """How many pairs end when the sets before ``oldest`` leave, and how many of them at one time, at most."""
    window, lists = state.window, state.all_pairs.lists
    total = at_once = most = 0
    group = int64(-1)
    for number in range(state.oldest, oldest):
        at = ring_slot(window, number)
        if window.ring[at].group != group:
            group = int64(window.ring[at].group)
            at_once = 0
        at_once += int64(lists[at].count)
        most = max(most, at_once)
        total += int64(lists[at].count)
    return total, most


@jit
def room_for_changes(state: AllPairsState, ending: int, at_once: int, entering: int) -> int:
    """Whether so many pairs can be noted."""
    if not state.tracking:
        return DONE
    if state.feed.end + ending + entering > state.feed.changes.size:
        state.needed = state.feed.end + ending + entering
        return FEED_FULL
    if at_once >= state.all_pairs.ended.size:
        state.needed = at_once + 1
        return ENDED_FULL
    return DONE


@jit
def write_kept(state: AllPairsState, kept: Any, older: int, pair: Any) -> None:
    """Write what follows from the sets of a pair."""
    window = state.window
    at, newer, overlap = ring_slot(window, older), int64(kept.newer), int64(kept.overlap)
    size, other_size = window.size_and_hits[ring_slot(window, newest_of(state, newer))], window.size_and_hits[at]
    value = key(state, size, other_size, overlap)
    rest = remainder(state, size, other_size, overlap, value)
    if is_newer(state, older, newer):
        newer, older = older, newer
    write_pair(pair, value, rest, newer, older, window.ring[at].group, overlap)


@noinline
def note_ended(state: AllPairsState, oldest: int) -> None:
    """Note the pairs that end when the sets before ``oldest`` leave: one end time after the other, the least similar first."""
    window, pool, lists, ended = state.window, state.all_pairs.pool, state.all_pairs.lists, state.all_pairs.ended
    number = state.oldest
    while number < oldest:
        record = window.ring[ring_slot(window, number)]
        count = 0
        stop = int64(record.group_last) + 1
        for older in range(number, stop):
            each = lists[ring_slot(window, older)]
            place = int64(each.first)
            for _ in range(each.count):
                write_kept(state, pool[place], older, ended[count])
                place = int64(pool[place].next)
                count += 1
        sort_pairs(state, ended, count)
        time = record.time + state.duration
        if state.records.are_kept:
            expire_sets(state, time - 1)  # what is noted are the copies up to then
        for back in range(1, count + 1):
            note(state, time, EXPIRED, ended[count - back], -1)
        number = stop


@jit
def expire_lists(state: AllPairsState, oldest: int, now: int) -> None:
    """Let the sets before ``oldest`` leave, and with them the pairs that they end."""
    window, all_pairs, first = state.window, state.all_pairs, state.oldest
    if state.tracking:
        note_ended(state, oldest)
    for number in range(first, oldest):
        each = all_pairs.lists[ring_slot(window, number)]
        if each.count > 0:
            all_pairs.pool[each.last].next = all_pairs.free
            all_pairs.free = each.first
            all_pairs.size -= each.count
            each.count = 0
    expire_sets(state, now)


@jit
def keep(state: AllPairsState, newer: int, older: int, overlap: int) -> None:
    """Put a pair into the list of its older set."""
    all_pairs = state.all_pairs
    place = all_pairs.end
    if all_pairs.size < place:
        place = all_pairs.free
        all_pairs.free = all_pairs.pool[place].next
    else:
        all_pairs.end += 1
    all_pairs.size += 1
    pair, each = all_pairs.pool[place], all_pairs.lists[ring_slot(state.window, older)]
    pair.newer = newer
    pair.overlap = overlap
    pair.next = each.first
    if each.count == 0:
        each.last = place
    each.first = place
    each.count += 1


@noinline
def relink(state: AllPairsState) -> None:
    """The arriving set has renewed a record: the pairs that ended with its former set end with their others, all seen later."""
    all_pairs, window = state.all_pairs, state.window
    each = all_pairs.lists[ring_slot(window, state.records.former)]
    place = int64(each.first)
    for _ in range(each.count):
        pair = all_pairs.pool[place]
        following = int64(pair.next)
        other = all_pairs.lists[ring_slot(window, newest_of(state, int64(pair.newer)))]
        pair.newer = state.next
        pair.next = other.first
        if other.count == 0:
            other.last = place
        other.first = place
        other.count += 1
        place = following
    each.count = 0


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


def _read(engine: Engine, most: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """All pairs in the total order. O(n log n)."""
    state = engine.state
    assert isinstance(state, AllPairsState)
    rows, remainders = np.zeros(state.all_pairs.size, CHANGE), np.zeros(state.all_pairs.size)
    seen = np.zeros(len(rows) if engine.settings.copies_once else 0, SEEN)
    read_pairs(engine.memory.words, rows, seen, remainders)
    order = [rows["older"], rows["newer"], -rows["end"], -remainders, -rows["key"]]
    if state.duration == 0:  # there are no end times
        del order[2]
    places = np.lexsort(order)
    return rows[places], seen[places] if engine.settings.copies_once else None


def _settle(engine: Engine) -> int:
    """There is nothing to be settled."""
    state = engine.state
    assert isinstance(state, AllPairsState)
    return state.all_pairs.size


def _grow(memory: Memory, path: str) -> None:
    state = memory.state
    assert isinstance(state, AllPairsState)
    needed, most = state.needed, state.all_pairs.most
    if path == "all_pairs.ended":
        memory.resize((path,), 2 * needed)
        return
    if needed > most:
        raise too_many_pairs(needed, most, f"set {state.base + state.next} has not arrived: with it")
    memory.resize((path,), min(memory.grown(needed), most))


def make_all_pairs(settings: Settings, first: int = 0) -> Engine:
    """An engine that keeps all pairs above the threshold, ``max_pairs`` at most."""
    from swoop.engine.algorithm import Algorithm
    from swoop.engine.engine import Engine

    def start(memory: Memory) -> None:
        state = memory.state
        assert isinstance(state, AllPairsState)
        state.all_pairs.most = settings.max_pairs
        memory.resize(("all_pairs.pool", "all_pairs.ended"), settings.thresholds.stock)

    algorithm = Algorithm(
        insert_sets,
        _settle,
        advance=advance,
        rebase=rebase_all,
        read=_read,
        layout=AllPairsState,
        start=start,
        with_ring=("all_pairs.lists",),
        grow=_grow,
    )
    return Engine(replace(settings, floor=False), first, algorithm)
