"""The state of one engine: its structures, each declared here and nowhere else (see ``structures.py``).

A kernel that runs out of room changes nothing, leaves the number of elements it needs in ``needed`` and returns the number of
the array among :data:`ARRAYS`; Python grows the array and calls the kernel again, which resumes where it stopped.
"""

from __future__ import annotations

import ctypes
from typing import Annotated, Any, NamedTuple

import numpy as np

from swoop.engine.compile import int64, jit
from swoop.engine.structures import arrays_of, structure, view_of

STAGE_EXPIRE, STAGE_ENTER, STAGE_FILL_SPARE, STAGE_FILL_STOCK = range(4)
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
        ("by", "i8"),
    ]
)
"""A row of the change feed, with arrival numbers counted from the beginning of the stream. ``by``: of the set whose arrival
brought the change about; -1 if it is due to time."""

TOLD = tuple(name for name in CHANGE.names or () if name != "by")
"""What of it says what has changed, and not why."""

SEEN = np.dtype(
    [
        ("newer_copies", "i8"),
        ("newer_first_seen", "i8"),
        ("newer_last_seen", "i8"),
        ("older_copies", "i8"),
        ("older_first_seen", "i8"),
        ("older_last_seen", "i8"),
    ]
)
"""What else a row tells where copies count once: how many sets of each record are valid, when it was first and last seen."""

RECORD = np.dtype(
    [("identity", "i8"), ("first_seen", "i8"), ("hash", "i8"), ("number", "i4"), ("copies", "i4")],
    align=True,
)
"""Equal sets. ``identity``: arrival number of the first one, counted from the beginning of the stream. ``number``: that of the
newest one. ``copies``: how many are valid."""

CROP = np.dtype([("version", "i8"), ("group", "i8")])
"""Of the lists at one position of sets of one size: up to which group they are cropped, by which version of the stock."""

Bytes = Annotated[Any, np.dtype(np.uint8)]
Int8s = Annotated[Any, np.dtype(np.int8)]
Int32s = Annotated[Any, np.dtype(np.int32)]
Int64s = Annotated[Any, np.dtype(np.int64)]
Pairs = Annotated[Any, PAIR]


@structure
class Limits(ctypes.Structure):
    """When kernels do what happens seldom: see ``thresholds.py``."""

    last_number: int
    smallest_ring: int
    smallest_arena: int
    oversize: int
    part: int
    pending_least: int
    spare_pending_least: int
    long_list: int


@structure
class Vocabulary(ctypes.Structure):
    """Tokens and their ids."""

    seed: int  # of the hash
    id_count: int  # ids allotted
    free_id_count: int
    entries: int  # tokens in the table
    most_entries: int
    migration_cursor: int  # ids below it are in the old table, or free
    old_entries: int  # tokens in the old table
    cleared: int  # places of the next table
    wanted: int  # places of the next table, at least
    asked: int  # tokens for which there is to be room
    oldest_then: int  # the oldest valid set when the table was new
    texts_end: int
    table: Int64s
    old_table: Int64s
    next_table: Int64s
    token_key: Int64s
    token_text: Int64s  # where the text of an id is, plus one; -1: it is its key; 0: it is no text
    free_ids: Int32s
    texts: Bytes
    free_texts: Int64s
    block_hashes: Int64s
    block_empty: Int32s
    block_others: Int32s


@structure
class Window(ctypes.Structure):
    """The valid sets and their tokens. While lists are scanned, hits are counted beside the size of a set."""

    arena_end: int
    ring: Annotated[Any, RING]
    size_and_hits: Int64s  # 0 for a copy that counts no more, because its record was renewed
    side: Int8s
    record: Int32s  # of each set, where copies count once; -1: it has no tokens
    arena: Int32s


@structure
class Records(ctypes.Structure):
    """The records, where copies count once."""

    are_kept: int  # whether they do
    count: int  # records allotted
    free_first: int  # where the free ones begin: who was freed first is taken first, so that memory is used in order
    free_count: int
    former: int  # the set before the arriving one of the same record; -1: there is none
    is_renewed: int  # whether the record of the arriving set is older than the set
    entries: Annotated[Any, RECORD]
    free: Int32s
    table: Int64s  # records plus one, by their hashes, of which they have half


@structure
class Index(ctypes.Structure):
    """The lists of the tokens."""

    pool_end: int
    slots: Annotated[Any, SLOT]
    pool: Int32s
    free_segments: Int32s


@structure
class SortRoom(ctypes.Structure):
    """Room for sorting."""

    spare: Int64s
    counts: Int64s


@structure
class Probe(ctypes.Structure):
    """Room to find candidates: a bit for each token, an entry for each set of the ring, and some for each token of a set."""

    membership: Int64s
    hit_sets: Int32s
    list_newest: Int32s
    list_size: Int32s
    list_order: Int64s
    list_from: Int32s


