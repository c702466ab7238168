"""What an engine runs: its own algorithm, or another one on the same window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swoop.engine.arrival import advance, insert_sets, read_top, rebase, settle_stock
from swoop.engine.layout import CHANGE, SEEN, State
from swoop.engine.memory import Memory

if TYPE_CHECKING:
    from swoop.engine.engine import Engine


def read_stock(engine: Engine, most: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """The first pairs of the stock. O(k)."""
    size, once = engine.settle(), engine.settings.copies_once
    rows = np.zeros(size if most is None else min(size, most), CHANGE)
    seen = np.zeros(len(rows) if once else 0, SEEN)
    read_top(engine.memory.words, rows, seen)
    return rows, seen if once else None


@dataclass(frozen=True)
class Algorithm:
    """What an engine runs: its own algorithm, unless it is given another.

    Attributes
    ----------
    insert
        The kernel that inserts the sets of the batch.
    settle
        Brings the stock up to the index time and returns its size.
    advance
        The kernel that moves the index time.
    rebase
        The kernel that counts arrival numbers from a later base.
    read
        Gives the first pairs of a settled stock, or all of them, as rows of ``layout.CHANGE`` and, where copies count once, of
        ``layout.SEEN``.
    layout
        The state, with what the algorithm adds to it.
    start
        Fills in what is added.
    with_stock
        Arrays that are made as long as the stock, before it.
    with_ring
        Arrays with an element for each set of the ring, which moves with it.
    as_ring
        Arrays that are as long as the ring, at least.
    feed
        The arrays of the change feed. Kernels look at the size of the last; only where copies count once are there others.
    grow
        Makes an array longer that is added.
    """

    insert: Callable[[np.ndarray], int]
    settle: Callable[[Engine], int]
    advance: Callable[[np.ndarray, int], int] = advance
    rebase: Callable[[np.ndarray], None] = rebase
    read: Callable[[Engine, int | None], tuple[np.ndarray, np.ndarray | None]] = read_stock
    layout: type[State] = State
    start: Callable[[Memory], None] | None = None
    with_stock: tuple[str, ...] = ()
    with_ring: tuple[str, ...] = ()
    as_ring: tuple[str, ...] = ()
    feed: tuple[str, ...] = ("feed.seen", "feed.changes")
    grow: Callable[[Memory, str], None] | None = None


def settle_engine(engine: Engine) -> int:
    """Put the pairs that have come since in order, and complete the stock if that is due."""
    size = settle_stock(engine.memory.words)
    if size < 0:  # memory ran out, or Ctrl-C came, in the middle of a completion
        engine.advance(engine.now)
        size = settle_stock(engine.memory.words)
    return size


SWOOP = Algorithm(insert_sets, settle_engine)
