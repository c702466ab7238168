"""Links of sets: as few as there must be, to older sets that are valid, and in any order the same trees."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from swoop import oracle
from swoop.engine.forest import flatten, unite
from swoop.engine.thresholds import use
from swoop.join import columns as cs
from swoop.join.algorithms import make_family_engine
from swoop.oracle import Record
from swoop.spec import FamilySpec
from tests.support.family_trials import FamilyTrial


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
