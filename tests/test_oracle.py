"""The judge of most tests says what the plain definition says, at every moment; and the definition itself, by examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop import oracle
from swoop.oracle import Record
from tests.support.histories import History, histories
from tests.support.judge import Judge, judge
from tests.support.trials import Trial


@settings(max_examples=150)
@given(
    histories(size=15) | histories(size=15, all_pairs=True),
    st.lists(st.sampled_from([0, 0, 1, 3, 50]), min_size=15, max_size=15),
)
def test_the_judge_is_the_oracle_after_every_step(history: History, passing: list[int]) -> None:
    """After each record, and after time has moved on without one."""
    found, records, late = Judge(**history.options), [], 0
    for record, passed in zip(history.records, passing, strict=False):
        records.append(Record(record.tokens, record.time + late, record.id, record.stream))  # type: ignore[operator]
        found.add(records[-1])
        check(found, records, history.options, None)
        if passed and not isinstance(history.options["window"], swoop.times.WindowSpec):
            late += passed
            now = record.time + late  # type: ignore[operator]
            found.advance(now)
            check(found, records, history.options, now)


def check(found: Judge, records: list[Record], options: dict[str, Any], now: Any) -> None:
    assert found.topk() == oracle.topk(records, **options, now=now)
    assert found.changes == oracle.changes(records, **options, now=now)


@pytest.mark.parametrize("seed", range(25))
def test_the_judge_is_the_oracle_about_streams_with_rhythms(seed: int) -> None:
    trial = Trial.draw(1000 + seed, 60)
    check(judge(trial.records, **trial.options, now=trial.end), trial.records, trial.options, trial.end)


def test_times_ids_and_user_defined_similarities() -> None:
    def least(r: int, s: int, o: int) -> float:
        return o / max(r, s)

    import datetime as dt

    start = dt.datetime(2024, 5, 1)
    records = [Record("abc"[n % 3 :] + "xy", start + dt.timedelta(seconds=n), f"set {n}") for n in range(12)]
    for similarity in ("jaccard", swoop.Similarity(least)):
        options = {"k": 3, "window": "5 s", "similarity": similarity}
        check(judge(records, **options), records, options, None)
    unseen = [Record(record.tokens) for record in records]
    for window in (None, swoop.last(4)):
        check(judge(unseen, k=2, window=window), unseen, {"k": 2, "window": window}, None)


def test_the_judge_of_nothing() -> None:
    found = Judge(k=2, window=3)
    assert (found.topk(), found.changes) == ([], [])
