"""Families: the connected components of all links so far that have a valid member.

Two sets are linked if they are valid at the same time and similar enough; equal ones always are. Under a fixed threshold, no
pairs are kept: of an arriving set it matters which families it is linked with, and one partner settles a family.

- A set that equals a valid one joins its family. All its links are known: whatever is valid now was compared with the other.
- Else its lists are visited, shortest first, as long as a set that is in none of those before can be similar enough. Sets of
  families that are settled are passed over. For each long list it is known from which arrival number on it holds sets of one
  family only, its *run*: if that family is settled, the run is not read. Families only merge, so a run stays one.
- Where one family is most of the window, what is left of a long list is mostly of that family, too. If all sets that are of no
  settled family are fewer than that, they are looked at instead, and the search is over.
- The families that were found become one. It keeps the number of the largest, so that few sets are relabelled, and the name of
  the one that is the oldest.

Each family has its valid sets, copies too, in a circular list. So a family costs nothing but its sets, and families are
never more than those.
"""

from __future__ import annotations

import ctypes
from typing import Annotated, Any

import numpy as np

from swoop.engine.arrival import enter_set, entered_set, rebase_sets, shift_of_base
from swoop.engine.candidates import count_below
from swoop.engine.compile import count_ones, forbid_inlining, int64, jit, kernel, noinline
from swoop.engine.index import list_of
from swoop.engine.layout import (
    DONE,
    ENTER,
    EXPIRE,
    FILL_SPARE,
    SHRINK,
    Arrival,
    Int32s,
    Int64s,
    State,
    is_ready,
    next_arrival,
)
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import Sizes, above, contains, min_overlap, sizes_reaching, upper_bound
from swoop.engine.records import expire_copy
from swoop.engine.sorting import bring_smallest, sort
from swoop.engine.structures import arrays_of, structure, view_of
from swoop.engine.window import HIT, commit_arrival, is_oversized, ring_slot, take_hits

BORN, GREW, MERGED, ENDED, LINKED = range(5)
LINKS = 2
"""What a feed (``tracking``) tells instead of changes: of each set, one link with each family that it touches.

A link is the arriving set and the newest set that the family had before. All links together are a spanning forest of the
families, also those of several engines of which each had a part of the links."""

FAMILY = np.dtype([("first", "i8"), ("first_seen", "i8"), ("total", "i8"), ("newest", "i4"), ("size", "i4")], align=True)
"""A family. ``first``: arrival number of its first set, counted from the beginning of the stream. ``total``: sets ever.
``newest``: number of its newest set. ``size``: valid sets; 0 if the number is free."""

FAMILY_CHANGE = np.dtype([(name, "i8") for name in ("time", "kind", "family", "into", "size", "total", "first_seen", "newest")])
"""A row of the change feed: families are named by the arrival numbers of their first sets; -1: none. The rest is what the
family is then, as in ``FAMILY``; of one that merges, what it was. ``newest`` is counted from the beginning of the stream. With
``LINKS``, a row is a link from the arriving set (``family``) to another (``into``), by arrival numbers."""

_LOW = (1 << 32) - 1
_FEW = 3  # lists that are looked for one by one; for more they are sorted
_LONG = 4  # sets of a list whose run is known


@structure
class Kinship(ctypes.Structure):
    """The families, who is in them, and the change feed."""

    count: int  # numbers of families allotted
    free_count: int
    turn: int  # of the search
    found_count: int
    found_size: int  # valid sets of the families that were found
    is_complete: int  # whether the search is over
    is_marked: int  # whether the tokens of the arriving set are
    is_verified: int  # whether families that are given are compared with those that are found
    mistakes: int  # how often they differed
    end: int  # of the changes
    taken: int  # changes that were taken from the feed so far
    entries: Annotated[Any, FAMILY]
    free: Int32s
    settled: Int64s  # of each family, the turn in which it was found
    found: Int32s
    family: Int32s  # of each set of the ring; -1: it has no tokens
    before: Int32s  # the set before it in the family's circle,
    after: Int32s  # and behind it
    runs: Int32s  # of each long list, the number from which on its sets are of one family
    given: Int32s  # of each set of the batch, if it is known; -1: none of several sets
    changes: Annotated[Any, FAMILY_CHANGE]


