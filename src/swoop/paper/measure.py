"""Measurements: rates in sets per second of CPU time, best of several rounds, in turns with a peer where there is one."""

from __future__ import annotations

import json
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
from swoop.paper.streams import Stream


@dataclass
class Rate:
    """Sets per CPU second on one stream with one window and k; the same without a floor, and for the peer program."""

    stream: str
    window: int
    k: int
    sets: int
    swoop: float
    minimal: float | None
    peer: float | None
    memory_per_set: float
    peer_memory_mb: float | None


def as_table(stream: Stream, texts: bool = False) -> pa.Table:
    tokens = pa.array(stream.tokens)
    if texts:
        tokens = tokens.cast(pa.string())
    return pa.table({"tokens": pa.LargeListArray.from_arrays(pa.array(stream.offsets), tokens), "time": pa.array(stream.times)})


def run(table: pa.Table, duration: int, k: int, **options: Any) -> tuple[float, swoop.TopKJoin]:
    """Sets per CPU second of one run, from an Arrow table to the final top-k; and the join."""
    join = swoop.TopKJoin(k=k, window=duration, **options)
    start = time.process_time()
    join.insert_many(table)
    join.topk()
    return table.num_rows / (time.process_time() - start), join


def run_peer(program: str, path: Path, duration: int, k: int) -> tuple[float, float]:
    """Sets per CPU second and peak memory in MB of the peer on a saved stream."""
    command = [program, "swoop", str(path), "--k", str(k), "--window", str(duration)]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result["sets_per_cpu_s"], result["rss_peak_mb"]


def rates(
    stream: Stream,
    windows: list[int],
    k: int,
    rounds: int,
    seconds: float,
    peer: str | None,
    folder: Path,
    minimal: bool = True,
) -> Iterator[Rate]:
    """The rate for each average window size. Short runs have more rounds, as many as begin within the seconds."""
    table = as_table(stream)
    path = folder / f"{stream.name}-{len(stream)}.bin"
    if peer and not path.exists():
        stream.save(path)
    for window in windows:
        duration = stream.window_for(window)
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
            stream.name,
            window,
            k,
            len(stream),
            best["swoop"],
            best["minimal"] if minimal else None,
            best["peer"] if peer else None,
            memory,
            peer_memory,
        )


@kernel
def touch_slots(slots: Any, numbers: Any, number: int) -> None:
    """What no exact join can do without: once to the list of each token."""
    for p in range(numbers.size):
        prefetch(slots, numbers[min(p + 40, numbers.size - 1)])
        slot = slots[numbers[p]]
        slot.newest = number
        slot.size += 1


def least(stream: Stream, window: int, rounds: int) -> tuple[float, float]:
    """Sets per CPU second if each token's slot is touched and nothing else is done, in as much memory; and Swoop's."""
    rate, join = max((run(as_table(stream), stream.window_for(window), 10) for _ in range(rounds)), key=lambda seen: seen[0])
    slots = np.zeros(join._engine.memory["index.slots"].size, SLOT)
    numbers = np.unique(stream.tokens, return_inverse=True)[1] % len(slots)
    spent = []
    for _ in range(rounds + 1):
        start = time.process_time()
        touch_slots(slots, numbers, 1)
        spent.append(time.process_time() - start)
    return len(stream) / min(spent[1:]), rate


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


def resident_bytes_per_set(stream: Stream, window: int, folder: Path) -> float:
    """How much a process grows when the window fills, per set in it. The process reads the stream in parts."""
    path = folder / "resident.bin"
    stream.save(path)
    command = [sys.executable, "-c", FILL, str(path), str(stream.window_for(window)), str(len(stream))]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def endless(windows: int = 10, window: int = 10_000, size: int = 13) -> list[int]:
    """Engine memory after each half window of a stream in which most tokens are new."""
    chance = np.random.default_rng(5)
    join = swoop.TopKJoin(k=10, window=swoop.last(window))
    curve, fresh = [], 10**6
    for _ in range(2 * windows):
        tokens = np.arange(fresh, fresh + window // 2 * size)
        fresh += tokens.size
        common = chance.random(tokens.size) < 0.3
        tokens[common] = (chance.random(np.count_nonzero(common)) ** 4 * 20_000).astype(np.int64)
        offsets = pa.array(np.arange(window // 2 + 1) * size)
        join.insert_many({"tokens": pa.LargeListArray.from_arrays(offsets, pa.array(tokens))}, time=None)
        curve.append(join.stats.memory_bytes)
    return curve


def single_insertion(stream: Stream, window: int) -> tuple[float, float]:
    """Microseconds, at the median, of one ``insert`` from Python, and of one set of a bulk."""
    duration = stream.window_for(window)
    times = stream.times.tolist()
    join = swoop.TopKJoin(k=10, window=duration)
    spent = []
    clock = time.perf_counter_ns
    for tokens, at in zip(stream.sets(), times, strict=True):
        start = clock()
        join.insert(tokens, at)
        spent.append(clock() - start)
    warm = spent[len(spent) // 2 :]
    bulk = swoop.TopKJoin(k=10, window=duration)
    table = as_table(stream)
    half = len(stream) // 2
    bulk.insert_many(table.slice(0, half))
    start = clock()
    bulk.insert_many(table.slice(half))
    return statistics.median(warm) / 1000, (clock() - start) / 1000 / (len(stream) - half)


def pauses(stream: Stream, window: int, rounds: int) -> np.ndarray:
    """Milliseconds of each arrival from a full window on, when from one set to the next nothing is similar any more.

    The best of several rounds for each arrival: it does the same work in each, what the system does besides differs.
    """
    best: np.ndarray = np.min([_pauses(stream, window) for _ in range(rounds)], axis=0)
    return best


def _pauses(stream: Stream, window: int, size: int = 13, vocabulary: int = 1_000_000) -> np.ndarray:
    """The new sets hold tokens that none of the others has, drawn evenly. Seen until all pairs of before have expired."""
    duration = int(stream.times[-1] - stream.times[-window])
    join = swoop.TopKJoin(k=10, window=duration)
    join.insert_many(as_table(stream))
    drawn = np.random.default_rng(7).integers(0, vocabulary, (window + window // 4, size)) + int(stream.tokens.max()) + 1
    now, step = int(stream.times[-1]), max(1, duration // window)
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
    """Seconds from the start of a process to its first result: with an empty and with a warm cache."""
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


def feed_cost(stream: Stream, window: int, rounds: int) -> float:
    """By how much the change feed slows a run down, as a share."""
    table, duration = as_table(stream), stream.window_for(window)
    off = on = 0.0
    for _ in range(rounds):
        off = max(off, run(table, duration, 10)[0])
        on = max(on, run(table, duration, 10, track_changes=True)[0])
    return off / on - 1
