"""The stock: the pairs that are or may come into the top-k, in two orders (paper, section 6).

- S, the total order of pairs: key descending, end time descending, newer ascending, older ascending. The top-k are the first k.
- E, the order of end times: end time ascending and, within one end time, the reverse of S. It holds ranks in S.

A settled stock is minimal: it holds exactly the pairs that fewer than k others dominate (come before in S and after in E). Then
S and E are aligned: the k-th pair at a future time t is ``S[k - 1 + v]``, if v pairs end before t (Theorem 2; ranks from 0).

New pairs wait in ``pending`` until the stock is settled: when enough have come together to be worth one pass over the stock,
or when somebody wants to see the top-k. In between the bounds are those of the stock as it was settled last. They stay correct,
because pairs that have come since can only raise them, and they stay aligned, because expired pairs stay in both orders.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import LOW, int64, jit, noinline, select
from swoop.engine.layout import State, Stock
from swoop.engine.records import is_stale, record_of
from swoop.engine.sorting import sort


@jit
def precedes(state: State, a: Any, b: Any) -> bool:
    """Whether pair a comes before pair b in S."""
    if a.key != b.key:
        return a.key > b.key
    if a.remainder != b.remainder:
        return a.remainder > b.remainder
    if a.group != b.group:
        return a.group > b.group
    if state.records.are_kept:
        return precedes_by_identity(state, a, b)
    if a.newer != b.newer:
        return a.newer < b.newer
    return a.older < b.older


@noinline
def precedes_by_identity(state: State, a: Any, b: Any) -> bool:
    newer, other = record_of(state, int64(a.newer)).identity, record_of(state, int64(b.newer)).identity
    if newer != other:
        return bool(newer < other)
    return bool(record_of(state, int64(a.older)).identity < record_of(state, int64(b.older)).identity)


@jit
def ending_before(stock: Stock, group: int) -> int:
    """How many pairs end before those whose older set is of the given group. O(log |S|)."""
    size = stock.size
    low = 0
    while size > 1:
        half = size >> 1
        low = select(stock.ends[low + half - 1] < group, low + half, low)
        size -= half
    return low + (1 if size == 1 and stock.ends[low] < group else 0)


@jit
def at_least(stock: Stock, key: float, remainder: float) -> int:
    """How many pairs rank at least as high as the given key. O(log |S|)."""
    size = stock.size
    low = 0
    while size > 1:
        half = size >> 1
        low = select(stock.pairs[low + half - 1].key >= key, low + half, low)
        size -= half
    if size == 1 and stock.pairs[low].key >= key:
        low += 1
    while low > 0 and stock.pairs[low - 1].key == key and stock.pairs[low - 1].remainder < remainder:
        low -= 1
    return low


@jit
def write_pair(pair: Any, key: float, remainder: float, newer: int, older: int, group: int, overlap: int) -> None:
    pair.key = key
    pair.remainder = remainder
    pair.newer = newer
    pair.older = older
    pair.group = group
    pair.overlap = overlap


@jit
def copy_pair(target: Any, source: Any) -> None:
    write_pair(target, source.key, source.remainder, source.newer, source.older, source.group, source.overlap)


@jit
def sort_pairs(state: State, pairs: Any, count: int) -> None:
    """Sort pairs in the order of S. The place behind them is used in between."""
    one = pairs[count]
    gap = 1
    while gap < count // 3:  # Shell's sort
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, count):
            if not precedes(state, pairs[a], pairs[a - gap]):
                continue
            copy_pair(one, pairs[a])
            b = a
            while b >= gap and precedes(state, one, pairs[b - gap]):
                copy_pair(pairs[b], pairs[b - gap])
                b -= gap
            copy_pair(pairs[b], one)
        gap //= 3


@jit
def drop_ended(state: State, stock: Stock) -> None:
    """Drop the pending pairs that have ended, and those that are stale."""
    kept = 0
    for q in range(stock.pending_size):
        copy_pair(stock.pending[kept], stock.pending[q])
        kept += 1 if stock.pending[q].group >= state.oldest and not is_stale(state, stock.pending[q]) else 0
    stock.pending_size = kept


@jit
def draft_s(state: State, stock: Stock) -> int:
    """Merge S with the pending pairs, without those that have ended or are stale. Returns the size of the draft.

    ``moved`` tells where the pairs of S have come to, and ``pending_ends`` becomes the pending part of E, as yet unsorted.
    """
    draft, oldest = state.draft, state.oldest
    drop_ended(state, stock)
    size, pending = stock.size, stock.pending_size
    sort_pairs(state, stock.pending, pending)
    at = 0
    q = 0
    for rank in range(size):
        pair = stock.pairs[rank]
        if pair.group < oldest or is_stale(state, pair):
            draft.moved[rank] = -1
            continue
        while q < pending and precedes(state, stock.pending[q], pair):
            copy_pair(draft.pairs[at], stock.pending[q])
            stock.pending_ends[q] = (int64(stock.pending[q].group) << 32) | (LOW - at)
            q += 1
            at += 1
        copy_pair(draft.pairs[at], pair)
        draft.moved[rank] = at
        at += 1
    while q < pending:
        copy_pair(draft.pairs[at], stock.pending[q])
        stock.pending_ends[q] = (int64(stock.pending[q].group) << 32) | (LOW - at)
        q += 1
        at += 1
    return at


@jit
def draft_e(state: State, stock: Stock) -> None:
    """Merge E likewise, for the draft of S."""
    draft = state.draft
    size, pending = stock.size, stock.pending_size
    sort(stock.pending_ends, 0, pending, 0, state.sort_room)
    at = 0
    q = 0
    e = ending_before(stock, state.oldest)
    while e < size or q < pending:
        if e < size:
            rank = int64(draft.moved[stock.ranks[e]])
            if rank < 0:  # it was stale
                e += 1
                continue
            end = int64(stock.ends[e])
            code = (end << 32) | (LOW - rank)
            while q < pending and stock.pending_ends[q] < code:
                draft.ends[at] = stock.pending_ends[q] >> 32
                draft.ranks[at] = LOW - (stock.pending_ends[q] & LOW)
                q += 1
                at += 1
            draft.ends[at] = end
            draft.ranks[at] = rank
            e += 1
        else:
            draft.ends[at] = stock.pending_ends[q] >> 32
            draft.ranks[at] = LOW - (stock.pending_ends[q] & LOW)
            q += 1
        at += 1


@jit
def strike_out(state: State, size: int) -> int:
    """Walk along the alignment of the draft and strike out the irrelevant pairs (Algorithm 2). Returns how many.

    ``E[e]`` is irrelevant if its rank in S is above ``e + k - 1``, not counting those struck out.
    """
    draft = state.draft
    struck = 0
    passed = 0
    e, s = 0, state.k - 1
    while s < size:
        rank = int64(draft.ranks[e])
        if rank > s:
            draft.pairs[rank].overlap = 0
            draft.ranks[e] = -1
            struck += 1
        else:
            s += 1
            while passed < struck and s < size and draft.pairs[s].overlap == 0:
                s += 1
                passed += 1
        e += 1
    return struck


@jit
def adopt_draft(state: State, stock: Stock, size: int, struck: int) -> None:
    """Make the draft, without what is struck out, the stock."""
    draft = state.draft
    at = 0
    for rank in range(size):
        pair = draft.pairs[rank]
        copy_pair(stock.pairs[at], pair)
        draft.moved[rank] = at
        at += 1 if pair.overlap > 0 else 0
    at = 0
    for e in range(size):
        rank = int64(draft.ranks[e])
        stock.ends[at] = draft.ends[e]
        stock.ranks[at] = draft.moved[max(rank, 0)]
        at += 1 if rank >= 0 else 0
    stock.size = size - struck
    stock.pending_size = 0
    stock.version += 1
    stock.settlings += 1


@noinline
def settle(state: State, stock: Stock) -> None:
    """Insert the pending pairs, remove what they render irrelevant and what has ended (Algorithm 3).

    O(|S| + n log n) for n pending pairs.
    """
    size = draft_s(state, stock)
    draft_e(state, stock)
    adopt_draft(state, stock, size, strike_out(state, size))


@jit
def rebase_pairs(stock: Stock, shift: int) -> None:
    """Count all set numbers of a settled stock from a base that is ``shift`` later."""
    stock.version += 1
    for at in range(stock.size):
        pair = stock.pairs[at]
        pair.newer -= shift
        pair.older -= shift
        pair.group -= shift
        stock.ends[at] -= shift
