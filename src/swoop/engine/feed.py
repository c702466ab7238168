"""The change feed: every entry into the top-k and every exit from it, with its exact time.

The top-k are the first k pairs of S, so a change can be read off S. While the feed is on, the stock is settled whenever the
top-k change, so no pending pair is ever in the top-k. When a set arrives, those of its pairs enter that come to a rank below k,
and what they push out is outranked. When pairs expire, one end time after the other, all that end at that time are in the top-k
(the stock is minimal), and the next in S move up.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit, noinline
from swoop.engine.layout import State, Stock
from swoop.engine.records import record_of
from swoop.engine.stock import ending_before, precedes
from swoop.engine.window import HIT, ring_slot

ENTER, OUTRANKED, EXPIRED = range(3)


@jit
def describe(state: State, pair: Any, row: Any) -> None:
    """Write what the caller is told about a pair."""
    window = state.window
    row.key = pair.key
    row.overlap = pair.overlap
    row.newer_side = window.side[ring_slot(window, pair.newer)]
    if state.records.are_kept:
        newer, older = record_of(state, int64(pair.newer)), record_of(state, int64(pair.older))
        row.newer = newer.identity
        row.older = older.identity
        row.start = newer.first_seen
        row.end = window.ring[ring_slot(window, min(newer.number, older.number))].time + state.duration
    else:
        row.newer = state.base + pair.newer
        row.older = state.base + pair.older
        row.start = window.ring[ring_slot(window, pair.newer)].time
        row.end = window.ring[ring_slot(window, pair.older)].time + state.duration


@jit
def describe_copies(state: State, pair: Any, row: Any) -> None:
    """Write what else the caller is told where copies count once."""
    window = state.window
    newer, older = record_of(state, int64(pair.newer)), record_of(state, int64(pair.older))
    row.newer_copies = newer.copies
    row.newer_first_seen = newer.first_seen
    row.newer_last_seen = window.ring[ring_slot(window, newer.number)].time
    row.older_copies = older.copies
    row.older_first_seen = older.first_seen
    row.older_last_seen = window.ring[ring_slot(window, older.number)].time


@jit
def note(state: State, time: int, kind: int, pair: Any, by: int) -> None:
    """Note a change, and which set has brought it about; -1: none has, but time."""
    feed = state.feed
    row = feed.changes[feed.end]
    if state.records.are_kept:
        describe_copies(state, pair, feed.seen[feed.end])
    feed.end += 1
    row.time = time
    row.kind = kind
    row.by = by
    describe(state, pair, row)


@jit
def note_by_next(state: State, kind: int, pair: Any) -> None:
    """Note a change that the arriving set brings about."""
    note(state, state.now, kind, pair, state.base + state.next)


@jit
def changes_top(state: State, stock: Stock, count: int) -> bool:
    """Whether one of the ``count`` candidates behind the pending pairs comes into the top-k of a settled stock."""
    if stock.size < state.k:
        return True
    for q in range(stock.pending_size, stock.pending_size + count):
        if precedes(state, stock.pending[q], stock.pairs[state.k - 1]):
            return True
    return False


@jit
def note_arrival(state: State, stock: Stock, size: int) -> None:
    """Compare the top-k of the stock with that of its draft, which holds the pairs of the set that is arriving."""
    if state.records.former >= 0:
        note_renewal(state, stock, size)
        return
    draft = state.draft
    rank = min(state.k, stock.size) - 1
    while rank >= 0 and draft.moved[rank] >= state.k:
        note_by_next(state, OUTRANKED, stock.pairs[rank])
        rank -= 1
    for rank in range(min(state.k, size)):
        pair = draft.pairs[rank]
        if pair.newer == state.next or pair.older == state.next:  # the latter, if its record was named before it arrived
            note_by_next(state, ENTER, pair)


@jit
def partner_of_next(state: State, pair: Any) -> int:
    """Where the partner of the arriving set is in the ring; -1 if the pair is not one of its record."""
    record = state.window.record[ring_slot(state.window, state.next)]
    for number, other in ((int64(pair.newer), int64(pair.older)), (int64(pair.older), int64(pair.newer))):
        if state.window.record[ring_slot(state.window, number)] == record:
            return ring_slot(state.window, int64(record_of(state, other).number))
    return -1


@noinline
def note_renewal(state: State, stock: Stock, size: int) -> None:
    """The same if the arriving set renews a record: its pairs in the top-k were stale, and are there anew.

    Partners in the top-k of the draft are marked as if they were hit; where there was a pair with them before, it has stayed.
    """
    draft, window = state.draft, state.window
    for rank in range(min(state.k, size)):
        pair = draft.pairs[rank]
        if pair.newer == state.next or pair.older == state.next:
            window.size_and_hits[partner_of_next(state, pair)] += HIT
    rank = min(state.k, stock.size) - 1
    while rank >= 0:
        if draft.moved[rank] >= state.k:
            note_by_next(state, OUTRANKED, stock.pairs[rank])
        elif draft.moved[rank] < 0:
            at = partner_of_next(state, stock.pairs[rank])
            if window.size_and_hits[at] >= HIT:
                window.size_and_hits[at] -= HIT
            else:
                note_by_next(state, OUTRANKED, stock.pairs[rank])
        rank -= 1
    for rank in range(min(state.k, size)):
        pair = draft.pairs[rank]
        if pair.newer == state.next or pair.older == state.next:
            at = partner_of_next(state, pair)
            if window.size_and_hits[at] >= HIT:
                window.size_and_hits[at] -= HIT
                note_by_next(state, ENTER, pair)


@jit
def ending_next(stock: Stock) -> int:
    """How many pairs end at the next end time."""
    return ending_before(stock, int64(stock.ends[0]) + 1)


@jit
def note_expiry(state: State, stock: Stock, time: int, count: int) -> None:
    """Note that the next ``count`` pairs, which end together, expire."""
    for e in range(count):
        note(state, time, EXPIRED, stock.pairs[stock.ranks[e]], -1)


@jit
def note_entering(state: State, stock: Stock, first: int) -> None:
    """Note that the pairs from a rank on come into the top-k now, because others expired."""
    for rank in range(first, min(state.k, stock.size)):
        note(state, state.now, ENTER, stock.pairs[rank], -1)
