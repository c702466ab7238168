"""Slices without Spark: however time is cut, the stays are those of brute force. Random histories by the hundred."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from swoop.oracle import Record
from tests.support.histories import SIMILARITIES, reachable, records, thresholds
from tests.support.slices import run_sliced, stays_of


@settings(max_examples=400)
@given(data=st.data())
def test_the_result_does_not_depend_on_the_cuts(data: st.DataObject) -> None:
    """At any times, also beyond the last set; every so often; or nowhere."""
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    two_streams = data.draw(st.booleans())
    history = [Record([hash(t) for t in r.tokens], r.time, None, r.stream) for r in data.draw(records(two_streams))]
    k = data.draw(st.sampled_from([1, 2, 5, 100, None]))
    options = {
        "k": k,
        "window": data.draw(st.integers(1, 30)),
        "similarity": similarity,
        "two_streams": two_streams,
        "min_similarity": data.draw(thresholds(similarity) if k else reachable(similarity)),
    }
    if not history:
        return
    first, last = history[0].time, history[-1].time
    way = data.draw(st.sampled_from(["measured", "every", "whole"]))
    if way == "every":
        length = data.draw(st.integers(1, 40))
        starts = range(first - first % length, last + options["window"] + length, length)
        slices: list[Any] = [(start, start + length) for start in starts]
    elif way == "measured":
        inner = data.draw(st.lists(st.integers(first, last + 10), max_size=5))
        slices = list(pairwise([*sorted({first, *inner}), last + data.draw(st.sampled_from([11, 50]))]))
    else:
        slices = [(-(2**62), None)]
    batch = data.draw(st.integers(1, 10))
    assert run_sliced(history, slices, batch, **options) == stays_of(history, **options)
