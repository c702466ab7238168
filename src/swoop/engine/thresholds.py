"""When the seldom things happen: arrays that grow, windows that shrink, tables that are replaced, stocks that are settled.

All such numbers are here, and an engine takes them with its settings. Results do not depend on any of them, so tests draw tiny
ones at random (:func:`use`) and take each rare path many times in a short stream; :attr:`Engine.paths` counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Of one engine.

    Attributes
    ----------
    sets, arena
        Room of a new window: sets and their tokens; powers of two.
    pool, set_tokens, pending, stock, feed, token_ids
        Room of a new engine: entries of long lists, tokens of an arriving set, pending pairs, pairs, changes, token ids.
    smallest_ring, smallest_arena, oversize
        A window is moved to smaller arrays if it fills less than one part in ``oversize`` of them, which is 4 at least, and
        they are larger than this; no smaller than those of a new engine.
    most_feed
        Changes that were taken leave room for so many at most.
    last_number
        Arrival number, from the base on, at which a new base is chosen.
    early, part
        A completion begins when one part in ``early`` of the outlook is left; sets that it covers at a time, at least.
    pending_least, spare_pending_least
        Pending pairs are settled when there are so many; the same for the spare stock.
    long_list
        Entries of a list that are read, whatever else could be done to find the families of a set.
    chunk_tokens
        Tokens of a batch that get their ids at a time, at most; or those of one set.
    spare_tokens
        Tokens for which room is made at a time when sets come one by one; and as many bytes of texts.
    least_table
        Places of the smallest table of the vocabulary.
    least_steps, pace
        Token ids that are gone through at a time, at least; and so many for each token that may come.
    least_cleared
        Places of the next table that are cleared at a time, at least.
    block
        Tokens that are looked for at a time: a power of two, 64 at least.
    room
        Tokens for which there is room before a batch.
    large
        Bytes from which on an array is mapped memory.
    """

    sets: int = 1 << 10
    arena: int = 1 << 14
    pool: int = 1 << 12
    set_tokens: int = 64
    pending: int = 1 << 10
    stock: int = 256
    feed: int = 256
    token_ids: int = 1 << 10
    smallest_ring: int = 1 << 12
    smallest_arena: int = 1 << 16
    oversize: int = 16
    most_feed: int = 1 << 12
    last_number: int = 2**31 - 2**20
    early: int = 16
    part: int = 128
    pending_least: int = 32
    spare_pending_least: int = 20
    long_list: int = 256
    chunk_tokens: int = 1 << 17
    spare_tokens: int = 1 << 12
    least_table: int = 1 << 10
    least_steps: int = 1 << 15
    pace: int = 16
    least_cleared: int = 1 << 17
    block: int = 256
    room: int = 1 << 14
    large: int = 1 << 20


_current = Thresholds()


def current() -> Thresholds:
    """Those of engines that are made now."""
    return _current


@contextmanager
def use(thresholds: Thresholds) -> Iterator[None]:
    """Let engines that are made meanwhile have other thresholds. For tests."""
    global _current
    before, _current = _current, thresholds
    try:
        yield
    finally:
        _current = before
