"""Records: equal sets, where copies count once.

A set that equals a valid record renews it. The record keeps its identity, the arrival number of its first set, and its time
becomes the new one. In the window it moves to the place of the new set: that is in its lists from then on, and the set before
is a copy that counts no more; it has size 0 there and is passed over. So what holds of sets holds of records: their places are
in the order in which they end.

A renewal changes no similarity and no identity, and ends only grow. Whatever a pair of the record dominated, it still
dominates. What was left out of the stock stays dominated, unless its own end grows, and that is true of pairs with records that
were seen after the former set of this one: exactly these are candidates again. Those of them that are in the stock are *stale*:
each is dropped when the stock is settled, where it comes in with its new end. Until then it bounds less than it could.

Pairs have the numbers of two sets, one of each record; whichever sets these are, they lead to their records.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import LOW, int64, jit, kernel, noinline, prefetch
from swoop.engine.index import append_to_list, list_of
from swoop.engine.layout import Arrival, Records, State, Stock, Window, state_of
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.window import ring_slot

SETS_AHEAD = 4  # how many sets ahead of their expiry memory is asked for


@jit
def record_of(state: State, number: int) -> Any:
    """The record of a set that has tokens."""
    return state.records.entries[max(state.window.record[ring_slot(state.window, number)], 0)]


@jit
def newest_of(state: State, number: int) -> int:
    """The newest set of the record of a set."""
    return number if state.records.are_kept == 0 else int64(record_of(state, number).number)


@jit
def is_newer(state: State, number: int, other: int) -> bool:
    """Whether the record of a set is newer than that of another one."""
    if state.records.are_kept == 0:
        return number > other
    return bool(record_of(state, number).identity > record_of(state, other).identity)


@jit
def end_of(state: State, a: int, b: int) -> int:
    """The group with which the pair of two records ends, of which two sets are given."""
    window = state.window
    return int64(window.ring[ring_slot(window, min(record_of(state, a).number, record_of(state, b).number))].group)


@jit
def is_stale(state: State, pair: Any) -> bool:
    """Whether a pair ends later than it says."""
    if state.records.are_kept == 0:
        return False
    window = state.window
    if window.size_and_hits[ring_slot(window, min(pair.newer, pair.older))] > 0:
        return False
    return end_of(state, int64(pair.newer), int64(pair.older)) > pair.group


@jit
def first_changed(state: State, stock: Stock) -> int:
    """The number from which on sets have pairs with the arriving one that end later than the stock knows: 0, if that is new."""
    former, window = state.records.former, state.window
    if former < 0:
        return 0
    if former < stock.first:
        return stock.first
    group = window.ring[ring_slot(window, former)].group
    return int64(window.ring[ring_slot(window, group)].group_last) + 1


# by hash


@jit
def hash_of(state: State, arrival: Arrival) -> int:
    """Of tokens in any order; each is there once."""
    seed = state.vocabulary.seed
    total = int64(arrival.side)
    for p in range(arrival.first, arrival.first + arrival.size):
        share = (int64(arrival.tokens[p]) ^ seed) * 0x2545F4914F6CDD1D
        share ^= share >> 29
        total += share * 0x5851F42D4C957F2D
    return total


@jit
def entry_of(digest: int, number: int) -> int:
    """What is in the table: half of a hash, and behind it the number of the record plus one."""
    return (digest & ~LOW) | (number + 1)


@jit
def home_of(entry: int, places: int) -> int:
    """The place where to look for it first."""
    return ((entry >> 32) ^ (entry >> 48)) & (places - 1)


@jit
def is_equal(state: State, window: Window, arrival: Arrival, number: int) -> bool:
    """Whether a set has the tokens that are marked, which are those of the arriving set, and is of its side."""
    at = ring_slot(window, number)
    if window.size_and_hits[at] != arrival.size or window.side[at] != arrival.side:
        return False
    start = window.ring[at].start & (window.arena.size - 1)
    return overlap_with_marked(state.probe.membership, window.arena, start, arrival.size, arrival.size) == arrival.size


@jit
def find_record(state: State, arrival: Arrival, digest: int) -> int:
    """Where the record of the arriving set is in the table, or could be."""
    records, window = state.records, state.window
    mask = records.table.size - 1
    place = home_of(digest, records.table.size)
    is_marked = False
    while records.table[place] != 0:
        if records.table[place] >> 32 == digest >> 32:
            record = records.entries[(records.table[place] & LOW) - 1]
            if not is_marked:
                mark_tokens(state.probe.membership, arrival.tokens, arrival.first, arrival.size)
                is_marked = True
            if record.hash == digest and is_equal(state, window, arrival, int64(record.number)):
                break
        place = (place + 1) & mask
    if is_marked:
        unmark_tokens(state.probe.membership, arrival.tokens, arrival.first, arrival.size)
    return place


@jit
def remove_record(records: Records, number: int) -> None:
    """Remove a record from the table, and close the gap."""
    size = records.table.size
    entry = entry_of(records.entries[number].hash, number)
    gap = home_of(entry, size)
    while records.table[gap] != entry:
        gap = (gap + 1) & (size - 1)
    place = (gap + 1) & (size - 1)
    while records.table[place] != 0:
        home = home_of(records.table[place], size)
        if ((place - home) & (size - 1)) >= ((place - gap) & (size - 1)):
            records.table[gap] = records.table[place]
            gap = place
        place = (place + 1) & (size - 1)
    records.table[gap] = 0
    records.free[(records.free_first + records.free_count) & (records.free.size - 1)] = number
    records.free_count += 1


@kernel
def fill_table(memory: Any, table: Any) -> None:
    """Put the records of the window into a table of another size."""
    state = state_of(memory)
    records, window = state.records, state.window
    for number in range(state.oldest, state.next):
        record = int64(window.record[ring_slot(window, number)])
        if record < 0 or records.entries[record].number != number:
            continue
        entry = entry_of(records.entries[record].hash, record)
        place = home_of(entry, table.size)
        while table[place] != 0:
            place = (place + 1) & (table.size - 1)
        table[place] = entry


# arrivals and expiry


@noinline
def foresee_record(state: State, arrival: Arrival) -> int:
    """Ask for the memory where the record of a set will be looked for, whose hash is returned, if it repeats no token."""
    digest = hash_of(state, arrival)
    prefetch(state.records.table, home_of(digest, state.records.table.size))
    return digest


@noinline
def enter_record(state: State, arrival: Arrival, digest: int) -> None:
    """The arriving set, which has entered the window and its lists, renews its record, or is a new one."""
    records, window = state.records, state.window
    at = ring_slot(window, state.next)
    records.former, records.is_renewed = -1, 0
    if arrival.size == 0:
        window.record[at] = -1
        return
    place = find_record(state, arrival, digest)
    number = (records.table[place] & LOW) - 1
    if number < 0:
        number = new_record(state, arrival, digest)
        records.table[place] = entry_of(digest, number)
    else:
        record = records.entries[number]
        records.former, records.is_renewed = int64(record.number), 1
        record.number = state.next
        record.copies += 1
        window.size_and_hits[ring_slot(window, records.former)] = 0
        leave_former_places(state, arrival)
    window.record[at] = number


@jit
def new_record(state: State, arrival: Arrival, digest: int) -> int:
    records, batch = state.records, state.batch
    if records.free_count > 0:
        number = int64(records.free[records.free_first])
        records.free_first = (records.free_first + 1) & (records.free.size - 1)
        records.free_count -= 1
    else:
        number = records.count
        records.count += 1
    record = records.entries[number]
    record.identity = state.base + state.next
    record.first_seen = arrival.time
    if batch.identities.size > 0 and batch.identities[batch.at] < record.identity:
        record.identity = batch.identities[batch.at]
        record.first_seen = batch.first_seen[batch.at]
        records.is_renewed = 1
    record.hash = digest
    record.number = state.next
    record.copies = 1
    return number


@jit
def tell_record(state: State) -> None:
    """Tell who has let the set arrive which record it is of, if that is asked for."""
    batch = state.batch
    if batch.found.size > 0:
        record = int64(state.window.record[ring_slot(state.window, state.next)])
        batch.found[batch.at] = state.records.entries[record].identity if record >= 0 else state.base + state.next


@jit
def leave_former_places(state: State, arrival: Arrival) -> None:
    """Where the former set is the last one before the arriving one in a list, it leaves it. Elsewhere it stays, with size 0."""
    index, former = state.index, state.records.former
    for p in range(arrival.first, arrival.first + arrival.size):
        slot = index.slots[list_of(state, arrival.tokens[p], arrival.side)]
        if slot.capacity > 0:
            slot.size -= 1 if slot.size > 1 and index.pool[int64(slot.rest) + slot.size - 2] == former else 0
        elif slot.size == 2 and slot.rest == former:
            slot.size = 1


@noinline
def leave_record(state: State, arrival: Arrival) -> None:
    """Undo that, when the arriving set has left its lists."""
    records, window, index = state.records, state.window, state.index
    number = int64(window.record[ring_slot(window, state.next)])
    if number < 0:
        return
    former = records.former
    if former < 0:
        remove_record(records, number)
        return
    records.former = -1
    record = records.entries[number]
    record.number = former
    record.copies -= 1
    window.size_and_hits[ring_slot(window, former)] = arrival.size
    for p in range(arrival.first, arrival.first + arrival.size):
        at = list_of(state, arrival.tokens[p], arrival.side)
        if index.slots[at].size == 0 or index.slots[at].newest < former:
            append_to_list(state, index, at, former)


@jit
def expire_sets(state: State, now: int) -> None:
    """Valid is what came after ``now - duration``."""
    window = state.window
    state.now = now
    if state.duration == 0:
        return
    while state.oldest < state.next and window.ring[ring_slot(window, state.oldest)].time <= now - state.duration:
        if state.records.are_kept:
            expire_copy(state)
        state.oldest += 1


@noinline
def expire_copy(state: State) -> None:
    """The oldest valid set counts no more; with its last set, a record is gone."""
    records, window = state.records, state.window
    number = int64(window.record[ring_slot(window, state.oldest)])
    ahead = max(window.record[ring_slot(window, state.oldest + SETS_AHEAD)], 0)
    prefetch(records.table, home_of(records.entries[ahead].hash, records.table.size))
    if number < 0:
        return
    record = records.entries[number]
    record.copies -= 1
    if record.number == state.oldest:
        remove_record(records, number)


@jit
def rebase_records(state: State, shift: int) -> None:
    """Count the numbers of sets from a base that is ``shift`` later."""
    records, window = state.records, state.window
    if records.are_kept == 0:
        return
    for number in range(state.oldest, state.next):
        record = int64(window.record[ring_slot(window, number)])
        if record >= 0 and records.entries[record].number == number:
            records.entries[record].number -= shift
