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

from typing import NamedTuple

import numpy as np

from swoop.engine.candidates import forget, relevant_sizes, visit_list
from swoop.engine.compile import LOW, forbid_inlining, int64, jit, noinline, prefetch
from swoop.engine.index import list_of
from swoop.engine.layout import DONE, SPARE_FULL, SPARE_PENDING_FULL, Index, State, Stock, Window
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import key, min_overlap, remainder, upper_bound
from swoop.engine.records import is_newer
from swoop.engine.sorting import sort
from swoop.engine.stock import at_least, copy_pair, ending_before, settle, write_pair
from swoop.engine.window import ring_slot, take_hits
from swoop.similarity import COSINE

DONE_BY = 0.8  # the part of the time that is left within which a completion is to end
EXPECTED = 0.85  # of the floor is expected to be below the next one
CHOICE = 4  # of so many times the lists that are needed, the shortest are taken
NEAR, SETS_AHEAD = 16, 2  # how many tokens and sets ahead memory is asked for


class Covered(NamedTuple):
    """The set that a completion covers, as the older one of pairs. Its tokens are in the arena from ``first`` on."""

    number: int
    group: int
    first: int
    size: int
    side: int


class Bound(NamedTuple):
    """What a pair has to rank above; with ``ties``, equal it at least."""

    key: float
    remainder: float
    ties: bool


@jit
def move_horizon(state: State) -> None:
    if state.duration == 0:
        return
    window, floor = state.window, state.floor
    limit = state.now + floor.outlook - state.duration
    floor.horizon = max(floor.horizon, state.oldest)
    while floor.horizon < state.next and window.ring[ring_slot(window, floor.horizon)].time <= limit:
        floor.horizon += 1


@noinline
def raise_floor(state: State, stock: Stock) -> None:
    """Make the k-th similarity at the end of the outlook the floor of a settled stock, if it is higher."""
    if state.floor.outlook < 0 or stock.size < state.k:
        return
    move_horizon(state)
    rank = state.k - 1 + ending_before(stock, state.floor.horizon)
    if rank >= stock.size:
        return
    floor = stock.pairs[rank].key
    threshold = np.nextafter(floor, -np.inf)
    if threshold > stock.threshold:
        stock.threshold = threshold
        stock.version += 1
        drop_below(stock, floor)


@jit
def drop_below(stock: Stock, floor: float) -> None:
    """Drop the tail of S, and its part of E."""
    size = at_least(stock, floor, -np.inf)
    if size == stock.size:
        return
    at = 0
    for e in range(stock.size):
        rank = stock.ranks[e]
        stock.ends[at] = stock.ends[e]
        stock.ranks[at] = rank
        at += 1 if rank < size else 0
    stock.size = size


@jit
def is_short(state: State, stock: Stock) -> bool:
    """Whether there is a floor and fewer than k settled pairs are left."""
    if stock.threshold <= state.lowest:
        return False
    return stock.size < state.k or stock.ends[stock.size - state.k] < state.oldest


@jit
def begin_completion(state: State, threshold: float) -> None:
    spare, floor = state.spare, state.floor
    spare.size = 0
    spare.pending_size = 0
    spare.first = state.next
    spare.threshold = max(threshold, state.lowest)
    spare.version += 1
    floor.completing = 1
    floor.completions += 1


@jit
def cover_next(state: State) -> int:
    """Cover one more set: find its pairs with newer sets that are relevant among those covered."""
    window, spare, probe = state.window, state.spare, state.probe
    number = spare.first - 1
    at = ring_slot(window, number)
    record = window.ring[at]
    first = record.start & (window.arena.size - 1)
    covered = Covered(number, int64(record.group), first, window.size_and_hits[at], int64(window.side[at]))
    bound = bound_of(state, covered.group)
    prefetch_lists_of(state, window, state.index, number - SETS_AHEAD)
    hit_count, visited = scan_newer(state, covered, bound)
    if hit_count > 0:
        if spare.pending_size + hit_count >= spare.pending.size:
            forget(state, hit_count)
            state.needed = spare.pending_size + hit_count + 1
            return SPARE_PENDING_FULL
        needed = spare.size + spare.pending_size + hit_count
        if needed > spare.pairs.size:
            forget(state, hit_count)
            state.needed = needed
            return SPARE_FULL
        mark_tokens(probe.membership, window.arena, first, covered.size)
        spare.pending_size += find_newer(state, covered, bound, hit_count, visited)
        unmark_tokens(probe.membership, window.arena, first, covered.size)
    spare.first = number
    if spare.pending_size >= max(state.limits.spare_pending_least, spare.size // 8) or (
        spare.size < state.k <= spare.size + spare.pending_size
    ):
        settle(state, spare)
        raise_floor(state, spare)
    return DONE


