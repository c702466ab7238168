"""The floor: pairs that cannot matter yet are left out of the stock, and found when they may.

A pair with a recent set ends late, where few pairs outlive it, so the paper's lower bound is near nothing there: most of what
the minimal stock holds will be superseded before it could ever be in the top-k. So the stock of the engine holds only pairs at
or above a floor. Among those it is minimal, hence all that is true of the paper's stock is true of it, and the top-k is exact
as long as it holds k pairs or there is no floor.

- *Raising.* The similarity of the k-th pair that outlasts the outlook (a part of the window) becomes the floor: until then, k
  pairs will be there.
- *Completion.* Before fewer than k pairs are left, the stock is made anew for a lower floor: with each valid set, from the
  newest to the oldest, as the older set of pairs. All pairs found so far end no earlier, so one number bounds what matters: the
  similarity of the k-th of them.
- *The expected floor.* Until a completion has found k pairs, it would look at all, down to the least similar. So it begins with
  a floor somewhat below the one to be replaced. If fewer than k pairs reach that among the newer 3/4 of the sets, it begins
  anew, without.
- *The spare stock.* A completion is spread over the arrivals before it is needed. It fills a spare stock; sets that arrive
  meanwhile are joined with the part that is covered already, too. When all sets are covered, the spare stock takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swoop.engine.candidates import (
    Probe,
    forget,
    mark_tokens,
    overlap_with_marked,
    probe_of,
    sizes_worth,
    unmark_tokens,
    visit_list,
)
from swoop.engine.compile import apart, int64, jit, prefetch, stay_apart, uint64
from swoop.engine.index import Index, index_of, list_of
from swoop.engine.layout import DONE, GROW_SPARE, GROW_SPARE_PENDING
from swoop.engine.rank import key, min_overlap, remainder, upper_bound
from swoop.engine.sorting import sort
from swoop.engine.stock import Stock, at_least, copy_pair, ending_before, settle, spare_of, stock_of, write_pair
from swoop.engine.window import Window, place, take_tally, window_of
from swoop.similarity import COSINE

_LOW = (1 << 32) - 1
AHEAD = 0.8  # a completion is to end within this part of the time that is left
EXPECTED = 0.85  # of the floor is expected to be below the next one
CHOICE = 4  # of so many times the lists that are needed, the shortest are taken
NEAR, SETS_AHEAD = 16, 2  # how many tokens and sets ahead memory is asked for


@jit
def move_horizon(state: Any, window: Window) -> None:
    if state.duration == 0:
        return
    limit = state.now + state.outlook - state.duration
    state.horizon = max(state.horizon, state.oldest)
    while state.horizon < state.next and window.ring[place(window, state.horizon)].time <= limit:
        state.horizon += 1


@apart
def raise_floor(state: Any, window: Window, stock: Stock) -> None:
    """Make the k-th similarity at the end of the outlook the floor of a settled stock, if it is higher."""
    if state.outlook < 0:
        return
    numbers = stock.numbers[0]
    if numbers.size < state.k:
        return
    move_horizon(state, window)
    rank = state.k - 1 + ending_before(stock, state.horizon)
    if rank >= numbers.size:
        return
    floor = stock.pairs[rank].key
    threshold = np.nextafter(floor, -np.inf)
    if threshold > numbers.threshold:
        numbers.threshold = threshold
        numbers.version += 1
        drop_below(stock, floor)


@jit
def drop_below(stock: Stock, floor: float) -> None:
    """Drop the tail of S, and its part of E."""
    numbers = stock.numbers[0]
    size = at_least(stock, floor, -np.inf)
    if size == numbers.size:
        return
    at = 0
    for e in range(numbers.size):
        rank = stock.ranks[e]
        stock.ends[at] = stock.ends[e]
        stock.ranks[at] = rank
        at += 1 if rank < size else 0
    numbers.size = size


@jit
def is_short(state: Any, stock: Stock) -> bool:
    """Whether there is a floor and fewer than k settled pairs are left."""
    numbers = stock.numbers[0]
    if numbers.threshold <= state.lowest:
        return False
    return numbers.size < state.k or stock.ends[numbers.size - state.k] < state.oldest


@jit
def begin_completion(state: Any, spare: Stock, threshold: float) -> None:
    numbers = spare.numbers[0]
    numbers.size = 0
    numbers.pending = 0
    numbers.first = state.next
    numbers.threshold = max(threshold, state.lowest)
    numbers.version += 1
    state.completing = 1
    state.completions += 1


@jit
def complete_one(state: Any, window: Window, index: Index, spare: Stock, probe: Probe) -> int:
    """Cover one more set: find its pairs with newer sets that are relevant among those covered."""
    numbers = spare.numbers[0]
    older = numbers.first - 1
    record = window.ring[place(window, older)]
    length = window.tally[place(window, older)]
    group = int64(record.group)
    bound, bound_remainder, ties = numbers.threshold, np.inf, False
    if numbers.size >= state.k:
        last = spare.pairs[state.k - 1]
        if last.key > bound:
            bound, bound_remainder, ties = last.key, last.remainder, last.group == group
    prefetch_lists_of(state, window, index, older - SETS_AHEAD)
    first = record.start & int64(window.arena.size - 1)
    side = state.streams - 1 - int64(window.side[place(window, older)])
    touched, visited = scan_newer(state, window, index, spare, probe, first, length, side, older, bound, ties)
    if touched > 0:
        if numbers.pending + touched >= spare.pending.size:
            forget(window, probe, touched)
            state.needed = numbers.pending + touched + 1
            return GROW_SPARE_PENDING
        needed = numbers.size + numbers.pending + touched
        if needed > spare.pairs.size:
            forget(window, probe, touched)
            state.needed = needed
            return GROW_SPARE
        mark_tokens(probe.membership, window.arena, first, length)
        numbers.pending += find_newer(
            state, window, spare, probe, length, older, group, touched, visited, bound, bound_remainder, ties
        )
        unmark_tokens(probe.membership, window.arena, first, length)
    numbers.first = older
    if numbers.pending >= max(state.spare_pending_least, numbers.size // 8) or (
        numbers.size < state.k <= numbers.size + numbers.pending
    ):
        settle(spare, state.k, state.oldest)
        raise_floor(state, window, spare)
    return DONE


@jit
def prefetch_lists_of(state: Any, window: Window, index: Index, number: int) -> None:
    """Ask for the lists of the first tokens of a set that will be covered soon."""
    at = place(window, max(number, state.oldest))
    first = window.ring[at].start & int64(window.arena.size - 1)
    side = state.streams - 1 - int64(window.side[at])
    for p in range(min(NEAR, window.tally[at])):
        prefetch(index.slots, list_of(state, window.arena[uint64(first + p)], side))


@jit
def is_worth(state: Any, length: int, position: int, bound: float, ties: bool) -> bool:
    """Whether the list at a position may hold a set that reaches the bound."""
    best = upper_bound(state, length, position)
    return best > bound or (best == bound and (ties or state.kind == COSINE))


@jit
def lists_needed(state: Any, length: int, bound: float, ties: bool) -> int:
    """How many lists are worth visiting: whatever is in none of so many, of all lists, is below the bound."""
    low, high = 0, length
    while low < high:
        middle = (low + high) >> 1
        if is_worth(state, length, middle, bound, ties):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def scan_newer(
    state: Any,
    window: Window,
    index: Index,
    spare: Stock,
    probe: Probe,
    first: int,
    length: int,
    side: int,
    older: int,
    bound: float,
    ties: bool,
) -> tuple[int, int]:
    """Count the sets that came after a set in its shortest lists, as many lists as are needed.

    Returns how many sets were met, and how many lists were visited; lists without a newer set count as visited.
    """
    among = min(length, CHOICE * lists_needed(state, length, bound, ties))
    left = 0
    for p in range(among):
        prefetch(index.slots, list_of(state, window.arena[uint64(first + min(p + NEAR, length - 1))], side))
        at = list_of(state, window.arena[uint64(first + p)], side)
        probe.list_order[uint64(left)] = (int64(index.slots[at].size) << 32) | p
        left += 1 if index.slots[at].newest > older else 0
    visited = among - left
    if left == 0:
        return 0, visited
    sort(probe.list_order, 0, left, 32, spare.room)
    touched = 0
    q = 0
    while q < left:
        if not is_worth(state, length, visited, bound, ties):
            break
        at = list_of(state, window.arena[first + (probe.list_order[q] & _LOW)], side)
        sizes = sizes_worth(state, length, visited, bound, q)
        touched = visit_list(state, window, index, probe, at, older + 1, sizes, touched)
        visited += 1
        q += 1
    return touched, visited


@jit
def find_newer(
    state: Any,
    window: Window,
    spare: Stock,
    probe: Probe,
    length: int,
    older: int,
    group: int,
    touched: int,
    visited: int,
    bound: float,
    bound_remainder: float,
    ties: bool,
) -> int:
    """Verify the sets met, with the older set's tokens marked. Pairs go behind the pending ones; returns how many."""
    arena_mask = int64(window.arena.size - 1)
    below = np.nextafter(bound, -np.inf)
    pending = spare.numbers[0].pending
    count = 0
    for t in range(touched):
        number = int64(probe.touched[uint64(t)])
        overlap, size = take_tally(window, number)
        if visited < length:
            most = min(overlap + length - visited, size)
            if key(state, length, size, most) <= below:
                continue
            needed = min_overlap(state, length, size, most, below, np.inf)
            state.verified += 1
            start = window.ring[place(window, number)].start & arena_mask
            overlap = overlap_with_marked(probe.membership, window.arena, start, size, needed)
            if overlap < needed:
                continue
        value = key(state, length, size, overlap)
        rest = remainder(state, length, size, overlap, value)
        if value < bound or (value == bound and (rest < bound_remainder or (rest == bound_remainder and not ties))):
            continue
        write_pair(spare.pending[pending + count], value, rest, number, older, group, overlap)
        count += 1
    return count


