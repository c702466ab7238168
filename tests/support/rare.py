"""Rare paths made common: tiny thresholds, drawn at random, and the count of the paths that were taken."""

from __future__ import annotations

import random
from collections import Counter

from swoop.engine.memory import power_of_two
from swoop.engine.thresholds import Thresholds

PATHS = (
    "arena grown",
    "batch cut",
    "chunks merged",
    "completion begun",
    "completion begun anew",
    "feed grown",
    "new base",
    "token ids recycled",
    "pool grown",
    "pool of pairs grown",
    "ring grown",
    "room for a set grown",
    "room for ended pairs grown",
    "room for pending pairs grown",
    "room for pending pairs of the spare stock grown",
    "spare stock grown",
    "spare stock settled",
    "spare stock taken over",
    "stock grown",
    "stock settled",
    "table replaced",
    "texts grown",
    "token ids grown",
    "window shrunk",
)
"""All that happens seldom."""


def tiny(rng: random.Random, most_valid: int) -> Thresholds:
    """Thresholds that a short stream passes all the time. ``most_valid``: how many sets are valid at a time, at most."""
    sets, arena = rng.choice([2, 4, 16]), rng.choice([4, 16, 64])
    smallest_ring, smallest_arena = sets * rng.choice([1, 2]), arena * rng.choice([1, 2])
    largest_ring = power_of_two(max(sets, most_valid + 1))
    return Thresholds(
        sets=sets,
        arena=arena,
        pool=rng.choice([1, 8, 64]),
        set_tokens=rng.choice([1, 2, 8]),
        pending=rng.choice([2, 3, 16]),
        stock=rng.choice([1, 2, 8]),
        feed=rng.choice([1, 2, 8]),
        token_ids=rng.choice([1, 4, 64]),
        smallest_ring=smallest_ring,
        smallest_arena=smallest_arena,
        oversize=rng.choice([4, 5, 16]),
        most_feed=rng.choice([1, 4, 64]),
        last_number=most_valid + largest_ring + rng.choice([1, 2, 20]),
        early=rng.choice([1, 2, 16]),
        part=rng.choice([1, 1, 3, 128]),
        pending_least=rng.choice([1, 2, 5, 32]),
        spare_pending_least=rng.choice([1, 3, 20]),
        long_list=rng.choice([1, 3, 1 << 20]),
        chunk_tokens=rng.choice([1, 8, 64]),
        spare_tokens=rng.choice([0, 1, 4, 64]),
        least_table=rng.choice([4, 16, 64]),
        least_steps=rng.choice([1, 2, 16]),
        pace=rng.choice([1, 4, 16]),
        least_cleared=rng.choice([1, 8, 64]),
        block=64,
        room=rng.choice([1, 4, 64]),
        large=0 if rng.random() < 0.02 else 1 << 40,
    )


def report(taken: Counter[str]) -> str:
    """How often each path was taken."""
    return "\n".join(f"{taken[path]:>10,}  {path}" for path in PATHS)
