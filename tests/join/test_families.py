"""Families are those of brute force, at every moment, whichever way they are run.

Tests of swoop.engine.families, swoop.engine.family_engine, swoop.engine.family_search, swoop.engine.kinship,
swoop.join.arrivals, swoop.join.family_feed.
"""

from __future__ import annotations

import datetime as dt
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
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import swoop
from swoop import oracle
from swoop.engine.family_engine import FamilyEngine
from swoop.engine.thresholds import Thresholds, use
from swoop.errors import InvalidArgument, InvalidTime, InvalidType, NotInWindow
from swoop.oracle import Record
from swoop.results import Family, FamilyChange
from tests.support.family_trials import ORDERS, THRESHOLDS, WAYS, FamilyTrial, insert, judged_members, run, run_interrupted
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


def test_more_than_two_billion_sets() -> None:
    families = swoop.Families(0.5, 10)
    families._engine = FamilyEngine(families._engine.settings, 2**31 - 3)
    for time in range(8):
        families.insert(["win", "a", str(time % 2)], time)
        families._check()
    (found,) = families.families()
    assert (found.id, found.size, found.representative) == (2**31 - 3, 8, 2**31 + 4)
    assert families.members(found) == list(range(2**31 - 3, 2**31 + 5))
