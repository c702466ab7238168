"""Stays by brute force, and those of slices, put together without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from swoop.oracle import Record
from swoop.spark.slices import replay_slice
from swoop.spec import JoinSpec
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


def run_sliced(history: list[Record], slices: list[tuple[int, int | None]], batch: int, **options: Any) -> list[Stay]:
    """Replay each slice, find the end, and put the segments together, as Spark does."""
    segments: dict[Any, list[dict[str, Any]]] = {}
    length = options["window"]
    spec = JoinSpec(**options, track_changes=True)
    lasts, afters = [], []
    for start, stop in slices:
        rows = [(n, r) for n, r in enumerate(history) if start - length < r.time and (stop is None or r.time < stop)]
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
        for part in replay_slice(table.to_batches(batch), spec, "tokens", start, stop, pa.int64()):
            for row in part.to_pylist():
                if row["last"] is not None:
                    lasts.append(row["last"])
                else:
                    segments.setdefault((row["newer"], row["older"]), []).append(row)
                    afters += [row] if row["is_after"] else []
    for row in afters:  # no others are looked at
        row["leave"] = None if row["leave"] > max(lasts) else row["leave"]
        row["is_void"] = row["enter"] > max(lasts)
    found: list[Stay] = []
    for (newer, older), parts in segments.items():
        merged: list[dict[str, Any]] = []
        for part in sorted((row for row in parts if not row.get("is_void")), key=lambda row: row["enter"]):
            if merged and merged[-1]["leave"] == part["enter"]:
                merged[-1]["leave"] = part["leave"]
            else:
                merged.append(part)
        found += [(newer, older, m["similarity"], m["overlap"], m["enter"], m["leave"]) for m in merged]
    return sorted(found, key=repr)
