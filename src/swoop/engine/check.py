"""Verification of every invariant of an engine, by brute force in plain Python. For tests."""

from __future__ import annotations

from bisect import bisect_left, insort
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from swoop.engine.index import SMALLEST_SEGMENT
from swoop.engine.pair_pool import AllPairsState
from swoop.engine.vocabulary import ID
from swoop.engine.window import HIT
from swoop.similarity import COSINE, DICE, HAMMING, JACCARD, OVERLAP

if TYPE_CHECKING:
    from swoop.engine.engine import Engine


def check(engine: Engine) -> None:
    """Raise AssertionError if anything is not as it should be. O(window squared)."""
    sets = check_sets(engine)
    if isinstance(engine.state, AllPairsState):
        _check_pool(engine, sets)
    else:
        _check_stock(engine, sets)


def check_sets(engine: Engine) -> dict[int, list[int]]:
    """The same without pairs. Returns the token ids of each valid set, none for a copy that counts no more."""
    engine.recover()
    sets = _check_window(engine)
    _check_index(engine, sets)
    _check_records(engine, sets)
    _check_vocabulary(engine, sets)
    return sets


def _check_window(engine: Engine) -> dict[int, list[int]]:
    """Returns the token ids of each valid set."""
    state, memory = engine.state, engine.memory
    ring, size_and_hits = memory["window.ring"], memory["window.size_and_hits"]
    oldest, end = state.oldest, state.next
    assert 0 <= oldest <= end <= oldest + ring.size, "the ring is smaller than the window"
    sets: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    first: dict[int, int] = {}
    for number in range(oldest, end):
        place = number & (ring.size - 1)
        sets[number] = engine.token_ids_of(number).tolist()
        times[number] = int(ring["time"][place])
        assert len(set(sets[number])) == len(sets[number]), "a token is repeated in a set"
        if engine.settings.duration:
            assert times[number] > engine.now - engine.settings.duration, "an expired set is in the window"
            group = first.setdefault(times[number], number)
            assert ring["group"][place] == group, "a group does not begin with the first set of its time"
            assert ring["group_last"][group & (ring.size - 1)] >= number, "a group does not end with the last set of its time"
        else:
            assert ring["group"][place] == 0, "there are groups in a window without end"
        assert times[number] >= times.get(number - 1, times[number]), "times fall"
    assert (size_and_hits < HIT).all(), "counts of a scan are left"
    assert not memory["probe.membership"].any(), "marks of a set are left"
    return sets


def _check_index(engine: Engine, sets: dict[int, list[int]]) -> None:
    state, memory, side_count = engine.state, engine.memory, engine.settings.side_count
    ring = memory["window.ring"]
    oldest = state.oldest
    expected: dict[int, list[int]] = {}
    for number, tokens in sets.items():
        side = int(memory["window.side"][number & (ring.size - 1)])
        for token in tokens:
            expected.setdefault(token * side_count + side, []).append(number)
    used: list[tuple[int, int]] = []
    slots = memory["index.slots"][: state.vocabulary.id_count * side_count].tolist()
    assert len(slots) == state.vocabulary.id_count * side_count, "a token has no list"
    for at, (newest, size, rest, capacity) in enumerate(slots):
        if not capacity and not size:
            assert at not in expected, "a list differs from the window"
            continue
        if capacity:
            used.append((rest, capacity))
            entries = [*memory["index.pool"][rest : rest + size - 1].tolist(), newest]
        else:
            entries = [rest, newest][2 - size :]
        assert entries == sorted(entries), "a list is not in order"
        entries = [number for number in entries if number >= oldest]
        assert len(set(entries)) == len(entries), "a set is twice in a list"
        entries = [number for number in entries if sets[number]]  # copies that count no more may be left
        assert entries == expected.get(at, []), "a list differs from the window"
    for size in range(len(memory["index.free_segments"])):
        start = int(memory["index.free_segments"][size])
        while start >= 0:
            used.append((start, SMALLEST_SEGMENT << size))
            start = int(memory["index.pool"][start])
    used.sort()
    assert all(a + n <= b for (a, n), (b, _) in pairwise(used)), "segments overlap"
    assert sum(n for _, n in used) == state.index.pool_end, "a segment is lost"


