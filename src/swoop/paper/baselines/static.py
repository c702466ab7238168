"""Static: the top-k join of Xiao et al. over the sets of the window, once more whenever the window changes (paper, section 7).

The tokens of each set stand in one order, rare ones first. An event is the next token of a set; events are processed by
descending upper bound of the pairs that share this token and none before it, until no event can reach the k-th pair. An index
that grows meanwhile tells which sets have shown the token before.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.arrival import room_for_set
from swoop.engine.compile import LOW, int64, jit, kernel, noinline
from swoop.engine.index import list_of
from swoop.engine.layout import DONE, STOCK_FULL, Arrival, is_ready, next_arrival
from swoop.engine.marks import mark_tokens, overlap_with_marked, unmark_tokens
from swoop.engine.rank import key, remainder, upper_bound
from swoop.engine.records import expire_sets
from swoop.engine.sorting import sort
from swoop.engine.stock import copy_pair, precedes, write_pair
from swoop.engine.vocabulary import mix
from swoop.engine.window import commit_arrival, ring_slot, start_in_arena, write_set
from swoop.paper.baselines.layout import EVENTS_FULL, MET_FULL, BaselineState, Events, baseline_of
from swoop.similarity import JACCARD


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from its next one on, as many as have ids for their tokens."""
    state = baseline_of(memory)
    batch = state.batch
    while is_ready(batch):
        if not state.has_entered:
            code = insert_set(state, next_arrival(batch))
            if code != DONE:
                return code
            state.has_entered = 1
        code = join_window(state)
        if code != DONE:
            return code
        state.has_entered = 0
        batch.at += 1
    return DONE


@kernel
def refresh(memory: Any) -> int:
    """Join the window once more if sets have expired since."""
    state = baseline_of(memory)
    if state.joined_from == state.base + state.oldest:
        return DONE
    return join_window(state)


@noinline
def insert_set(state: BaselineState, arrival: Arrival) -> int:
    """Put a set into the window, with its tokens in the order of their ids, descending, without repeated ones."""
    window, index, order = state.window, state.index, state.probe.list_order
    expire_sets(state, arrival.time)
    code = room_for_set(state, window, arrival.size)
    if code != DONE:
        return code
    start = start_in_arena(window, arrival.size)
    at = start & (window.arena.size - 1)
    for p in range(arrival.size):
        order[p] = LOW - int64(arrival.tokens[arrival.first + p])
    sort(order, 0, arrival.size, 0, state.sort_room)
    kept = 0
    for p in range(arrival.size):
        token = LOW - order[p]
        slot = index.slots[list_of(state, token, arrival.side)]  # the vocabulary asks which tokens are held
        if slot.newest < state.next:
            window.arena[at + kept] = token
            kept += 1
        slot.newest = state.next
        slot.size = 1
    write_set(state, arrival, 0, start, kept)
    commit_arrival(state)
    return DONE


@noinline
def join_window(state: BaselineState) -> int:
    """The top-k of all pairs of valid sets, from nothing; they become the stock."""
    window, posts, met = state.window, state.posts, state.met
    if not has_room(state):
        return EVENTS_FULL
    for at in range(met.size):
        met[at] = 0
    counts = state.pre_candidates, state.verified, state.candidate_count
    code = process_events(state)
    if code != DONE:  # it will be done once more
        state.pre_candidates, state.verified, state.candidate_count = counts
    for number in range(state.oldest, state.next):
        at = ring_slot(window, number)
        first = window.ring[at].start & (window.arena.size - 1)
        for p in range(first, first + window.size_and_hits[at]):
            posts.heads[window.arena[p]] = 0
    if code == DONE:
        state.joined_from = state.base + state.oldest
    return code


@jit
def has_room(state: BaselineState) -> bool:
    events, posts = state.events, state.posts
    if events.bound.size < state.next - state.oldest or posts.heads.size < state.vocabulary.id_count:
        return False
    return bool(posts.set.size >= state.window.arena.size)


