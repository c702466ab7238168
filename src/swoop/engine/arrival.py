"""The life of a set in the engine: expiry, candidates, stock, window, index (paper, section 3, figure 2).

These are the kernels that Python calls to move the engine forward. Each returns ``DONE`` or the code of what it needs first.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.candidates import find_candidates, forget, scan_lists, signature_bit
from swoop.engine.compile import forbid_inlining, inline_early, int64, jit, kernel, noinline, prefetch, select
from swoop.engine.feed import changes_top, describe, describe_copies, ending_next, note_arrival, note_entering, note_expiry
from swoop.engine.floor import complete, ensure_k_pairs, plan_completion, raise_floor, settle_and_check_short
from swoop.engine.index import append_to_list, list_of, rebase_lists, undo_append
from swoop.engine.layout import (
    ARENA_FULL,
    DONE,
    FEED_FULL,
    LISTS_FULL,
    PENDING_FULL,
    POOL_FULL,
    REBASE,
    RING_FULL,
    SHRINK,
    SPARE_FULL,
    SPARE_PENDING_FULL,
    STAGE_ENTER,
    STAGE_EXPIRE,
    STAGE_FILL_SPARE,
    STAGE_FILL_STOCK,
    STOCK_FULL,
    Arrival,
    Index,
    State,
    Stock,
    Window,
    is_ready,
    next_arrival,
    state_of,
)
from swoop.engine.records import enter_record, expire_sets, foresee_record, hash_of, leave_record, rebase_records, tell_record
from swoop.engine.stock import adopt_draft, draft_e, draft_s, drop_ended, rebase_pairs, settle, strike_out
from swoop.engine.window import (
    commit_arrival,
    is_oversized,
    leave_group,
    needed_in_arena,
    ring_slot,
    start_in_arena,
    write_set,
)

NEAR, FAR = 16, 40  # how many tokens ahead memory is asked for
RARE = 2  # tokens in at most so many sets stand first in a set
PENDING_SHARE = 8  # pending pairs are settled when there are enough, and they are this part of the stock,
PENDING_VALID = 0.75  # unless they are fewer than this part without those that have ended


@inline_early
def move_index_time(state: State, now: int) -> int:
    """Expire what has ended at the given time (set_index_time)."""
    if state.tracking and state.duration > 0:
        code = expire_and_note(state, now)
        if code != DONE:
            return code
    expire_sets(state, now)
    return ensure_k_pairs(state)


@noinline
def expire_and_note(state: State, now: int) -> int:
    """Expire pairs one end time after the other and note what changes."""
    window, stock, feed = state.window, state.stock, state.feed
    if (
        feed.entering < 0
        and stock.pending_size > 0
        and window.ring[ring_slot(window, state.oldest)].time + state.duration <= now
    ):
        settle(state, stock)
    while True:
        if feed.entering >= 0:  # others take the place of what has expired
            code = ensure_k_pairs(state)
            if code != DONE:
                return code
            count = min(state.k, stock.size) - feed.entering
            if feed.end + count > feed.changes.size:
                state.needed = feed.end + count
                return FEED_FULL
            note_entering(state, stock, feed.entering)
            feed.entering = -1
        if stock.size == 0:
            return DONE
        time = window.ring[ring_slot(window, stock.ends[0])].time + state.duration
        if time > now:
            return DONE
        count = ending_next(stock)
        if feed.end + count > feed.changes.size:
            state.needed = feed.end + count
            return FEED_FULL
        if state.records.are_kept:
            expire_sets(state, time - 1)  # what is noted are the copies up to then
        note_expiry(state, stock, time, count)
        feed.entering = min(state.k, stock.size) - count
        expire_sets(state, time)
        settle(state, stock)


@jit
def room_for_set(state: State, window: Window, size: int) -> int:
    if state.next >= state.limits.last_number:
        return REBASE
    if state.next - state.oldest >= window.ring.size:
        return RING_FULL
    needed = needed_in_arena(state, window, start_in_arena(window, size), size)
    if needed > window.arena.size:
        state.needed = needed
        return ARENA_FULL
    if size > state.probe.list_newest.size:
        state.needed = size
        return LISTS_FULL
    return DONE


@jit
def prefetch_lists(state: State, index: Index, tokens: Any, p: int) -> None:
    """Ask for what the tokens after position p will need: first the slots of their lists, then the ends of their segments."""
    last = tokens.size - 1
    prefetch(index.slots, list_of(state, tokens[min(p + FAR, last)], 0))
    slot = index.slots[list_of(state, tokens[min(p + NEAR, last)], 0)]
    prefetch(index.pool, select(slot.capacity > 0, int64(slot.rest) + slot.size - 1, 0))


@jit
def enter_set(state: State, arrival: Arrival) -> int:
    """Enter the arriving set into the window and into the lists of its tokens, and note what the lists were before.

    Repeated tokens are dropped: the list of such a token has the set already. If there is no room, nothing has changed.
    """
    window, index, probe = state.window, state.index, state.probe
    tokens, first, size = arrival.tokens, arrival.first, arrival.size
    code = room_for_set(state, window, size)
    if code != DONE:
        return code
    other_side = state.side_count - 1 - arrival.side
    digest = foresee_record(state, arrival) if state.records.are_kept else 0
    signature = int64(0)
    start = start_in_arena(window, size)
    arena_start = start & (window.arena.size - 1)
    front, back = arena_start, arena_start + size
    kept = 0
    for p in range(first, first + size):
        prefetch_lists(state, index, tokens, p)
        token = tokens[p]
        own = list_of(state, token, arrival.side)
        if index.slots[own].newest == state.next:
            continue
        slot = index.slots[list_of(state, token, other_side)]
        is_rare = slot.size <= RARE
        probe.list_newest[kept] = slot.newest
        probe.list_size[kept] = slot.size
        tokens[first + kept] = token
        window.arena[select(is_rare, front, back - 1)] = token
        front = select(is_rare, front + 1, front)
        back = select(is_rare, back, back - 1)
        signature |= signature_bit(token)
        if not append_to_list(state, index, own, state.next):
            leave_lists(state, arrival, kept)
            return POOL_FULL
        kept += 1
    if kept < size:
        for p in range(back, arena_start + size):
            window.arena[front + p - back] = window.arena[p]
    write_set(state, arrival, signature, start, kept)
    if state.records.are_kept:
        entered = entered_set(state)
        enter_record(state, entered, digest if kept == size else hash_of(state, entered))
    return DONE


@noinline
def leave_lists(state: State, arrival: Arrival, count: int) -> None:
    """Undo that for the first tokens, so many of them."""
    index = state.index
    for p in range(arrival.first, arrival.first + count):
        undo_append(index, list_of(state, arrival.tokens[p], arrival.side))


@jit
def entered_set(state: State) -> Arrival:
    """The arriving set after it has entered: its repeated tokens are gone."""
    arrival, window = next_arrival(state.batch), state.window
    return Arrival(
        arrival.time, arrival.side, arrival.tokens, arrival.first, window.size_and_hits[ring_slot(window, state.next)]
    )


@kernel
def abort_arrival(memory: Any) -> None:
    """Undo an arrival that cannot go on. If it has filled the spare stock, that begins anew."""
    state = state_of(memory)
    if state.stage >= STAGE_FILL_SPARE:
        arrival = entered_set(state)
        leave_lists(state, arrival, arrival.size)
        leave_group(state)
        if state.records.are_kept:
            leave_record(state, arrival)
    if state.stage == STAGE_FILL_STOCK:
        state.floor.completing = 0
    state.stage = STAGE_EXPIRE


@inline_early
def insert_set(state: State, arrival: Arrival) -> int:
    """Let one set arrive (insert). Each stage asks for the room it needs before it changes anything."""
    if state.stage == STAGE_EXPIRE:
        code = move_index_time(state, arrival.time)
        if code != DONE:
            return code
        state.stage = STAGE_ENTER
        state.floor.steps = plan_completion(state)
    if state.stage == STAGE_ENTER:
        if state.floor.steps > 0:
            code = complete(state)
            if code != DONE:
                return code
        code = enter_set(state, arrival)
        if code != DONE:
            return code
        state.stage = STAGE_FILL_SPARE
    window = state.window
    if window.size_and_hits[ring_slot(window, state.next)] > 0 and state.oldest < state.next:
        if state.stage == STAGE_FILL_SPARE and state.floor.completing:
            code = insert_candidates(state)
            if code != DONE:
                return code
        state.stage = STAGE_FILL_STOCK
        code = insert_candidates(state)
        if code != DONE:
            return code
    tell_record(state)
    commit_arrival(state)
    state.stage = STAGE_EXPIRE
    return DONE


@noinline
def insert_candidates(state: State) -> int:
    """Find the candidates of the arriving set and put them into the stock, or into the spare one."""
    forbid_inlining()
    arrival = entered_set(state)
    is_spare = state.stage == STAGE_FILL_SPARE
    stock = state.spare if is_spare else state.stock
    pre_candidates, verified = state.pre_candidates, state.verified
    hit_count = scan_lists(state, stock, arrival)
    if hit_count == 0:
        return DONE
    if stock.pending_size + hit_count >= stock.pending.size:
        forget(state, hit_count)
        code = SPARE_PENDING_FULL if is_spare else PENDING_FULL
        return request_room(state, pre_candidates, verified, stock.pending_size + hit_count + 1, code)
    count = find_candidates(state, stock, arrival, hit_count)
    if count == 0:
        return DONE
    waiting = stock.pending_size + count
    if stock.size + waiting > stock.pairs.size:
        return request_room(state, pre_candidates, verified, stock.size + waiting, SPARE_FULL if is_spare else STOCK_FULL)
    if state.tracking and not is_spare and changes_top(state, stock, count):
        if state.feed.end + 2 * count > state.feed.changes.size:
            return request_room(state, pre_candidates, verified, state.feed.end + 2 * count, FEED_FULL)
        stock.pending_size = waiting
        settle_and_note(state, stock)
        raise_floor(state, stock)
    else:
        stock.pending_size = waiting
        if waiting >= max(state.limits.pending_least, stock.size // PENDING_SHARE):
            drop_ended(state, stock)
            if stock.pending_size >= PENDING_VALID * waiting:
                settle(state, stock)
                raise_floor(state, stock)
    state.candidate_count += count
    return DONE


@noinline
def settle_and_note(state: State, stock: Stock) -> None:
    """Settle and note what the arriving set changes."""
    size = draft_s(state, stock)
    note_arrival(state, stock, size)
    draft_e(state, stock)
    adopt_draft(state, stock, size, strike_out(state, size))


@jit
def request_room(state: State, pre_candidates: int, verified: int, needed: int, code: int) -> int:
    """Ask for room. The arrival will be done once more, so its counts so far do not count."""
    state.pre_candidates = pre_candidates
    state.verified = verified
    state.needed = needed
    return code


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from its next one on, as many as have ids for their tokens."""
    state = state_of(memory)
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
    state = state_of(memory)
    code = move_index_time(state, now)
    if code == DONE and is_oversized(state):
        return SHRINK
    return code


