"""The engine as Python sees it: owner of the arrays, which it makes, grows, and replaces by smaller ones.

Nothing is checked here: times do not fall, tokens are of the right types. That is the business of ``swoop.join``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from swoop.engine import state as st
from swoop.engine.arrival import advance, give_up, insert_sets, read_top, rebase, settle_stock
from swoop.engine.candidates import SIZES_KNOWN
from swoop.engine.index import SIZES
from swoop.engine.interning import Interning
from swoop.engine.memory import power_of_two, zeros
from swoop.engine.tokens import BYTES, INTEGER, Tokens
from swoop.engine.vocabulary import HEADER, intern_integers, intern_texts
from swoop.engine.window import move_sets
from swoop.errors import CapacityExceeded, InvalidType

CHUNK_TOKENS = 1 << 17  # that are given numbers at a time, at most; or those of one set
SPARE_TOKENS = 1 << 12  # for which room is made at a time, when sets come one by one; and as many bytes of texts
LAST_NUMBER = 2**31 - 2**20
PART = 128  # sets that a completion covers at a time, at least
COUNTERS = ("pre_candidates", "verified", "candidate_count")

_AT = {name: st.STATE.fields[name][1] // 8 for name in st.STATE.names or ()}  # type: ignore[index]

_BATCH = ("batch_times", "batch_sides", "batch_offsets", "batch_tokens", "batch_keys", "batch_texts", "batch_ends")
_BY_RING = ("ring", "tally", "side", "touched")
_BY_SET = ("list_newest", "list_size", "list_order", "list_from")
_BY_PENDING = ("pending", "pending_ends")
_BY_STOCK = ("pairs", "ends", "ranks")
_BY_SPARE_PENDING = ("spare_pending", "spare_pending_ends")
_BY_SPARE = ("spare_pairs", "spare_ends", "spare_ranks")
_BY_DRAFT = ("draft", "draft_ends", "draft_ranks", "moved")


@dataclass(frozen=True)
class Settings:
    """What an engine is asked to do. ``duration`` 0: unbounded. ``threshold``: the largest key that does not count."""

    k: int
    duration: int
    kind: int
    function: int = 0
    threshold: float = -np.inf
    streams: int = 1
    tracking: bool = False
    floor: bool = True


@dataclass(frozen=True)
class Contents:
    """The sets of a window, oldest first: all that what an engine says depends on."""

    first: int
    times: np.ndarray
    sides: np.ndarray
    offsets: np.ndarray
    tokens: Tokens


class _Single:
    """Arrays for the arrival of one set, used again and again."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.time = np.zeros(1, np.int64)
        self.side = np.zeros(1, np.int8)
        self.offsets = np.zeros(2, np.int64)
        self.numbers = np.zeros(room, np.int32)
        self.keys = np.zeros(room, np.int64)
        self.texts = np.zeros(room, np.uint8)
        self.ends = np.zeros(room + 1, np.int64)


