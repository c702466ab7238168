"""Payloads by arrival number, against a plain dict."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.join import payloads
from swoop.join.payloads import ListPayloads, RecordPayloads, TablePayloads

steps = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4)), max_size=40)  # how many arrive, and how many of them leave


@given(steps, st.integers(1, 6))
def test_lists(given: list[tuple[int, int]], segment: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "SEGMENT", segment)
        found, arrived, oldest = ListPayloads(), 0, 0
        for count, left in given:
            found.add(arrived, [f"set {arrived + n}" for n in range(count)])
            found.cut(arrived + count - count // 2)  # some did not arrive
            arrived += count - count // 2
            oldest = min(oldest + left, arrived)
            found.forget(oldest)
            assert found.between(oldest, arrived) == [f"set {n}" for n in range(oldest, arrived)]
            assert [found.get(n) for n in range(oldest, arrived)] == found.between(oldest, arrived)
            assert found.get(arrived) is None
            assert found.size <= arrived - oldest + segment + 5


@given(steps, st.sampled_from([1, 100, 1 << 20]))
def test_tables(given: list[tuple[int, int]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "LIMIT", limit)
        found, arrived, oldest = TablePayloads(), 0, 0
        for count, left in given:
            found.add(arrived, pa.table({"number": range(arrived, arrived + count)}))
            arrived += count
            oldest = min(oldest + left, arrived)
            found.forget(oldest)
            asked = np.array([*range(arrived - 1, oldest - 1, -1), *range(oldest, arrived)], np.int64)
            if len(asked):
                assert found.take(asked)["number"].to_pylist() == asked.tolist()
            assert [found.get(n, "number") for n in range(oldest, arrived)] == list(range(oldest, arrived))
            assert found.get(arrived, "number") is None


def test_few_tables_however_few_rows_come() -> None:
    found = TablePayloads()
    for number in range(3000):
        found.add(number, pa.table({"number": [number]}))
        found.forget(number - 500)
    assert len(found._segments) <= 13
    assert 500 <= found.size < 2500


@given(steps, st.integers(0, 2**32).map(random.Random))
def test_first_sets_of_records(given: list[tuple[int, int]], rng: random.Random) -> None:
    """They are known as long as their records live, and some others."""
    found, arrived, oldest, widest = RecordPayloads(), 0, 0, 0
    identities: list[int] = []  # of the record of each set
    for count, left in given:
        for number in range(arrived, arrived + count):
            identities.append(rng.choice([*identities[oldest:], number]))
        found.add(arrived, pa.table({"number": range(arrived, arrived + count)}))
        arrived += count
        oldest = min(oldest + left, arrived - 1)
        valid = np.unique(identities[oldest:])
        found.forget_unnamed(oldest, lambda valid=valid: valid)  # type: ignore[misc]
        wanted = np.array(rng.choices([*valid.tolist(), *range(oldest, arrived)], k=6))
        assert found.take(wanted)["number"].to_pylist() == wanted.tolist()
        first, columns = found.columns(["number"])
        assert columns["number"].to_pylist() == list(range(first, arrived))
        assert first <= oldest
        widest = max(widest, arrived - oldest)  # tables that were merged stay whole
        assert len(columns) + len(found._identities) <= 3 * widest + 2 * len(valid) + 10
