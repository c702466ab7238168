"""Streams as the world has them: days and nights, weekends, bursts, silences a thousand times as long as the usual gap."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from swoop.oracle import Record

TOKEN_KINDS: tuple[Callable[[int], Any], ...] = (
    lambda number: number,
    lambda number: number << 33,
    str,
    lambda number: "word" * (number % 9) + str(number),
    lambda number: str(number).encode(),
    lambda number: (number, str(number), str(number).encode())[number % 3],
    lambda number: "" if number == 0 else b"" if number == 1 else str(number),
)


def steady(rng: random.Random) -> Iterator[int]:
    gaps = rng.choice([[1], [0, 1], [0, 0, 1, 2, 3], [1, 1, 1, 9]])
    while True:
        yield rng.choice(gaps)


def days(rng: random.Random) -> Iterator[int]:
    """Busy days, quiet nights, quieter weekends."""
    day = 0
    while True:
        is_weekend = day % 7 > 4
        for _ in range(rng.randrange(1, 4) if is_weekend else rng.randrange(8, 30)):
            yield rng.choice([0, 1, 1, 2])
        for _ in range(rng.randrange(1, 4)):
            yield rng.randrange(200, 2000)
        day += 1


def bursts(rng: random.Random) -> Iterator[int]:
    """All at once, and then one by one."""
    while True:
        for _ in range(rng.randrange(5, 40)):
            yield 0
        for _ in range(rng.randrange(1, 12)):
            yield rng.randrange(1, 30)


def silences(rng: random.Random) -> Iterator[int]:
    while True:
        for _ in range(rng.randrange(3, 25)):
            yield rng.choice([0, 1, 2, 3])
        yield 1000 * rng.randrange(1, 4)


RHYTHMS = (steady, days, bursts, silences)


def stream(rng: random.Random, size: int, two_streams: bool) -> list[Record]:
    """Sets of a few tokens, some of them ever new, many of them copies or edited copies of recent ones; moods change."""
    kind = rng.choice(TOKEN_KINDS)
    gaps = rng.choice(RHYTHMS)(rng)
    universe, largest = rng.choice([3, 12, 60]), rng.choice([2, 6, 14])
    time = rng.choice([0, 0, -50, 10**9])
    found: list[Record] = []
    copies = edits = news = 0.0
    for number in range(size):
        if number % 25 == 0:
            copies, edits, news = rng.choice([0, 0.1, 0.6]), rng.choice([0, 0.2, 0.5]), rng.choice([0, 0, 0.3, 0.9])
        if found and rng.random() < copies:
            tokens = list(rng.choice(found[-12:]).tokens)
        elif found and rng.random() < edits:
            tokens = [*list(rng.choice(found[-12:]).tokens)[1:], kind(rng.randrange(universe))]
        else:
            tokens = [
                kind(1000 + 20 * number + n if rng.random() < news else rng.randrange(universe))
                for n in range(rng.randrange(largest + 1))
            ]
        time += next(gaps)
        name = rng.choice([None, None, number, f"post {number}", b"7"])
        found.append(Record(tokens, time, name, rng.choice(["left", "right"]) if two_streams else None))
    return found
