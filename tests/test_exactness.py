"""The judge: every way to run gives the ordered result of brute force, at every moment.

Tests of swoop.engine.algorithm, swoop.engine.arrival, swoop.engine.candidates, swoop.engine.check, swoop.engine.engine,
swoop.engine.feed, swoop.engine.index, swoop.engine.room, swoop.engine.settings, swoop.engine.sorting, swoop.engine.stock,
swoop.engine.window, swoop.join.topk_join.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import swoop
from swoop import oracle
from swoop.engine.thresholds import use
from swoop.oracle import Record
from tests.support.histories import (
    SIMILARITIES,
    TOKEN_TYPES,
    History,
    arrivals,
    histories,
    insert,
    limits,
    reachable,
    replay,
    thresholds,
    windows,
)
from tests.support.judge import Judge


@settings(max_examples=250)
@given(histories() | histories(all_pairs=True))
def test_same_as_brute_force_after_every_arrival(history: History) -> None:
    """With every invariant of the engine checked after each step."""
    join, judge = history.join(), Judge(**history.options)
    for record in history.records:
        insert(join, [record])
        judge.add(record)
        assert list(join.topk()) == judge.topk()
        join._check()


@settings(max_examples=200)
@given(histories() | histories(all_pairs=True), st.integers(0, 50))
def test_batches_and_reads_at_any_moment(history: History, later: int) -> None:
    """Looked at only now and then, so that pairs wait to be settled, and expire while they wait."""
    join, judge = history.join(), Judge(**history.options)
    arrived = 0
    for number, step in enumerate(history.steps):
        part = history.records[arrived : arrived + step]
        if part:
            insert(join, part)
            judge.add_all(part)
        arrived += len(part)
        if number % 3 == 2:
            assert list(join.topk()) == judge.topk()
            join._check()
    if history.records and not isinstance(history.options["window"], swoop.times.WindowSpec):
        now = history.records[-1].time + later
        join.advance(now)
        judge.advance(now)
        assert list(join.topk()) == judge.topk()
        join._check()


@settings(max_examples=200)
@given(histories() | histories(all_pairs=True), st.integers(0, 50))
def test_change_feed(history: History, later: int) -> None:
    """Equal to brute force, change by change; and replayed from nothing it yields the top-k at every moment."""
    join, judge = history.join(track_changes=True), Judge(**history.options)
    feed: list[Any] = []
    arrived = 0
    for step in history.steps:
        part = history.records[arrived : arrived + step]
        if not part:
            break
        insert(join, part)
        judge.add_all(part)
        arrived += len(part)
        feed.extend(join.changes())
        assert feed == judge.changes
        assert replay(feed) == arrivals(join.topk())
        join._check()
    if history.records and not isinstance(history.options["window"], swoop.times.WindowSpec):
        now = history.records[-1].time + later
        join.advance(now)
        judge.advance(now)
        feed.extend(join.changes())
        assert feed == judge.changes
        assert replay(feed) == arrivals(join.topk())


@settings(max_examples=200)
@given(histories())
def test_stock_is_the_minimal_stock(history: History) -> None:
    join = history.join(algorithm="swoop-minimal")
    for record in history.records:
        insert(join, [record])
    assert join.stats.stock_size == len(oracle.stock(history.records, **history.options))


class AnyActions(RuleBasedStateMachine):
    """Insertions, batches, time, saving and loading in any order; the judge is asked after each."""

    @initialize(
        data=st.data(),
        similarity=st.sampled_from(SIMILARITIES),
        two_streams=st.booleans(),
        k=st.sampled_from([1, 2, 4, 50, None]),
        copies=st.sampled_from(["each", "once"]),
    )
    def start(self, data: st.DataObject, similarity: str, two_streams: bool, k: int | None, copies: Any) -> None:
        self.options = {
            "k": k,
            "window": data.draw(windows()),
            "similarity": similarity,
            "two_streams": two_streams,
            "min_similarity": data.draw(reachable(similarity) if k is None else thresholds(similarity)),
            "copies": copies,
        }
        algorithm = "swoop" if k is None else data.draw(st.sampled_from(["swoop", "swoop", "swoop-minimal"]))
        self.limits = data.draw(limits(200))
        with use(self.limits):
            self.join = swoop.TopKJoin(**self.options, track_changes=True, algorithm=algorithm)
        self.judge = Judge(**self.options)
        self.token_type = data.draw(TOKEN_TYPES)
        self.records: list[Record] = []
        self.now = 0
        self.feed: list[Any] = []

    def record(self, data: st.DataObject) -> Record:
        tokens = data.draw(st.lists(st.integers(0, 7).map(self.token_type), max_size=6))
        self.now += data.draw(st.sampled_from([0, 0, 1, 2, 9]))
        stream = data.draw(st.sampled_from(["left", "right"])) if self.join.two_streams else None
        identifier = data.draw(st.none() | st.sampled_from([7, "seven", b"seven"]))
        return Record(tokens, self.now, identifier, stream)

    @rule(data=st.data())
    def insert_one(self, data: st.DataObject) -> None:
        self.records.append(self.record(data))
        insert(self.join, self.records[-1:])
        self.judge.add(self.records[-1])
        self.compare()

    @rule(data=st.data(), size=st.integers(2, 6))
    def insert_batch(self, data: st.DataObject, size: int) -> None:
        part = [self.record(data) for _ in range(size)]
        kinds = {type(record.id) for record in part} - {type(None)}
        if len(kinds) > 1:  # a column has one type
            part = [Record(record.tokens, record.time, None, record.stream) for record in part]
        self.records += part
        insert(self.join, part)
        self.judge.add_all(part)
        self.compare()

    @precondition(lambda self: self.records)
    @rule(step=st.sampled_from([0, 1, 5, 40]))
    def advance(self, step: int) -> None:
        self.now += step
        self.join.advance(self.now)
        self.judge.advance(self.now)
        self.compare()

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "join"
            self.join.save(path)
            before = self.join.stats
            with use(self.limits):
                self.join = swoop.TopKJoin.load(path)
        after = self.join.stats
        assert (before.sets, before.window_size, before.pre_candidates) == (after.sets, after.window_size, after.pre_candidates)
        if self.join.algorithm == "swoop-minimal":  # a floor, and the stock above it, depend on what was before the window
            assert before.stock_size == after.stock_size
        self.compare()

    @rule()
    def shrink(self) -> None:
        self.join._engine.shrink()
        self.compare()

    def compare(self) -> None:
        assert list(self.join.topk()) == self.judge.topk()
        self.feed.extend(self.join.changes())
        assert self.feed == self.judge.changes
        self.join._check()


TestAnyActions = AnyActions.TestCase
TestAnyActions.pytestmark = [pytest.mark.no_cover]  # the properties show coverage as much, in less time
TestAnyActions.settings = settings(max_examples=60, stateful_step_count=15)