class Engine(Interning):
    """A continuous top-k join of integers and arrays.

    One arrival costs what its lists and candidates cost; memory is linear in the window (sets and tokens) and in the stock.
    """

    _insert_kernel: Callable[..., int] = staticmethod(insert_sets)

    def __init__(self, settings: Settings, first: int = 0) -> None:
        self.settings = settings
        self._seed = secrets.randbits(63) | 1
        self._start(first)

    def __reduce__(self) -> Any:
        raise InvalidType("an engine holds addresses of its arrays, so it cannot be copied or pickled")

    def _start(self, first: int) -> None:
        """An empty engine, whose first set has arrival number ``first``."""
        self._start_arrays()
        state, settings = self._state, self.settings
        state["k"] = min(settings.k, 2**62)
        state["duration"] = settings.duration
        state["kind"] = settings.kind
        state["function"] = settings.function
        state["lowest"] = settings.threshold
        state["outlook"] = _outlook(settings)
        state["part"] = PART
        state["entering"] = -1
        state["streams"] = settings.streams
        state["tracking"] = settings.tracking
        state["seed"] = self._seed
        state["base"] = first
        state["last_number"] = LAST_NUMBER
        self._single: _Single | None = None
        self._batch_is_single = False
        self._spare_tokens = self._spare_bytes = 0  # room for tokens that is known to be there
        for name in (*_BY_RING, *_BY_PENDING, *_BY_SPARE_PENDING):
            self._resize(name, 1024)
        for name in _BY_SET:
            self._resize(name, 64)
        self._resize("touched", 1025)
        self._resize("sort_spare", 1024)
        self._resize("sort_counts", 256)
        self._resize("arena", 1 << 14)
        self._resize("pool", 1 << 12)
        self._replace("free_segments", np.full(SIZES, -1, np.int32))
        self._start_vocabulary()
        for name in ("stock", "spare"):
            self._resize(name, 1)
            self._arrays[name]["threshold"] = settings.threshold
            self._arrays[name]["version"] = 1
        for name in ("crops", "spare_crops"):
            self._resize(name, SIZES_KNOWN**2)
        for name in (*_BY_STOCK, *_BY_SPARE, *_BY_DRAFT):
            self._resize(name, 256)
        if settings.tracking:
            self._resize("feed", 256)

    # room

    def _run(self, kernel: Callable[..., int], *arguments: int) -> None:
        """Call a kernel until it is done, giving it what it asks for."""
        try:
            while (code := kernel(self._memory, *arguments)) != st.DONE:
                if code == st.SHRINK:
                    self.shrink()
                    return
                self._grow(code, int(self._state["needed"]))
        except BaseException:
            give_up(self._memory)
            raise

    def _grow(self, code: int, needed: int) -> None:
        if code == st.GROW_RING:
            self._move_window(2 * self._arrays["ring"].size, self._arrays["arena"].size)
        elif code == st.GROW_ARENA:
            self._move_window(self._arrays["ring"].size, power_of_two(needed + needed // 4))
        elif code == st.GROW_POOL:
            if needed > 2**31 - 1:
                raise CapacityExceeded("the window holds more than 2**31 tokens; use a shorter window")
            self._resize("pool", min(needed + max(needed // 4, min(needed, 1 << 18)), 2**31 - 1))
        elif code == st.GROW_SET:
            for name in _BY_SET:
                self._resize(name, needed + needed // 4)
            self._make_sort_room(needed + needed // 4)
        elif code in (st.GROW_PENDING, st.GROW_SPARE_PENDING):
            for name in _BY_PENDING if code == st.GROW_PENDING else _BY_SPARE_PENDING:
                self._resize(name, 2 * needed)
            self._make_sort_room(2 * needed)
        elif code in (st.GROW_STOCK, st.GROW_SPARE):  # the spare stock will take the place of the other
            for name in (*_BY_STOCK, *_BY_SPARE, *_BY_DRAFT):
                if self._arrays[name].size < needed:
                    self._resize(name, needed + needed // 2)
        elif code == st.GROW_FEED:
            self._resize("feed", 2 * needed)
        else:
            rebase(self._memory)
            if self._state["next"] >= self._state["last_number"]:
                raise CapacityExceeded("the window holds more than 2**31 sets; use a shorter window")

    def _make_sort_room(self, size: int) -> None:
        if size > self._arrays["sort_spare"].size:
            self._resize("sort_spare", size)

    def _move_window(self, ring: int, arena: int) -> None:
        new_ring, tally, side = (zeros(ring, st.ARRAYS[name]) for name in ("ring", "tally", "side"))
        new_arena = zeros(arena, st.ARRAYS["arena"])
        move_sets(self._memory, new_ring, tally, side, new_arena)
        self._replace("ring", new_ring)
        self._replace("tally", tally)
        self._replace("side", side)
        self._replace("arena", new_arena)
        self._replace("touched", zeros(ring + 1, st.ARRAYS["touched"]))

    # arrivals

    def insert_one(self, time: int, side: int, tokens: list[Any], kind: int) -> None:
        """Let one set arrive whose tokens are all integers, or all strings or byte strings given as bytes.

        The same as :meth:`insert`, without the cost of making arrays.
        """
        size = len(tokens)
        text_bytes = 0
        if kind != INTEGER:
            data = b"".join(tokens)
            text_bytes = len(data)
        self._spare_tokens -= size
        self._spare_bytes -= text_bytes
        if self._spare_tokens < 0 or self._spare_bytes < 0:
            spare_bytes = SPARE_TOKENS if kind != INTEGER else 0
            self._make_token_room(size + SPARE_TOKENS, text_bytes + spare_bytes)
            self._spare_tokens, self._spare_bytes = SPARE_TOKENS, spare_bytes
        if self._single is None or size > self._single.room or text_bytes > self._single.room:
            self._single = _Single(2 * max(size, text_bytes, 512))
            self._batch_is_single = False
        single = self._single
        if not self._batch_is_single:
            self._replace("batch_times", single.time)
            self._replace("batch_sides", single.side if self.settings.streams == 2 else single.side[:0])
            self._replace("batch_offsets", single.offsets)
            self._replace("batch_tokens", single.numbers)
            self._replace("batch_keys", single.keys)
            self._replace("batch_texts", single.texts)
            self._replace("batch_ends", single.ends)
            self._state["batch_first"] = 0
            self._batch_is_single = True
        memory = self._memory
        single.time[0] = time
        single.side[0] = side
        single.offsets[0] = 0
        single.offsets[1] = size
        if kind == INTEGER:
            single.keys[:size] = tokens
            memory[_AT["batch_keys_size"]] = size
            intern_integers(memory)
        else:
            single.texts[: len(data)] = np.frombuffer(data, np.uint8)
            single.ends[1 : size + 1] = list(accumulate(map(len, tokens)))
            memory[_AT["batch_ends_size"]] = size + 1
            memory[_AT["text_kind"]] = kind
            intern_texts(memory)
        memory[_AT["batch_at"]] = 0
        self._run(self._insert_kernel)

    def insert(self, times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray) -> None:
        """Let sets arrive. The n-th has the tokens ``offsets[n]`` to ``offsets[n + 1]``; ``sides`` is empty in a self join."""
        self._batch_is_single = False
        self._spare_tokens = self._spare_bytes = 0
        times, sides, offsets = (np.ascontiguousarray(column) for column in (times, sides, offsets))
        start = self.arrivals
        while (at := self.arrivals - start) < len(times):
            first, length = int(offsets[at]), int(offsets[at + 1] - offsets[at])
            self._intern(tokens.slice(first, min(first + max(CHUNK_TOKENS, length), len(tokens))), length)
            if self._arrays["batch_times"] is not times:  # not yet, or no longer, as the arrays were made to fit the window
                self._replace("batch_times", times)
                self._replace("batch_sides", sides)
                self._replace("batch_offsets", offsets)
            self._state["batch_at"], self._state["batch_first"] = at, first
            self._run(self._insert_kernel)
        self._numbers = self._numbers[:0].copy()
        for name in _BATCH:  # what was given is not kept
            self._replace(name, np.zeros(0, st.ARRAYS[name]))

    def advance(self, now: int) -> None:
        """Move the index time."""
        self._run(advance, now)

    # reading

    @property
    def arrivals(self) -> int:
        """How many sets have arrived."""
        return int(self._state["base"] + self._state["next"])

    @property
    def oldest(self) -> int:
        """The arrival number of the oldest valid set, or of the next one if there is none."""
        return int(self._state["base"] + self._state["oldest"])

    @property
    def now(self) -> int:
        """The index time."""
        return int(self._state["now"])

    @property
    def stock_size(self) -> int:
        """How many pairs the stock holds at the index time."""
        size = int(settle_stock(self._memory))
        if size < 0:  # memory ran out, or Ctrl-C came, in the middle of a completion
            self.advance(self.now)
            size = int(settle_stock(self._memory))
        return size

    @property
    def floor(self) -> float | None:
        """The lowest key that the stock holds; None if there is no floor."""
        threshold = float(self._arrays["stock"]["threshold"][0])
        return None if threshold == self.settings.threshold else float(np.nextafter(threshold, np.inf))

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    @property
    def counters(self) -> dict[str, int]:
        return {name: int(self._state[name]) for name in COUNTERS}

    @counters.setter
    def counters(self, values: dict[str, int]) -> None:
        for name in COUNTERS:
            self._state[name] = values[name]

    def topk(self) -> np.ndarray:
        """The top-k as rows of ``state.CHANGE``. O(k)."""
        return self.stock(self.settings.k)

    def stock(self, most: int | None = None) -> np.ndarray:
        """The first pairs of the stock, or all of them, as rows of ``state.CHANGE``."""
        size = self.stock_size
        rows = np.zeros(size if most is None else min(size, most), st.CHANGE)
        read_top(self._memory, rows)
        return rows

    def take_changes(self) -> np.ndarray:
        """The changes since the last call, as rows of ``state.CHANGE``."""
        end = int(self._state["feed_end"])
        rows = self._arrays["feed"][:end].copy()
        self._state["feed_end"] = 0
        if self._arrays["feed"].size > 1 << 12:
            self._replace("feed", np.zeros(256, st.CHANGE))
        return rows

    def tokens_of(self, arrival: int) -> Tokens:
        """The tokens of a valid set."""
        return self._tokens(self._numbers_of(arrival - int(self._state["base"])))

    def _numbers_of(self, number: int) -> np.ndarray:
        ring, arena = self._arrays["ring"], self._arrays["arena"]
        at = number & (ring.size - 1)
        start = int(ring["start"][at]) & (arena.size - 1)
        return arena[start : start + int(self._arrays["tally"][at])]

    def _tokens(self, numbers: np.ndarray) -> Tokens:
        """The tokens with the given numbers."""
        keys, starts, texts = (self._arrays[name] for name in ("token_key", "token_text", "texts"))
        if starts.size == 0:
            return Tokens(integers=keys[numbers])
        known: dict[int, Any] = {}
        for number in np.unique(numbers).tolist():
            start = int(starts[number])
            if start < 0:
                known[number] = int(keys[number])
            else:
                body = start + HEADER
                text = texts[body : body + int.from_bytes(texts[start : start + 4].tobytes(), "little")].tobytes()
                known[number] = text if texts[start + 4] == BYTES else text.decode("utf-8", "surrogatepass")
        return Tokens.of([known[number] for number in numbers.tolist()])

    def contents(self) -> Contents:
        """The window."""
        state, ring = self._state, self._arrays["ring"]
        numbers = np.arange(int(state["oldest"]), int(state["next"]))
        places = numbers & (ring.size - 1)
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self._arrays["tally"][places], out=offsets[1:])
        flat = [self._numbers_of(number) for number in numbers.tolist()]
        return Contents(
            self.oldest,
            ring["time"][places],
            self._arrays["side"][places] if self.settings.streams == 2 else np.empty(0, np.int8),
            offsets,
            self._tokens(np.concatenate(flat)) if flat else Tokens(),
        )

    def restore(self, contents: Contents, now: int) -> None:
        """Begin anew with a given window. What an engine says is a function of it, so letting its sets arrive is enough.

        The new state is complete before it takes the place of the old one.
        """
        fresh = self._another(replace(self.settings, tracking=False), contents.first)
        fresh.insert(contents.times, contents.offsets, contents.tokens, contents.sides)
        fresh._state["now"] = now
        if self.settings.tracking:
            fresh._state["tracking"] = 1
            fresh._replace("feed", self._arrays["feed"])
            fresh._state["feed_end"] = self._state["feed_end"]
        fresh.settings = self.settings
        fresh._state["last_number"] = self._state["last_number"]
        self.__dict__ = fresh.__dict__

    def _another(self, settings: Settings, first: int) -> Engine:
        return Engine(settings, first)

    def warm(self) -> None:
        """Run the kernels that few sets bring about, so that they are compiled."""
        self._move_window(self._arrays["ring"].size, self._arrays["arena"].size)
        self._recycle(0)
        rebase(self._memory)
        give_up(self._memory)

    def shrink(self) -> None:
        """Go on in arrays that fit the window as it is now. O(window)."""
        counters = self.counters
        self.restore(self.contents(), self.now)
        self.counters = counters


def _outlook(settings: Settings) -> int:
    """For how long a floor is to last: measured best; flat around it."""
    if not settings.floor:
        return -1
    return settings.duration // 2 if settings.k < 100 else settings.duration * 3 // 10