@jit
def take_over(state: Any, window: Window, stock: Stock, spare: Stock) -> int:
    settle(spare, state.k, state.oldest)
    raise_floor(state, window, spare)
    numbers, ours = spare.numbers[0], stock.numbers[0]
    if numbers.size > stock.pairs.size:
        state.needed = numbers.size
        return GROW_SPARE
    for at in range(numbers.size):
        copy_pair(stock.pairs[at], spare.pairs[at])
        stock.ends[at] = spare.ends[at]
        stock.ranks[at] = spare.ranks[at]
    ours.size = numbers.size
    ours.pending = 0
    ours.threshold = numbers.threshold
    ours.version += 1
    numbers.size = 0
    state.completing = 0
    state.takeovers += 1
    state.steps = 0
    return DONE


@jit
def lacks_pairs(state: Any, stock: Stock) -> bool:
    """Whether a completion is due: there is a floor, and with the pending pairs there are fewer than k."""
    if not is_short(state, stock):
        return False
    settle(stock, state.k, state.oldest)
    return is_short(state, stock)


@jit
def have_enough(state: Any, stock: Stock) -> int:
    """See to it that k pairs are there, or no floor."""
    if not lacks_pairs(state, stock):
        return DONE
    state.steps = -1  # all
    return complete(state)