@jit
def process_events(state: BaselineState) -> int:
    window, stock, events, posts, met = state.window, state.stock, state.events, state.posts, state.met
    stock.size = 0
    arena_mask = window.arena.size - 1
    membership = state.probe.membership
    pending = posted = met_count = 0
    for number in range(state.oldest, state.next):
        size = window.size_and_hits[ring_slot(window, number)]
        if size > 0:
            pending = push(events, pending, upper_bound(state, size, 0), number, 0)
    while pending > 0:
        best, number, position = events.bound[0], int64(events.set[0]), int64(events.position[0])
        pending = pop(events, pending)
        if best <= stock.threshold or (stock.size == state.k and best < stock.pairs[state.k - 1].key):
            break
        at = ring_slot(window, number)
        size = window.size_and_hits[at]
        first = window.ring[at].start & arena_mask
        token = int64(window.arena[first + position])
        rest = size - position
        is_marked = False
        post = int64(posts.heads[token])
        while post > 0:
            other, other_position = int64(posts.set[post - 1]), int64(posts.position[post - 1])
            post = int64(posts.next[post - 1])
            state.pre_candidates += 1
            other_at = ring_slot(window, other)
            if state.side_count == 2 and window.side[at] == window.side[other_at]:
                continue
            other_size = window.size_and_hits[other_at]
            most = min(rest, other_size - other_position)
            best = key(state, size, other_size, most)
            if best <= stock.threshold or (stock.size == state.k and best < stock.pairs[state.k - 1].key):
                continue
            if 2 * met_count >= met.size:
                if is_marked:
                    unmark_tokens(membership, window.arena, first, size)
                return MET_FULL
            newer, older = max(number, other), min(number, other)
            if not is_new(met, (newer << 32) | older):
                continue
            met_count += 1
            if not is_marked:
                mark_tokens(membership, window.arena, first, size)
                is_marked = True
            state.verified += 1
            overlap = overlap_with_marked(membership, window.arena, window.ring[other_at].start & arena_mask, other_size, 1)
            if stock.size + 1 >= stock.pairs.size:
                unmark_tokens(membership, window.arena, first, size)
                state.needed = stock.size + 2
                return STOCK_FULL
            rank_pair(state, size, other_size, overlap, newer, older)
        if is_marked:
            unmark_tokens(membership, window.arena, first, size)
        bound = stock.pairs[state.k - 1].key if stock.size == state.k else stock.threshold
        if state.kind != JACCARD or rest / (size + position) >= bound:  # their indexing bound
            posts.set[posted] = number
            posts.position[posted] = position
            posts.next[posted] = posts.heads[token]
            posts.heads[token] = posted + 1
            posted += 1
        if position + 1 < size:
            pending = push(events, pending, upper_bound(state, size, position + 1), number, position + 1)
    return DONE


@jit
def rank_pair(state: BaselineState, size: int, other_size: int, overlap: int, newer: int, older: int) -> None:
    """Put a pair among the best k."""
    window, stock = state.window, state.stock
    pair = stock.pending[0]
    value = key(state, size, other_size, overlap)
    if value <= stock.threshold:
        return
    rest = remainder(state, size, other_size, overlap, value)
    write_pair(pair, value, rest, newer, older, window.ring[ring_slot(window, older)].group, overlap)
    rank = stock.size
    if rank == state.k:
        if not precedes(state, pair, stock.pairs[rank - 1]):
            return
        rank -= 1
    else:
        stock.size += 1
    while rank > 0 and precedes(state, pair, stock.pairs[rank - 1]):
        copy_pair(stock.pairs[rank], stock.pairs[rank - 1])
        rank -= 1
    copy_pair(stock.pairs[rank], pair)
    state.candidate_count += 1


@jit
def is_new(met: Any, code: int) -> bool:
    """Whether a pair was not met before; it is from now on."""
    mask = met.size - 1
    at = mix(code, 0) & mask
    while met[at] != 0:
        if met[at] == code:
            return False
        at = (at + 1) & mask
    met[at] = code
    return True


@jit
def push(events: Events, size: int, bound: float, number: int, position: int) -> int:
    at = size
    while at > 0 and events.bound[(at - 1) >> 1] < bound:
        move(events, at, (at - 1) >> 1)
        at = (at - 1) >> 1
    events.bound[at] = bound
    events.set[at] = number
    events.position[at] = position
    return size + 1


@jit
def pop(events: Events, size: int) -> int:
    """Remove the first event; returns how many are left."""
    last = size - 1
    bound, number, position = events.bound[last], events.set[last], events.position[last]
    at = 0
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and events.bound[child + 1] > events.bound[child]:
            child += 1
        if events.bound[child] <= bound:
            break
        move(events, at, child)
        at = child
    events.bound[at] = bound
    events.set[at] = number
    events.position[at] = position
    return last


@jit
def move(events: Events, to: int, source: int) -> None:
    events.bound[to] = events.bound[source]
    events.set[to] = events.set[source]
    events.position[to] = events.position[source]