def _check_records(engine: Engine, sets: dict[int, list[int]]) -> None:
    """Where copies count once: each valid set has a record, whose newest set has its tokens."""
    if not engine.settings.copies_once:
        return
    memory, mask = engine.memory, engine.memory["window.ring"].size - 1
    copies: dict[int, list[int]] = {}
    for number, tokens in sets.items():
        record = int(memory["window.record"][number & mask])
        assert record >= 0 or not tokens, "a set has no record"
        if record >= 0:
            copies.setdefault(record, []).append(number)
    found = {}
    for record, numbers in copies.items():
        entry = memory["records.entries"][record]
        assert (entry["number"], entry["copies"]) == (numbers[-1], len(numbers)), "the copies of a record are not counted"
        assert [number for number in numbers if sets[number]] == numbers[-1:], "a copy has tokens that its record has"
        found[memory["window.side"][numbers[-1] & mask], frozenset(sets[numbers[-1]])] = record
    assert len(found) == len(copies), "a record is there twice"
    table = memory["records.table"]
    assert sorted((table[table != 0] & (1 << 32) - 1) - 1) == sorted(copies), "the table is not that of the records"
    records = engine.state.records
    places = np.arange(records.free_first, records.free_first + records.free_count)
    free = memory["records.free"][places & (memory["records.free"].size - 1)].tolist()
    assert sorted([*free, *copies]) == list(range(engine.state.records.count)), "a record is lost or given out twice"


def _check_vocabulary(engine: Engine, sets: dict[int, list[int]]) -> None:
    state, memory = engine.state, engine.memory
    tokens, free = state.vocabulary.id_count, memory["vocabulary.free_ids"][: state.vocabulary.free_id_count].tolist()
    table, old_table = memory["vocabulary.table"], memory["vocabulary.old_table"]
    entries = ((table[table != 0] & ID) - 1).tolist()
    assert len(entries) == state.vocabulary.entries, "tokens in the table are not counted"
    migrating = ((old_table[old_table != 0] & ID) - 1).tolist()
    entries += [number for number in migrating if number < state.vocabulary.migration_cursor]
    free += sorted(set(range(state.vocabulary.migration_cursor)) - set(entries))
    assert sorted(entries + free) == list(range(tokens)), "a token id is lost or given out twice"
    held = {token for tokens in sets.values() for token in tokens}
    assert held <= set(entries), "a token of a valid set is not in the vocabulary"
    values = engine.interning.tokens(np.array(sorted(entries), np.int32)).to_list()
    assert len({(type(value), value) for value in values}) == len(values), "a token has two ids"


def _check_stock(engine: Engine, sets: dict[int, list[int]]) -> None:
    """The stock, and the spare one, against the pairs of the window."""
    from swoop.engine.arrival import settle_spare

    everything = _all_pairs(engine, sets)
    size = engine.settle()
    _check_orders(engine, everything, "stock", size)
    assert engine.floor is None or size >= engine.settings.k, "there is a floor, and fewer than k pairs"
    if engine.state.floor.completing:
        covered = [pair for pair in everything if pair[5] >= engine.state.spare.first]
        _check_orders(engine, covered, "spare", settle_spare(engine.memory.words))


def _check_pool(engine: Engine, sets: dict[int, list[int]]) -> None:
    """Each pair is in the list of its older set, and each place of the pool in one list, or free."""
    assert isinstance(engine.state, AllPairsState)
    kept, pool, lists = engine.state.all_pairs, engine.memory["all_pairs.pool"], engine.memory["all_pairs.lists"]
    assert lists.size == engine.memory["window.ring"].size, "there are more or fewer lists than places of sets"
    room = max(kept.most, engine.settings.thresholds.stock)
    assert kept.size <= kept.end <= pool.size <= room, "the pool is too small, or larger than it may be"
    assert kept.size <= kept.most, "there are more pairs than may be"
    used: list[int] = []
    found: list[tuple[int, int, int]] = []
    for older in sets:
        first, last, count = (int(value) for value in lists[older & (lists.size - 1)])
        places = _walk(pool, first, count)
        assert not places or places[-1] == last, "the last pair of a list is not the last"
        newer = [int(pool["newer"][place]) for place in places]
        assert newer == sorted(set(newer), reverse=True), "the newest pair of a list is not the first"
        for each, place in zip(newer, places, strict=True):
            names = sorted((_identity(engine, each), _identity(engine, older)), reverse=True)
            found.append((names[0], names[1], int(pool["overlap"][place])))
        used += places
    assert lists["count"].sum() == len(used) == kept.size, "a set that has left, or is still to come, has pairs"
    used += _walk(pool, kept.free, kept.end - kept.size)
    assert sorted(used) == list(range(kept.end)), "a place of the pool is lost, or in two lists"
    everything = _all_pairs(engine, sets)
    expected = sorted((newer, older, overlap) for _, newer, older, _, overlap, _ in everything)
    assert sorted(found) == expected, "the pairs are not those of the window"
    rows, _ = engine.stock()
    told = [(newer - engine.state.base, older - engine.state.base) for newer, older in rows[["newer", "older"]].tolist()]
    assert told == [(newer, older) for _, newer, older, _, _, _ in everything], "pairs are not in order"