@jit
def bound_of(state: State, group: int) -> Bound:
    """What pairs have to rank above that end with a group. All that the spare stock holds end no earlier."""
    spare = state.spare
    if spare.size >= state.k:
        last = spare.pairs[state.k - 1]
        if last.key > spare.threshold:
            return Bound(last.key, last.remainder, last.group == group)
    return Bound(spare.threshold, np.inf, False)


@jit
def prefetch_lists_of(state: State, window: Window, index: Index, number: int) -> None:
    """Ask for the lists of the first tokens of a set that will be covered soon."""
    at = ring_slot(window, max(number, state.oldest))
    first = window.ring[at].start & (window.arena.size - 1)
    side = state.side_count - 1 - int64(window.side[at])
    for p in range(min(NEAR, window.size_and_hits[at])):
        prefetch(index.slots, list_of(state, window.arena[first + p], side))


@jit
def is_worth(state: State, size: int, position: int, bound: Bound) -> bool:
    """Whether the list at a position may hold a set that reaches the bound."""
    best = upper_bound(state, size, position)
    return best > bound.key or (best == bound.key and (bound.ties or state.kind == COSINE))


@jit
def lists_needed(state: State, size: int, bound: Bound) -> int:
    """How many lists are worth visiting: whatever is in none of so many, of all lists, is below the bound."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if is_worth(state, size, middle, bound):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def scan_newer(state: State, covered: Covered, bound: Bound) -> tuple[int, int]:
    """Count the sets that came after a set in its shortest lists, as many lists as are needed.

    Returns how many sets were met, and how many lists were visited; lists without a newer set count as visited.
    """
    window, index, probe = state.window, state.index, state.probe
    first, size = covered.first, covered.size
    side = state.side_count - 1 - covered.side
    among = min(size, CHOICE * lists_needed(state, size, bound))
    left = 0
    for p in range(among):
        prefetch(index.slots, list_of(state, window.arena[first + min(p + NEAR, size - 1)], side))
        at = list_of(state, window.arena[first + p], side)
        probe.list_order[left] = (int64(index.slots[at].size) << 32) | p
        left += 1 if index.slots[at].newest > covered.number else 0
    visited = among - left
    if left == 0:
        return 0, visited
    sort(probe.list_order, 0, left, 32, state.sort_room)
    hit_count = 0
    q = 0
    while q < left:
        if not is_worth(state, size, visited, bound):
            break
        at = list_of(state, window.arena[first + (probe.list_order[q] & LOW)], side)
        sizes = relevant_sizes(state, size, visited, bound.key, q)
        hit_count = visit_list(state, window, index, probe, at, covered.number + 1, sizes, hit_count)
        visited += 1
        q += 1
    return hit_count, visited


@jit
def find_newer(state: State, covered: Covered, bound: Bound, hit_count: int, visited: int) -> int:
    """Verify the sets met, with the covered set's tokens marked. Pairs go behind the pending ones; returns how many."""
    window, spare, probe = state.window, state.spare, state.probe
    arena_mask = window.arena.size - 1
    below = np.nextafter(bound.key, -np.inf)
    pending = spare.pending_size
    count = 0
    for t in range(hit_count):
        number = int64(probe.hit_sets[t])
        overlap, size = take_hits(window, number)
        if size == 0:
            continue  # a copy that counts no more
        if visited < covered.size:
            most = min(overlap + covered.size - visited, size)
            if key(state, covered.size, size, most) <= below:
                continue
            needed = min_overlap(state, covered.size, size, most, below, np.inf)
            state.verified += 1
            start = window.ring[ring_slot(window, number)].start & arena_mask
            overlap = overlap_with_marked(probe.membership, window.arena, start, size, needed)
            if overlap < needed:
                continue
        value = key(state, covered.size, size, overlap)
        rest = remainder(state, covered.size, size, overlap, value)
        if value < bound.key:
            continue
        if value == bound.key and (rest < bound.remainder or (rest == bound.remainder and not bound.ties)):
            continue
        newer, older = number, covered.number
        if is_newer(state, older, newer):
            newer, older = older, newer
        write_pair(spare.pending[pending + count], value, rest, newer, older, covered.group, overlap)
        count += 1
    return count