@jit
def time_left(state: Any, window: Window, stock: Stock) -> int:
    """Until fewer than k of the settled pairs are left."""
    last = int64(stock.ends[stock.numbers[0].size - state.k])
    return window.ring[place(window, last)].time + state.duration - state.now


@jit
def part_of_completion(state: Any, window: Window, stock: Stock, spare: Stock) -> int:
    """How many steps of a completion an arrival is to do: as many as it takes to be done before pairs run short. 0: none."""
    numbers = stock.numbers[0]
    if numbers.threshold <= state.lowest or state.duration == 0:
        state.completing = 0
        return 0
    left = time_left(state, window, stock)
    if not state.completing:
        if left < state.early and numbers.pending > 0:
            settle(stock, state.k, state.oldest)
            left = time_left(state, window, stock)
        if left >= state.early:
            return 0
        begin_completion(state, spare, numbers.threshold - (1.0 - EXPECTED) * abs(numbers.threshold))
    arrivals = AHEAD * left * ((state.next - state.oldest) / state.duration)
    return max(int64((spare.numbers[0].first - state.oldest) / max(arrivals, 1.0)) + 1, state.part)


@jit
def is_mistaken(state: Any, spare: Stock) -> bool:
    """Whether a completion expected too much: 3/4 of the sets are covered, and fewer than k pairs reach the expected floor."""
    numbers = spare.numbers[0]
    if numbers.threshold <= state.lowest or 4 * numbers.first > 3 * state.oldest + state.next:
        return False
    if numbers.size + numbers.pending >= state.k and numbers.first > state.oldest:
        return False
    settle(spare, state.k, state.oldest)
    return is_short(state, spare)


@apart
def complete(state: Any) -> int:
    """Do so many steps of a completion as ``steps`` says; when all sets are covered, the spare stock takes over."""
    stay_apart()
    window = window_of(state)
    index = index_of(state)
    spare = spare_of(state)
    probe = probe_of(state)
    if not state.completing:
        begin_completion(state, spare, state.lowest)
    while True:
        if is_mistaken(state, spare):
            state.mistakes += 1
            begin_completion(state, spare, state.lowest)
        if spare.numbers[0].first <= state.oldest:
            break
        if state.steps == 0:
            return DONE
        code = complete_one(state, window, index, spare, probe)
        if code != DONE:
            return code
        state.steps -= 1
    return take_over(state, window, stock_of(state), spare)