@structure
class FamilyState(State):
    """The engine's state, and behind it the families."""

    kinship: Kinship


families_of = view_of(FamilyState)
"""How a kernel sees the state."""

_NUMBERS = {path: number for number, path in enumerate(arrays_of(FamilyState))}
RUNS_FULL, CHANGES_FULL = _NUMBERS["kinship.runs"], _NUMBERS["kinship.changes"]


# kernels


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from its next one on, as many as have ids for their tokens."""
    state = families_of(memory)
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
    state = families_of(memory)
    code = expire(state, now)
    if code == DONE and is_oversized(state):
        return SHRINK
    return code


@kernel
def rebase(memory: Any) -> None:
    """Count arrival numbers from a later base."""
    state = families_of(memory)
    window, kinship = state.window, state.kinship
    shift = shift_of_base(state)
    for number in range(state.oldest, state.next):
        at = ring_slot(window, number)
        kinship.before[at] -= shift
        kinship.after[at] -= shift
    for number in range(kinship.count):
        if kinship.entries[number].size > 0:
            kinship.entries[number].newest -= shift
    for at in range(min(state.vocabulary.id_count, kinship.runs.size)):
        kinship.runs[at] = max(int64(kinship.runs[at]) - shift, 0)
    rebase_sets(state, shift)


# the way of a set


@jit
def insert_set(state: FamilyState, arrival: Arrival) -> int:
    """Let one set arrive. Each stage asks for the room it needs before it changes anything."""
    if state.stage == EXPIRE:
        code = expire(state, arrival.time)
        if code != DONE:
            return code
        state.stage = ENTER
    if state.stage == ENTER:
        if state.kinship.runs.size < state.index.slots.size:
            return RUNS_FULL
        code = enter_set(state, arrival)
        if code != DONE:
            return code
        state.stage = FILL_SPARE
    code = join_family(state)
    if code != DONE:
        return code
    commit_arrival(state)
    state.stage = EXPIRE
    return DONE


@jit
def expire(state: FamilyState, now: int) -> int:
    """Sets that are too old leave, all with the same time together."""
    window, kinship = state.window, state.kinship
    while (
        state.duration > 0
        and state.oldest < state.next
        and window.ring[ring_slot(window, state.oldest)].time <= now - state.duration
    ):
        first = window.ring[ring_slot(window, state.oldest)]
        stop = int64(first.group_last) + 1
        needed = kinship.end + min(stop - state.oldest, kinship.count - kinship.free_count)
        if state.tracking and needed > kinship.changes.size:
            state.needed = needed
            return CHANGES_FULL
        state.now = first.time + state.duration
        while state.oldest < stop:
            leave_family(state)
            expire_copy(state)
            state.oldest += 1
    state.now = now
    return DONE


@jit
def leave_family(state: FamilyState) -> None:
    """The oldest valid set leaves its family; with its last set, a family ends."""
    kinship = state.kinship
    at = ring_slot(state.window, state.oldest)
    number = int64(kinship.family[at])
    if number < 0:
        return
    family = kinship.entries[number]
    family.size -= 1
    if family.size > 0:
        before, after = kinship.before[at], kinship.after[at]
        kinship.after[ring_slot(state.window, before)] = after
        kinship.before[ring_slot(state.window, after)] = before
        return
    if family.total > 1 and state.tracking != LINKS:
        note_family(state, ENDED, number, -1)
    free_family(kinship, number)


@jit
def free_family(kinship: Kinship, number: int) -> None:
    kinship.free[kinship.free_count] = number
    kinship.free_count += 1


@jit
def note_family(state: FamilyState, kind: int, number: int, into: int) -> None:
    """Note what happened to a family, and what it is now."""
    if not state.tracking:
        return
    family = state.kinship.entries[number]
    note(state, kind, family.first, into)
    row = state.kinship.changes[state.kinship.end - 1]
    row.size = family.size
    row.total = family.total
    row.first_seen = family.first_seen
    row.newest = state.base + family.newest


@jit
def note(state: FamilyState, kind: int, family: int, into: int) -> None:
    kinship = state.kinship
    row = kinship.changes[kinship.end]
    row.time = state.now
    row.kind = kind
    row.family = family
    row.into = into
    kinship.end += 1


@noinline
def join_family(state: FamilyState) -> int:
    """The set that has entered joins the families that it is linked with, or is a new one."""
    window, kinship, records = state.window, state.kinship, state.records
    at = ring_slot(window, state.next)
    if window.size_and_hits[at] == 0:
        kinship.family[at] = -1
        return DONE
    pre_candidates, verified = state.pre_candidates, state.verified
    count = 1
    if records.former >= 0:
        kinship.found[0] = kinship.family[ring_slot(window, records.former)]
    elif kinship.given.size == 0 or kinship.is_verified:
        count = find_families(state)
    if kinship.given.size > 0:
        join_given(state, at, count)
        return DONE
    if state.tracking and kinship.end + count + 1 > kinship.changes.size:
        state.pre_candidates, state.verified = pre_candidates, verified  # it will be done once more
        state.needed = kinship.end + count + 1
        return CHANGES_FULL
    state.candidate_count += count
    if count == 0:
        number = new_family(state)
        kinship.entries[number].total = 1
        enter_family(state, at, number)
        return DONE
    kind = note_links(state, count) if state.tracking == LINKS else note_merging(state, count)
    number = int64(kinship.found[0])
    for place in range(1, count):
        number = merge(state, number, int64(kinship.found[place]))
    kinship.entries[number].total += 1
    enter_family(state, at, number)
    if kind != LINKED:
        note_family(state, kind, number, -1)
    return DONE


@jit
def join_given(state: FamilyState, at: int, count: int) -> None:
    """Join the family that is given, or one of its own if none is. What is found must be no other."""
    kinship = state.kinship
    number = int64(kinship.given[state.batch.at])
    if number < 0:
        number = new_family(state)
        kinship.entries[number].total = 1
    if kinship.is_verified:
        for place in range(count):
            kinship.mistakes += 1 if kinship.found[place] != number else 0
    enter_family(state, at, number)


@jit
def new_family(state: FamilyState) -> int:
    kinship = state.kinship
    if kinship.free_count > 0:
        kinship.free_count -= 1
        number = int64(kinship.free[kinship.free_count])
    else:
        number = kinship.count
        kinship.count += 1
    family = kinship.entries[number]
    family.first = state.base + state.next
    family.first_seen = state.now
    family.total = 0
    family.size = 0
    return number


@jit
def enter_family(state: FamilyState, at: int, number: int) -> None:
    """Put the arriving set behind the newest of a family. Where that was the newest of a long list, the run goes on."""
    window, kinship, index = state.window, state.kinship, state.index
    family = kinship.entries[number]
    next_number = state.next
    if family.size == 0:
        kinship.before[at] = next_number
        kinship.after[at] = next_number
    else:
        newest = ring_slot(window, family.newest)
        after = kinship.after[newest]
        kinship.before[at] = family.newest
        kinship.after[at] = after
        kinship.after[newest] = next_number
        kinship.before[ring_slot(window, after)] = next_number
    kinship.family[at] = number
    family.newest = next_number
    family.size += 1
    arrival = entered_set(state)
    for p in range(arrival.size):
        place = list_of(state, arrival.tokens[arrival.first + p], 0)
        slot = index.slots[place]
        if slot.capacity > 0:
            former = ring_slot(window, int64(state.probe.list_newest[p]))
            if slot.size < _LONG or kinship.family[former] != number:
                kinship.runs[place] = next_number


@jit
def note_links(state: FamilyState, count: int) -> int:
    """Note a link of the arriving set with each family that was found."""
    for place in range(count):
        family = state.kinship.entries[state.kinship.found[place]]
        note(state, LINKED, state.base + state.next, state.base + family.newest)
    return LINKED


@jit
def note_merging(state: FamilyState, count: int) -> int:
    """All families that were found become part of the oldest. Returns what happens to that, to be noted when it has."""
    kinship = state.kinship
    oldest = kinship.entries[kinship.found[0]].first
    for place in range(1, count):
        oldest = min(oldest, kinship.entries[kinship.found[place]].first)
    kind = BORN
    for place in range(count):
        number = int64(kinship.found[place])
        if kinship.entries[number].total > 1:
            if kinship.entries[number].first == oldest:
                kind = GREW
            else:
                note_family(state, MERGED, number, oldest)
    return kind


@noinline
def merge(state: FamilyState, a: int, b: int) -> int:
    """Two families become one, with the number of the larger and the name of the older."""
    window, kinship = state.window, state.kinship
    if kinship.entries[a].size < kinship.entries[b].size:
        a, b = b, a
    family, other = kinship.entries[a], kinship.entries[b]
    last = int64(other.newest)
    number = last
    while True:
        at = ring_slot(window, number)
        kinship.family[at] = a
        number = int64(kinship.after[at])
        if number == last:
            break
    here, there = ring_slot(window, family.newest), ring_slot(window, last)
    after_here, after_there = kinship.after[here], kinship.after[there]
    kinship.after[here] = after_there
    kinship.before[ring_slot(window, after_there)] = family.newest
    kinship.after[there] = after_here
    kinship.before[ring_slot(window, after_here)] = last
    if other.first < family.first:
        family.first = other.first
        family.first_seen = other.first_seen
    family.total += other.total
    family.size += other.size
    family.newest = max(family.newest, other.newest)
    other.size = 0
    free_family(kinship, b)
    return a


# links


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
    is_sorted = upper_bound(state, size, min(position + _FEW, size - 1)) > lowest
    if is_sorted:
        sort(probe.list_order, 0, left, 32, state.sort_room)
    hit_count = 0
    for q in range(left):
        if kinship.is_complete or (q > 0 and upper_bound(state, size, position) <= lowest):
            break
        if not is_sorted:
            bring_smallest(probe.list_order, q, left)
        sizes = sizes_reaching(state, size, size - position, lowest)
        place = list_of(state, arrival.tokens[arrival.first + (probe.list_order[q] & _LOW)], 0)
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
    if slot.size >= _LONG:
        run = max(int64(kinship.runs[place]), state.oldest)
        number = int64(kinship.family[ring_slot(window, pool[p])])
        while p >= first and pool[p] >= run:
            if kinship.settled[number] == kinship.turn:
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
    """Look for links with all valid sets, but for those of families that are settled."""
    kinship, window = state.kinship, state.window
    for number in range(kinship.count):
        family = kinship.entries[number]
        member = int64(family.newest)
        for _ in range(family.size):
            if kinship.settled[number] == kinship.turn:
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
    """Look for a link with a set, unless its family is settled, its size cannot be right, or it was looked at before."""
    window, kinship = state.window, state.kinship
    at = ring_slot(window, number)
    family = int64(kinship.family[at])
    if kinship.settled[family] == kinship.turn:
        return hit_count
    size = window.size_and_hits[at]
    if size == 0 or not contains(sizes, size):  # with hits it is no size
        return hit_count
    if is_linked(state, arrival, at, size):
        kinship.settled[family] = kinship.turn
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
