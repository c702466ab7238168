"""The families as a structure, beside the engine's: what they are, who is in them, and the rows of their change feed."""

from __future__ import annotations

import ctypes
from typing import Annotated, Any

import numpy as np

from swoop.engine.layout import Int32s, Int64s, State
from swoop.engine.structures import arrays_of, structure, view_of

BORN, GREW, MERGED, ENDED, LINKED = range(5)
LINKS = 2
"""What a feed (``tracking``) tells instead of changes: of each set, one link with each family that it touches.

A link is the arriving set and the newest set that the family had before. All links together are a spanning forest of the
families, also those of several engines of which each had a part of the links."""

FAMILY = np.dtype([("first", "i8"), ("first_seen", "i8"), ("total", "i8"), ("newest", "i4"), ("size", "i4")], align=True)
"""A family. ``first``: arrival number of its first set, counted from the beginning of the stream. ``total``: sets ever.
``newest``: number of its newest set. ``size``: valid sets; 0 if the number is free."""

FAMILY_CHANGE = np.dtype([(name, "i8") for name in ("time", "kind", "family", "into", "size", "total", "first_seen", "newest")])
"""A row of the change feed: families are named by the arrival numbers of their first sets; -1: none. The rest is what the
family is then, as in ``FAMILY``; of one that merges, what it was. ``newest`` is counted from the beginning of the stream. With
``LINKS``, a row is a link from the arriving set (``family``) to another (``into``), by arrival numbers."""


@structure
class Kinship(ctypes.Structure):
    """The families, who is in them, and the rows of the change feed."""

    count: int  # numbers of families allotted
    free_count: int
    turn: int  # of the search
    found_count: int
    found_size: int  # valid sets of the families that were found
    is_complete: int  # whether the search is over
    is_marked: int  # whether the tokens of the arriving set are
    is_verified: int  # whether families that are given are compared with those that are found
    mistakes: int  # how often they differed
    entries: Annotated[Any, FAMILY]
    free: Int32s
    turn_found: Int64s  # of each family, the last turn in which it was found
    found: Int32s
    family: Int32s  # of each set of the ring; -1: it has no tokens
    before: Int32s  # the set before it in the family's circle,
    after: Int32s  # and behind it
    runs: Int32s  # of each long list, the number from which on its sets are of one family
    given: Int32s  # of each set of the batch, if it is known; -1: none of several sets
    changes: Annotated[Any, FAMILY_CHANGE]


@structure
class FamilyState(State):
    """The engine's state, and behind it the families."""

    kinship: Kinship


families_of = view_of(FamilyState)
"""How a kernel sees the state."""

_NUMBERS = {path: number for number, path in enumerate(arrays_of(FamilyState))}
RUNS_FULL, CHANGES_FULL = _NUMBERS["kinship.runs"], _NUMBERS["kinship.changes"]
