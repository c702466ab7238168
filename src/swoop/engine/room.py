"""Room for what an engine has: which arrays grow together, and by how much. The vocabulary has its own (``interning.py``)."""

from __future__ import annotations

import numpy as np

from swoop.engine.algorithm import Algorithm
from swoop.engine.candidates import SIZES_KNOWN
from swoop.engine.index import SIZES
from swoop.engine.memory import Memory, power_of_two
from swoop.engine.records import fill_table
from swoop.engine.settings import Settings
from swoop.engine.sorting import DIGITS
from swoop.engine.window import move_sets
from swoop.errors import CapacityExceeded

# Arrays that grow together. Kernels look at the size of the last one of each, so the others are never smaller.
_BY_SET = ("probe.list_size", "probe.list_order", "probe.list_from", "probe.list_newest")
_BY_PENDING = ("stock.pending_ends", "stock.pending")
_BY_SPARE_PENDING = ("spare.pending_ends", "spare.pending")
_BY_DRAFT = ("draft.pairs", "draft.ends", "draft.ranks", "draft.moved")
_BY_SPARE = (*_BY_DRAFT, "spare.ends", "spare.ranks", "spare.pairs")
_BY_STOCK = (*_BY_SPARE, "stock.ends", "stock.ranks", "stock.pairs")  # the spare stock will take the place of the other

_COUNTED_AS = {
    "window.ring": "ring grown",
    "window.arena": "arena grown",
    "index.pool": "pool grown",
    "probe.list_newest": "room for a set grown",
    "stock.pending": "room for pending pairs grown",
    "stock.pairs": "stock grown",
    "spare.pending": "room for pending pairs of the spare stock grown",
    "spare.pairs": "spare stock grown",
    "feed.changes": "feed grown",
    "kinship.changes": "feed grown",
    "all_pairs.pool": "pool of pairs grown",
    "all_pairs.ended": "room for ended pairs grown",
}


def counted_as(path: str) -> str:
    """How it is counted among the rare paths that a kernel has asked for an array to grow."""
    return _COUNTED_AS.get(path, "room of another algorithm grown")


class Room:
    """What makes arrays larger, in the memory of an engine."""

    def __init__(self, memory: Memory, settings: Settings, algorithm: Algorithm) -> None:
        self._memory, self._algorithm, self._copies_once = memory, algorithm, settings.copies_once
        self.feed = algorithm.feed if settings.copies_once else algorithm.feed[-1:]
        thresholds = settings.thresholds
        memory.resize(("window.ring", "window.size_and_hits", "window.side", *algorithm.with_ring), thresholds.sets)
        memory.resize(("probe.hit_sets",), thresholds.sets + 1)
        memory.resize(("window.arena",), thresholds.arena)
        memory.resize(("index.pool",), thresholds.pool)
        memory.replace("index.free_segments", np.full(SIZES, -1, np.int32))
        memory.resize(_BY_SET, thresholds.set_tokens)
        memory.resize((*_BY_PENDING, *_BY_SPARE_PENDING), thresholds.pending)
        memory.resize(("sort_room.spare",), max(thresholds.pending, thresholds.set_tokens))
        memory.resize(("sort_room.counts",), DIGITS)
        memory.resize(("stock.crops", "spare.crops"), SIZES_KNOWN**2)
        memory.resize((*algorithm.with_stock, *_BY_STOCK), thresholds.stock)
        if settings.tracking:
            memory.resize(self.feed, thresholds.feed)
        if settings.copies_once:
            memory.resize(("window.record", "records.entries", "records.free"), thresholds.sets)
            memory.resize(("records.table",), 2 * thresholds.sets)

    def grow(self, path: str, needed: int) -> None:
        """Make an array longer that a kernel asks for, and those that go with it."""
        memory, algorithm = self._memory, self._algorithm
        if path == "window.ring":
            self.move_window(2 * memory["window.ring"].size, memory["window.arena"].size)
        elif path == "window.arena":
            arena = memory["window.arena"].size
            is_enough = self._tokens_of_copies() > needed // 4  # which are dropped when the window is moved
            self.move_window(memory["window.ring"].size, arena if is_enough else power_of_two(needed + needed // 4))
        elif path == "index.pool":
            if needed > 2**31 - 1:
                raise CapacityExceeded("the window holds more than 2**31 tokens; use a shorter window")
            memory.resize((path,), min(needed + max(needed // 4, min(needed, 1 << 18)), 2**31 - 1))
        elif path == "probe.list_newest":
            memory.resize(("sort_room.spare", *_BY_SET), needed + needed // 4)
        elif path == "stock.pending":
            memory.resize(("sort_room.spare", *_BY_PENDING), 2 * needed)
        elif path == "spare.pending":
            memory.resize(("sort_room.spare", *_BY_SPARE_PENDING), 2 * needed)
        elif path in ("stock.pairs", "spare.pairs"):
            memory.resize((*algorithm.with_stock, *_BY_STOCK), needed + needed // 2)
        elif path in self.feed:
            memory.resize(self.feed, 2 * needed)
        elif algorithm.grow is not None:
            algorithm.grow(memory, path)

    def _tokens_of_copies(self) -> int:
        """How much of the arena is taken by copies that count no more."""
        memory, state = self._memory, self._memory.state
        if not self._copies_once or state.oldest == state.next:
            return 0
        places = np.arange(state.oldest, state.next) & (memory["window.ring"].size - 1)
        begin = memory["window.ring"]["start"][places[0]]
        return int(state.window.arena_end - begin - memory["window.size_and_hits"][places].sum())

    def move_window(self, ring: int, arena: int) -> None:
        """Move the window to arrays of other sizes, which are powers of two and large enough."""
        memory, state, algorithm = self._memory, self._memory.state, self._algorithm
        sizes = {
            "window.ring": ring,
            "window.size_and_hits": ring,
            "window.side": ring,
            "window.record": ring if self._copies_once else 0,
            "window.arena": arena,
            "probe.hit_sets": ring + 1,
        }
        new = {path: memory.new(path, size) for path, size in sizes.items()}
        numbers = np.arange(state.oldest, state.next)
        for path in algorithm.with_ring:
            new[path] = memory.new(path, ring)
            new[path][numbers & (ring - 1)] = memory[path][numbers & (memory["window.ring"].size - 1)]
        end = move_sets(memory.words, *(new[f"window.{name}"] for name in ("ring", "size_and_hits", "side", "record", "arena")))
        if self._copies_once:
            memory.resize(("records.entries",), ring)
            new["records.free"] = memory.new("records.free", ring)
            free, records = memory["records.free"], state.records
            places = np.arange(records.free_first, records.free_first + records.free_count) & (free.size - 1)
            new["records.free"][: records.free_count] = free[places]
            new["records.table"] = memory.new("records.table", 2 * ring)
            fill_table(memory.words, new["records.table"])
        memory.resize(algorithm.as_ring, ring)
        memory.install(new, {"window.arena_end": end, "records.free_first": 0})
