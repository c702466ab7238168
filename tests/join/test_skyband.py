"""The skyband says, for each moment to come, how similar the k-th pair of those known now will be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from swoop import oracle
from tests.support.histories import History, histories


@settings(max_examples=60, deadline=None)
@given(histories(), st.sampled_from(["swoop", "swoop-minimal"]))
def test_the_stairs_of_brute_force(history: History, algorithm: str) -> None:
    options = dict(history.options)
    join = history.join(algorithm=algorithm)
    if options["window"] is None or not isinstance(options["window"], int):
        return
    for record in history.records:
        join.insert(record.tokens, record.time, stream=record.stream)
    steps = join.skyband()
    assert [step.until for step in steps] == sorted({step.until for step in steps})
    if not history.records:
        return
    now = history.records[-1].time
    for time in range(now, now + options["window"] + 1):
        best = oracle.topk(history.records, now=time, **options)
        bound = next((step.similarity for step in steps if step.until > time), None)
        expected = best[-1].similarity if len(best) == options["k"] else None
        if algorithm == "swoop-minimal":
            assert bound == expected
        elif expected is not None:  # nothing below the floor counts yet
            assert bound is not None
            assert bound == expected or (bound > expected and bound == steps[-1].similarity)