@structure
class Stock(ctypes.Structure):
    """The stock, and the spare one."""

    size: int  # settled pairs
    pending_size: int
    first: int  # the arrival number from which on it knows the pairs of older sets
    threshold: float  # the largest key that is too small for it
    version: int  # how often its settled pairs or that key have changed
    settlings: int  # how often it was settled
    pairs: Pairs
    ends: Int32s
    ranks: Int32s
    pending: Pairs
    pending_ends: Int64s
    crops: Annotated[Any, CROP]


@structure
class Draft(ctypes.Structure):
    """Room to settle a stock."""

    pairs: Pairs
    ends: Int32s
    ranks: Int32s
    moved: Int32s


@structure
class Floor(ctypes.Structure):
    """The floor, and how far its completion is."""

    outlook: int  # for how long a floor is to last; -1: there is no floor
    early: int  # how long before pairs run short a completion begins
    horizon: int  # arrival number of the first set that is valid after the outlook
    completing: int  # whether the spare stock is being filled
    steps: int  # of the completion that are to be done now
    completions: int  # how often a completion began,
    mistakes: int  # expected too much,
    takeovers: int  # and ended


@structure
class Feed(ctypes.Structure):
    """The change feed. Families use its numbers, and have rows of their own (``kinship.py``)."""

    end: int  # changes that are in the feed
    taken: int  # changes that were taken from the feed so far
    entering: int  # rank from which on pairs enter the top-k in place of expired ones; -1: none do
    changes: Annotated[Any, CHANGE]
    seen: Annotated[Any, SEEN]  # of the same changes, where copies count once


@structure
class Batch(ctypes.Structure):
    """The sets that are being inserted; ``sides`` is empty in a self join. ``token_ids`` are those from token ``first`` on."""

    at: int  # the set that is next
    first: int  # the token, of all of the batch, whose id is the first in token_ids
    text_kind: int
    is_single: int  # whether its arrays are those for the arrival of one set
    times: Int64s
    sides: Int8s
    offsets: Int64s
    token_ids: Int32s
    keys: Int64s
    texts: Bytes
    ends: Int64s
    identities: Int64s  # of the records of the sets, and when those were first seen, if it is known
    first_seen: Int64s
    found: Int64s  # room for the identities of the records that sets turn out to be of, if it is asked for


@structure
class State(ctypes.Structure):
    """All of an engine."""

    k: int
    duration: int  # of the window; 0: unbounded
    kind: int  # of the similarity
    function: int  # address of a user-defined similarity
    lowest: float  # the largest key that is too small for min_similarity
    side_count: int  # 1: self join, 2: left and right
    tracking: int  # whether the change feed is on
    now: int  # index time
    base: int  # arrival number that counts as 0 in the arrays
    next: int  # arrival number of the next set, from base on
    oldest: int  # arrival number of the oldest valid set, from base on
    stage: int  # what the arrival is to do next
    needed: int  # elements of the array that a kernel asks for
    pre_candidates: int
    verified: int
    candidate_count: int
    limits: Limits
    vocabulary: Vocabulary
    window: Window
    records: Records
    index: Index
    sort_room: SortRoom
    probe: Probe
    stock: Stock
    spare: Stock
    draft: Draft
    floor: Floor
    feed: Feed
    batch: Batch


state_of = view_of(State)
"""How a kernel sees the state."""

ARRAYS = arrays_of(State)
_NUMBERS = {path: number for number, path in enumerate(ARRAYS)}

DONE, REBASE, SHRINK = -1, -2, -3
"""What a kernel returns, if it is not the number of an array that is too small."""

RING_FULL = _NUMBERS["window.ring"]
ARENA_FULL = _NUMBERS["window.arena"]
POOL_FULL = _NUMBERS["index.pool"]
LISTS_FULL = _NUMBERS["probe.list_newest"]
PENDING_FULL = _NUMBERS["stock.pending"]
STOCK_FULL = _NUMBERS["stock.pairs"]
SPARE_PENDING_FULL = _NUMBERS["spare.pending"]
SPARE_FULL = _NUMBERS["spare.pairs"]
FEED_FULL = _NUMBERS["feed.changes"]


class Arrival(NamedTuple):
    """A set of the batch. Its tokens are at ``first`` and behind."""

    time: int
    side: int
    tokens: Any
    first: int
    size: int


@jit
def is_ready(batch: Batch) -> bool:
    """Whether there is a next set, all of whose tokens have ids."""
    return bool(batch.at < batch.offsets.size - 1 and batch.offsets[batch.at + 1] - batch.first <= batch.token_ids.size)


@jit
def next_arrival(batch: Batch) -> Arrival:
    i = batch.at
    side = int64(batch.sides[i]) if batch.sides.size > 0 else 0
    start = batch.offsets[i]
    return Arrival(batch.times[i], side, batch.token_ids, start - batch.first, batch.offsets[i + 1] - start)
