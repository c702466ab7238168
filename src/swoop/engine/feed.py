"""The change feed: every entry into the top-k and every exit from it, with its exact time.

The top-k are the first k pairs of S, so a change can be read off S. While the feed is on, the stock is settled whenever the
top-k change, so no pending pair is ever in the top-k. When a set arrives, those of its pairs enter that come to a rank below k,
and what they push out is outranked. When pairs expire, one end time after the other, all that end at that time are in the top-k
(the stock is minimal), and the next in S move up.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit
from swoop.engine.layout import State, Stock
from swoop.engine.stock import ending_before, precedes
from swoop.engine.window import ring_slot

ENTER, OUTRANKED, EXPIRED = range(3)


@jit
def describe(state: State, pair: Any, row: Any) -> None:
    """Write what the caller is told about a pair."""
    window = state.window
    row.key = pair.key
    row.newer = state.base + pair.newer
    row.older = state.base + pair.older
    row.overlap = pair.overlap
    row.start = window.ring[ring_slot(window, pair.newer)].time
    row.end = window.ring[ring_slot(window, pair.older)].time + state.duration
    row.newer_side = window.side[ring_slot(window, pair.newer)]


@jit
def note(state: State, time: int, kind: int, pair: Any) -> None:
    feed = state.feed
    row = feed.changes[feed.end]
    feed.end += 1
    row.time = time
    row.kind = kind
    describe(state, pair, row)


@jit
def changes_top(state: State, stock: Stock, count: int) -> bool:
    """Whether one of the ``count`` candidates behind the pending pairs comes into the top-k of a settled stock."""
    if stock.size < state.k:
        return True
    for q in range(stock.pending_size, stock.pending_size + count):
        if precedes(stock.pending[q], stock.pairs[state.k - 1]):
            return True
    return False


@jit
def note_arrival(state: State, stock: Stock, size: int) -> None:
    """Compare the top-k of the stock with that of its draft, which holds the pairs of the set that is arriving."""
    draft = state.draft
    rank = min(state.k, stock.size) - 1
    while rank >= 0 and draft.moved[rank] >= state.k:
        note(state, state.now, OUTRANKED, stock.pairs[rank])
        rank -= 1
    for rank in range(min(state.k, size)):
        if draft.pairs[rank].newer == state.next:
            note(state, state.now, ENTER, draft.pairs[rank])


@jit
def ending_next(stock: Stock) -> int:
    """How many pairs end at the next end time."""
    return ending_before(stock, int64(stock.ends[0]) + 1)


@jit
def note_expiry(state: State, stock: Stock, time: int, count: int) -> None:
    """Note that the next ``count`` pairs, which end together, expire."""
    for e in range(count):
        note(state, time, EXPIRED, stock.pairs[stock.ranks[e]])


@jit
def note_entering(state: State, stock: Stock, first: int) -> None:
    """Note that the pairs from a rank on come into the top-k now, because others expired."""
    for rank in range(first, min(state.k, stock.size)):
        note(state, state.now, ENTER, stock.pairs[rank])
