"""The engine of families as Python sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from swoop.engine.algorithm import Algorithm
from swoop.engine.check import check_sets, key_of
from swoop.engine.contents import Contents
from swoop.engine.engine import NO_SETS, Engine
from swoop.engine.families import advance, insert_sets, rebase
from swoop.engine.family_search import LONG
from swoop.engine.kinship import FAMILY, FamilyState
from swoop.engine.memory import Memory
from swoop.engine.settings import Settings
from swoop.errors import InvalidData

NO_FAMILIES = np.zeros(0, FAMILY)

_BY_FAMILY = ("kinship.entries", "kinship.free", "kinship.turn_found", "kinship.found")
_BY_SET = ("kinship.family", "kinship.before", "kinship.after")


@dataclass(frozen=True)
class Known:
    """The families of a window: rows of ``FAMILY``, and the place of its family among them for each valid set.

    That is -1 for a set without tokens. Sizes and newest sets follow from it.
    """

    families: np.ndarray
    members: np.ndarray


def _start(memory: Memory) -> None:
    sets = memory["window.ring"].size
    memory.resize((*_BY_FAMILY, *_BY_SET), sets)
    memory.resize(("kinship.runs",), memory["index.slots"].size)


def _grow(memory: Memory, path: str) -> None:
    memory.resize(("kinship.runs",), memory["index.slots"].size)


def _settle(engine: Engine) -> int:
    return 0


FAMILIES = Algorithm(
    insert_sets,
    _settle,
    advance,
    rebase,
    layout=FamilyState,
    start=_start,
    with_ring=_BY_SET,
    as_ring=_BY_FAMILY,
    feed=("kinship.changes",),
    grow=_grow,
)


class FamilyEngine(Engine):
    """Families of integers and arrays. ``settings`` say from which key on sets are linked, and whether there is a feed."""

    state: FamilyState

    def __init__(self, settings: Settings, first: int = 0) -> None:
        super().__init__(replace(settings, k=1, floor=False, copies_once=True), first, FAMILIES)

    # reading

    def families(self) -> tuple[np.ndarray, np.ndarray]:
        """The families of at least two sets: their numbers, and rows of ``FAMILY``; ``newest`` is counted from the base."""
        rows = self.entries()
        numbers = np.flatnonzero((rows["size"] > 0) & (rows["total"] > 1))
        return numbers, rows[numbers]

    def entries(self) -> np.ndarray:
        """Rows of ``FAMILY`` by the numbers of families; of those that are gone, what they were."""
        self.recover()
        return self.memory["kinship.entries"][: self.state.kinship.count].copy()

    def firsts(self) -> np.ndarray:
        """The arrival numbers of the first sets of families that are not valid any more, in order."""
        rows = self.entries()
        return np.sort(rows["first"][(rows["size"] > 0) & (rows["first"] < self.oldest)])

    def members(self) -> np.ndarray:
        """The numbers of the families of the valid sets; -1: a set has no tokens."""
        self.recover()
        return self.memory["kinship.family"][self._places()]

    # the feed

    def family_changes(self) -> tuple[int, np.ndarray]:
        """The changes that were not forgotten yet: the number of the first, from 0 on, and rows of ``FAMILY_CHANGE``."""
        self.recover()
        feed = self.state.feed
        return feed.taken, self.memory["kinship.changes"][: feed.end].copy()

    def links(self) -> tuple[int, np.ndarray, np.ndarray]:
        """With ``LINKS``, those that were not forgotten yet: the number of the first, and the newer and the older sets."""
        first, rows = self.family_changes()
        return first, np.ascontiguousarray(rows["family"]), np.ascontiguousarray(rows["into"])

    # restoring

    def known(self) -> Known:
        """The families of the window."""
        rows, members = self.entries(), self.members()
        is_there = rows["size"] > 0
        places = np.where(is_there, np.cumsum(is_there) - 1, -1)
        return Known(rows[is_there], np.where(members >= 0, places[np.maximum(members, 0)], -1) if len(rows) else members)

    def restore_families(self, contents: Contents, known: Known, now: int, *, is_verified: bool = False) -> None:
        """Begin anew with a given window and its families. Raises InvalidData if they are to be verified and are wrong."""
        fresh = FamilyEngine(replace(self.settings, tracking=0), contents.first)
        fresh._taken.update(self._taken)
        fresh._begin_given(known.families, len(known.members), is_verified)
        fresh.give(known.members)
        fresh.insert(contents.times, contents.offsets, contents.tokens, contents.sides)
        fresh._end_given(len(known.families))
        fresh.state.now = now
        self._hand_over_feed(fresh)
        fresh.settings = self.settings
        fresh.counters = self.counters
        self.__dict__ = fresh.__dict__

    def _begin_given(self, families: np.ndarray, sets: int, is_verified: bool) -> None:
        """Begin with families, for so many sets, which are given to them as they arrive."""
        count = len(families)
        self.memory.resize(_BY_FAMILY, max(count, sets))  # each may have a family of its own, in a ring that is still small
        entries = self.memory["kinship.entries"]
        for field in ("first", "first_seen", "total"):
            entries[field][:count] = families[field]
        self.memory.install({}, {"kinship.count": count, "kinship.is_verified": is_verified})
        self._is_restoring = True

    def give(self, members: np.ndarray) -> None:
        """The families of the sets that arrive next, as places among those that were begun with; -1: none of several sets."""
        self.memory.install({"kinship.given": np.ascontiguousarray(members, np.int32)})

    def _end_given(self, count: int) -> None:
        """All sets have arrived, and each of so many families has some of them."""
        self._is_restoring = False
        if self.state.kinship.mistakes or (self.memory["kinship.entries"]["size"][:count] == 0).any():
            raise InvalidData(
                "the families are not those of the sets: linked sets are of different families, or one has no set"
            )
        self.memory.clear(("kinship.given",))

    @contextmanager
    def replaying(self, first: int, families: np.ndarray = NO_FAMILIES, sets: int = 0) -> Iterator[None]:
        """The same with families, for so many sets, which must be given to them, and be linked with no others."""
        self.restore_families(Contents(first, *NO_SETS), Known(NO_FAMILIES, np.empty(0, np.int32)), self.now)
        self.state.tracking = 0
        self._begin_given(families, sets, is_verified=True)
        yield
        self._end_given(len(families))
        self.memory.install({}, {"tracking": int(self.settings.tracking), "kinship.is_verified": 0})

    def shrink(self) -> None:
        self.recover()
        self.restore_families(self.contents(), self.known(), self.now)

    def warm(self) -> None:
        self.room.move_window(self.memory["window.ring"].size, self.memory["window.arena"].size)
        self.interning.recycle(0)
        rebase(self.memory.words)

    def _taken_by_kernels(self) -> Counter[str]:
        return Counter()

    # invariants

    def check(self) -> None:
        """Raise AssertionError if anything is not as it should be. For tests."""
        sets = check_sets(self)
        _check_circles(self, sets)
        _check_runs(self, sets)
        _check_links(self, sets)


def _check_circles(engine: FamilyEngine, sets: dict[int, list[int]]) -> None:
    """Each family has its sets in a circle; numbers are given out once; links are within families."""
    memory, state, mask = engine.memory, engine.state, engine.memory["window.ring"].size - 1
    kinship = state.kinship
    record = memory["window.record"]
    members: dict[int, set[int]] = {}
    for number in sets:
        family = int(memory["kinship.family"][number & mask])
        assert (family < 0) == (record[number & mask] < 0), "a set is in no family"
        if family >= 0:
            members.setdefault(family, set()).add(number)
    firsts = set()
    for family, numbers in members.items():
        entry = memory["kinship.entries"][family]
        assert (entry["size"], entry["newest"]) == (len(numbers), max(numbers)), "sets of a family are not counted"
        assert entry["total"] >= len(numbers), "a family has more valid sets than sets"
        assert entry["first"] <= state.base + min(numbers), "the first set of a family is not the first one"
        firsts.add(int(entry["first"]))
        start = number = int(entry["newest"])
        circle = set()
        while True:
            circle.add(number)
            after = int(memory["kinship.after"][number & mask])
            assert memory["kinship.before"][after & mask] == number, "a circle is not one"
            number = after
            if number == start:
                break
        assert circle == numbers, "the circle of a family is not that of its sets"
    assert len(firsts) == len(members), "two families have the same first set"
    free = memory["kinship.free"][: kinship.free_count].tolist()
    assert sorted([*free, *members]) == list(range(kinship.count)), "a family is lost or given out twice"
    assert not any(memory["kinship.entries"]["size"][free]), "a family without sets has a size"
    by_record: dict[int, int] = {}
    for number in sets:
        if record[number & mask] >= 0:
            family = int(memory["kinship.family"][number & mask])
            assert by_record.setdefault(int(record[number & mask]), family) == family, "copies are of different families"


def _check_runs(engine: FamilyEngine, sets: dict[int, list[int]]) -> None:
    """From its run on, a long list has sets of one family only."""
    memory, mask, oldest = engine.memory, engine.memory["window.ring"].size - 1, engine.state.oldest
    known = min(engine.state.vocabulary.id_count, memory["kinship.runs"].size)
    for at, (newest, size, rest, capacity) in enumerate(memory["index.slots"][:known].tolist()):
        if not capacity or size < LONG or newest < oldest:
            continue
        entries = [*memory["index.pool"][rest : rest + size - 1].tolist(), newest]
        run = [number for number in entries if number >= max(oldest, int(memory["kinship.runs"][at]))]
        assert len({int(memory["kinship.family"][number & mask]) for number in run}) <= 1, "a run is of several families"


def _check_links(engine: FamilyEngine, sets: dict[int, list[int]]) -> None:
    """Valid sets of different families are not linked."""
    memory, mask = engine.memory, engine.memory["window.ring"].size - 1
    family = memory["kinship.family"].tolist()
    members = [(family[number & mask], set(tokens)) for number, tokens in sets.items() if tokens]
    for place, (one, tokens) in enumerate(members):
        for other, others in members[:place]:
            if one != other and (overlap := len(tokens & others)):
                key = key_of(engine, len(tokens), len(others), overlap)
                assert key <= engine.settings.threshold, "linked sets are of different families"
