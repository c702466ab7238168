"""The engine as Python sees it: owner of the arrays, which it makes, grows, and replaces by smaller ones.

That arrays can be used is checked where they enter (``contents.py``). What a single set is, and that times do not fall from
call to call, is the business of ``swoop.join``.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np

from swoop.engine import layout as st
from swoop.engine.arrival import advance, give_up, insert_sets, read_top, rebase, settle_stock
from swoop.engine.candidates import SIZES_KNOWN
from swoop.engine.contents import checked_sets
from swoop.engine.index import SIZES
from swoop.engine.interning import Interning
from swoop.engine.memory import EMPTY, power_of_two
from swoop.engine.thresholds import Thresholds, current
from swoop.engine.tokens import BYTES, INTEGER, Tokens
from swoop.engine.vocabulary import HEADER, intern_integers, intern_texts
from swoop.engine.window import move_sets
from swoop.errors import CapacityExceeded, InternalError, InvalidType

COUNTERS = ("pre_candidates", "verified", "candidate_count")

_AT = {name: st.STATE.fields[name][1] // 8 for name in st.STATE.names or ()}  # type: ignore[index]
_BASE, _NEXT, _OLDEST, _NOW, _FEED_END = (_AT[name] for name in ("base", "next", "oldest", "now", "feed_end"))  # read often

_BATCH = ("batch_times", "batch_sides", "batch_offsets", "batch_tokens", "batch_keys", "batch_texts", "batch_ends")

# Arrays that grow together. Kernels look at the size of the last one of each, so the others are never smaller.
_BY_SET = ("list_size", "list_order", "list_from", "list_newest")
_BY_PENDING = ("pending_ends", "pending")
_BY_SPARE_PENDING = ("spare_pending_ends", "spare_pending")
_BY_DRAFT = ("draft", "draft_ends", "draft_ranks", "moved")
_BY_SPARE = (*_BY_DRAFT, "spare_ends", "spare_ranks", "spare_pairs")
_BY_STOCK = (*_BY_SPARE, "ends", "ranks", "pairs")  # the spare stock will take the place of the other

_PATHS = {
    st.GROW_RING: "ring grown",
    st.GROW_ARENA: "arena grown",
    st.GROW_POOL: "pool grown",
    st.GROW_SET: "room for a set grown",
    st.GROW_PENDING: "room for pending pairs grown",
    st.GROW_STOCK: "stock grown",
    st.GROW_SPARE_PENDING: "room for pending pairs of the spare stock grown",
    st.GROW_SPARE: "spare stock grown",
    st.GROW_FEED: "feed grown",
    st.REBASE: "new base",
    st.SHRINK: "window shrunk",
}


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
    thresholds: Thresholds = field(default_factory=current)


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

    def __init__(self, room: int, zeros: Callable[[int, np.dtype[Any]], np.ndarray]) -> None:
        self.room = room
        self.time = zeros(1, st.ARRAYS["batch_times"])
        self.side = zeros(1, st.ARRAYS["batch_sides"])
        self.offsets = zeros(2, st.ARRAYS["batch_offsets"])
        self.numbers = zeros(room, st.ARRAYS["batch_tokens"])
        self.keys = zeros(room, st.ARRAYS["batch_keys"])
        self.texts = zeros(room, st.ARRAYS["batch_texts"])
        self.ends = zeros(room + 1, st.ARRAYS["batch_ends"])


class Engine(Interning):
    """A continuous top-k join of integers and arrays.

    One arrival costs what its lists and candidates cost; memory is linear in the window (sets and tokens) and in the stock.
    """

    _insert_kernel: Callable[..., int] = staticmethod(insert_sets)
    _by_stock: tuple[str, ...] = _BY_STOCK

    def __init__(self, settings: Settings, first: int = 0) -> None:
        self.settings = settings
        self.thresholds = settings.thresholds
        self._taken: Counter[str] = Counter()  # rare paths, counted by Python
        self._seed = secrets.randbits(63) | 1
        self._start(first)

    def __reduce__(self) -> Any:
        raise InvalidType("an engine holds addresses of its arrays, so it cannot be copied or pickled")

    def _start(self, first: int) -> None:
        """An empty engine, whose first set has arrival number ``first``."""
        self._start_arrays()
        state, settings, thresholds = self._state, self.settings, self.thresholds
        state["k"] = min(settings.k, 2**62)
        state["duration"] = settings.duration
        state["kind"] = settings.kind
        state["function"] = settings.function
        state["lowest"] = settings.threshold
        state["outlook"] = _outlook(settings)
        state["early"] = _outlook(settings) // thresholds.early
        for name in (
            "part",
            "last_number",
            "smallest_ring",
            "smallest_arena",
            "oversize",
            "pending_least",
            "spare_pending_least",
        ):
            state[name] = getattr(thresholds, name)
        state["entering"] = -1
        state["streams"] = settings.streams
        state["tracking"] = settings.tracking
        state["seed"] = self._seed
        state["base"] = first
        self._is_running = False  # a kernel, which may have stopped in the middle of an arrival
        give_up(self._memory)  # loaded now: if it is needed, there may be no memory for that
        self._single: _Single | None = None
        self._batch_is_single = False
        self._spare_tokens = self._spare_bytes = 0  # room for tokens that is known to be there
        for name in ("ring", "tally", "side"):
            self._resize(name, thresholds.sets)
        self._resize("touched", thresholds.sets + 1)
        self._resize("arena", thresholds.arena)
        self._resize("pool", thresholds.pool)
        for name in (*_BY_PENDING, *_BY_SPARE_PENDING):
            self._resize(name, thresholds.pending)
        for name in _BY_SET:
            self._resize(name, thresholds.set_tokens)
        self._resize("sort_spare", max(thresholds.pending, thresholds.set_tokens))
        self._resize("sort_counts", 256)
        self._replace("free_segments", np.full(SIZES, -1, np.int32))
        self._start_vocabulary()
        for name in ("stock", "spare"):
            self._resize(name, 1)
            self._arrays[name]["threshold"] = settings.threshold
            self._arrays[name]["version"] = 1
        for name in ("crops", "spare_crops"):
            self._resize(name, SIZES_KNOWN**2)
        for name in self._by_stock:
            self._resize(name, thresholds.stock)
        if settings.tracking:
            self._resize("feed", thresholds.feed)

    # room

    def _run(self, kernel: Callable[..., int], *arguments: int) -> None:
        """Call a kernel until it is done, giving it what it asks for."""
        self._is_running = True
        try:
            while (code := kernel(self._memory, *arguments)) != st.DONE:
                self._taken[_PATHS.get(code, "room of a baseline grown")] += 1
                if code == st.SHRINK:
                    self.shrink()
                    return
                self._grow(code, int(self._state["needed"]))
        except BaseException:
            self._ready()
            raise
        self._is_running = False

    def _ready(self) -> None:
        """Do what was interrupted, and give up the arrival that was. Interrupted itself, it can be done again."""
        self._repair()
        if self._is_running:
            give_up(self._memory)
            self._is_running = False

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
            self._resize_all(("sort_spare", *_BY_SET), needed + needed // 4)
        elif code == st.GROW_PENDING:
            self._resize_all(("sort_spare", *_BY_PENDING), 2 * needed)
        elif code == st.GROW_SPARE_PENDING:
            self._resize_all(("sort_spare", *_BY_SPARE_PENDING), 2 * needed)
        elif code in (st.GROW_STOCK, st.GROW_SPARE):
            self._resize_all(self._by_stock, needed + needed // 2)
        elif code == st.GROW_FEED:
            self._resize("feed", 2 * needed)
        else:
            rebase(self._memory)
            if self._state["next"] >= self._state["last_number"]:
                raise CapacityExceeded("the window holds more than 2**31 sets; use a shorter window")

    def _resize_all(self, names: tuple[str, ...], size: int) -> None:
        for name in names:
            self._resize(name, size)

    def _move_window(self, ring: int, arena: int) -> None:
        sizes = {"ring": ring, "tally": ring, "side": ring, "arena": arena, "touched": ring + 1}
        new = {name: self._zeros(size, st.ARRAYS[name]) for name, size in sizes.items()}
        end = move_sets(self._memory, new["ring"], new["tally"], new["side"], new["arena"])
        self._install(new, {"arena_end": end})

    # arrivals

    def insert_one(self, time: int, side: int, tokens: list[Any], kind: int) -> None:
        """Let one set arrive whose tokens are all integers, or all strings or byte strings given as bytes.

        The same as :meth:`insert`, without the cost of making arrays.
        """
        self._ready()
        size = len(tokens)
        text_bytes = 0
        if kind != INTEGER:
            data = b"".join(tokens)
            text_bytes = len(data) + size  # an empty text takes room, too
        self._spare_tokens -= size
        self._spare_bytes -= text_bytes
        if self._spare_tokens < 0 or self._spare_bytes < 0:
            spare = self.thresholds.spare_tokens
            spare_bytes = spare if kind != INTEGER else 0
            self._make_token_room(size + spare, text_bytes + spare_bytes)
            self._spare_bytes = spare_bytes
            self._spare_tokens = spare
        if self._single is None or max(size, text_bytes) > self._single.room:
            single = _Single(2 * max(size, text_bytes, 512), self._zeros)
            self._batch_is_single = False
            self._single = single
        single = self._single
        if not self._batch_is_single:
            self._install(
                {
                    "batch_times": single.time,
                    "batch_sides": single.side if self.settings.streams == 2 else single.side[:0],
                    "batch_offsets": single.offsets,
                    "batch_tokens": single.numbers,
                    "batch_keys": single.keys,
                    "batch_texts": single.texts,
                    "batch_ends": single.ends,
                },
                {"batch_first": 0},
                {"_batch_is_single": True},
            )
        memory = self._memory
        single.time[0] = time
        single.side[0] = side
        single.offsets[0] = 0
        single.offsets[1] = size
        if kind == INTEGER:
            single.keys[:size] = tokens
            memory[_AT["batch_keys_size"]] = size
            done = intern_integers(memory)
        else:
            single.texts[: len(data)] = np.frombuffer(data, np.uint8)
            single.ends[1 : size + 1] = list(accumulate(map(len, tokens)))
            memory[_AT["batch_ends_size"]] = size + 1
            memory[_AT["text_kind"]] = kind
            done = intern_texts(memory)
        if done < size:
            raise InternalError(f"there was no room for the numbers of {size} tokens")
        memory[_AT["batch_at"]] = 0
        self._run(self._insert_kernel)

    def insert(self, times: np.ndarray, offsets: np.ndarray, tokens: Tokens, sides: np.ndarray) -> None:
        """Let sets arrive. The n-th has the tokens ``offsets[n]`` to ``offsets[n + 1]``; ``sides`` is empty in a self join."""
        self._ready()
        times, offsets, tokens, sides = checked_sets(times, offsets, tokens, sides, self.settings.streams)
        self._batch_is_single = False
        self._spare_tokens = self._spare_bytes = 0
        start, chunk = self.arrivals, self.thresholds.chunk_tokens
        at = 0
        while at < len(times):
            first, length = int(offsets[at]), int(offsets[at + 1] - offsets[at])
            self._intern(tokens.slice(first, min(first + max(chunk, length), len(tokens))), length)
            self._install(
                {"batch_times": times, "batch_sides": sides, "batch_offsets": offsets}, {"batch_at": at, "batch_first": first}
            )
            self._run(self._insert_kernel)
            if self.arrivals - start <= at:
                raise InternalError(f"set {at} of {len(times)} did not arrive")
            at = self.arrivals - start
            self._taken["bulk cut"] += at < len(times)
        self._numbers = EMPTY["batch_tokens"]
        self._install({name: EMPTY[name] for name in _BATCH})  # what was given is not kept

    def advance(self, now: int) -> None:
        """Move the index time."""
        self._ready()
        self._run(advance, now)

    # reading

    @property
    def arrivals(self) -> int:
        """How many sets have arrived."""
        return int(self._memory.item(_BASE) + self._memory.item(_NEXT))

    @property
    def oldest(self) -> int:
        """The arrival number of the oldest valid set, or of the next one if there is none."""
        return int(self._memory.item(_BASE) + self._memory.item(_OLDEST))

    @property
    def now(self) -> int:
        """The index time."""
        return int(self._memory.item(_NOW))

    @property
    def stock_size(self) -> int:
        """How many pairs the stock holds at the index time."""
        return self.settle()

    def settle(self) -> int:
        """Put the pairs that have come since in order, and complete the stock if that is due. How many pairs it holds."""
        self._ready()
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

    @property
    def paths(self) -> Counter[str]:
        """How often each rare path was taken."""
        return self._taken + self._taken_by_kernels()

    def _taken_by_kernels(self) -> Counter[str]:
        state = self._state
        return Counter(
            {
                "stock settled": int(self._arrays["stock"]["settlings"][0]),
                "spare stock settled": int(self._arrays["spare"]["settlings"][0]),
                "completion begun": int(state["completions"]),
                "completion begun anew": int(state["mistakes"]),
                "spare stock taken over": int(state["takeovers"]),
            }
        )

    def topk(self) -> np.ndarray:
        """The top-k as rows of ``state.CHANGE``. O(k)."""
        return self.stock(self.settings.k)

    def stock(self, most: int | None = None) -> np.ndarray:
        """The first pairs of the stock, or all of them, as rows of ``state.CHANGE``."""
        size = self.stock_size
        rows = np.zeros(size if most is None else min(size, most), st.CHANGE)
        read_top(self._memory, rows)
        return rows

    @property
    def has_changes(self) -> bool:
        """Whether there are changes that were not forgotten yet."""
        return self._memory.item(_FEED_END) > 0

    def changes(self) -> tuple[int, np.ndarray]:
        """The changes that were not forgotten yet, as rows of ``state.CHANGE``, and the number of the first, from 0 on."""
        self._ready()
        return int(self._state["feed_taken"]), self._arrays["feed"][: int(self._state["feed_end"])].copy()

    def forget_changes(self, stop: int) -> None:
        """Forget all changes; ``stop`` is the number of the next one."""
        if stop == self._state["feed_taken"]:
            return
        is_large = self._arrays["feed"].size > self.thresholds.most_feed
        smaller = {"feed": self._zeros(self.thresholds.feed, st.CHANGE)} if is_large else {}
        self._install(smaller, {"feed_end": 0, "feed_taken": stop})

    def tokens_of(self, arrival: int) -> Tokens:
        """The tokens of a valid set."""
        self._ready()
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
            start = int(starts[number]) - 1
            if start < 0:
                known[number] = int(keys[number])
            else:
                body = start + HEADER
                text = texts[body : body + int.from_bytes(texts[start : start + 4].tobytes(), "little")].tobytes()
                known[number] = text if texts[start + 4] == BYTES else text.decode("utf-8", "surrogatepass")
        return Tokens.of([known[number] for number in numbers.tolist()])

    def contents(self) -> Contents:
        """The window."""
        self._ready()
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
        fresh._taken = self._taken
        fresh.insert(contents.times, contents.offsets, contents.tokens, contents.sides)
        fresh._state["now"] = now
        if self.settings.tracking:
            fresh.settle()  # pending pairs may be in the top-k, and the feed has told of them
            carried = ("feed_end", "feed_taken")
            fresh._install(
                {"feed": self._arrays["feed"]}, {"tracking": 1, **{name: int(self._state[name]) for name in carried}}
            )
        fresh.settings = self.settings
        fresh.counters = self.counters
        self._taken.update(self._taken_by_kernels())
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
        self.settle()  # what was interrupted is in the feed
        self.restore(self.contents(), self.now)


def _outlook(settings: Settings) -> int:
    """For how long a floor is to last: measured best; flat around it."""
    if not settings.floor:
        return -1
    return settings.duration // 2 if settings.k < 100 else settings.duration * 3 // 10


def make_engine(name: str, settings: Settings) -> Engine:
    """The engine of ``"swoop"`` or of ``"swoop-minimal"``, which does without a floor."""
    return Engine(replace(settings, floor=name == "swoop"))
