"""The check of all invariants bites: with any one of them broken, it raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import swoop
from swoop.engine.check import check
from swoop.engine.engine import Engine
from swoop.engine.family_engine import FamilyEngine
from swoop.engine.window import HIT

Break = Callable[[Engine], None]
SIZE = 40  # of the window; more sets than that arrive


def pairs(copies: str = "each", **options: Any) -> Engine:
    """Sets that have much in common, two of each time, at even times; where copies count once, some are."""
    join = swoop.TopKJoin(**{"k": 3, "window": SIZE, "copies": copies, **options})
    for n in range(60):
        join.insert([n % 7, 10 + n % 5, "all", *([f"new {n}"] if copies == "each" or n % 3 == 0 else [])], n // 2 * 2)
    return join._engine


def families() -> FamilyEngine:
    found = swoop.Families(0.3, SIZE)
    for n in range(60):
        found.insert([n % 3, 10 + n % 3, f"new {n}", "all"], n // 2 * 2)
    found._engine.check()
    return found._engine


def place(engine: Engine, number: int) -> int:
    """Of a set of the window in the ring, from the oldest (0) or the newest (-1)."""
    numbers = range(engine.state.oldest, engine.state.next)
    return numbers[number] & (engine.memory["window.ring"].size - 1)


def put(path: str, at: int, value: Any, field: str | None = None) -> Break:
    """Something else is in an array."""

    def break_it(engine: Engine) -> None:
        array = engine.memory[path] if field is None else engine.memory[path][field]
        assert (array[at] != value).any()
        array[at] = value

    return break_it


def add(path: str, at: int | Callable[[Engine], int], more: int, field: str | None = None) -> Break:
    """A number of an array is too large or too small."""

    def break_it(engine: Engine) -> None:
        array = engine.memory[path] if field is None else engine.memory[path][field]
        array[at if isinstance(at, int) else at(engine)] += more

    return break_it


def count(structure: str, name: str, more: int) -> Break:
    """A number of the state is too large or too small."""

    def break_it(engine: Engine) -> None:
        found = getattr(engine.state, structure)
        setattr(found, name, getattr(found, name) + more)

    return break_it


def swap(path: str, one: int, other: int) -> Break:
    def break_it(engine: Engine) -> None:
        array = engine.memory[path]
        array[[one, other]] = array[[other, one]]

    return break_it


def oldest(engine: Engine) -> int:
    return place(engine, 0)


def newest(engine: Engine) -> int:
    return place(engine, -1)


def next_place(engine: Engine) -> int:
    return int(engine.state.next) & (engine.memory["window.ring"].size - 1)


def repeat_a_token(engine: Engine) -> None:
    ring, arena = engine.memory["window.ring"], engine.memory["window.arena"]
    start = int(ring["start"][newest(engine)]) & (arena.size - 1)
    arena[start] = arena[start + 1]


def let_times_fall(engine: Engine) -> None:
    """The newest two sets come before those before them, at a time that no others have."""
    for number in (-2, -1):
        engine.memory["window.ring"]["time"][place(engine, number)] -= 3


def of_long_list(engine: Engine) -> tuple[Any, int]:
    """The list of the token that all sets have: its slot, and the number of it."""
    slots = engine.memory["index.slots"][: engine.state.vocabulary.id_count]
    at = int(np.argmax(slots["size"] * (slots["capacity"] > 0)))
    return slots[at], at


def disorder_a_list(engine: Engine) -> None:
    slot, _ = of_long_list(engine)
    pool, last = engine.memory["index.pool"], int(slot["rest"] + slot["size"] - 2)
    pool[[last - 1, last]] = pool[[last, last - 1]]


def drop_from_a_list(engine: Engine) -> None:
    """The newest of a list is gone."""
    slot, at = of_long_list(engine)
    pool, slots = engine.memory["index.pool"], engine.memory["index.slots"]
    slots["newest"][at] = pool[int(slot["rest"] + slot["size"] - 2)]
    slots["size"][at] -= 1


def repeat_in_a_list(engine: Engine) -> None:
    slot, _ = of_long_list(engine)
    engine.memory["index.pool"][int(slot["rest"] + slot["size"] - 2)] = slot["newest"]


def free_what_is_used(engine: Engine) -> None:
    """A segment is free that a list has."""
    slot, _ = of_long_list(engine)
    engine.memory["index.free_segments"][0] = slot["rest"]
    engine.memory["index.pool"][int(slot["rest"])] = -1


def forget_lists(engine: Engine) -> None:
    engine.memory.replace("index.slots", engine.memory["index.slots"][:5].copy())


def give_an_id_twice(engine: Engine) -> None:
    """An id that a token has is free, too."""
    vocabulary = engine.state.vocabulary
    engine.memory.resize(("vocabulary.free_ids",), vocabulary.free_id_count + 1)
    engine.memory["vocabulary.free_ids"][vocabulary.free_id_count] = engine.token_ids_of(engine.state.next - 1)[0]
    vocabulary.free_id_count += 1


def give_two_ids(engine: Engine) -> None:
    """Two ids have the same key."""
    keys, known = engine.memory["vocabulary.token_key"], engine.memory["vocabulary.token_text"]
    integers = [number for number in range(10) if not known.size or known[number] == 0]
    keys[integers[0]] = keys[integers[1]]


def forget_a_pair(engine: Engine) -> None:
    engine.settle()
    engine.state.stock.size -= 1


def settled(break_it: Break) -> Break:
    def settle_and_break(engine: Engine) -> None:
        engine.settle()
        break_it(engine)

    return settle_and_break


def raise_a_remainder(engine: Engine) -> None:
    """A pair comes in the wrong order where keys are equal."""
    size = engine.settle()
    found = engine.memory["stock.pairs"][:size]
    equal = int(np.flatnonzero(found["key"][1:] == found["key"][:-1])[0])
    found["remainder"][equal + 1] += 1


def swap_ends(engine: Engine) -> None:
    """Two pairs of E that end at different times change places."""
    size = engine.settle()
    ends, ranks = engine.memory["stock.ends"], engine.memory["stock.ranks"]
    assert ends[0] < ends[size - 1]
    for array in (ends, ranks):
        array[[0, size - 1]] = array[[size - 1, 0]]


def begin_to_complete(engine: Engine) -> None:
    """A spare stock is being filled that should know the pairs of all sets, and has none."""
    engine.state.floor.completing, engine.state.spare.first, engine.state.spare.size = 1, 0, 0
    engine.state.spare.pending_size, engine.state.spare.threshold = 0, 0.0


def in_record(name: str, more: int) -> Break:
    """A number of the record of the newest set is another."""
    return add("records.entries", lambda engine: int(engine.memory["window.record"][newest(engine)]), more, name)


def revive_a_copy(engine: Engine) -> None:
    """A copy that counts no more has tokens again."""
    record, sizes = engine.memory["window.record"], engine.memory["window.size_and_hits"]
    numbers = range(engine.state.oldest, engine.state.next)
    copy = next(number for number in numbers if not sizes[number & (record.size - 1)])
    sizes[copy & (record.size - 1)] = sizes[newest(engine)]


def clear_the_table(engine: Engine) -> None:
    table = engine.memory["records.table"]
    table[np.flatnonzero(table)[0]] = 0


def in_pool(name: str, more: int) -> Break:
    """A number of a pair of the pool is another: of the first of the set that has the most."""

    def first(engine: Engine) -> int:
        lists = engine.memory["all_pairs.lists"]
        return int(lists["first"][np.argmax(lists["count"])])

    return add("all_pairs.pool", first, more, name)


def most_pairs(engine: Engine) -> int:
    """The place of the set that has the most pairs."""
    return int(np.argmax(engine.memory["all_pairs.lists"]["count"]))


def in_family(name: str, more: int) -> Break:
    """A number of the family of the newest set is another."""
    return add("kinship.entries", lambda engine: int(engine.memory["kinship.family"][newest(engine)]), more, name)


def make_families_namesakes(engine: Engine) -> None:
    entries, family = engine.memory["kinship.entries"], engine.memory["kinship.family"]
    one, other = family[newest(engine)], next(n for n in family[family >= 0] if n != family[newest(engine)])
    entries["first"][[one, other]] = min(entries["first"][[one, other]])


def begin_runs_sooner(engine: Engine) -> None:
    engine.memory["kinship.runs"][:] = 0


def lower_the_threshold(engine: Engine) -> None:
    """Families should have been linked by less."""
    engine.settings = replace(engine.settings, threshold=0.0)


WINDOW: list[tuple[Break, str]] = [
    (lambda engine: setattr(engine.state, "oldest", -1), "the ring is smaller than the window"),
    (repeat_a_token, "a token is repeated in a set"),
    (add("window.ring", oldest, -SIZE, "time"), "an expired set is in the window"),
    (add("window.ring", newest, 1, "group"), "a group does not begin with the first set of its time"),
    (add("window.ring", oldest, -1, "group_last"), "a group does not end with the last set of its time"),
    (let_times_fall, "times fall"),
    (add("window.size_and_hits", next_place, HIT), "counts of a scan are left"),
    (put("probe.membership", 0, 1), "marks of a set are left"),
    (forget_lists, "a token has no list"),
    (disorder_a_list, "a list is not in order"),
    (drop_from_a_list, "a list differs from the window"),
    (repeat_in_a_list, "a set is twice in a list"),
    (free_what_is_used, "segments overlap"),
    (count("index", "pool_end", 1), "a segment is lost"),
    (count("vocabulary", "entries", 1), "tokens in the table are not counted"),
    (give_an_id_twice, "a token id is lost or given out twice"),
    (give_two_ids, "a token has two ids"),
]
STOCK: list[tuple[Break, str]] = [
    (forget_a_pair, "the stock is not the minimal stock above its floor"),
    (settled(swap("stock.pairs", 0, 1)), "the stock is not the minimal stock above its floor"),
    (raise_a_remainder, "S is not in order"),
    (settled(lambda engine: engine.memory["stock.ranks"].__setitem__(0, engine.memory["stock.ranks"][1])), "E does not hold"),
    (settled(add("stock.ends", 0, 1)), "E has other ends than its pairs"),
    (swap_ends, "E is not in order"),
    (begin_to_complete, "the spare is not the minimal stock above its floor"),
]
RECORDS: list[tuple[Break, str]] = [
    (in_record("copies", 1), "the copies of a record are not counted"),
    (in_record("number", -1), "the copies of a record are not counted"),
    (put("window.record", slice(None), -1), "a set has no record"),
    (revive_a_copy, "a copy has tokens that its record has"),
    (clear_the_table, "the table is not that of the records"),
    (count("records", "count", 1), "a record is lost or given out twice"),
]
POOL: list[tuple[Break, str]] = [
    (count("all_pairs", "most", -(2**40)), "the pool is too small, or larger than it may be"),
    (count("all_pairs", "size", 1), "has pairs|the pool is too small"),
    (in_pool("overlap", 1), "the pairs are not those of the window"),
    (in_pool("newer", -100), "the newest pair of a list is not the first"),
    (add("all_pairs.lists", most_pairs, 1, "last"), "the last pair of a list is not the last"),
    (add("all_pairs.lists", next_place, 1, "count"), "a set that has left, or is still to come, has pairs"),
    (count("all_pairs", "end", 1), "a place of the pool is lost, or in two lists|the pool is too small"),
]
FAMILIES: list[tuple[Break, str]] = [
    (in_family("size", 1), "sets of a family are not counted"),
    (in_family("newest", -1), "sets of a family are not counted"),
    (in_family("total", -100), "a family has more valid sets than sets"),
    (in_family("first", 100), "the first set of a family is not the first one"),
    (add("kinship.before", newest, 1), "a circle is not one"),
    (add("kinship.family", newest, -100), "a set is in no family"),
    (make_families_namesakes, "two families have the same first set"),
    (count("kinship", "count", 1), "a family is lost or given out twice"),
    (begin_runs_sooner, "a run is of several families"),
    (lower_the_threshold, "linked sets are of different families"),
]


def raises(engine: Engine, check_it: Callable[[], None], break_it: Break, why: str) -> None:
    check_it()
    break_it(engine)
    with pytest.raises(AssertionError, match=why):
        check_it()


@pytest.mark.parametrize(("break_it", "why"), [*WINDOW, *STOCK])
def test_pairs(break_it: Break, why: str) -> None:
    engine = pairs()
    raises(engine, lambda: check(engine), break_it, why)


@pytest.mark.parametrize(("break_it", "why"), RECORDS)
def test_records(break_it: Break, why: str) -> None:
    engine = pairs("once")
    raises(engine, lambda: check(engine), break_it, why)


@pytest.mark.parametrize(("break_it", "why"), POOL)
def test_all_pairs(break_it: Break, why: str) -> None:
    engine = pairs(k=None, min_similarity=0.1)
    raises(engine, lambda: check(engine), break_it, why)


@pytest.mark.parametrize(("break_it", "why"), FAMILIES)
def test_families(break_it: Break, why: str) -> None:
    engine = families()
    raises(engine, engine.check, break_it, why)
