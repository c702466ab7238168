"""Slices without Spark: however time is cut, the stays are those of brute force. Random histories by the hundred."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from swoop.oracle import Record
from swoop.spark.slices import replay_slice
from swoop.spec import JoinSpec
from tests.support.histories import SIMILARITIES, records, thresholds
from tests.support.judge import judge

Stay = tuple[Any, ...]


def stays_of(history: list[Record], **options: Any) -> list[Stay]:
    """Stays of positive length, by brute force: arrivals of newer and older, similarity, overlap, enter, leave."""
    found: list[Stay] = []
    entered: dict[Any, Any] = {}
    judged = judge(history, **options)
    for change in judged.changes:
        pair = change.pair
        if change.kind == "enter":
            entered[pair.arrivals] = change.time
        else:
            enter = entered.pop(pair.arrivals)
            if change.time > enter:
                found.append((pair.newer, pair.older, pair.similarity, pair.overlap, enter, change.time))
    found += [(pair.newer, pair.older, pair.similarity, pair.overlap, entered[pair.arrivals], None) for pair in judged.topk()]
    return sorted(found, key=repr)


def run_sliced(history: list[Record], cuts: list[int], batch: int, **options: Any) -> list[Stay]:
    """Replay each slice and put the segments together, as Spark does."""
    segments: dict[Any, list[dict[str, Any]]] = {}
    length = options["window"]
    spec = JoinSpec(**options, track_changes=True)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        rows = [(n, r) for n, r in enumerate(history) if start - length < r.time < stop]
        if not rows:
            continue
        table = pa.table(
            {
                "id": [n for n, _ in rows],
                "time": [r.time for _, r in rows],
                "tokens": pa.array([list(r.tokens) for _, r in rows], pa.list_(pa.int64())),
                "stream": [r.stream or "left" for _, r in rows],
            }
        )
        given_out = replay_slice(
            table.to_batches(batch),
            spec,
            "tokens",
            start,
            stop,
            number == len(cuts) - 2,
            pa.int64(),
        )
        for part in given_out:
            for row in part.to_pylist():
                segments.setdefault((row["newer"], row["older"]), []).append(row)
    found: list[Stay] = []
    for (newer, older), parts in segments.items():
        merged: list[dict[str, Any]] = []
        for part in sorted(parts, key=lambda row: row["enter"]):
            if merged and merged[-1]["leave"] == part["enter"]:
                merged[-1]["leave"] = part["leave"]
            else:
                merged.append(part)
        found += [(newer, older, m["similarity"], m["overlap"], m["enter"], m["leave"]) for m in merged]
    return sorted(found, key=repr)


@settings(max_examples=400)
@given(data=st.data())
def test_the_result_does_not_depend_on_the_cuts(data: st.DataObject) -> None:
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    two_streams = data.draw(st.booleans())
    history = [Record([hash(t) for t in r.tokens], r.time, None, r.stream) for r in data.draw(records(two_streams))]
    options = {
        "k": data.draw(st.sampled_from([1, 2, 5, 100])),
        "window": data.draw(st.integers(1, 30)),
        "similarity": similarity,
        "two_streams": two_streams,
        "min_similarity": data.draw(thresholds(similarity)),
    }
    if not history:
        return
    first, last = history[0].time, history[-1].time
    inner = data.draw(st.lists(st.integers(first, last), max_size=5))
    cuts = [*sorted({first, *inner}), last + 1]
    batch = data.draw(st.integers(1, 10))
    assert run_sliced(history, cuts, batch, **options) == stays_of(history, **options)
