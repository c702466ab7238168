"""Rows from the future: however a batch is cut into parts, what is believed is the same, and is what the definition says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.live.ahead import believe, merged, spans_of
from tests.support.live_cases import SPEC, Row, table
from tests.support.live_judge import latest_believed, reach, read
from tests.support.live_runs import start

pytestmark = pytest.mark.usefixtures("few_agree")

EDGE = 2**62 - 1
TIMES = st.lists(st.one_of(st.integers(0, 60), st.integers(200, 230), st.sampled_from([-EDGE, EDGE])), max_size=20)


@given(
    st.lists(TIMES, max_size=4),
    st.none() | st.integers(-10, 60) | st.sampled_from([-EDGE, EDGE]),
    st.integers(0, 4),
    st.none() | st.integers(0, 20) | st.just(EDGE),
)
def test_equal_to_the_definition(parts: list[list[int]], highest: int | None, run: int, max_ahead: int | None) -> None:
    times = [time for part in parts for time in part]
    spans = merged((spans_of(part, max_ahead) for part in parts), max_ahead)
    assert np.array_equal(spans, spans_of(times, max_ahead))
    assert spans[:, 2].sum() == len(times)
    found = believe(spans, highest, run, max_ahead)
    if max_ahead is None:
        assert found[0] == max([*times, *([] if highest is None else [highest])], default=None)
    else:
        assert found == latest_believed(times, highest, run, max_ahead)
        if highest is not None:
            assert found[0] is not None
            assert found[0] >= reach(times, highest, max_ahead)


def batches(folder: Path, *given: list[int], **options: Any) -> Any:
    """What becomes of rows whose ids are their times."""
    live = start(folder, replace(SPEC, lateness=2, **options))
    for batch, times in enumerate(given):
        live.process(batch, table([Row(time, time, (1, 2)) for time in times]))
    rejected = [json.loads(row["row"])["id"] for row in read(folder, "rejected")]
    return live.stats.watermark, [row["id"] for row in read(folder, "late")], rejected


def test_one_wrong_clock(folder: Path) -> None:
    given = [10, 11], [999], [12, 500, 14], [15]
    assert batches(folder / "any", *given) == (997, [12, 14, 500, 15], [])
    assert batches(folder / "near", *given, max_ahead=9) == (13, [], [999, 500])


def test_a_wrong_clock_in_the_first_batch(folder: Path) -> None:
    assert batches(folder, [999, 10, 11], [12], max_ahead=9) == (10, [], [999])


def test_what_is_rejected_says_why(folder: Path) -> None:
    live = start(folder, replace(SPEC, lateness=2, max_ahead=9))
    for batch, time in enumerate((10, 999)):
        live.process(batch, table([Row(time, time, (1, 2))]))
    (row,) = read(folder, "rejected")
    assert row["reason"] == "the time is further ahead of the latest row than allowed (max_ahead)"
    assert json.loads(row["row"]) == {"id": 999, "time": 999, "tokens": [1, 2]}
    assert live.reasons.lines() == [f"1: {row['reason']}; for example id 999, time 999, tokens [1, 2]"]


@pytest.mark.parametrize(
    ("after", "watermark", "rejected"),
    [
        ([[100], [101], [102], [103]], 101, [100, 101]),  # the third in a row
        ([[100, 101, 102, 999]], 100, [999]),  # more than half, and three
        ([[100, 101, 102, 12, 13, 14]], 12, [100, 101, 102]),  # no more than half
        ([[100, 101], [12], [102, 103]], 10, [100, 101, 102, 103]),  # not in a row
        ([[], [100], [], [101], [102]], 100, [100, 101]),
    ],
)
def test_after_a_silence(folder: Path, after: list[list[int]], watermark: int, rejected: list[int]) -> None:
    assert batches(folder, [10, 11], *after, max_ahead=9) == (watermark, [], rejected)
