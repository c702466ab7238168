"""Streams have the shapes they should have.

Tests of swoop.paper.profiles.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swoop
from swoop.paper import data_sets, profiles
from swoop.paper.data_sets import DAY, SHAPES, DataSet, generate


@pytest.mark.parametrize("name", list(SHAPES))
def test_shapes(name: str) -> None:
    data_set = generate(name, 4000)
    assert len(data_set) == 4000
    assert data_set.offsets[-1] == data_set.tokens.size
    assert np.all(np.diff(data_set.times) >= 0)
    mean = data_set.tokens.size / len(data_set)  # early copies are of one set
    assert mean == pytest.approx(SHAPES[name].mean_size, rel={"enron": 0.1, "industry": 0.18}.get(name, 0.03))
    assert all(len(set(tokens)) == len(tokens) > 0 for tokens in data_set.sets()[:1000])
    first = np.unique(data_set.tokens, return_index=True)[1]
    assert np.all(np.diff(first) > 0), "tokens are numbered in the order of their first appearance"


def test_a_seed_is_a_stream() -> None:
    one, same, other = (generate("tweet", 1000, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.tokens, same.tokens)
    assert np.array_equal(one.times, same.times)
    assert one.tokens.size != other.tokens.size or not np.array_equal(one.tokens, other.tokens)


def test_vocabularies_grow_to_that_of_the_paper() -> None:
    seen = profiles.profile(generate("flickr", 1_200_000), "generated", 1_200_000)
    assert seen.mean_size == pytest.approx(10.05, rel=0.01)
    assert seen.distinct == pytest.approx(810_000, rel=0.03)
    assert seen.after_hundredth < seen.after_tenth / 3 < seen.distinct / 6


def test_some_sets_are_edited_copies() -> None:
    data_set = generate("tweet", 5000)
    join = swoop.TopKJoin(k=100_000, window=None, min_similarity=0.7)
    join.insert_many({"tokens": data_set.sets(), "time": data_set.times})
    copies = {pair.newer for pair in join.topk()}
    assert 0.03 * 5000 < len(copies) < 0.08 * 5000


@pytest.mark.parametrize("sets", [20_000, 60_000])
def test_dblp_has_bursts_and_two_late_tokens(sets: int) -> None:
    data_set = generate("dblp", sets)
    seen = profiles.bursts(data_set, "generated", sets)
    assert seen.firsts == [min(2018, sets // 10), min(9764, sets // 5)]
    sizes = data_set.window_sizes(DAY)
    assert seen.largest == sizes.max() > 0.05 * sets
    assert np.median(sizes) < 0.01 * sets
    assert 0.1 < np.median(seen.shares) < 0.5
    assert seen.share_in_spikes > 0.9
    assert abs(np.array(seen.shares) - np.array(seen.other_shares))[len(seen.shares) // 2 :].max() < 0.2


def test_the_zipf_distribution_is_drawn_from() -> None:
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    heights, others = data_sets._columns(weights)
    drawn = [heights[token] + sum(1 - heights[column] for column in range(4) if others[column] == token) for token in range(4)]
    drawn = [drawn[token] - (1 - heights[token] if others[token] == token else 0) for token in range(4)]
    assert np.allclose(np.array(drawn) / 4, weights)


def test_windows() -> None:
    data_set = generate("tweet", 2000)
    assert abs(data_set.window_sizes(data_set.window_for(100)).mean() - 100) < 15
    part = data_set.first(500)
    assert part.sets() == data_set.sets()[:500]


def test_files(tmp_path: Path) -> None:
    data_set = generate("enron", 50)
    data_set.save(tmp_path / "enron.bin")
    loaded = DataSet.load(tmp_path / "enron.bin")
    assert loaded.name == "enron"
    assert np.array_equal(loaded.tokens, data_set.tokens)
    assert np.array_equal(loaded.times, data_set.times)
    (tmp_path / "x.bin").write_bytes(bytes(100))
    with pytest.raises(ValueError, match="is not a saved data set"):
        DataSet.load(tmp_path / "x.bin")
