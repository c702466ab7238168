"""The state of one engine: a record of numbers and of addresses of flat arrays.

Kernels get one argument, the state as an ``int64`` array. Inside, it is seen as a record with named fields, and each structure
(``vocabulary``, ``window``, ``index``, ``stock``, ``feed``) builds its arrays from the addresses. Compared with passing the
arrays themselves this makes a call from Python take 0.3 microseconds instead of 7, and such arrays are not reference counted.

A kernel that runs out of room changes nothing, leaves the number of elements it needs in ``needed`` and returns the code of the
array; Python grows the array and calls the kernel again, which goes on where it stopped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine.compile import array_at, int64, jit

(
    DONE,
    GROW_RING,
    GROW_ARENA,
    GROW_POOL,
    GROW_SET,
    GROW_PENDING,
    GROW_STOCK,
    GROW_SPARE_PENDING,
    GROW_SPARE,
    GROW_FEED,
    REBASE,
    SHRINK,
) = range(12)

EXPIRE, ENTER, FILL_SPARE, FILL_STOCK = range(4)
"""The stages of an arrival: expiry and its part of a completion; the set enters the window and its lists; its pairs enter the
spare stock; its pairs enter the stock."""

RING = np.dtype([("time", "i8"), ("signature", "i8"), ("start", "i8"), ("group", "i4"), ("group_last", "i4")], align=True)
"""A set in the window. ``start``: of its tokens in the arena. ``group``: arrival number of the first set with the same time;
pairs whose older sets share a group end together, so groups stand for end times. The first set of a group knows its last."""

SLOT = np.dtype([("newest", "i4"), ("size", "i4"), ("rest", "i4"), ("capacity", "i4")], align=True)
"""The list of a token: its newest set, its length, then (capacity 0) the second newest or (else) where its segment starts."""

PAIR = np.dtype(
    [("key", "f8"), ("remainder", "f8"), ("newer", "i4"), ("older", "i4"), ("group", "i4"), ("overlap", "i4")],
    align=True,
)
"""A pair in the stock. ``group`` is that of the older set and stands for the end time."""

CHANGE = np.dtype(
    [
        ("time", "i8"),
        ("kind", "i8"),
        ("key", "f8"),
        ("newer", "i8"),
        ("older", "i8"),
        ("overlap", "i8"),
        ("start", "i8"),
        ("end", "i8"),
        ("newer_side", "i8"),
    ]
)
"""A row of the change feed, with arrival numbers counted from the beginning of the stream."""

STOCK = np.dtype(
    [("size", "i8"), ("pending", "i8"), ("first", "i8"), ("threshold", "f8"), ("version", "i8"), ("settlings", "i8")]
)
"""The numbers of a stock: settled and pending pairs; the arrival number from which on it knows the pairs of older sets; the
largest key that is too small for it; how often its settled pairs or that key have changed; and how often it was settled."""

CROP = np.dtype([("version", "i8"), ("group", "i8")])
"""Of the lists at one position of sets of one size: up to which group they are cropped, by which version of the stock."""

ARRAYS: dict[str, np.dtype[Any]] = {
    # vocabulary
    "table": np.dtype("i8"),
    "former": np.dtype("i8"),
    "coming": np.dtype("i8"),
    "token_key": np.dtype("i8"),
    "token_text": np.dtype("i8"),
    "free_tokens": np.dtype("i4"),
    "texts": np.dtype("u1"),
    "free_texts": np.dtype("i8"),
    "block_hashes": np.dtype("i8"),
    "block_empty": np.dtype("i4"),
    "block_others": np.dtype("i4"),
    # window
    "ring": RING,
    "tally": np.dtype("i8"),
    "side": np.dtype("i1"),
    "arena": np.dtype("i4"),
    # index
    "slots": SLOT,
    "pool": np.dtype("i4"),
    "free_segments": np.dtype("i4"),
    # room for sorting
    "sort_spare": np.dtype("i8"),
    "sort_counts": np.dtype("i8"),
    # candidates
    "membership": np.dtype("i8"),
    "touched": np.dtype("i4"),
    "list_newest": np.dtype("i4"),
    "list_size": np.dtype("i4"),
    "list_order": np.dtype("i8"),
    "list_from": np.dtype("i4"),
    # stock
    "stock": STOCK,
    "pairs": PAIR,
    "ends": np.dtype("i4"),
    "ranks": np.dtype("i4"),
    "pending": PAIR,
    "pending_ends": np.dtype("i8"),
    "crops": CROP,
    "spare": STOCK,
    "spare_pairs": PAIR,
    "spare_ends": np.dtype("i4"),
    "spare_ranks": np.dtype("i4"),
    "spare_pending": PAIR,
    "spare_pending_ends": np.dtype("i8"),
    "spare_crops": CROP,
    "draft": PAIR,
    "draft_ends": np.dtype("i4"),
    "draft_ranks": np.dtype("i4"),
    "moved": np.dtype("i4"),
    # change feed
    "feed": CHANGE,
    # room of the baselines
    "codes": np.dtype("i8"),
    "heap": np.dtype("i4"),
    "event_bound": np.dtype("f8"),
    "event_set": np.dtype("i4"),
    "event_position": np.dtype("i4"),
    "heads": np.dtype("i4"),
    "post_set": np.dtype("i4"),
    "post_position": np.dtype("i4"),
    "post_next": np.dtype("i4"),
    "met": np.dtype("i8"),
    # the batch that is being inserted
    "batch_times": np.dtype("i8"),
    "batch_sides": np.dtype("i1"),
    "batch_offsets": np.dtype("i8"),
    "batch_tokens": np.dtype("i4"),
    "batch_keys": np.dtype("i8"),
    "batch_texts": np.dtype("u1"),
    "batch_ends": np.dtype("i8"),
}

NUMBERS: dict[str, str] = {
    "k": "i8",
    "algorithm": "i8",  # of the baselines; 0: the engine's own
    "duration": "i8",  # of the window; 0: unbounded
    "kind": "i8",  # of the similarity
    "function": "i8",  # address of a user-defined similarity
    "lowest": "f8",  # the largest key that is too small for min_similarity
    "outlook": "i8",  # for how long a floor is to last; -1: there is no floor
    "early": "i8",  # how long before pairs run short a completion begins
    "horizon": "i8",  # arrival number of the first set that is valid after the outlook
    "completing": "i8",  # whether the spare stock is being filled
    "part": "i8",  # how many steps of a completion are done at a time, at least
    "steps": "i8",  # of the completion that are to be done now
    "stage": "i8",  # what the arrival is to do next
    "entering": "i8",  # rank from which on pairs enter the top-k in place of expired ones; -1: none do
    "streams": "i8",  # 1: self join, 2: two streams
    "tracking": "i8",  # whether the change feed is on
    "seed": "i8",  # of the vocabulary's hash
    "now": "i8",  # index time
    "base": "i8",  # arrival number that counts as 0 in the arrays
    "next": "i8",  # arrival number of the next set, from base on
    "oldest": "i8",  # arrival number of the oldest valid set, from base on
    "last_number": "i8",  # at which arrival numbers are counted from a new base
    "arena_end": "i8",
    "pool_end": "i8",
    "tokens": "i8",  # token numbers allotted
    "free_token_count": "i8",
    "entries": "i8",  # tokens in the table
    "most_entries": "i8",
    "unsettled": "i8",  # numbers below it are in the former table, or free
    "texts_end": "i8",
    "feed_end": "i8",
    "feed_taken": "i8",  # changes that were taken from the feed so far
    "smallest_ring": "i8",  # thresholds, see thresholds.py
    "smallest_arena": "i8",
    "oversize": "i8",
    "pending_least": "i8",
    "spare_pending_least": "i8",
    "completions": "i8",  # how often a completion began,
    "mistakes": "i8",  # expected too much,
    "takeovers": "i8",  # and ended
    "batch_at": "i8",  # the set that is next
    "batch_first": "i8",  # the token, of all of the batch, whose number is the first in batch_tokens
    "text_kind": "i8",
    "needed": "i8",
    "pre_candidates": "i8",
    "verified": "i8",
    "candidate_count": "i8",
}

STATE = np.dtype(
    [*NUMBERS.items(), *((name + part, "i8") for name in ARRAYS for part in ("", "_size"))],
)


class Batch(NamedTuple):
    """The sets that are being inserted; ``sides`` is empty in a self join. ``tokens`` are numbers, from token ``first`` on."""

    times: Any
    sides: Any
    offsets: Any
    tokens: Any
    first: int


@jit
def batch_of(state: Any) -> Batch:
    return Batch(
        array_at(state.batch_times, state.batch_times_size, np.int64),
        array_at(state.batch_sides, state.batch_sides_size, np.int8),
        array_at(state.batch_offsets, state.batch_offsets_size, np.int64),
        array_at(state.batch_tokens, state.batch_tokens_size, np.int32),
        state.batch_first,
    )


@jit
def is_ready(batch: Batch, i: int) -> bool:
    """Whether there is an i-th set, all of whose tokens have numbers."""
    return i < batch.offsets.size - 1 and batch.offsets[i + 1] - batch.first <= batch.tokens.size


@jit
def side_of(batch: Batch, i: int) -> int:
    return int64(batch.sides[i]) if batch.sides.size > 0 else 0


@jit
def first_of(batch: Batch, i: int) -> int:
    """Where the numbers of the i-th set's tokens are."""
    return int64(batch.offsets[i] - batch.first)


@jit
def length_of(batch: Batch, i: int) -> int:
    return int64(batch.offsets[i + 1] - batch.offsets[i])


@jit
def state_of(memory: Any) -> Any:
    """The state as a record with named fields."""
    return array_at(memory.ctypes.data, 1, STATE)[0]
