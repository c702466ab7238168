"""The engine as Python sees it: it runs kernels, gives them the room that they ask for, and reads what they have found.

That arrays can be used is checked where they enter (``contents.py``). What a single set is, and that times do not fall from
call to call, is the business of ``swoop.join``.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from swoop.engine.algorithm import SWOOP, Algorithm
from swoop.engine.arrival import abort_arrival
from swoop.engine.contents import Contents, Names, checked_sets
from swoop.engine.interning import Interning
from swoop.engine.layout import DONE, REBASE, SHRINK, Batch
from swoop.engine.memory import Memory
from swoop.engine.room import Room, counted_as
from swoop.engine.settings import Settings, write_settings
from swoop.engine.structures import arrays_of
from swoop.engine.tokens import INTEGER, Tokens
from swoop.engine.vocabulary import intern_integers, intern_texts
from swoop.errors import CapacityExceeded, InternalError, InvalidType

COUNTERS = ("pre_candidates", "verified", "candidate_count")

NO_SETS = (np.empty(0, np.int64), np.empty(0, np.int8), np.zeros(1, np.int64), Tokens())

_BATCH = tuple(f"batch.{name}" for name in arrays_of(Batch))

NOT_ASKED = np.empty(0, np.int64)
"""In place of identities that nobody wants to know."""


class _Single:
    """Arrays for the arrival of one set, used again and again."""

    def __init__(self, room: int, memory: Memory) -> None:
        self.room = room
        self.time = memory.new("batch.times", 1)
        self.side = memory.new("batch.sides", 1)
        self.offsets = memory.new("batch.offsets", 2)
        self.token_ids = memory.new("batch.token_ids", room)
        self.keys = memory.new("batch.keys", room)
        self.texts = memory.new("batch.texts", room)
        self.ends = memory.new("batch.ends", room + 1)


class Engine:
    """A continuous top-k join of integers and arrays. The first set has arrival number ``first``.

    One arrival costs what its lists and candidates cost; memory is linear in the window (sets and tokens) and in the stock.
    """

    def __init__(self, settings: Settings, first: int = 0, algorithm: Algorithm = SWOOP) -> None:
        thresholds = settings.thresholds
        self.settings, self.algorithm, self._thresholds = settings, algorithm, thresholds
        self._taken: Counter[str] = Counter()  # rare paths, counted by Python
        self.memory = Memory(algorithm.layout, thresholds.large)
        self.state = self.memory.state
        self._is_running = False  # a kernel, which may have stopped in the middle of an arrival
        self._is_restoring = False  # a window that was shrunk already
        abort_arrival(self.memory.words)  # loaded now: if it is needed, there may be no memory for that
        self._single: _Single | None = None
        self._spare_tokens = self._spare_bytes = 0  # room for tokens that is known to be there
        write_settings(self.state, settings, first)
        self.room = Room(self.memory, settings, algorithm)
        self.interning = Interning(self.memory, thresholds, secrets.randbits(63) | 1, self._taken)
        if algorithm.start is not None:
            algorithm.start(self.memory)

    def __reduce__(self) -> Any:
        raise InvalidType("an engine holds addresses of its arrays, so it cannot be copied or pickled")

    # running

    def run(self, kernel: Callable[..., int], *arguments: int) -> None:
        """Call a kernel until it is done, giving it what it asks for."""
        self._is_running = True
        try:
            while (code := kernel(self.memory.words, *arguments)) != DONE:
                if code == SHRINK:
                    self._is_running = False
                    if not self._is_restoring:
                        self._taken["window shrunk"] += 1
                        self.shrink()
                    return
                if code == REBASE:
                    self._taken["new base"] += 1
                    self.algorithm.rebase(self.memory.words)
                    if self.state.next >= self.state.limits.last_number:
                        raise CapacityExceeded("the window holds more than 2**31 sets; use a shorter window")
                else:
                    path = self.memory.paths[code]
                    self._taken[counted_as(path)] += 1
                    self.room.grow(path, self.state.needed)
        except BaseException:
            self.recover()
            raise
        self._is_running = False

    def recover(self) -> None:
        """Do what was interrupted, and give up the arrival that was. Interrupted itself, it can be done again."""
        self.memory.repair()
        if self._is_running:
            abort_arrival(self.memory.words)
            self._is_running = False

    # arrivals

    def insert_one(self, time: int, side: int, tokens: list[Any], kind: int) -> None:
        """Let one set arrive whose tokens are all integers, or all strings or byte strings given as bytes.

        The same as :meth:`insert`, without the cost of making arrays.
        """
        self.recover()
        memory, batch = self.memory, self.state.batch
        size = len(tokens)
        text_bytes = 0
        if kind != INTEGER:
            data = b"".join(tokens)
            text_bytes = len(data) + size  # an empty text takes room, too
        self._spare_tokens -= size
        self._spare_bytes -= text_bytes
        if self._spare_tokens < 0 or self._spare_bytes < 0:
            spare = self._thresholds.spare_tokens
            spare_bytes = spare if kind != INTEGER else 0
            self.interning.make_room(size + spare, text_bytes + spare_bytes)
            self._spare_bytes = spare_bytes
            self._spare_tokens = spare
        if self._single is None or max(size, text_bytes) > self._single.room:
            single = _Single(2 * max(size, text_bytes, 512), memory)
            batch.is_single = 0
            self._single = single
        single = self._single
        if not batch.is_single:
            memory.install(
                {
                    "batch.times": single.time,
                    "batch.sides": single.side if self.settings.side_count == 2 else single.side[:0],
                    "batch.offsets": single.offsets,
                    "batch.token_ids": single.token_ids,
                    "batch.keys": single.keys,
                    "batch.texts": single.texts,
                    "batch.ends": single.ends,
                },
                {"batch.first": 0, "batch.is_single": 1},
            )
        single.time[0] = time
        single.side[0] = side
        single.offsets[0] = 0
        single.offsets[1] = size
        if kind == INTEGER:
            single.keys[:size] = tokens
            batch.keys.size = size
            done = intern_integers(memory.words)
        else:
            single.texts[: len(data)] = np.frombuffer(data, np.uint8)
            single.ends[1 : size + 1] = list(accumulate(map(len, tokens)))
            batch.ends.size = size + 1
            batch.text_kind = kind
            done = intern_texts(memory.words)
        if done < size:
            raise InternalError(f"there was no room for the ids of {size} tokens")
        batch.at = 0
        self.run(self.algorithm.insert)

    def insert(
        self,
        times: np.ndarray,
        offsets: np.ndarray,
        tokens: Tokens,
        sides: np.ndarray,
        names: Names | None = None,
        found: np.ndarray = NOT_ASKED,
    ) -> None:
        """Let sets arrive. The n-th has the tokens ``offsets[n]`` to ``offsets[n + 1]``; ``sides`` is empty in a self join.

        Records of sets that have arrived elsewhere keep their names. ``found``: room for the identities of the sets' records,
        where copies count once.
        """
        self.recover()
        times, offsets, tokens, sides = checked_sets(times, offsets, tokens, sides, self.settings.side_count)
        self.state.batch.is_single = 0
        self._spare_tokens = self._spare_bytes = 0
        start, chunk = self.arrivals, self._thresholds.chunk_tokens
        at = 0
        while at < len(times):
            first, size = int(offsets[at]), int(offsets[at + 1] - offsets[at])
            self.interning.intern(tokens.slice(first, min(first + max(chunk, size), len(tokens))), size)
            self.memory.install(
                {"batch.times": times, "batch.sides": sides, "batch.offsets": offsets, "batch.found": found},
                {"batch.at": at, "batch.first": first},
            )
            if names is not None:
                self.memory.install({"batch.identities": names.identities, "batch.first_seen": names.first_seen})
            self.run(self.algorithm.insert)
            if self.arrivals - start <= at:
                raise InternalError(f"set {at} of {len(times)} did not arrive")
            at = self.arrivals - start
            self._taken["batch cut"] += at < len(times)
        self.interning.drop_room()
        self.memory.clear(_BATCH)  # what was given is not kept

    def advance(self, now: int) -> None:
        """Move the index time."""
        self.recover()
        self.run(self.algorithm.advance, now)

    # reading

    @property
    def arrivals(self) -> int:
        """How many sets have arrived."""
        return self.state.base + self.state.next

    @property
    def oldest(self) -> int:
        """The arrival number of the oldest valid set, or of the next one if there is none."""
        return self.state.base + self.state.oldest

    @property
    def now(self) -> int:
        """The index time."""
        return self.state.now

    def settle(self) -> int:
        """Bring the stock up to the index time. How many pairs it holds."""
        self.recover()
        return self.algorithm.settle(self)

    @property
    def floor(self) -> float | None:
        """The lowest key that the stock holds; None if there is no floor."""
        threshold = self.state.stock.threshold
        return None if threshold == self.settings.threshold else float(np.nextafter(threshold, np.inf))

    @property
    def vocabulary_size(self) -> int:
        """How many tokens have an id, at most."""
        return self.interning.size

    @property
    def memory_bytes(self) -> int:
        return self.memory.nbytes

    @property
    def counters(self) -> dict[str, int]:
        return {name: getattr(self.state, name) for name in COUNTERS}

    @counters.setter
    def counters(self, values: dict[str, int]) -> None:
        for name in COUNTERS:
            setattr(self.state, name, values[name])

    @property
    def paths(self) -> Counter[str]:
        """How often each rare path was taken."""
        return self._taken + self._taken_by_kernels()

    def _taken_by_kernels(self) -> Counter[str]:
        floor = self.state.floor
        return Counter(
            {
                "stock settled": self.state.stock.settlings,
                "spare stock settled": self.state.spare.settlings,
                "completion begun": floor.completions,
                "completion begun anew": floor.mistakes,
                "spare stock taken over": floor.takeovers,
            }
        )

    def topk(self) -> np.ndarray:
        """The top-k as rows of ``layout.CHANGE``. O(k)."""
        return self.stock(self.settings.k)[0]

    def stock(self, most: int | None = None) -> tuple[np.ndarray, np.ndarray | None]:
        """The first pairs of the stock, or all: rows of ``layout.CHANGE`` and, where copies count once, ``layout.SEEN``."""
        self.recover()
        return self.algorithm.read(self, most)

    @property
    def has_changes(self) -> bool:
        """Whether there are changes that were not forgotten yet."""
        return self.state.feed.end > 0

    def changes(self) -> tuple[int, np.ndarray, np.ndarray | None]:
        """The changes that were not forgotten yet: the number of the first, from 0 on, and rows as of the stock."""
        self.recover()
        feed, memory = self.state.feed, self.memory
        seen = memory["feed.seen"][: feed.end].copy() if self.settings.copies_once else None
        return feed.taken, memory["feed.changes"][: feed.end].copy(), seen

    def forget_changes(self, stop: int) -> None:
        """Forget all changes; ``stop`` is the number of the next one."""
        if stop == self.state.feed.taken:
            return
        is_large = self.memory[self.room.feed[-1]].size > self._thresholds.most_feed
        smaller = {path: self.memory.new(path, self._thresholds.feed) for path in self.room.feed} if is_large else {}
        self.memory.install(smaller, {"feed.end": 0, "feed.taken": stop})

    def _hand_over_feed(self, fresh: Engine) -> None:
        """Let another engine, which has none, have this one's feed."""
        feed = self.state.feed
        fresh.memory.install(
            {path: self.memory[path] for path in self.room.feed},
            {"tracking": self.settings.tracking, "feed.end": feed.end, "feed.taken": feed.taken},
        )

    def tokens_of(self, arrival: int) -> Tokens:
        """The tokens of a valid set."""
        self.recover()
        return self.interning.tokens(self.token_ids_of(arrival - self.state.base))

    def identities(self) -> np.ndarray:
        """The identities of the valid records, in order, where copies count once: one of each record."""
        self.recover()
        names, newest = self._names()
        return np.sort(names.identities[newest == np.arange(self.state.oldest, self.state.next)])

    def names(self) -> Names:
        """What the records of the valid sets are called, where copies count once."""
        self.recover()
        return self._names()[0]

    def times(self) -> np.ndarray:
        """The times of the valid sets."""
        self.recover()
        return self.memory["window.ring"]["time"][self._places()]

    @property
    def first_needed(self) -> int:
        """The smallest arrival number by which a result may still name a set."""
        if self.settings.copies_once and self.state.oldest < self.state.next:
            return int(self.identities()[0])
        return self.oldest

    def newest_of(self, arrival: int) -> int | None:
        """The newest set of the record with an identity, or the set with an arrival number; None if it is not valid."""
        if self.settings.copies_once:
            self.recover()
            entries, ring = self.memory["records.entries"][: self.state.records.count], self.memory["window.record"]
            for record in np.flatnonzero(entries["identity"] == arrival).tolist():
                number = int(entries["number"][record])
                is_valid = self.state.oldest <= number < self.state.next
                if is_valid and ring[number & (ring.size - 1)] == record:  # else it is gone, and its place is free
                    return self.state.base + number
            return None
        return arrival if self.oldest <= arrival < self.arrivals else None

    def token_ids_of(self, number: int) -> np.ndarray:
        """The ids of the tokens of a valid set."""
        ring, arena = self.memory["window.ring"], self.memory["window.arena"]
        at = number & (ring.size - 1)
        start = int(ring["start"][at]) & (arena.size - 1)
        return arena[start : start + int(self.memory["window.size_and_hits"][at])]

    def contents(self) -> Contents:
        """The window."""
        self.recover()
        memory, ring = self.memory, self.memory["window.ring"]
        places = self._places()
        names, newest = None, np.arange(self.state.oldest, self.state.next)
        if self.settings.copies_once:
            names, newest = self._names()
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(memory["window.size_and_hits"][newest & (ring.size - 1)], out=offsets[1:])
        flat = [self.token_ids_of(number) for number in newest.tolist()]
        return Contents(
            self.oldest,
            ring["time"][places],
            memory["window.side"][places] if self.settings.side_count == 2 else np.empty(0, np.int8),
            offsets,
            self.interning.tokens(np.concatenate(flat)) if flat else Tokens(),
            names,
        )

    def _places(self) -> np.ndarray:
        """Where the valid sets are in the ring, oldest first."""
        return np.arange(self.state.oldest, self.state.next) & (self.memory["window.ring"].size - 1)

    def _names(self) -> tuple[Names, np.ndarray]:
        """Of the valid sets' records: what they are called, and the numbers of their newest sets, which have the tokens."""
        memory, places = self.memory, self._places()
        numbers = np.arange(self.state.oldest, self.state.next)
        record = memory["window.record"][places]
        entries, is_known = memory["records.entries"][np.maximum(record, 0)], record >= 0
        identities = np.where(is_known, entries["identity"], self.state.base + numbers)
        first_seen = np.where(is_known, entries["first_seen"], memory["window.ring"]["time"][places])
        return Names(identities, first_seen), np.where(is_known, entries["number"], numbers)

    def restore(self, contents: Contents, now: int) -> None:
        """Begin anew with a given window. What an engine says is a function of it, so letting its sets arrive is enough.

        The new state is complete before it takes the place of the old one.
        """
        fresh = Engine(replace(self.settings, tracking=0), contents.first, self.algorithm)
        fresh._taken.update(self._taken)
        fresh._is_restoring = True
        fresh.insert(contents.times, contents.offsets, contents.tokens, contents.sides, contents.names)
        fresh._is_restoring = False
        fresh.state.now = now
        if self.settings.tracking:
            fresh.settle()  # pending pairs may be in the top-k, and the feed has told of them
            self._hand_over_feed(fresh)
        fresh.settings = self.settings
        fresh.counters = self.counters
        fresh._taken.update(self._taken_by_kernels())
        self.__dict__ = fresh.__dict__

    @contextmanager
    def replaying(self, first: int) -> Iterator[None]:
        """Begin anew with an arrival number. Sets that arrive in this context did so before, so the feed does not tell of them.

        The context ends at the time that they had come to.
        """
        self.restore(Contents(first, *NO_SETS), self.now)
        self.state.tracking, self._is_restoring = 0, True
        yield
        self.settle()  # as in restore
        self.state.tracking, self._is_restoring = int(self.settings.tracking), False

    def warm(self) -> None:
        """Run the kernels that few sets bring about, so that they are compiled."""
        self.room.move_window(self.memory["window.ring"].size, self.memory["window.arena"].size)
        self.interning.recycle(0)
        self.algorithm.rebase(self.memory.words)
        abort_arrival(self.memory.words)

    def shrink(self) -> None:
        """Move to arrays that fit the window as it is now. O(window)."""
        self.settle()  # what was interrupted is in the feed
        self.restore(self.contents(), self.now)


def make_engine(name: str, settings: Settings, first: int = 0) -> Engine:
    """The engine of ``"swoop"`` or of ``"swoop-minimal"``, which does without a floor."""
    return Engine(replace(settings, floor=name == "swoop"), first)
