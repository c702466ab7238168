"""Numbers of tokens that left the window are given out again, some at a time, and nothing else changes.

Tests of swoop.engine.interning, swoop.engine.tokens.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import swoop
from swoop import oracle
from swoop.engine import thresholds
from swoop.engine.thresholds import Thresholds
from swoop.engine.tokens import Tokens
from swoop.engine.vocabulary import hash_integer
from tests.support.histories import insert


@pytest.fixture(params=[1, 4, 64])
def pace(request: pytest.FixtureRequest) -> Iterator[int]:
    """Tables so small that they are replaced all the time; the slowest pace is too slow for what comes."""
    tiny = Thresholds(
        least_table=16,
        least_steps=2,
        least_cleared=8,
        room=4,
        block=64,
        pace=request.param,
        spare_tokens=4,
        chunk_tokens=256,
    )
    with thresholds.use(tiny):
        yield int(request.param)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["integers", "large integers", "texts", "all kinds"])
@pytest.mark.parametrize("two_streams", [False, True])
def test_recycling(pace: int, kind: str, two_streams: bool) -> None:
    """Tokens come and go, one by one and in bulk; the table grows and shrinks, while results stay those of brute force."""
    rng = random.Random(5)
    join = swoop.TopKJoin(4, 12, two_streams=two_streams)
    inside = join._engine
    records: list[Any] = []
    sizes, both, kept = set(), 0, []
    for time in range(800):
        most = 50 if 200 < time < 240 else 5  # for a while, many more tokens
        tokens: list[Any] = [time * 2 + rng.randrange(3 * most) for _ in range(rng.randrange(1, most))]
        if kind == "large integers":
            tokens = [token if token % 3 else (token - 700) << 32 for token in tokens]
        if kind == "texts" or (kind == "all kinds" and time % 2):
            tokens = [f"token {token}" + "x" * (token % 50) ** 2 for token in tokens]
        if kind == "all kinds" and time % 3 == 0:
            tokens = [*tokens, time, str(time).encode()]
        stream: Any = rng.choice(["left", "right"]) if two_streams else None
        records.append(oracle.Record(tokens, time, time, stream))
        if time % 7 in (0, 1):  # a batch of three
            continue
        insert(join, records[-3:] if time % 7 == 2 else records[-1:])
        sizes.add(inside.memory["vocabulary.table"].size)
        both += inside.memory["vocabulary.old_table"].size > 0
        kept.append(inside.memory["vocabulary.texts"].size)
        join._check()
        assert list(join.topk()) == oracle.topk(records[-15:], k=4, window=12, two_streams=two_streams)
    assert len(sizes) > 2, "the table never grew"
    assert both > 5, "no table was replaced while sets came"
    assert join.stats.vocabulary_size < len({token for record in records for token in record.tokens}) / 2
    assert kept[-1] <= 3 * kept[len(kept) // 2], "the room for texts grows without end"


@pytest.mark.no_cover
@pytest.mark.parametrize("pace", [64], indirect=True)
def test_the_table_shrinks(pace: int) -> None:
    """After large sets only small ones come."""
    join = swoop.TopKJoin(1, 12)
    sizes = []
    for time in range(2500):
        join.insert(range(time * 500, time * 500 + (300 if time < 30 else 3)), time)
        sizes.append(join._engine.memory["vocabulary.table"].size)
    assert sizes[-1] <= max(sizes) / 16
    join._check()


@pytest.mark.no_cover
def test_large_sets(pace: int) -> None:
    """A set that is larger than the table."""
    join = swoop.TopKJoin(1, 3)
    for time in range(40):
        join.insert(range(time * 10, time * 10 + (3, 500, 20)[time % 3]), time)
        join._check()
    join.insert_many({"tokens": [list(range(time, time + 700)) for time in range(40, 60)], "time": range(40, 60)})
    join._check()
    assert join.topk()[0].overlap == 699


def test_tokens_of_the_window_stay() -> None:
    """When all numbers have been gone through, exactly the tokens of the window have one."""
    join = swoop.TopKJoin(1, 50)
    for time in range(2000):
        join.insert([time * 10 + token for token in range(10)], time)
    inside = join._engine
    inside.interning.replace_table(inside.memory["vocabulary.table"].copy() * 0)
    inside.interning.recycle(10**6)
    assert join.stats.vocabulary_size == 500
    join._check()


@pytest.mark.parametrize("step", [1, 16, 1000, 4096, 1 << 17, 1 << 33])
def test_integers_in_steps_stay_near_their_places(step: int) -> None:
    """Identifiers are often counted up; whatever the seed, they spread over the table as if by chance (0.4 places away)."""
    for seed in random.Random(step).sample(range(1, 1 << 63, 2), 50):
        taken: set[int] = set()
        away = 0
        for number in range(448):
            place = int(hash_integer(number * step, seed)) & 1023
            while place in taken:
                place = (place + 1) & 1023
                away += 1
            taken.add(place)
        assert away < 448


@pytest.mark.parametrize("first", [5, 5 << 40])
def test_integers_of_all_sizes_in_one_batch(first: int) -> None:
    """Many blocks of tokens, whichever way they are looked for: each keeps its number, and no other token has it."""
    rng = random.Random(3)
    tokens = [first] + [rng.choice([1, -1, 1 << 32, 1 << 40]) * rng.randrange(700) for _ in range(5000)]
    inside = swoop.TopKJoin(1, 10)._engine
    for _ in range(2):
        assert inside.interning.intern(Tokens.of(tokens), len(tokens)) == len(tokens)
        numbers = inside.memory["batch.token_ids"].tolist()
        assert inside.interning.tokens(np.array(numbers)).to_list() == tokens
        assert len(set(numbers)) == len(set(tokens)) == inside.vocabulary_size


@pytest.mark.parametrize("size", [1, 255, 256, 65_535, 65_536, 2**24])
def test_texts_of_every_size(size: int) -> None:
    """Each byte of a size counts: long tokens are found again, and equal beginnings are not enough."""
    join = swoop.TopKJoin(k=1, window=3)
    for time in range(6):
        tokens = ["abc"[time // 2] * size, "z" * (size - 1) + str(time)]  # every other set has its first one again
        join.insert(tokens, 2 * time)
        (*pairs,) = join.topk()
        assert [pair.overlap for pair in pairs] == ([1] if time % 2 else [])


def test_short_and_long_texts_are_told_apart() -> None:
    """A short text is its own key: with zeros behind it, or as bytes, it is another token; so is the integer that it makes."""
    texts = [letter * size + end for letter in "az" for size in range(20) for end in ("", "\0", "\0\0", "b", "é")]
    packed = [int.from_bytes(f"{text:\0<7}\x0f".encode()[:8], "little") for text in ("a", "aaaaaaa")]
    tokens: list[Any] = [*texts, *(text.encode() for text in texts), *packed, *(-number for number in packed)]
    tokens = list(dict.fromkeys(tokens))
    rng = random.Random(1)
    join = swoop.TopKJoin(1, 10)
    inside = join._engine
    for _ in range(3):
        rng.shuffle(tokens)
        assert inside.interning.intern(Tokens.of(tokens), len(tokens)) == len(tokens)
        numbers = inside.memory["batch.token_ids"].tolist()
        assert len(set(numbers)) == len(tokens) == inside.vocabulary_size
        assert inside.interning.tokens(np.array(numbers)).to_list() == tokens
    join.insert([*texts, *packed], 1)
    join.insert([*texts[::2], *packed], 2)
    assert join.topk()[0].overlap == len({*texts[::2], *packed})