@jit
def take_over(state: State) -> int:
    stock, spare, floor = state.stock, state.spare, state.floor
    settle(state, spare)
    raise_floor(state, spare)
    if spare.size > stock.pairs.size:
        state.needed = spare.size
        return SPARE_FULL
    for at in range(spare.size):
        copy_pair(stock.pairs[at], spare.pairs[at])
        stock.ends[at] = spare.ends[at]
        stock.ranks[at] = spare.ranks[at]
    stock.size = spare.size
    stock.pending_size = 0
    stock.threshold = spare.threshold
    stock.version += 1
    spare.size = 0
    floor.completing = 0
    floor.takeovers += 1
    floor.steps = 0
    return DONE


@jit
def settle_and_check_short(state: State, stock: Stock) -> bool:
    """Whether a completion is due: there is a floor, and with the pending pairs there are fewer than k."""
    if not is_short(state, stock):
        return False
    settle(state, stock)
    return is_short(state, stock)


@jit
def ensure_k_pairs(state: State) -> int:
    """Complete the stock if fewer than k pairs are left and there is a floor."""
    if not settle_and_check_short(state, state.stock):
        return DONE
    state.floor.steps = -1  # all
    return complete(state)


@jit
def time_left(state: State, stock: Stock) -> int:
    """Until fewer than k of the settled pairs are left."""
    window = state.window
    last = stock.ends[stock.size - state.k]
    return window.ring[ring_slot(window, last)].time + state.duration - state.now


@jit
def plan_completion(state: State) -> int:
    """How many steps of a completion an arrival is to do: as many as it takes to be done before pairs run short. 0: none."""
    stock, floor = state.stock, state.floor
    if stock.threshold <= state.lowest or state.duration == 0:
        floor.completing = 0
        return 0
    left = time_left(state, stock)
    if not floor.completing:
        if left < floor.early and stock.pending_size > 0:
            settle(state, stock)
            left = time_left(state, stock)
        if left >= floor.early:
            return 0
        begin_completion(state, stock.threshold - (1.0 - EXPECTED) * abs(stock.threshold))
    arrivals = DONE_BY * left * ((state.next - state.oldest) / state.duration)
    return max(int64((state.spare.first - state.oldest) / max(arrivals, 1.0)) + 1, state.limits.part)


@jit
def settle_and_check_mistaken(state: State, spare: Stock) -> bool:
    """Whether a completion expected too much: 3/4 of the sets are covered, and fewer than k pairs reach the expected floor."""
    if spare.threshold <= state.lowest or 4 * spare.first > 3 * state.oldest + state.next:
        return False
    if spare.size + spare.pending_size >= state.k and spare.first > state.oldest:
        return False
    settle(state, spare)
    return is_short(state, spare)


@noinline
def complete(state: State) -> int:
    """Do so many steps of a completion as ``steps`` says; when all sets are covered, the spare stock takes over."""
    forbid_inlining()
    spare, floor = state.spare, state.floor
    if not floor.completing:
        begin_completion(state, state.lowest)
    while True:
        if settle_and_check_mistaken(state, spare):
            floor.mistakes += 1
            begin_completion(state, state.lowest)
        if spare.first <= state.oldest:
            break
        if floor.steps == 0:
            return DONE
        code = cover_next(state)
        if code != DONE:
            return code
        floor.steps -= 1
    return take_over(state)
