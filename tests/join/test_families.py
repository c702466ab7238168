"""Families are those of brute force, at every moment, whichever way they are run.

Tests of swoop.engine.families, swoop.engine.family_engine, swoop.engine.family_search, swoop.engine.forest,
swoop.engine.kinship, swoop.join.arrivals, swoop.join.family_feed, swoop.join.family_history, swoop.join.family_storage,
swoop.join.links.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import swoop
from swoop import oracle
from swoop.engine.family_engine import FamilyEngine
from swoop.engine.forest import flatten, unite
from swoop.engine.thresholds import Thresholds, use
from swoop.errors import InvalidArgument, InvalidFile, InvalidTime, InvalidType, NotInWindow
from swoop.join import columns as cs
from swoop.join.algorithms import make_family_engine
from swoop.oracle import Record
from swoop.results import Family, FamilyChange
from swoop.spec import FamilySpec
from tests.support.crafted import Members, members_of, put, read, with_column, with_settings, written
from tests.support.family_trials import (
    ORDERS,
    THRESHOLDS,
    WAYS,
    FamilyTrial,
    insert,
    judged_members,
    run,
    run_as_history,
    run_interrupted,
)
from tests.support.faults import Fault, failing_allocations, interrupted_lines
from tests.support.histories import SIMILARITIES, TOKEN_TYPES, limits, records, windows


@settings(max_examples=200)
@given(st.data(), records(False), windows(), st.sampled_from(SIMILARITIES), limits(25))
def test_same_as_brute_force_after_every_arrival(
    data: st.DataObject, stream: list[Record], window: Any, similarity: str, tiny: Any
) -> None:
    """With every invariant of the engine checked after each step."""
    least = data.draw(st.sampled_from(THRESHOLDS.get(similarity, (0.0, 0.2, 1 / 3, 0.5, 0.7, 1.0))))
    options = {"min_similarity": least, "window": window, "similarity": similarity}
    with use(tiny):
        families = swoop.Families(**options)
    feed: list[FamilyChange] = []
    for number, record in enumerate(stream):
        insert(families, [record])
        order: Any = ORDERS[number % 3]
        assert list(families.families(order=order)) == oracle.families(stream[: number + 1], **options, order=order)
        feed.extend(families.changes())
        families._check()
    assert feed == oracle.family_changes(stream, **options)


class AnyActions(RuleBasedStateMachine):
    """Insertions, batches, time, saving and loading in any order, read now and then; brute force is asked for everything."""

    @initialize(data=st.data(), similarity=st.sampled_from(SIMILARITIES), window=windows(), tiny=limits(100))
    def start(self, data: st.DataObject, similarity: str, window: Any, tiny: Any) -> None:
        least = data.draw(st.sampled_from(THRESHOLDS.get(similarity, (0.0, 0.2, 1 / 3, 0.5, 0.7, 1.0))))
        self.options: Any = {"min_similarity": least, "window": window, "similarity": similarity}
        self.limits, self.token_type = tiny, data.draw(TOKEN_TYPES)
        with use(tiny):
            self.families = swoop.Families(**self.options)
        self.records: list[Record] = []
        self.now = 0
        self.feed: list[FamilyChange] = []

    @rule(data=st.data(), size=st.sampled_from([1, 1, 2, 5]))
    def insert(self, data: st.DataObject, size: int) -> None:
        numbers = st.lists(st.integers(0, 7), max_size=5)
        name = data.draw(st.sampled_from([None, "seven", b"seven"]))  # a column has one type
        for _ in range(size):
            self.now += data.draw(st.sampled_from([0, 0, 1, 2, 9]))
            self.records.append(Record(list(map(self.token_type, data.draw(numbers))), self.now, name))
        insert(self.families, self.records[-size:])

    @precondition(lambda self: self.records)
    @rule(step=st.sampled_from([0, 1, 5, 40]))
    def advance(self, step: int) -> None:
        self.now += step
        self.families.advance(self.now)

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder, use(self.limits):
            self.families.save(Path(folder) / "families")
            self.families = swoop.Families.load(Path(folder) / "families")

    @rule()
    def shrink(self) -> None:
        self.families._engine.shrink()

    @rule()
    def read_changes(self) -> None:
        self.feed.extend(self.families.changes())

    @precondition(lambda self: self.records)
    @rule(order=st.sampled_from(ORDERS))
    def look(self, order: Any) -> None:
        found = self.families.families(order=order)
        assert list(found) == oracle.families(self.records, **self.options, now=self.now, order=order)
        members = judged_members(self.records, self.options, self.now)
        assert [self.families.members(family) for family in found] == [members[family.arrival] for family in found]
        self.families._check()

    def teardown(self) -> None:
        if getattr(self, "records", None):
            self.look("size")
            self.read_changes()
            assert self.feed == oracle.family_changes(self.records, **self.options, now=self.now)


TestAnyActions = AnyActions.TestCase
TestAnyActions.pytestmark = [pytest.mark.no_cover]
TestAnyActions.settings = settings(max_examples=40, stateful_step_count=15)


@pytest.mark.no_cover
def test_every_way_gives_every_change() -> None:
    taken: Counter[str] = Counter()
    for seed in range(100):
        trial = FamilyTrial.draw(seed)
        for way in WAYS:
            run(trial, way, taken)
    rare = ("arena grown", "batch cut", "new base", "pool grown", "ring grown", "room for a set grown", "window shrunk")
    assert [path for path in (*rare, "room of another algorithm grown") if not taken[path]] == []


@pytest.mark.no_cover
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_memory_that_runs_out_at_any_allocation(error: type[BaseException]) -> None:
    failed = 0
    for seed in range(4):
        trial = FamilyTrial.draw(seed, 40)
        occasions = Fault(0, error)
        run_interrupted(trial, occasions, failing_allocations)
        failed += sum(run_interrupted(trial, Fault(n, error), failing_allocations) for n in range(1, occasions.seen + 1))
    assert failed > 80


@pytest.mark.no_cover
def test_interrupted_at_any_line() -> None:
    failed = 0
    for seed in range(12):
        trial = FamilyTrial.draw(seed, 30)
        occasions = Fault(0, KeyboardInterrupt)
        run_interrupted(trial, occasions, interrupted_lines)
        for n in random.Random(seed).sample(range(1, occasions.seen + 1), min(40, occasions.seen)):
            failed += run_interrupted(trial, Fault(n, KeyboardInterrupt), interrupted_lines)
    assert failed > 200


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "command", [["soak", "--trials", "15", "--guarded", "--ways", "families"], ["crafted", "--families", "--files", "200"]]
)
def test_no_access_outside_of_an_array(command: list[str]) -> None:
    """In a process whose arrays end where memory ends: streams, and files that somebody has changed."""
    module, *options = command
    done = subprocess.run(
        [sys.executable, "-m", f"tests.support.{module}", *options], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_definition_by_example() -> None:
    """Families merge into the oldest, outlive their first sets, and end with their last."""
    families = swoop.Families(0.5, window=10)
    for time, (name, tokens) in enumerate([("a", "abcd"), ("b", "wxyz"), ("c", "wxy"), ("d", "abc")]):
        families.insert(tokens if isinstance(tokens, list) else list(tokens), time, name)
    assert [family.id for family in families.families()] == ["a", "b"]
    families.insert(list("abwx"), 4, "e")  # half of "abc" and of "wxy" is too little
    assert families.families().to_arrow().column("id").to_pylist() == ["a", "b"]
    families.insert(list("abcwxy"), 5, "f")
    assert list(families.families()) == [Family("a", 6, 6, 0, 5, "f")]
    assert families.members("a") == ["a", "b", "c", "d", "e", "f"]
    families.insert(list("abcwxy"), 14, "g")
    assert list(families.families()) == [Family("a", 2, 7, 0, 14, "g")]
    families.advance(24)
    assert not families.families()
    assert list(families.changes()) == [
        FamilyChange(2, "born", "b", None, 2, 2, 1, "c"),
        FamilyChange(3, "born", "a", None, 2, 2, 0, "d"),
        FamilyChange(5, "merged", "b", "a", 2, 2, 1, "c"),
        FamilyChange(5, "grew", "a", None, 6, 6, 0, "f"),
        FamilyChange(14, "grew", "a", None, 2, 7, 0, "g"),
        FamilyChange(24, "ended", "a", None, 0, 7, 0, "g"),
    ]
    assert not families.changes()


def test_equal_sets_are_linked_whatever_the_threshold() -> None:
    families = swoop.Families(4, None, "overlap")
    families.insert_many({"tokens": [["a"], ["a", "b"], ["a"], [], []]}, time=None)
    assert families.members(0) == [0, 2]
    assert families.stats.families == 1


def test_families_that_end_together_are_in_the_order_of_their_first_sets() -> None:
    families = swoop.Families(1.0, window=10)
    for time, token in enumerate("abcd"):
        families.insert([token], time)
    families.insert_many({"tokens": [["d"], ["b"], ["c"], ["a"]], "time": [5] * 4})
    families.changes()
    families.advance(15)
    assert [(change.time, change.family) for change in families.changes()] == [(15, 0), (15, 1), (15, 2), (15, 3)]


def test_orders() -> None:
    families = swoop.Families(1.0, window=100)
    families.insert_many({"tokens": [["old"]] * 5 + [["new"]] * 2, "time": [0] * 5 + [95] * 2})
    families.insert(["old"], 96)
    assert [family.id for family in families.families(order="size")] == [0, 5]
    assert [family.id for family in families.families(order="newest")] == [0, 5]
    assert [family.id for family in families.families(order="growing")] == [5, 0]
    assert [family.id for family in families.families(1, order="growing")] == [5]


def test_runs_of_one_family_are_not_read() -> None:
    """However many near copies a family has, an arrival reads few of them."""
    rng = np.random.default_rng(1)
    tokens = np.tile(np.arange(30), (4000, 1))
    tokens[np.arange(4000), rng.integers(0, 30, 4000)] = 100 + np.arange(4000)
    families = swoop.Families(0.8, swoop.last(2000))
    families.insert_many({"tokens": list(tokens)}, time=None)
    assert [family.size for family in families.families()] == [2000]
    assert families.stats.pre_candidates < 20 * 4000
    families._check()


def test_what_is_left_of_a_long_list_is_not_read() -> None:
    """All sets of other families are looked at instead: also those without a common token, which are linked with nothing."""
    sets = []
    for number in range(60):
        odd = [*range(1000 + 20 * number, 1012 + 20 * number)] if number % 6 == 5 else ["b", f"new {number}"]
        sets.append(["a", *odd])  # too far from the others, and breaks the run of "a"
    sets[10] = sets[20] = ["x", "y"]
    stream = [Record(tokens) for tokens in sets]
    for limit in (1, 1 << 20):
        with use(Thresholds(long_list=limit)):
            families = swoop.Families(-8, None, "hamming")
        for record in stream:
            insert(families, [record])
        assert list(families.families()) == oracle.families(stream, -8, None, "hamming")
        assert list(families.changes()) == oracle.family_changes(stream, -8, None, "hamming")
        families._check()


def test_frames_and_notebooks() -> None:
    families = swoop.Families(0.5, "1 hour")
    start = dt.datetime(2026, 1, 1)
    for minute, tokens in enumerate(["ab", "ab", "cd", "cd", "abcd"]):
        families.insert(list(tokens), start + dt.timedelta(minutes=minute), f"{minute}<")
    frame = families.families().to_pandas()
    assert frame["id"].tolist() == ["0<"]
    assert frame["first_seen"][0] == start
    assert "0&lt;" in families.families()._repr_html_()
    changes = families.changes()
    assert changes.to_arrow().column("into").to_pylist() == [None, None, "0<", None]
    assert changes.to_polars()["kind"].to_list() == ["born", "born", "merged", "grew"]
    assert "merged" in changes._repr_html_()
    assert families.changes().to_arrow().num_rows == 0
    assert repr(families) == "<Families min_similarity=0.5 window=1:00:00 similarity=jaccard sets=5 in window=5>"


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"min_similarity": 1.5}, InvalidArgument, "from 0 to 1 for jaccard, not 1.5"),
        ({"min_similarity": None}, InvalidType, "min_similarity must be a number"),
        ({"min_similarity": "0.5"}, InvalidType, "min_similarity must be a number"),
        ({"similarity": "hamming"}, InvalidArgument, "must not be above 0 for hamming"),
        ({"similarity": "overlap", "min_similarity": 1e12}, InvalidArgument, "at most 33,554,431 for overlap"),
        ({"window": 0}, InvalidArgument, "longer than 0"),
        ({"similarity": "jacard"}, InvalidArgument, "did you mean 'jaccard'"),
    ],
)
def test_bad_parameters(arguments: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        swoop.Families(**{"min_similarity": 0.5, "window": 10, **arguments})


@pytest.mark.parametrize(
    ("action", "error", "why"),
    [
        (lambda f: f.insert("text", 5), InvalidType, "split it first"),
        (lambda f: f.insert(["a"], 2), InvalidTime, "time goes backwards"),
        (lambda f: f.insert(["a"], 5, id=1.5), InvalidType, "an id is an int"),
        (lambda f: f.insert_many({"tokens": [["a"]], "time": [1]}), InvalidArgument, "time goes backwards"),
        (lambda f: f.families(-1), InvalidArgument, "n must be at least 0"),
        (lambda f: f.families(True), InvalidType, "n must be an integer"),
        (lambda f: f.families(order="largest"), InvalidArgument, "'size', 'newest' or 'growing'"),
        (lambda f: f.members("nobody"), NotInWindow, "there is no family 'nobody'.*, id=\"id\""),
        (lambda f: f.members(2), NotInWindow, "of at least two sets"),
        (lambda f: f.members(1.5), InvalidType, "an id is"),
        (lambda f: f.advance(None), InvalidTime, "needs times"),
        (lambda f: f.__reduce__(), InvalidType, "use save and load"),
    ],
)
def test_a_refused_call_changes_nothing(action: Callable[[Any], Any], error: type[Exception], why: str) -> None:
    families = swoop.Families(0.5, 10)
    for time, tokens in enumerate(["ab", "ab", "c", "abd"]):
        families.insert(list(tokens), time)
    before = list(families.families()), families.stats
    with pytest.raises(error, match=why):
        action(families)
    assert (list(families.families()), families.stats) == before
    assert len(families.changes()) == 2


def test_without_a_feed() -> None:
    families = swoop.Families(0.5, None, track_changes=False)
    families.insert_many({"tokens": [["a"]] * 3}, time=None)
    with pytest.raises(InvalidArgument, match="the change feed is off"):
        families.changes()
    assert [family.size for family in families.families()] == [3]


def test_several_families_with_one_id() -> None:
    families = swoop.Families(1.0, None)
    families.insert_many({"tokens": [["a"], ["b"], ["a"], ["b"]], "id": ["x", "x", "y", "z"]}, time=None, id="id")
    first, second = families.families()
    assert families.members("x") == families.members(first) == ["x", "y"]
    assert families.members(second) == ["x", "z"]


def test_names_of_sets_that_have_left_the_window() -> None:
    """They are kept as long as their families, also when thousands of sets have come since, and through a file."""
    families = swoop.Families(1.0, swoop.last(10))
    for number in range(5000):
        families.insert(["a"] if number % 5 == 0 else [number], id=f"set {number}")
    assert list(families.families()) == [Family("set 0", 2, 1000, 0, 4995, "set 4995")]
    assert len(families._ids._kept) < 20


def test_threads_may_share_them(tmp_path: Path) -> None:
    families = swoop.Families(0.5, swoop.last(500))

    def work(number: int) -> None:
        for step in range(300):
            families.insert([number, number + 1, step % 3], id=f"{number} {step}")
            if step % 50 == 0:
                families.families()
                families.changes()

    threads = [threading.Thread(target=work, args=(10 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert families.stats.sets == 1200
    families._check()


# files


def some_families(**options: Any) -> swoop.Families:
    """Three families, one of which is older than its sets, and a set without tokens."""
    families = swoop.Families(**{"min_similarity": 0.5, "window": 10, **options})
    for time, tokens in enumerate(["ab", "cd", "abc", "cde", "", "x", "abcf", "cdef", "y", "abc", "cde", "y"]):
        families.insert(list(tokens), time, id=f"set {time}")
    return families


def with_families(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("families.arrow", name, values)


def in_window(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("window.arrow", name, values)


def in_changes(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("changes.arrow", name, values)


def without_the_first(members: Members) -> None:
    members["families.arrow"] = written(read(members["families.arrow"]).slice(1))


def test_what_goes_on_elsewhere_goes_on(tmp_path: Path) -> None:
    families = some_families()
    families.save(tmp_path / "families")
    again = swoop.Families.load(tmp_path / "families")
    for here in (families, again):
        here.insert(list("abcdef"), 13, id="bridge")
        here.advance(30)
    assert list(again.changes()) == list(families.changes())
    assert again.stats.sets == families.stats.sets


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_settings(format="swoop join"), "is not a file of saved families"),
        (with_settings(version=4), "reads versions up to 3"),
        (with_settings(version=1), "newest_id_bytes, but should be time"),
        (with_settings(min_similarity=None), "min_similarity in settings.json is None"),
        (with_settings(min_similarity=0.1), "linked sets are of different families"),
        (with_settings(min_similarity=3), "from 0 to 1"),
        (with_settings(track_changes=False), "they are not to be tracked"),
        (with_settings(first=1), "not called after its first set"),
        (without_the_first, "a set is of a family that is not there"),
        (in_window("family", lambda values: [9, *values[1:]]), "a set is of a family that is not there"),
        (in_window("family", lambda values: [-2, *values[1:]]), "a set is of a family that is not there"),
        (in_window("family", lambda values: [-1, *values[1:]]), "a set has tokens and no family"),
        (in_window("family", lambda values: [0 if v < 0 else v for v in values]), "a family and no tokens"),
        (with_families("first", lambda values: [-1, *values[1:]]), "not called after its first set"),
        (with_families("first", lambda values: [11, *values[1:]]), "not called after its first set"),
        (with_families("first", lambda values: [values[1], *values[1:]]), "not called after its first set"),
        (with_families("total", lambda values: [0, *values[1:]]), "fewer sets in total"),
        (with_families("total", lambda values: [2**62, *values[1:]]), "or too many"),
        (with_families("first_seen", lambda values: [v + 7 for v in values]), "not first seen when its first set came"),
        (with_families("first_seen", lambda values: [-(2**63)] * len(values)), "not first seen when its first set came"),
        (with_families("id_string", lambda values: [b"other"] * len(values)), "does not have the id of its first set"),
        (in_changes("kind", lambda values: [4, *values[1:]]), "kind of a change is not from 0 to 3"),
        (in_changes("kind", lambda values: [3, *values[1:]]), "do not lead to the families"),
        (in_changes("family", lambda values: [99, *values[1:]]), "family of a change is not from 0"),
        (in_changes("into", lambda values: [0, *values[1:]]), "that did not has"),
        (in_changes("time", lambda values: values[::-1]), "times of changes fall"),
        (in_changes("family_id_string", lambda values: [None, *values[1:]]), "a family of a change has no id"),
        (in_changes("size", lambda values: [-2, *values[1:]]), "size of a change is not from -1"),
        (in_changes("size", lambda values: [0, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("size", lambda values: [-1, *values[1:]]), "a newest set of a change has no id"),
        (in_changes("total", lambda values: [1, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("total", lambda values: [2**62, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("first_seen", lambda values: [2**62, *values[1:]]), "a first or a newest set that it cannot have"),
        (in_changes("newest", lambda values: [2**62, *values[1:]]), "a first or a newest set that it cannot have"),
        (in_changes("newest_id_string", lambda values: [None, *values[1:]]), "a newest set of a change has no id"),
    ],
)
def test_refused(tmp_path: Path, change: Callable[[Members], None], why: str) -> None:
    members = members_of(some_families())  # type: ignore[arg-type]
    change(members)
    with pytest.raises(InvalidFile, match=why):
        swoop.Families.load(put(tmp_path / "families", members))


def test_a_join_is_not_loaded_as_families(tmp_path: Path) -> None:
    swoop.TopKJoin(1, 10).save(tmp_path / "join")
    with pytest.raises(InvalidFile, match="is not a file of saved families"):
        swoop.Families.load(tmp_path / "join")
    some_families().save(tmp_path / "families")
    with pytest.raises(InvalidFile, match="is not a saved join"):
        swoop.TopKJoin.load(tmp_path / "families")


def test_a_user_defined_similarity_is_given_again(tmp_path: Path) -> None:
    half = swoop.Similarity(lambda r, s, o: o / max(r, s), name="half")
    families = swoop.Families(0.5, None, half)
    families.insert_many({"tokens": [["a", "b"], ["a"], ["b", "c", "d"]]}, time=None)
    families.save(tmp_path / "families")
    with pytest.raises(InvalidFile, match="give it again"):
        swoop.Families.load(tmp_path / "families")
    assert swoop.Families.load(tmp_path / "families", half).members(0) == [0, 1]
    assert json.loads(members_of(families)["settings.json"])["format"] == "swoop families"  # type: ignore[arg-type]


# histories


@pytest.mark.no_cover
def test_a_history_has_the_families_that_a_stream_has() -> None:
    taken: Counter[str] = Counter()
    assert sum(run_as_history(FamilyTrial.draw(seed, 120), taken) for seed in range(100)) > 500
    assert taken["cut"] > 30


def test_a_family_over_many_slices() -> None:
    """One that goes on, one that pauses for as long as it may, one that pauses for too long; whatever the cuts."""
    rows = [(f"on {n}", n, ["on", "and"]) for n in range(0, 1000, 7)]
    rows += [(f"{pause} {n}", n, [str(pause)]) for pause in (29, 30) for n in range(0, 1000, pause)]
    table = dict(zip(("id", "time", "tokens"), map(list, zip(*rows, strict=True)), strict=True))
    for slices in (None, 1, 2, 5, 40, 500):
        found = swoop.families_history(table, 0.5, window=30, slices=slices, threads=2)
        assert list(found) == [Family("29 0", 1, 35, 0, 986, "29 986"), Family("on 0", 5, 143, 0, 994, "on 994")]


@pytest.mark.parametrize("seed", range(30))
def test_links_are_a_forest_of_valid_sets(seed: int) -> None:
    """As many as are needed, each from a new set to an older one that is in the window."""
    trial = FamilyTrial.draw(seed, 120)
    spec = FamilySpec(**trial.options)
    clock = [int(record.time) if spec.window.kind == "integer" else n for n, record in enumerate(trial.records)]  # type: ignore[arg-type]
    with use(trial.limits):
        engine = make_family_engine(spec, links=True)
    parents, count = np.arange(len(clock)), 0
    for number, record in enumerate(trial.records):
        tokens = pa.array([[f"{type(token).__name__} {token}" for token in record.tokens]], pa.list_(pa.string()))
        for _, _, offsets, found in cs.read_sets({"tokens": tokens}, "tokens")[0]:
            engine.insert(np.array([clock[number]]), offsets, found, np.empty(0, np.int8))
        start, newer, older = engine.links()
        assert start == count
        assert newer.tolist() == [number] * len(newer)
        assert all(0 <= other < number and trial.records[other].tokens for other in older.tolist())
        assert not spec.window.duration or all(clock[other] > clock[number] - spec.window.duration for other in older.tolist())
        count += len(newer)
        engine.forget_changes(count)
        unite(parents, newer, older)
        if number == len(clock) // 2:
            engine.shrink()
    flatten(parents)
    assert count == len(clock) - len(np.unique(parents)), "a link was not needed"
    named = [Record(record.tokens, record.time, number) for number, record in enumerate(trial.records)]
    merged = {change.family: change.into for change in oracle.family_changes(named, **trial.options) if change.into is not None}
    for family in oracle.families(named, **trial.options):
        assert family.id not in merged
        assert np.count_nonzero(parents == family.id) == family.total


def test_a_forest_of_links_in_any_order() -> None:
    """The root of each tree is its first set."""
    rng = np.random.default_rng(5)
    for size, links in [(1, 0), (2, 1), (50, 20), (50, 45), (3000, 2000)]:
        newer, older = rng.integers(0, size, (2, links))
        parents, expected = np.arange(size), np.arange(size)
        unite(parents, newer, older)
        flatten(parents)
        for _ in range(size):
            before = expected.copy()
            for one, other in ((newer, older), (older, newer)):
                np.minimum.at(expected, one, expected[other])
            if (before == expected).all():
                break
        assert parents.tolist() == expected.tolist()


def test_rows_of_a_window_of_the_last_sets_have_their_own_times() -> None:
    times = [dt.datetime(2024, 5, day) for day in (1, 2, 9)]
    found = swoop.families_history({"id": [1, 2, 3], "time": times, "tokens": [["a"], ["a"], ["b"]]}, 1.0, swoop.last(2))
    assert found.rows().column("time").to_pylist() == times
    assert list(found) == [Family(1, 1, 2, 0, 1, 2)]  # like Families itself


def test_more_than_two_billion_sets() -> None:
    families = swoop.Families(0.5, 10)
    families._engine = FamilyEngine(families._engine.settings, 2**31 - 3)
    for time in range(8):
        families.insert(["win", "a", str(time % 2)], time)
        families._check()
    (found,) = families.families()
    assert (found.id, found.size, found.representative) == (2**31 - 3, 8, 2**31 + 4)
    assert families.members(found) == list(range(2**31 - 3, 2**31 + 5))


def test_a_history_leaves_out_rows_that_cannot_be_used() -> None:
    rows = {"id": ["a", None, "c"], "time": [1, 2, 3], "text": ["win a phone", "win a phone", "win a phone now"]}
    with pytest.warns(swoop.errors.UnusableRows, match="1 rows are unusable"):
        found = swoop.families_history(rows, 0.5, window=5, tokens=swoop.words("text"))
    assert list(found) == [Family("a", 2, 2, 1, 3, "c")]
    assert not swoop.families_history({"id": [], "time": [], "tokens": []}, 0.5, window=5)
