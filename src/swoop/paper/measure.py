"""Measurements: rates in sets per second of CPU time, best of several rounds, alternating with a peer if there is one."""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import swoop
from swoop.engine.compile import kernel, prefetch
from swoop.engine.layout import SLOT
from swoop.paper.data_sets import DataSet


def info(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """The processor and the Python version."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"{model}, Python {platform.python_version()}"


@dataclass
class Rate:
    """Sets per CPU second on one data set with one window and k; also without a floor, and for the peer program."""

    data_set: str
    window: int
    k: int
    sets: int
    swoop: float
    minimal: float | None
    peer: float | None
    memory_per_set: float
    peer_memory_mb: float | None


def as_table(data_set: DataSet, texts: bool = False) -> pa.Table:
    tokens = pa.array(data_set.tokens)
    if texts:
        tokens = tokens.cast(pa.string())
    return pa.table(
        {"tokens": pa.LargeListArray.from_arrays(pa.array(data_set.offsets), tokens), "time": pa.array(data_set.times)}
    )


def run(table: pa.Table, duration: int, k: int, **options: Any) -> tuple[float, swoop.TopKJoin]:
    """Sets per CPU second of one run, from an Arrow table to the final top-k; and the join."""
    join = swoop.TopKJoin(k=k, window=duration, **options)
    start = time.process_time()
    join.insert_many(table)
    join.topk()
    return table.num_rows / (time.process_time() - start), join


def run_peer(program: str, path: Path, duration: int, k: int) -> tuple[float, float]:
    """Sets per CPU second and peak memory in MB of the peer on a saved data set."""
    command = [program, "swoop", str(path), "--k", str(k), "--window", str(duration)]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result["sets_per_cpu_s"], result["rss_peak_mb"]


def rates(
    data_set: DataSet,
    windows: list[int],
    k: int,
    rounds: int,
    seconds: float,
    peer: str | None,
    folder: Path,
    minimal: bool = True,
) -> Iterator[Rate]:
    """The rate for each average window size. Short runs get more rounds, as many as start within the seconds."""
    table = as_table(data_set)
    path = folder / f"{data_set.name}-{len(data_set)}.bin"
    if peer and not path.exists():
        data_set.save(path)
    for window in windows:
        duration = data_set.window_for(window)
        best = dict.fromkeys(("swoop", "minimal", "peer"), 0.0)
        memory, peer_memory = 0.0, None
        done, end = 0, time.monotonic() + seconds
        while done < rounds or time.monotonic() < end:
            done += 1
            if peer:
                rate, peer_memory = run_peer(peer, path, duration, k)
                best["peer"] = max(best["peer"], rate)
            if minimal:
                best["minimal"] = max(best["minimal"], run(table, duration, k, algorithm="swoop-minimal")[0])
            rate, join = run(table, duration, k)
            best["swoop"] = max(best["swoop"], rate)
            memory = join.stats.memory_bytes / max(join.stats.window_size, 1)
        yield Rate(
            data_set.name,
            window,
            k,
            len(data_set),
            best["swoop"],
            best["minimal"] if minimal else None,
            best["peer"] if peer else None,
            memory,
            peer_memory,
        )


@kernel
def touch_slots(slots: Any, token_ids: Any, arrival: int) -> None:
    """The least that an exact join must do: visit the list of each token once."""
    for p in range(token_ids.size):
        prefetch(slots, token_ids[min(p + 40, token_ids.size - 1)])
        slot = slots[token_ids[p]]
        slot.newest = arrival
        slot.size += 1


def least(data_set: DataSet, window: int, rounds: int) -> tuple[float, float]:
    """Sets per CPU second if each token's slot is only touched, in as much memory as Swoop's; and Swoop's own rate."""
    rate, join = max(
        (run(as_table(data_set), data_set.window_for(window), 10) for _ in range(rounds)), key=lambda seen: seen[0]
    )
    slots = np.zeros(join._engine.memory["index.slots"].size, SLOT)
    token_ids = np.unique(data_set.tokens, return_inverse=True)[1] % len(slots)
    spent = []
    for _ in range(rounds + 1):
        start = time.process_time()
        touch_slots(slots, token_ids, 1)
        spent.append(time.process_time() - start)
    return len(data_set) / min(spent[1:]), rate


FILL = """
import ctypes, gc, sys
import numpy as np, psutil, pyarrow as pa
import swoop

path, window, sets, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 5000

def resident():
    gc.collect()
    pa.default_memory_pool().release_unused()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss

def insert(join, start, stop):
    times = np.fromfile(path, "<i8", stop - start, offset=24 + 8 * start)
    offsets = np.fromfile(path, "<i8", stop - start + 1, offset=24 + 8 * (sets + start))
    tokens = np.fromfile(path, "<u4", offsets[-1] - offsets[0], offset=24 + 8 * (2 * sets + 1) + 4 * offsets[0])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets - offsets[0]), pa.array(tokens.astype(np.int64)))
    join.insert_many({"tokens": lists, "time": pa.array(times)})

swoop.warmup(quiet=True)
insert(swoop.TopKJoin(k=10, window=1), 0, min(sets, step))
before = resident()
join = swoop.TopKJoin(k=10, window=window)
for start in range(0, sets, step):
    insert(join, start, min(sets, start + step))
print((resident() - before) / join.stats.window_size)
"""


def resident_bytes_per_set(data_set: DataSet, window: int, folder: Path) -> float:
    """The growth of a process as the window fills, per set in it. The process reads the data set in parts."""
    path = folder / "resident.bin"
    data_set.save(path)
    command = [sys.executable, "-c", FILL, str(path), str(data_set.window_for(window)), str(len(data_set))]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def endless(windows: int = 10, window: int = 10_000, size: int = 13) -> list[int]:
    """Memory of the engine after each half window of a stream in which most tokens are new."""
    rng = np.random.default_rng(5)
    join = swoop.TopKJoin(k=10, window=swoop.last(window))
    curve, fresh = [], 10**6
    for _ in range(2 * windows):
        tokens = np.arange(fresh, fresh + window // 2 * size)
        fresh += tokens.size
        common = rng.random(tokens.size) < 0.3
        tokens[common] = (rng.random(np.count_nonzero(common)) ** 4 * 20_000).astype(np.int64)
        offsets = pa.array(np.arange(window // 2 + 1) * size)
        join.insert_many({"tokens": pa.LargeListArray.from_arrays(offsets, pa.array(tokens))}, time=None)
        curve.append(join.stats.memory_bytes)
    return curve


def single_insertion(data_set: DataSet, window: int) -> tuple[float, float]:
    """Microseconds of one ``insert`` from Python (median), and of one set of a batch (mean)."""
    duration = data_set.window_for(window)
    times = data_set.times.tolist()
    join = swoop.TopKJoin(k=10, window=duration)
    spent = []
    clock = time.perf_counter_ns
    for tokens, at in zip(data_set.sets(), times, strict=True):
        start = clock()
        join.insert(tokens, at)
        spent.append(clock() - start)
    warm = spent[len(spent) // 2 :]
    batched = swoop.TopKJoin(k=10, window=duration)
    table = as_table(data_set)
    half = len(data_set) // 2
    batched.insert_many(table.slice(0, half))
    start = clock()
    batched.insert_many(table.slice(half))
    return statistics.median(warm) / 1000, (clock() - start) / 1000 / (len(data_set) - half)


def pauses(data_set: DataSet, window: int, rounds: int) -> np.ndarray:
    """Milliseconds of each arrival once the window is full, when similarity collapses from one set to the next.

    For each arrival the best of several rounds, which differ only in what else the system does.
    """
    best: np.ndarray = np.min([_pauses(data_set, window) for _ in range(rounds)], axis=0)
    return best


def _pauses(data_set: DataSet, window: int, size: int = 13, vocabulary: int = 1_000_000) -> np.ndarray:
    """The new sets have uniformly drawn tokens that no earlier set has. Runs until all earlier pairs have expired."""
    duration = int(data_set.times[-1] - data_set.times[-window])
    join = swoop.TopKJoin(k=10, window=duration)
    join.insert_many(as_table(data_set))
    drawn = np.random.default_rng(7).integers(0, vocabulary, (window + window // 4, size)) + int(data_set.tokens.max()) + 1
    now, step = int(data_set.times[-1]), max(1, duration // window)
    spent = np.zeros(len(drawn))
    clock = time.perf_counter_ns
    for number, row in enumerate(drawn):
        now += step
        tokens = row.tolist()
        start = clock()
        join.insert(tokens, now)
        spent[number] = (clock() - start) / 1e6
    return spent


def start_times() -> tuple[float, float]:
    """Seconds from the start of a process to its first result, with an empty and a warm cache."""
    import os
    import tempfile

    code = "import swoop; j = swoop.TopKJoin(k=1, window=2); j.insert([1], 1); j.insert([1], 2); assert len(j.topk()) == 1"
    with tempfile.TemporaryDirectory() as cache:
        spent = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": cache}
            )
            spent.append(time.perf_counter() - start)
    return spent[0], min(spent[1:])


ALL_PAIRS_WINDOW, FAMILIES, SIZE = 30_000, 500, 10


def all_pairs_table(rounds: int) -> pa.Table:
    """So many windows of sets, each a copy of one of some families, in which one token in eight is another."""
    rng = np.random.default_rng(1)
    count = rounds * ALL_PAIRS_WINDOW
    tokens = rng.integers(0, 200_000, (FAMILIES, SIZE))[rng.integers(0, FAMILIES, count)]
    is_other = rng.random(tokens.shape) < 1 / 8
    tokens[is_other] = rng.integers(0, 200_000, int(is_other.sum()))
    lists = pa.LargeListArray.from_arrays(pa.array(np.arange(count + 1) * SIZE), pa.array(tokens.ravel()))
    return pa.table({"tokens": lists, "time": pa.array(np.arange(count))})


def all_pairs(table: pa.Table, step: int = 5000, **options: Any) -> tuple[float, int]:
    """Sets per CPU second with all pairs from 0.5 on, once the window is full; and how many pairs there are in the end.

    If changes are tracked, they are taken after each step.
    """
    join = swoop.TopKJoin(window=ALL_PAIRS_WINDOW, min_similarity=0.5, **options)
    spent = 0.0
    for first in range(0, table.num_rows, step):
        start = time.process_time()
        join.insert_many(table.slice(first, step))
        if join.track_changes:
            join.changes()
        spent += time.process_time() - start if first >= ALL_PAIRS_WINDOW else 0.0
    return (table.num_rows - ALL_PAIRS_WINDOW) / spent, len(join.topk())


def feed_cost(data_set: DataSet, window: int, rounds: int) -> float:
    """The slow-down by the change feed, as a share."""
    table, duration = as_table(data_set), data_set.window_for(window)
    off = on = 0.0
    for _ in range(rounds):
        off = max(off, run(table, duration, 10)[0])
        on = max(on, run(table, duration, 10, track_changes=True)[0])
    return off / on - 1
