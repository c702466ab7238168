"""The way of a set through the engine: expiry, candidates, stock, window, index (paper, section 3, figure 2).

These are the kernels that Python calls to move the engine forward. Each returns ``DONE`` or the code of what it needs first.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.candidates import (
    Probe,
    find_candidates,
    forget,
    probe_of,
    scan_lists,
    signature_bit,
)
from swoop.engine.compile import apart, int64, jit, kernel, part, pick, prefetch, stay_apart, uint64
from swoop.engine.feed import changes_top, describe, ending_next, note_arrival, note_entering, note_expiry
from swoop.engine.floor import complete, have_enough, lacks_pairs, part_of_completion, raise_floor
from swoop.engine.index import Index, append_to_list, index_of, list_of, rebase_lists, take_back
from swoop.engine.layout import (
    DONE,
    ENTER,
    EXPIRE,
    FILL_SPARE,
    FILL_STOCK,
    GROW_ARENA,
    GROW_FEED,
    GROW_PENDING,
    GROW_POOL,
    GROW_RING,
    GROW_SET,
    GROW_SPARE,
    GROW_SPARE_PENDING,
    GROW_STOCK,
    REBASE,
    SHRINK,
    batch_of,
    first_of,
    is_ready,
    length_of,
    side_of,
    state_of,
)
from swoop.engine.stock import (
    Stock,
    adopt_draft,
    draft_e,
    draft_s,
    drop_ended,
    rebase_pairs,
    settle,
    spare_of,
    stock_of,
    strike_out,
)
from swoop.engine.window import (
    Window,
    expire_sets,
    group_of_next,
    has_arrived,
    is_oversized,
    leave_group,
    needed_in_arena,
    place,
    start_in_arena,
    window_of,
    write_set,
)

NEAR, FAR = 16, 40  # how many tokens ahead memory is asked for
RARE = 2  # tokens in at most so many sets stand first in a set
PENDING_SHARE = 8  # pending pairs are settled when there are enough, and they are this part of the stock,
PENDING_VALID = 0.75  # unless they are fewer than this part without those that have ended


@part
def move_index_time(state: Any, window: Window, stock: Stock, now: int) -> int:
    """Expire what has ended at the given time (set_index_time)."""
    if state.tracking and state.duration > 0:
        code = expire_noting(state, window, stock, now)
        if code != DONE:
            return code
    expire_sets(state, window, now)
    return have_enough(state, stock)


@apart
def expire_noting(state: Any, window: Window, stock: Stock, now: int) -> int:
    """Expire pairs one end time after the other and note what changes."""
    numbers = stock.numbers[0]
    if state.entering < 0 and numbers.pending > 0 and window.ring[place(window, state.oldest)].time + state.duration <= now:
        settle(stock, state.k, state.oldest)
    while True:
        if state.entering >= 0:  # others take the place of what has expired
            code = have_enough(state, stock)
            if code != DONE:
                return code
            count = min(state.k, numbers.size) - state.entering
            if state.feed_end + count > state.feed_size:
                state.needed = state.feed_end + count
                return GROW_FEED
            note_entering(state, window, stock, state.entering)
            state.entering = -1
        if numbers.size == 0:
            return DONE
        time = window.ring[place(window, int64(stock.ends[0]))].time + state.duration
        if time > now:
            return DONE
        count = ending_next(stock)
        if state.feed_end + count > state.feed_size:
            state.needed = state.feed_end + count
            return GROW_FEED
        note_expiry(state, window, stock, time, count)
        state.entering = min(state.k, numbers.size) - count
        expire_sets(state, window, time)
        settle(stock, state.k, state.oldest)


@jit
def room_for_set(state: Any, window: Window, length: int) -> int:
    if state.next >= state.last_number:
        return REBASE
    if state.next - state.oldest >= window.ring.size:
        return GROW_RING
    needed = needed_in_arena(state, window, start_in_arena(state, window, length), length)
    if needed > window.arena.size:
        state.needed = needed
        return GROW_ARENA
    if length > state.list_newest_size:
        state.needed = length
        return GROW_SET
    return DONE


@jit
def prefetch_lists(state: Any, index: Index, tokens: Any, p: int) -> None:
    """Ask for what the tokens after position p will need: first the slots of their lists, then the ends of their segments."""
    last = int64(tokens.size) - 1
    prefetch(index.slots, list_of(state, tokens[uint64(min(p + FAR, last))], 0))
    slot = index.slots[list_of(state, tokens[uint64(min(p + NEAR, last))], 0)]
    prefetch(index.pool, pick(slot.capacity > 0, int64(slot.rest) + slot.size - 1, 0))


@jit
def enter_set(
    state: Any, window: Window, index: Index, probe: Probe, time: int, side: int, tokens: Any, first: int, length: int
) -> int:
    """Enter the arriving set into the window and into the lists of its tokens, and note what the lists were before.

    Repeated tokens are dropped: the list of such a token has the set already. If there is no room, nothing has changed.
    """
    code = room_for_set(state, window, length)
    if code != DONE:
        return code
    other_side = state.streams - 1 - side
    signature = int64(0)
    start = start_in_arena(state, window, length)
    arena_start = start & int64(window.arena.size - 1)
    front, back = arena_start, arena_start + length
    kept = 0
    for p in range(first, first + length):
        prefetch_lists(state, index, tokens, p)
        token = tokens[uint64(p)]
        own = list_of(state, token, side)
        if index.slots[own].newest == state.next:
            continue
        slot = index.slots[list_of(state, token, other_side)]
        is_rare = slot.size <= RARE
        probe.list_newest[uint64(kept)] = slot.newest
        probe.list_size[uint64(kept)] = slot.size
        tokens[uint64(first + kept)] = token
        window.arena[uint64(pick(is_rare, front, back - 1))] = token
        front = pick(is_rare, front + 1, front)
        back = pick(is_rare, back, back - 1)
        signature |= signature_bit(token)
        if not append_to_list(state, index, own, state.next):
            leave_lists(state, index, tokens, first, kept, side)
            return GROW_POOL
        kept += 1
    if kept < length:
        for p in range(back, arena_start + length):
            window.arena[front + p - back] = window.arena[p]
    write_set(state, window, time, side, signature, group_of_next(state, window, time), start, kept)
    return DONE


@apart
def leave_lists(state: Any, index: Index, tokens: Any, first: int, length: int, side: int) -> None:
    for p in range(first, first + length):
        take_back(index, list_of(state, tokens[p], side))


@kernel
def give_up(memory: Any) -> None:
    """Undo an arrival that cannot go on. If it has filled the spare stock, that begins anew."""
    state = state_of(memory)
    if state.stage >= FILL_SPARE:
        window = window_of(state)
        batch, i = batch_of(state), state.batch_at
        length = window.tally[place(window, state.next)]
        leave_lists(state, index_of(state), batch.tokens, first_of(batch, i), length, side_of(batch, i))
        leave_group(state, window)
    if state.stage == FILL_STOCK:
        state.completing = 0
    state.stage = EXPIRE


@part
def insert_set(
    state: Any,
    window: Window,
    index: Index,
    stock: Stock,
    spare: Stock,
    probe: Probe,
    time: int,
    side: int,
    tokens: Any,
    first: int,
    length: int,
) -> int:
    """Let one set arrive (insert). Each stage asks for the room it needs before it changes anything."""
    if state.stage == EXPIRE:
        code = move_index_time(state, window, stock, time)
        if code != DONE:
            return code
        state.stage = ENTER
        state.steps = part_of_completion(state, window, stock, spare)
    if state.stage == ENTER:
        if state.steps > 0:
            code = complete(state)
            if code != DONE:
                return code
        code = enter_set(state, window, index, probe, time, side, tokens, first, length)
        if code != DONE:
            return code
        state.stage = FILL_SPARE
    if window.tally[place(window, state.next)] > 0 and state.oldest < state.next:
        if state.stage == FILL_SPARE and state.completing:
            code = insert_candidates(state, first, state.streams - 1 - side)
            if code != DONE:
                return code
        state.stage = FILL_STOCK
        code = insert_candidates(state, first, state.streams - 1 - side)
        if code != DONE:
            return code
    has_arrived(state, window)
    state.stage = EXPIRE
    return DONE


@apart
def insert_candidates(state: Any, first: int, side: int) -> int:
    """Find the candidates of the arriving set and put them into the stock, or into the spare one."""
    stay_apart()
    window = window_of(state)
    at = place(window, state.next)
    length, signature = window.tally[at], window.ring[at].signature
    index = index_of(state)
    probe = probe_of(state)
    is_spare = state.stage == FILL_SPARE
    stock = spare_of(state) if is_spare else stock_of(state)
    tokens = batch_of(state).tokens
    numbers = stock.numbers[0]
    pre_candidates, verified = state.pre_candidates, state.verified
    touched = scan_lists(state, window, index, stock, probe, tokens, first, length, side)
    if touched == 0:
        return DONE
    if numbers.pending + touched >= stock.pending.size:
        forget(window, probe, touched)
        code = GROW_SPARE_PENDING if is_spare else GROW_PENDING
        return again(state, pre_candidates, verified, numbers.pending + touched + 1, code)
    count = find_candidates(state, window, stock, probe, tokens, first, length, signature, touched)
    if count == 0:
        return DONE
    waiting = numbers.pending + count
    if numbers.size + waiting > stock.pairs.size:
        return again(state, pre_candidates, verified, numbers.size + waiting, GROW_SPARE if is_spare else GROW_STOCK)
    if state.tracking and not is_spare and changes_top(state, stock, count):
        if state.feed_end + 2 * count > state.feed_size:
            return again(state, pre_candidates, verified, state.feed_end + 2 * count, GROW_FEED)
        numbers.pending = waiting
        settle_noting(state, window, stock)
        raise_floor(state, window, stock)
    else:
        numbers.pending = waiting
        if waiting >= max(state.pending_least, numbers.size // PENDING_SHARE):
            drop_ended(stock, state.oldest)
            if numbers.pending >= PENDING_VALID * waiting:
                settle(stock, state.k, state.oldest)
                raise_floor(state, window, stock)
    state.candidate_count += count
    return DONE


@apart
def settle_noting(state: Any, window: Window, stock: Stock) -> None:
    """Settle and note what the arriving set changes."""
    size = draft_s(stock, state.oldest)
    note_arrival(state, window, stock, size)
    draft_e(stock, state.oldest)
    adopt_draft(stock, size, strike_out(stock, state.k, size))


@jit
def again(state: Any, pre_candidates: int, verified: int, needed: int, code: int) -> int:
    """Ask for room. The arrival will be done once more, so its counts so far do not count."""
    state.pre_candidates = pre_candidates
    state.verified = verified
    state.needed = needed
    return code


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from ``batch_at`` on, as many as have numbers for their tokens."""
    state = state_of(memory)
    window = window_of(state)
    index = index_of(state)
    stock = stock_of(state)
    spare = spare_of(state)
    probe = probe_of(state)
    batch = batch_of(state)
    while is_ready(batch, state.batch_at):
        i = state.batch_at
        side, first, length = side_of(batch, i), first_of(batch, i), length_of(batch, i)
        code = insert_set(state, window, index, stock, spare, probe, batch.times[i], side, batch.tokens, first, length)
        if code != DONE:
            return code
        state.batch_at += 1
    return SHRINK if is_oversized(state, window) else DONE


