"""How fast copies that count once and families are: beside the same join in which each copy counts, and on a wave."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import swoop
from swoop.errors import CapacityExceeded
from swoop.paper import data_sets
from swoop.paper.data_sets import DataSet, generate, generate_warm
from swoop.paper.measure import as_table

LEAST = 0.8  # from which similarity on sets are linked
MOST, EVERY = 100_000, 100  # pairs of equal sets that are counted; after how many sets
WAVE, WAVE_SIZE = 10_000, 30  # sets in the window that are all of one family, and their tokens


def report(sets: int, rounds: int) -> list[str]:
    """The section of the performance page."""
    return [
        "",
        "## Copies and families",
        "",
        f"k = 10, windows of 10,000 sets, {sets:,} sets in batches; sets per CPU second, best of {rounds}.",
        "",
        '| data set | `copies="each"` | `copies="once"` | | changes tracked: each | once | |',
        "|---|--:|--:|--:|--:|--:|--:|",
        *(_copies(name, data_set, rounds) for name, data_set in _data_sets(sets)),
        "",
        "Copies are the most similar pairs there can be: with them in the top-k, hardly anything else has to be looked at.",
        "Where they count once, the join has to find what is similar without being equal.",
        "",
        "Where each copy counts, pairs of equal sets come first. For ten pairs of different sets behind them, k has to be",
        f"larger by as many as there are of those at once (looked at after every {EVERY} sets, counted up to {MOST:,}). One",
        "pair may still be there several times, once for each copy. So to see ten different pairs, k is at least this, and",
        "the rate at most this:",
        "",
        '| data set | k with `copies="each"`, at least | sets/s | k with `copies="once"` | sets/s | |',
        "|---|--:|--:|--:|--:|--:|",
        *(_same_pairs(name, data_set, rounds) for name, data_set in _data_sets(sets)[2:]),
        "",
        f"Families from jaccard {LEAST} on, changes tracked and not read:",
        "",
        "| data set | sets in the window | sets per CPU second |",
        "|---|--:|--:|",
        *(_families(sets, window, rounds) for window in (10_000, 100_000)),
        _wave(rounds),
    ]


def _data_sets(sets: int) -> list[tuple[str, DataSet]]:
    return [
        ("tweet, no copies", _with_copies("tweet", sets, 0.0, 0.15)),
        ("flickr, no copies", _with_copies("flickr", sets, 0.0, 0.25)),
        ("industry", generate_warm("industry", sets)),
        ("tweet, every other one a copy", _with_copies("tweet", sets, 0.5, 0.0)),
    ]


def _with_copies(name: str, sets: int, copies: float, edits: float) -> DataSet:
    before = data_sets.SHAPES[name]
    data_sets.SHAPES[name] = replace(before, copies=copies, edits=edits)
    try:
        return generate(name, sets)
    finally:
        data_sets.SHAPES[name] = before


def _copies(name: str, data_set: DataSet, rounds: int) -> str:
    table, window = as_table(data_set), data_set.window_for(10_000)
    cells = []
    for tracked in (False, True):
        best: dict[str, float] = {}
        for _ in range(rounds):
            for copies in ("each", "once"):
                spent = _spent(swoop.TopKJoin(10, window, copies=copies, track_changes=tracked), table)
                best[copies] = min(best.get(copies, spent), spent)
        each, once = (len(data_set) / best[copies] for copies in ("each", "once"))
        cells.append(f"{each:,.0f} | {once:,.0f} | {once / each:.2f} ×")
    return f"| {name} | {' | '.join(cells)} |"


def _same_pairs(name: str, data_set: DataSet, rounds: int) -> str:
    table, window = as_table(data_set), data_set.window_for(10_000)
    k = 10 + _most_equal(table, window)
    each = min(_spent(swoop.TopKJoin(k, window), table) for _ in range(rounds))
    once = min(_spent(swoop.TopKJoin(10, window, copies="once"), table) for _ in range(rounds))
    rates = [f"{len(data_set) / spent:,.0f}" for spent in (each, once)]
    return f"| {name} | {k:,} | {rates[0]} | 10 | {rates[1]} | {each / once:.1f} × |"


def _most_equal(table: pa.Table, window: float) -> int:
    """How many pairs of equal sets there are at once, as far as they are counted."""
    join, most = swoop.TopKJoin(None, window, min_similarity=1, max_pairs=MOST), 0
    try:
        for first in range(0, table.num_rows, EVERY):
            join.insert_many(table.slice(first, EVERY))
            most = max(most, join.stats.stock_size)
    except CapacityExceeded:
        return MOST
    return most


def _families(sets: int, window: int, rounds: int) -> str:
    data_set = generate("tweet", max(sets, 2 * window) if sets > window // 10 else sets)
    table, duration = as_table(data_set), data_set.window_for(min(window, len(data_set) // 2))
    spent = min(_spent(swoop.Families(LEAST, duration), table) for _ in range(rounds))
    return f"| tweet | {window:,} | {len(data_set) / spent:,.0f} |"


def wave(sets: int) -> pa.Table:
    """Different sets, in each of which two tokens of one set are others."""
    rng = np.random.default_rng(1)
    tokens = np.tile(np.arange(WAVE_SIZE), (sets, 1))
    for place in range(2):
        tokens[np.arange(sets), (np.arange(sets) + place * 7) % WAVE_SIZE] = rng.integers(1000, 1_000_000, sets)
    lists = pa.LargeListArray.from_arrays(pa.array(np.arange(sets + 1) * WAVE_SIZE), pa.array(tokens.ravel()))
    return pa.table({"tokens": lists, "time": pa.array(np.arange(sets))})


def _wave(rounds: int) -> str:
    table = wave(4 * WAVE)
    spent = min(_spent(swoop.Families(LEAST, WAVE), table) for _ in range(rounds))
    return f"| one family of different sets, {WAVE_SIZE} tokens | {WAVE:,} | {table.num_rows / spent:,.0f} |"


def _spent(join: Any, table: pa.Table) -> float:
    """CPU seconds for all arrivals."""
    start = time.process_time()
    join.insert_many(table)
    return time.process_time() - start