def _walk(pool: np.ndarray, first: int, count: int) -> list[int]:
    """The places of a list."""
    places: list[int] = []
    for _ in range(count):
        places.append(first)
        first = int(pool["next"][first])
    return places


def _check_orders(engine: Engine, everything: list[Any], name: str, size: int) -> None:
    """A stock holds the pairs above its floor that fewer than k others dominate, in both orders, and they are aligned."""
    memory, k = engine.memory, engine.settings.k
    found = [
        (key, remainder, _identity(engine, newer), _identity(engine, older), group, overlap)
        for key, remainder, newer, older, group, overlap in memory[f"{name}.pairs"][:size].tolist()
    ]
    threshold = getattr(engine.state, name).threshold
    expected = _relevant([pair for pair in everything if pair[0] > threshold], k)
    assert [(p[0], *p[2:]) for p in found] == [pair[:5] for pair in expected], (
        f"the {name} is not the minimal stock above its floor"
    )
    order = [(-key, -remainder, -group, newer, older) for key, remainder, newer, older, group, _ in found]
    assert order == sorted(order), "S is not in order"
    ranks = memory[f"{name}.ranks"][:size].tolist()
    ends = memory[f"{name}.ends"][:size].tolist()
    assert sorted(ranks) == list(range(size)), "E does not hold each pair once"
    assert ends == [found[rank][4] for rank in ranks], "E has other ends than its pairs"
    assert [(end, -rank) for end, rank in zip(ends, ranks, strict=True)] == sorted(
        (end, -rank) for end, rank in zip(ends, ranks, strict=True)
    ), "E is not in order"
    assert all(rank <= e + k - 1 for e, rank in enumerate(ranks)), "S and E are not aligned"


def _all_pairs(engine: Engine, sets: dict[int, list[int]]) -> list[Any]:
    """All pairs of the window in the order of S: key, newer, older, group, overlap, and the set with which it ends."""
    settings, memory = engine.settings, engine.memory
    mask = memory["window.ring"].size - 1
    found = []
    members = {number: set(tokens) for number, tokens in sets.items() if tokens}
    sides, groups = memory["window.side"].tolist(), memory["window.ring"]["group"].tolist()
    identities = {number: _identity(engine, number) for number in members}
    numbers = list(members)
    for place, newer in enumerate(numbers):
        for older in numbers[:place]:
            if settings.side_count == 2 and sides[newer & mask] == sides[older & mask]:
                continue
            overlap = len(members[newer] & members[older])
            if overlap == 0:
                continue
            key = key_of(engine, len(members[newer]), len(members[older]), overlap)
            if key > settings.threshold:
                exact = Fraction(overlap**2, len(members[newer]) * len(members[older])) if settings.kind == COSINE else key
                group = groups[older & mask]
                first, last = sorted((identities[newer], identities[older]))
                found.append(((-exact, -group, last, first), (key, last, first, group, overlap, older)))
    return [pair for _, pair in sorted(found)]


def _identity(engine: Engine, number: int) -> int:
    """What comes first in the order of S: the arrival number of a set, or the identity of its record."""
    if not engine.settings.copies_once:
        return number
    memory = engine.memory
    record = memory["window.record"][number & (memory["window.ring"].size - 1)]
    return int(memory["records.entries"]["identity"][record]) - engine.state.base


def key_of(engine: Engine, l: int, m: int, o: int) -> float:
    """The ranking key of two sets, in plain Python."""
    kind = engine.settings.kind
    if kind == JACCARD:
        return o / (l + m - o)
    if kind == COSINE:
        return o * o / (l * m)
    if kind == DICE:
        return 2 * o / (l + m)
    if kind == OVERLAP:
        return float(o)
    if kind == HAMMING:
        return float(2 * o - l - m)
    import ctypes

    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return float(prototype(engine.settings.function)(l, m, o))


def _relevant(pairs: list[Any], k: int) -> list[Any]:
    """The pairs that fewer than k others dominate. ``pairs`` are in the order of S."""
    found: list[Any] = []
    groups: list[int] = []  # of those before, in order
    for pair in pairs:
        if len(groups) - bisect_left(groups, pair[3]) < k:
            found.append(pair)
        insort(groups, pair[3])
    return found
