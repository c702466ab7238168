"""The pool of pairs, where all above a threshold are kept.

A pair is there from its arrival until its older set leaves the window. Each set has the list of the pairs that end with it, in
which it is the older one; when it leaves, its list as a whole goes to the free places of the pool. Both sets of a pair are
valid, so what else there is to know of it, such as its similarity, follows from them.

Where a set may be renewed, its list is what has to go to another end time: see ``expire_lists`` and ``keep``.
"""

from __future__ import annotations

import ctypes
from typing import Annotated, Any

import numpy as np

from swoop.engine.compile import int64, jit, noinline
from swoop.engine.feed import EXPIRED, note
from swoop.engine.layout import DONE, FEED_FULL, Pairs, State
from swoop.engine.rank import key, remainder
from swoop.engine.records import expire_sets, is_newer, newest_of
from swoop.engine.stock import sort_pairs, write_pair
from swoop.engine.structures import arrays_of, structure, view_of
from swoop.engine.window import ring_slot

KEPT = np.dtype([("newer", "i4"), ("overlap", "i4"), ("next", "i4")], align=True)
"""A pair of the pool, and the place of the next one in its list."""

LIST = np.dtype([("first", "i4"), ("last", "i4"), ("count", "i4")], align=True)
"""The pairs that end with a set: where the first and the last of them are, and how many there are."""


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
