"""Live streams whose state somebody else keeps: equal to brute force, ranks included, wherever they are made anew.

Tests of swoop.join.ranks, swoop.live.embedded, swoop.live.parameters, swoop.live.ranked_engine.
"""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swoop.engine.layout import CHANGE
from swoop.errors import InvalidArgument, InvalidFile
from swoop.join.ranks import Ranks
from swoop.live.chunks import sealed
from swoop.live.embedded import EmbeddedStream
from swoop.similarity import find_similarity
from swoop.spec import FamilySpec
from tests.support.judge import judge
from tests.support.live_cases import SPEC, Row, Run, any_way, families, runs, table, with_join
from tests.support.live_judge import arrivals, columns_of, expected
from tests.support.live_runs import limits, small
from tests.support.similarities import COLLISIONS
from tests.support.stores import MemoryStore

pytestmark = pytest.mark.usefixtures("few_agree")


def results(case: Run, rng: random.Random) -> list[dict[str, Any]]:
    """All rows of results. The stream is made anew from its state now and then."""
    store = MemoryStore()
    stream, found = None, []
    for rows in case.batches:
        if not rows:  # such a batch does not come
            continue
        if stream is None or rng.random() < 0.4:
            stream = EmbeddedStream(case.spec, store)
        given = any_way(rows, case.spec, rng)
        given = given if isinstance(given, pa.Table) else pa.concat_tables(given.pieces)
        found += stream.step(given, store).to_pylist()
        assert set(store.chunks) == stream._state.names
    return found


def check(case: Run, found: list[dict[str, Any]]) -> int:
    changes, late, rejected, _ = expected(case, flushed=False)
    by_kind: dict[str, list[dict[str, Any]]] = {"late": [], "rejected": [], "change": []}
    for row in found:
        by_kind[row["kind"] if row["reason"] is not None else "change"].append(row)
    names = ("time", "kind", *columns_of(case.spec))
    assert [tuple(row[name] for name in names) for row in by_kind["change"]] == changes
    assert [json.loads(row["row"])["id"] for row in by_kind["late"]] == late
    assert len(by_kind["rejected"]) == rejected
    for rows in by_kind.values():
        assert [row["sequence"] for row in rows] == list(range(len(rows)))
    if not isinstance(case.spec.join, FamilySpec):
        ranks = judge(arrivals(case, flushed=False)[0], **case.options()).ranks
        assert [row["rank"] for row in by_kind["change"]] == (ranks if case.spec.k is not None else [None] * len(ranks))
    return len(changes)


@settings(max_examples=100, deadline=None)
@given(runs(), st.randoms(use_true_random=False), limits)
def test_equal_to_brute_force(case: Run, rng: random.Random, limit: int | None) -> None:
    case = replace(case, ends=frozenset())
    with small(limit):
        check(case, results(case, rng))


@settings(max_examples=30, deadline=None)
@given(runs(finds="families"), st.randoms(use_true_random=False))
def test_families(case: Run, rng: random.Random) -> None:
    case = replace(case, ends=frozenset())
    check(case, results(case, rng))


@pytest.mark.parametrize(("k", "copies"), [(1, "each"), (20, "each"), (3, "once")])
def test_a_long_stream(k: int, copies: Any) -> None:
    rng = random.Random(k)
    size = 400 if copies == "each" else 90  # brute force with copies is slow
    rows = [Row(n, n // 3, tuple(rng.choices(range(6), k=3))) for n in range(size)]
    case = Run([rows[n : n + 25] for n in range(0, size, 25)], frozenset(), with_join(SPEC, k=k, copies=copies))
    assert check(case, results(case, rng)) > 60


@pytest.mark.parametrize(("smaller", "larger"), COLLISIONS)
def test_ranks_tell_cosines_apart_that_are_the_same_double(smaller: Any, larger: Any) -> None:
    changes = np.zeros(2, CHANGE)
    for change, (size, other, overlap) in zip(changes, (smaller, larger), strict=True):
        change["key"], change["overlap"] = overlap * overlap / (size * other), overlap
    changes["newer"] = [7, 8]
    assert changes[0]["key"] == changes[1]["key"]
    assert Ranks(find_similarity("cosine"), 10, changes[:0], None).of(changes, None).tolist() == [2, 1]


def test_other_parameters_are_refused() -> None:
    store = MemoryStore()
    EmbeddedStream(SPEC, store).step(table([Row(1, 1, (1, 2))]), store)
    EmbeddedStream(replace(SPEC, lateness=99, max_ahead=7), store)
    for spec, message in [
        (with_join(SPEC, k=2), "k was 3 and now is 2"),
        (with_join(SPEC, window=13), "window was '12' and now is '13'"),
        (with_join(SPEC, copies="once"), "copies was 'each' and now is 'once'"),
        (with_join(SPEC, k=None, min_similarity=0.5), "k was 3 and now is 'all'"),
        (replace(SPEC, by=("tenant",)), r"by was \[\] and now is \['tenant'\]"),
        (families(SPEC, 0.5), "finds was 'pairs' and now is 'families'; min_similarity was None and now is 0.5"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            EmbeddedStream(spec, store)


def test_damage_is_noticed() -> None:
    store = MemoryStore()
    EmbeddedStream(SPEC, store).step(table([Row(1, 1, (1, 2)), Row(2, 9, (1,))]), store)
    text = store.text
    assert text is not None
    (name,) = store.chunks
    whole = store.chunks[name]
    for data in (whole[:-1], whole.replace(b"tokens", b"tokenz")):
        store.chunks[name] = data
        with pytest.raises(InvalidFile, match=f"chunk {name}: the checksum does not match"):
            EmbeddedStream(SPEC, store)
    del store.chunks[name]
    with pytest.raises(InvalidFile, match=f"chunk {name}"):
        EmbeddedStream(SPEC, store)
    store.text = text.replace("watermark", "watermurk")
    with pytest.raises(InvalidFile, match="its state: the checksum does not match"):
        EmbeddedStream(SPEC, store)


def test_formats_of_the_state() -> None:
    """One without a format is of the first; that of a newer release is not taken for damage."""
    store = MemoryStore()
    stream = EmbeddedStream(SPEC, store)
    stream.step(table([Row(1, 1, (1, 2))]), store)
    assert store.text is not None

    def resealed(found: dict[str, Any]) -> str:
        text = json.dumps(found)
        return json.dumps({"state": text, "crc": zlib.crc32(text.encode())})

    found = sealed(store.text)
    assert found.pop("format") == 1
    store.text = resealed(found)
    assert EmbeddedStream(SPEC, store).kept == stream.kept
    store.text = resealed({**found, "format": 2, "unknown": "field"})
    with pytest.raises(InvalidFile, match="format version 2, made by a newer release; .* up to 1. Upgrade Swoop"):
        EmbeddedStream(SPEC, store)
    store.text = resealed({**found, "format": "new"})
    with pytest.raises(InvalidFile, match="the state of a stream is damaged"):
        EmbeddedStream(SPEC, store)


def test_rows_that_left_the_window_are_forgotten() -> None:
    store, sizes = MemoryStore(), []
    stream = EmbeddedStream(SPEC, store)
    for time in range(300):
        stream.step(table([Row(time, time, (time, 1))]), store)
        sizes.append(sum(len(data) for data in store.chunks.values()))
        assert set(store.chunks) == stream._state.names
    assert max(sizes[100:]) <= 2 * max(sizes[:100])
    assert len(store.chunks) < 40
