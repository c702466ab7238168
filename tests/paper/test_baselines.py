"""One contract for all algorithms: the oracle's ordered result after every arrival, whatever the parameters.

Tests of swoop.join.algorithms, swoop.paper.baselines.arrival, swoop.paper.baselines.baseline, swoop.paper.baselines.layout,
swoop.paper.baselines.static.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.errors import InvalidArgument
from swoop.paper.baselines.layout import BASELINES
from swoop.paper.data_sets import generate
from swoop.spec import ALGORITHMS
from tests.support.histories import History, histories, insert
from tests.support.judge import Judge, judge
from tests.support.similarities import USER_DEFINED


@pytest.mark.parametrize("algorithm", list(BASELINES))
@settings(max_examples=60)
@given(history=histories(copies=["each"]), later=st.integers(0, 30))
def test_same_as_the_oracle_after_every_arrival(algorithm: str, history: History, later: int) -> None:
    join, judge = history.join(algorithm=algorithm), Judge(**history.options)
    for record in history.records:
        insert(join, [record])
        judge.add(record)
        assert list(join.topk()) == judge.topk()
    if history.records:
        now = history.records[-1].time + later
        join.advance(now)
        judge.advance(now)
        assert list(join.topk()) == judge.topk()


@pytest.mark.parametrize("algorithm", list(BASELINES))
@settings(max_examples=25)
@given(history=histories(copies=["each"]))
def test_batches_and_saving(algorithm: str, history: History) -> None:
    join = history.join(algorithm=algorithm)
    half = len(history.records) // 2
    insert(join, history.records[:half])
    with tempfile.TemporaryDirectory() as folder:
        join.save(Path(folder) / "join")
        join = swoop.TopKJoin.load(Path(folder) / "join")
    assert join.algorithm == algorithm
    insert(join, history.records[half:])
    expected = judge(history.records, **history.options).topk()
    assert list(join.topk()) == expected
    join._engine.shrink()
    assert list(join.topk()) == expected


@pytest.mark.parametrize("algorithm", list(BASELINES))
@settings(max_examples=25)
@given(history=histories(copies=["each"]), similarity=st.sampled_from(USER_DEFINED))
def test_user_defined_similarities(algorithm: str, history: History, similarity: swoop.Similarity) -> None:
    options = {**history.options, "similarity": similarity, "min_similarity": None}
    join, judge = swoop.TopKJoin(**options, algorithm=algorithm), Judge(**options)
    for record in history.records:
        insert(join, [record])
        judge.add(record)
        assert list(join.topk()) == judge.topk()


@pytest.mark.parametrize("shape", ["tweet", "industry", "dblp"])
def test_all_agree_on_a_longer_stream(shape: str) -> None:
    data_set = generate(shape, 700)
    duration = data_set.window_for(120)
    joins = [swoop.TopKJoin(7, duration, algorithm=algorithm) for algorithm in ALGORITHMS]
    for tokens, time in zip(data_set.sets(), data_set.times.tolist(), strict=True):
        for join in joins:
            join.insert(tokens, time)
        assert all(join.topk() == joins[0].topk() for join in joins[1:])
    sizes = {join.algorithm: join.stats.stock_size for join in joins}
    assert sizes["scase"] == sizes["swoop-minimal"] == sizes["swoop-noindex"] == sizes["swoop-noincrement"]
    assert sizes["static"] == 7 < sizes["swoop-minimal"] < sizes["base"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_does_what_it_is_known_for(name: str) -> None:
    for has, options in (
        (ALGORITHMS[name].has_feed, {"track_changes": True}),
        (ALGORITHMS[name].has_copies, {"copies": "once"}),
    ):
        if has:
            join = swoop.TopKJoin(3, 10, algorithm=name, **options)
            for tokens in ([1, 2], [1, 2], [1, 2, 3]):
                join.insert(tokens, 0)
            assert len(join.topk()) == (1 if "copies" in options else 3)
        else:
            with pytest.raises(InvalidArgument, match=f"algorithm '{name}' has no c"):
                swoop.TopKJoin(3, 10, algorithm=name, **options)


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="algorithm 'scase' has no change feed"):
        swoop.TopKJoin(3, 10, algorithm="scase", track_changes=True)
