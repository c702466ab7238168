"""Families: the connected components of all links so far that have a valid member.

Two sets are linked if they are valid at the same time and similar enough; equal ones always are. Under a fixed threshold, no
pairs are kept: of an arriving set it matters which families it is linked with, and one partner of a family is enough.

- A set that equals a valid one joins its family. All its links are known: whatever is valid now was compared with the other.
- Else its lists are visited, shortest first, as long as a set that is in none of those before can be similar enough. Sets of
  families that are found are passed over. For each long list it is known from which arrival number on it holds sets of one
  family only, its *run*: if that family is found, the run is not read. Families only merge, so a run stays one.
- Where one family is most of the window, what is left of a long list is mostly of that family, too. If all sets that are of no
  found family are fewer than that, they are looked at instead, and the search is over.
- The families that were found become one. It keeps the number of the largest, so that few sets are relabelled, and the name of
  the one that is the oldest.

Each family has its valid sets, copies too, in a circular list. So a family costs nothing but its sets, and families are
never more than those.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.arrival import enter_set, entered_set, rebase_sets, shift_of_base
from swoop.engine.compile import int64, jit, kernel, noinline
from swoop.engine.family_search import LONG, find_families
from swoop.engine.index import list_of
from swoop.engine.kinship import (
    BORN,
    CHANGES_FULL,
    ENDED,
    GREW,
    LINKED,
    LINKS,
    MERGED,
    RUNS_FULL,
    FamilyState,
    Kinship,
    families_of,
)
from swoop.engine.layout import (
    DONE,
    SHRINK,
    STAGE_ENTER,
    STAGE_EXPIRE,
    STAGE_FILL_SPARE,
    Arrival,
    is_ready,
    next_arrival,
)
from swoop.engine.records import expire_copy
from swoop.engine.window import commit_arrival, is_oversized, ring_slot


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


# life of a set


@jit
def insert_set(state: FamilyState, arrival: Arrival) -> int:
    """Let one set arrive. Each stage asks for the room it needs before it changes anything."""
    if state.stage == STAGE_EXPIRE:
        code = expire(state, arrival.time)
        if code != DONE:
            return code
        state.stage = STAGE_ENTER
    if state.stage == STAGE_ENTER:
        if state.kinship.runs.size < state.index.slots.size:
            return RUNS_FULL
        code = enter_set(state, arrival)
        if code != DONE:
            return code
        state.stage = STAGE_FILL_SPARE
    code = join_family(state)
    if code != DONE:
        return code
    commit_arrival(state)
    state.stage = STAGE_EXPIRE
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
        needed = state.feed.end + min(stop - state.oldest, kinship.count - kinship.free_count)
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
    row = state.kinship.changes[state.feed.end - 1]
    row.size = family.size
    row.total = family.total
    row.first_seen = family.first_seen
    row.newest = state.base + family.newest


@jit
def note(state: FamilyState, kind: int, family: int, into: int) -> None:
    kinship = state.kinship
    row = kinship.changes[state.feed.end]
    row.time = state.now
    row.kind = kind
    row.family = family
    row.into = into
    state.feed.end += 1


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
    if state.tracking and state.feed.end + count + 1 > kinship.changes.size:
        state.pre_candidates, state.verified = pre_candidates, verified  # it will be done once more
        state.needed = state.feed.end + count + 1
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
            if slot.size < LONG or kinship.family[former] != number:
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
