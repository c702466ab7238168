"""Static: the top-k join of Xiao et al. over the sets of the window, once more whenever the window changes (paper, section 7).

The tokens of each set stand in one order, rare ones first. An event is the next token of a set; events are processed by
descending upper bound of the pairs that share this token and none before it, until no event can reach the k-th pair. An index
that grows meanwhile tells which sets have shown the token before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine.arrival import room_for_set
from swoop.engine.candidates import mark_tokens, overlap_with_marked, probe_of, unmark_tokens
from swoop.engine.compile import apart, array_at, int64, jit, kernel, uint64
from swoop.engine.index import index_of, list_of
from swoop.engine.layout import DONE, GROW_STOCK, batch_of, first_of, is_ready, length_of, side_of, state_of
from swoop.engine.rank import key, remainder, upper_bound
from swoop.engine.sorting import sort
from swoop.engine.stock import Stock, copy_pair, precedes, stock_of, write_pair
from swoop.engine.vocabulary import mix
from swoop.engine.window import Window, expire_sets, group_of_next, has_arrived, place, start_in_arena, window_of, write_set
from swoop.paper.baselines.codes import GROW_MET, GROW_STATIC
from swoop.similarity import JACCARD

_LOW = (1 << 32) - 1


class Events(NamedTuple):
    """A heap, the highest bound first."""

    bound: Any
    set: Any
    position: Any


class Posts(NamedTuple):
    """For each token a chain of the sets that have shown it; ``heads`` are places plus one, 0: none."""

    heads: Any
    set: Any
    position: Any
    next: Any


@jit
def events_of(state: Any) -> Events:
    return Events(
        array_at(state.event_bound, state.event_bound_size, np.float64),
        array_at(state.event_set, state.event_set_size, np.int32),
        array_at(state.event_position, state.event_position_size, np.int32),
    )


@jit
def posts_of(state: Any) -> Posts:
    return Posts(
        array_at(state.heads, state.heads_size, np.int32),
        array_at(state.post_set, state.post_set_size, np.int32),
        array_at(state.post_position, state.post_position_size, np.int32),
        array_at(state.post_next, state.post_next_size, np.int32),
    )


@kernel
def insert_sets(memory: Any) -> int:
    """Insert the sets of the batch from ``batch_at`` on, as many as have numbers for their tokens."""
    state = state_of(memory)
    batch = batch_of(state)
    window = window_of(state)
    while is_ready(batch, state.batch_at):
        i = state.batch_at
        if state.steps == 0:
            code = insert_set(state, batch.times[i], side_of(batch, i), batch.tokens, first_of(batch, i), length_of(batch, i))
            if code != DONE:
                return code
            state.steps = 1
        code = join_window(state, window)
        if code != DONE:
            return code
        state.steps = 0
        state.batch_at += 1
    return DONE


@kernel
def refresh(memory: Any) -> int:
    """Join the window once more if sets have expired since."""
    state = state_of(memory)
    if state.horizon == state.oldest:
        return DONE
    return join_window(state, window_of(state))


@apart
def insert_set(state: Any, time: int, side: int, tokens: Any, first: int, length: int) -> int:
    """Put a set into the window, with its tokens in the order of their numbers, descending, without repeated ones."""
    window, index, probe, room = window_of(state), index_of(state), probe_of(state), stock_of(state).room
    expire_sets(state, window, time)
    code = room_for_set(state, window, length)
    if code != DONE:
        return code
    start = start_in_arena(state, window, length)
    at = start & int64(window.arena.size - 1)
    for p in range(length):
        probe.list_order[p] = _LOW - int64(tokens[first + p])
    sort(probe.list_order, 0, length, 0, room)
    kept = 0
    for p in range(length):
        token = _LOW - probe.list_order[p]
        slot = index.slots[list_of(state, token, side)]  # the vocabulary asks which tokens are held
        if slot.newest < state.next:
            window.arena[at + kept] = token
            kept += 1
        slot.newest = state.next
        slot.size = 1
    write_set(state, window, time, side, 0, group_of_next(state, window, time), start, kept)
    has_arrived(state, window)
    return DONE


@apart
def join_window(state: Any, window: Window) -> int:
    """The top-k of all pairs of valid sets, from nothing; they become the stock."""
    events, posts, stock = events_of(state), posts_of(state), stock_of(state)
    if not has_room(state, window, events, posts):
        return GROW_STATIC
    met = array_at(state.met, state.met_size, np.int64)
    met[:] = 0
    counts = state.pre_candidates, state.verified, state.candidate_count
    code = process_events(state, window, stock, events, posts, met)
    if code != DONE:  # it will be done once more
        state.pre_candidates, state.verified, state.candidate_count = counts
    for number in range(state.oldest, state.next):
        at = place(window, number)
        first = window.ring[at].start & int64(window.arena.size - 1)
        for p in range(first, first + window.tally[at]):
            posts.heads[window.arena[p]] = 0
    if code == DONE:
        state.horizon = state.oldest
    return code


@jit
def has_room(state: Any, window: Window, events: Events, posts: Posts) -> bool:
    if events.bound.size < state.next - state.oldest or posts.heads.size < state.tokens:
        return False
    return bool(posts.set.size >= window.arena.size)


@jit
def process_events(state: Any, window: Window, stock: Stock, events: Events, posts: Posts, met: Any) -> int:
    numbers = stock.numbers[0]
    numbers.size = 0
    arena_mask = int64(window.arena.size - 1)
    membership = probe_of(state).membership
    pending = posted = met_count = 0
    for number in range(state.oldest, state.next):
        length = window.tally[place(window, number)]
        if length > 0:
            pending = push(events, pending, upper_bound(state, length, 0), number, 0)
    while pending > 0:
        best, number, position = events.bound[0], int64(events.set[0]), int64(events.position[0])
        pending = pop(events, pending)
        if best <= numbers.threshold or (numbers.size == state.k and best < stock.pairs[state.k - 1].key):
            break
        at = place(window, number)
        length = window.tally[at]
        first = window.ring[at].start & arena_mask
        token = int64(window.arena[first + position])
        rest = length - position
        is_marked = False
        post = int64(posts.heads[token])
        while post > 0:
            other, other_position = int64(posts.set[post - 1]), int64(posts.position[post - 1])
            post = int64(posts.next[post - 1])
            state.pre_candidates += 1
            other_at = place(window, other)
            if state.streams == 2 and window.side[at] == window.side[other_at]:
                continue
            size = window.tally[other_at]
            most = min(rest, size - other_position)
            best = key(state, length, size, most)
            if best <= numbers.threshold or (numbers.size == state.k and best < stock.pairs[state.k - 1].key):
                continue
            if 2 * met_count >= met.size:
                if is_marked:
                    unmark_tokens(membership, window.arena, first, length)
                return GROW_MET
            newer, older = max(number, other), min(number, other)
            if not is_new(met, (newer << 32) | older):
                continue
            met_count += 1
            if not is_marked:
                mark_tokens(membership, window.arena, first, length)
                is_marked = True
            state.verified += 1
            overlap = overlap_with_marked(membership, window.arena, window.ring[other_at].start & arena_mask, size, 1)
            if numbers.size + 1 >= stock.pairs.size:
                unmark_tokens(membership, window.arena, first, length)
                state.needed = numbers.size + 2
                return GROW_STOCK
            rank_pair(state, window, stock, length, size, overlap, newer, older)
        if is_marked:
            unmark_tokens(membership, window.arena, first, length)
        bound = stock.pairs[state.k - 1].key if numbers.size == state.k else numbers.threshold
        if state.kind != JACCARD or rest / (length + position) >= bound:  # their indexing bound
            posts.set[posted] = number
            posts.position[posted] = position
            posts.next[posted] = posts.heads[token]
            posts.heads[token] = posted + 1
            posted += 1
        if position + 1 < length:
            pending = push(events, pending, upper_bound(state, length, position + 1), number, position + 1)
    return DONE


@jit
def rank_pair(state: Any, window: Window, stock: Stock, length: int, size: int, overlap: int, newer: int, older: int) -> None:
    """Put a pair among the best k."""
    numbers = stock.numbers[0]
    pair = stock.pending[0]
    value = key(state, length, size, overlap)
    if value <= numbers.threshold:
        return
    rest = remainder(state, length, size, overlap, value)
    write_pair(pair, value, rest, newer, older, window.ring[place(window, older)].group, overlap)
    rank = numbers.size
    if rank == state.k:
        if not precedes(pair, stock.pairs[rank - 1]):
            return
        rank -= 1
    else:
        numbers.size += 1
    while rank > 0 and precedes(pair, stock.pairs[rank - 1]):
        copy_pair(stock.pairs[rank], stock.pairs[rank - 1])
        rank -= 1
    copy_pair(stock.pairs[rank], pair)
    state.candidate_count += 1


@jit
def is_new(met: Any, code: int) -> bool:
    """Whether a pair was not met before; it is from now on."""
    mask = int64(met.size - 1)
    at = mix(code, 0) & mask
    while met[uint64(at)] != 0:
        if met[uint64(at)] == code:
            return False
        at = (at + 1) & mask
    met[uint64(at)] = code
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