@kernel
def advance(memory: Any, now: int) -> int:
    """Move the index time without an arrival."""
    state = state_of(memory)
    window = window_of(state)
    code = move_index_time(state, window, stock_of(state), now)
    if code == DONE and is_oversized(state, window):
        return SHRINK
    return code


@kernel
def rebase(memory: Any) -> None:
    """Count arrival numbers from a later base, so that they stay small. The base moves by whole rounds of the ring."""
    state = state_of(memory)
    window = window_of(state)
    shift = state.oldest & ~(int64(window.ring.size) - 1)
    stock = stock_of(state)
    settle(stock, state.k, state.oldest)
    rebase_lists(state, index_of(state), state.tokens * state.streams, shift)
    rebase_pairs(stock, shift)
    spare = spare_of(state)
    settle(spare, state.k, state.oldest)
    rebase_pairs(spare, shift)
    spare.numbers[0].first -= shift
    state.horizon -= shift
    for number in range(state.oldest, state.next):
        record = window.ring[place(window, number)]
        record.group -= shift
        record.group_last -= shift
    state.base += shift
    state.next -= shift
    state.oldest -= shift


@kernel
def settle_stock(memory: Any) -> int:
    """Settle the stock as of the index time. Returns its size; -1 if it is to be completed first."""
    state = state_of(memory)
    stock = stock_of(state)
    numbers = stock.numbers[0]
    if lacks_pairs(state, stock):
        return -1
    if numbers.pending > 0 or (numbers.size > 0 and stock.ends[0] < state.oldest):
        settle(stock, state.k, state.oldest)
        raise_floor(state, window_of(state), stock)
    return numbers.size


@kernel
def settle_spare(memory: Any) -> int:
    """Settle the spare stock. Returns its size."""
    state = state_of(memory)
    spare = spare_of(state)
    settle(spare, state.k, state.oldest)
    return spare.numbers[0].size


@kernel
def read_top(memory: Any, rows: Any) -> None:
    """Describe the first pairs of a settled stock, as many as there are rows."""
    state = state_of(memory)
    window = window_of(state)
    stock = stock_of(state)
    for rank in range(rows.size):
        describe(state, window, stock.pairs[rank], rows[rank])
