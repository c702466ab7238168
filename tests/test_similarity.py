"""Built-in and user-defined similarities."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop import oracle
from swoop.errors import IllBehavedSimilarity, InvalidArgument, InvalidType
from swoop.similarity import BUILT_IN
from tests.support.histories import History, histories, insert
from tests.support.judge import Judge
from tests.support.similarities import USER_DEFINED


@pytest.mark.parametrize("similarity", USER_DEFINED)
@settings(max_examples=100)
@given(history=histories())
def test_user_defined_similarities_are_exact(similarity: swoop.Similarity, history: History) -> None:
    options = {**history.options, "similarity": similarity, "min_similarity": None}
    join, judge = swoop.TopKJoin(**options, track_changes=True), Judge(**options)
    for record in history.records:
        insert(join, [record])
        judge.add(record)
        assert list(join.topk()) == judge.topk()
        join._check()
    assert list(join.changes()) == judge.changes


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda r, s, o: o / r, r"must be symmetric, but f\(1, 2, 1\) = 1.0 and f\(2, 1, 1\) = 0.5"),
        (lambda r, s, o: 1.0 + o, r"must be 0 for sets without a common token, but f\(1, 1, 0\) = 1.0"),
        (lambda r, s, o: -1.0 * o, r"must not fall with a growing overlap, but f\(1, 1, 0\) = -?0.0 and f\(1, 1, 1\) = -1.0"),
        (lambda r, s, o: o * (r + s), r"must not rise with the other set's size, but f\(1, 1, 1\) = 2.0 and f\(1, 2, 1\)"),
        (lambda r, s, o: o / (r * s) ** 2, r"must not fall when a subset grows, but f\(2, 1, 1\) = 0.25 and f\(2, 2, 2\)"),
        (lambda r, s, o: o / (o - o), "must be finite"),
    ],
)
def test_ill_behaved_functions_are_refused_with_the_place(function: Any, message: str) -> None:
    with pytest.raises(IllBehavedSimilarity, match=message):
        swoop.Similarity(function)


def test_functions_that_cannot_be_compiled() -> None:
    with pytest.raises(InvalidArgument, match="similarity 'strange' cannot be compiled; use only arithmetic"):
        swoop.Similarity(lambda r, s, o: {"a": o}["a"] + str(r), name="strange")
    with pytest.raises(InvalidType, match="a similarity is made from a function"):
        swoop.Similarity(3)  # type: ignore[arg-type]


def test_names() -> None:
    assert repr(USER_DEFINED[0]) == "<similarity 'tversky'>"
    assert {name: round(s(4, 9, 3), 3) for name, s in BUILT_IN.items()} == {
        "jaccard": 0.3,
        "cosine": 0.5,
        "dice": 0.462,
        "overlap": 3.0,
        "hamming": -7.0,
    }
    assert BUILT_IN["jaccard"].address == 0


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_a_threshold_is_inclusive(name: str) -> None:
    """A pair whose similarity is shown as the threshold counts, for every shape."""
    similarity = BUILT_IN[name]
    for r in range(1, 12):
        for s in range(1, 12):
            for o in range(1, min(r, s) + 1):
                shown = similarity(r, s, o)
                key = shown if name != "cosine" else o * o / (r * s)
                below = similarity.largest_key_below(shown)
                assert below < key
                assert similarity.shown(math.nextafter(below, math.inf)) >= shown
    assert BUILT_IN["cosine"].largest_key_below(0.0) == -math.inf


@pytest.mark.parametrize("name", BUILT_IN)
def test_ranks_are_those_of_the_oracle(name: str) -> None:
    """Equal where the oracle's are equal, and in the same order, also where doubles are not told apart."""
    similarity, rng = BUILT_IN[name], random.Random(5)
    triples = [(r, s, o) for r in range(1, 9) for s in range(1, 9) for o in range(1, min(r, s) + 1)]
    sizes = [2**25 - 1 - rng.randrange(40) for _ in range(60)]
    triples += [(r, s, min(r, s) - rng.randrange(3)) for r, s in zip(sizes, reversed(sizes), strict=True)]
    mine = [similarity.rank(similarity(r, s, o), o) for r, s, o in triples]
    judged = [oracle.rank(similarity, *triple) for triple in triples]
    for a in range(len(triples)):
        for b in range(a):
            assert (mine[a] < mine[b], mine[a] == mine[b]) == (judged[a] < judged[b], judged[a] == judged[b])


@settings(max_examples=1000)
@given(st.data())
def test_a_cosine_tells_its_square(data: st.DataObject) -> None:
    """What is shown of a pair is rounded twice, and yet gives the exact fraction, up to the largest sets."""
    sizes = st.integers(1, 2**25 - 1) | st.integers(2**25 - 100, 2**25 - 1)
    r, s = data.draw(sizes), data.draw(sizes)
    o = data.draw(st.integers(1, min(r, s)) | st.integers(max(1, min(r, s) - 100), min(r, s)))
    cosine = BUILT_IN["cosine"]
    assert cosine.rank(cosine(r, s, o), o) == oracle.rank(cosine, r, s, o)