@kernel
def rebase(memory: Any) -> None:
    """Count arrival numbers from a later base, so that they stay small. The base moves by whole rounds of the ring."""
    state = state_of(memory)
    stock, spare = state.stock, state.spare
    shift = shift_of_base(state)
    settle(state, stock)
    rebase_pairs(stock, shift)
    settle(state, spare)
    rebase_pairs(spare, shift)
    spare.first -= shift
    state.floor.horizon -= shift
    rebase_sets(state, shift)


@jit
def shift_of_base(state: State) -> int:
    """By how much the base can move."""
    return state.oldest & ~(state.window.ring.size - 1)


@jit
def rebase_sets(state: State, shift: int) -> None:
    """Count the numbers of the sets, in their lists and records too, from a base that is ``shift`` later."""
    window = state.window
    rebase_lists(state, shift)
    rebase_records(state, shift)
    for number in range(state.oldest, state.next):
        record = window.ring[ring_slot(window, number)]
        record.group -= shift
        record.group_last -= shift
    state.base += shift
    state.next -= shift
    state.oldest -= shift


@kernel
def settle_stock(memory: Any) -> int:
    """Settle the stock as of the index time. Returns its size; -1 if it is to be completed first."""
    state = state_of(memory)
    stock = state.stock
    if settle_and_check_short(state, stock):
        return -1
    if stock.pending_size > 0 or (stock.size > 0 and stock.ends[0] < state.oldest):
        settle(state, stock)
        raise_floor(state, stock)
    return stock.size


@kernel
def settle_spare(memory: Any) -> int:
    """Settle the spare stock. Returns its size."""
    state = state_of(memory)
    settle(state, state.spare)
    return state.spare.size


@kernel
def read_top(memory: Any, rows: Any, seen: Any) -> None:
    """Describe the first pairs of a settled stock, as many as there are rows."""
    state = state_of(memory)
    for rank in range(seen.size):
        describe_copies(state, state.stock.pairs[rank], seen[rank])
    for rank in range(rows.size):
        describe(state, state.stock.pairs[rank], rows[rank])
