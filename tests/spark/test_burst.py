"""Bursts and long slices: a task needs the memory of one window, not more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import swoop
from swoop.spark import session, topk_history
from swoop.spark.slices import replay_slice
from swoop.spec import JoinSpec

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits and figures of Linux")

ROOT = Path(__file__).parents[2]
K, WINDOW = 5, 500
BURST, QUIET = 300_000, 20_000
SPREADS = (1, WINDOW // 10)  # times on which the burst falls
ROOM = 170  # megabytes for a window of 300,000 sets; about 120 are needed


def column(tokens: np.ndarray) -> pa.ListArray:
    return pa.ListArray.from_arrays(np.arange(0, tokens.size + 1, tokens.shape[1]), tokens.ravel())


def sets(spread: int) -> tuple[np.ndarray, np.ndarray]:
    """Times, in order, and sets of five tokens: a quiet time, the burst, a quiet time. One set in a hundred is a copy."""
    rng = np.random.default_rng(spread)
    times = np.concatenate(
        [
            rng.integers(0, 1000, QUIET // 2),
            1000 + rng.integers(0, spread, BURST),
            1000 + spread + rng.integers(0, 3000, QUIET // 2),
        ]
    )
    tokens = rng.integers(0, 200_000, (times.size, 5))
    copies = rng.choice(times.size, times.size // 100, replace=False)
    tokens[copies] = tokens[rng.integers(0, times.size, copies.size)]
    return np.sort(times), tokens


def stays_of_one_run(times: np.ndarray, tokens: np.ndarray) -> list[list[Any]]:
    join = swoop.TopKJoin(K, WINDOW, track_changes=True)
    join.insert_many({"tokens": column(tokens), "time": times})
    found: list[list[Any]] = []
    entered: dict[Any, Any] = {}
    for change in join.changes():
        pair = change.pair
        if change.kind == "enter":
            entered[pair.arrivals] = [pair.newer, pair.older, pair.similarity, pair.overlap, change.time]
        else:
            stay = entered.pop(pair.arrivals)
            if change.time > stay[-1]:
                found.append([*stay, change.time])
    found += [[*stay, None] for stay in entered.values()]
    return sorted(found, key=repr)


def in_a_process_of_its_own(call: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import *; {call}"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout)


def test_a_burst_that_falls_into_one_slice() -> None:
    """Python workers have a limit: what a worker has before it sees a burst, and room for one window."""
    swoop.warmup(quiet=True)  # compiling takes memory, and workers have none to spare
    expected = [stays_of_one_run(*sets(spread)) for spread in SPREADS]
    found = in_a_process_of_its_own("run_under_a_limit()")
    assert found["limits"] == [(found["before"] + ROOM) * 2**20]
    assert found["stays"] == expected
    assert all(len(stays) > 500 for stays in expected)
    assert all(max(stay[0] for stay in stays) > QUIET // 2 + BURST for stays in expected)


def run_under_a_limit() -> None:
    unlimited = session("local[2]")
    before = max(row["peak"] for row in workers(unlimited))
    unlimited.stop()
    spark = session("local[2]", spark_sql_shuffle_partitions=2, spark_executor_pyspark_memory=f"{before + ROOM}m")
    stays = []
    for spread in SPREADS:
        times, tokens = sets(spread)
        order = np.random.default_rng(1).permutation(times.size)
        rows = pa.table({"id": order, "time": times[order], "tokens": column(tokens[order])})
        found = topk_history(spark.createDataFrame(rows), K, WINDOW).collect()
        stays.append(sorted((list(row) for row in found), key=repr))
    there = workers(spark)
    figures = {"before": before, "after": max(row["peak"] for row in there), "limits": list({row["limit"] for row in there})}
    print(json.dumps({"stays": stays, **figures}))
    spark.stop()


def workers(spark: Any) -> list[Any]:
    """The largest size in megabytes, and the limit in bytes, of workers that have loaded all that a slice needs."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import resource

        import swoop

        for _ in batches:
            pass
        swoop.warmup(quiet=True)
        (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmPeak"))
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        yield pa.RecordBatch.from_pydict({"peak": [int(line.split()[1]) // 1024], "limit": [limit]})

    found: list[Any] = spark.range(2, numPartitions=2).mapInArrow(look, "peak long, limit long").collect()
    return found


def test_a_long_slice_needs_no_more_than_a_short_one() -> None:
    """The window has a thousand rows in both. Ten megabytes more are usual."""
    swoop.warmup(quiet=True)  # compiling takes memory
    short, long = (in_a_process_of_its_own(f"run_a_slice({rows})") for rows in (100_000, 1_000_000))
    assert long["segments"] > 9 * short["segments"] > 100_000
    assert long["peak"] < short["peak"] + 30


def run_a_slice(rows: int) -> None:
    """Figures of the process, without those of the process that started it, which resource.getrusage has in."""
    given = replay_slice(long_slice(rows), JoinSpec(50, 1000, track_changes=True), "tokens", 0, None, pa.int64())
    segments = sum(batch.num_rows for batch in given)
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"segments": segments, "peak": int(line.split()[1]) // 1024}))


def long_slice(rows: int, size: int = 50_000) -> Iterator[pa.RecordBatch]:
    rng = np.random.default_rng(1)
    for first in range(0, rows, size):
        times = np.arange(first, min(first + size, rows))
        tokens = column(rng.integers(0, 2000, (times.size, 5)))
        yield pa.RecordBatch.from_pydict({"id": times, "time": times, "tokens": tokens, "stream": ["left"] * times.size})
