"""Sets of the same time and id: a history and a live stream let them enter in the same order."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from swoop import oracle
from swoop.live.row_order import sort_rows
from swoop.oracle import Record
from swoop.spark import topk_history, topk_stream
from tests.support.slices import stays_of

SCHEMA = "id long, time long, tokens array<string>, stream string"


def rows(two_streams: bool) -> list[dict[str, Any]]:
    rng = random.Random(2)
    return [
        {
            "id": rng.randrange(2),
            "time": rng.randrange(40),
            "tokens": rng.sample("abcdef", rng.randint(1, 4)),
            "stream": rng.choice(["left", "right"]) if two_streams else "left",
        }
        for _ in range(200)
    ]


@pytest.mark.parametrize("two_streams", [False, True])
def test_history_and_stream_and_brute_force(spark: SparkSession, tmp_path: Path, two_streams: bool) -> None:
    for part, found in enumerate((rows(two_streams)[:70], rows(two_streams)[70:])):  # in no order of time
        (tmp_path / f"{part}.json").write_text("".join(json.dumps(row) + "\n" for row in found))
    sets = spark.read.schema(SCHEMA).json(str(tmp_path))
    in_order = sets.orderBy("time", "id", "tokens", "stream").collect()
    records = [Record(row["tokens"], row["time"], row["id"], row["stream"] if two_streams else None) for row in in_order]
    assert len({(row["time"], row["id"]) for row in in_order}) < 100  # of 200

    stream = "stream" if two_streams else None
    options: dict[str, Any] = {"k": 4, "window": 9, "two_streams": two_streams}
    other_order = [record for _, same in groupby(records, lambda r: (r.time, r.id)) for record in reversed(list(same))]
    assert stays_of(other_order, **options) != stays_of(records, **options)
    stays = topk_history(sets.repartition(3), 4, 9, stream=stream, slices=3)
    assert sorted(map(tuple, stays.collect()), key=repr) == stays_of(records, **options)

    live = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path))
    handle = topk_stream(live, 4, 9, stream=stream, lateness=40).start(changes="memory", available_now=True)
    assert handle.await_termination(120)
    assert list(map(shown, handle.changes())) == list(map(shown, oracle.changes(records, **options)))


TEXTS = st.sampled_from(["", "a", "b", "ab", "é", "\uffff", "😀"])


@given(st.lists(st.tuples(st.integers(0, 2), TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from(["left", "right"]))))
def test_one_order(given_rows: list[Any]) -> None:
    """That of time, id, tokens and stream, whatever the order in which rows come."""
    for encode in (str, str.encode):
        rows = [(time, encode(name), [encode(token) for token in tokens], stream) for time, name, tokens, stream in given_rows]
        kind = pa.string() if encode is str else pa.binary()
        types = (pa.int64(), kind, pa.list_(kind), pa.string())
        columns = list(zip(*rows, strict=True)) or [()] * 4
        names = ("time", "id", "tokens", "stream")
        table = pa.table({n: pa.array(column, t) for n, column, t in zip(names, columns, types, strict=True)})
        assert [tuple(row.values()) for row in sort_rows(table).to_pylist()] == sorted(rows)


WORDS = 2**64
P1, P2, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) % WORDS


def mixed(word: int) -> int:
    """What xxhash64 makes of eight bytes before it takes them in."""
    return rotated(word * P2 % WORDS, 31) * P1 % WORDS


def unmixed(word: int) -> int:
    return rotated(word * pow(P1, -1, WORDS) % WORDS, 33) * pow(P2, -1, WORDS) % WORDS


def words_with_one_hash() -> tuple[str, str]:
    """Two words of 16 letters that Spark's xxhash64 cannot tell apart."""

    def after(half: bytes) -> int:
        begun = (42 + P5 + 16) % WORDS ^ mixed(int.from_bytes(half, "little"))
        return (rotated(begun, 27) * P1 + P4) % WORDS

    one = b"similar "
    wanted = after(one) ^ mixed(int.from_bytes(b"pairs...", "little"))
    for number in range(10**7):
        other = b"%08d" % number
        half = unmixed(wanted ^ after(other)).to_bytes(8, "little")
        if half.isascii() and half.decode().isprintable():
            return "similar pairs...", (other + half).decode()
    raise AssertionError("there must be some")


def test_two_words_with_one_hash_are_two(spark: SparkSession) -> None:
    one, other = words_with_one_hash()
    (hashes,) = spark.createDataFrame([(one, other)], "a string, b string").selectExpr("xxhash64(a)", "xxhash64(b)").collect()
    assert hashes[0] == hashes[1]
    given = [(1, 1, [one]), (2, 2, [other]), (3, 3, [one, other]), (4, 4, [other])]
    stays = topk_history(spark.createDataFrame(given, "id int, time int, tokens array<string>"), 9, 10).collect()
    found = {(row.newer, row.older): (row.similarity, row.overlap) for row in stays}
    assert found == {(3, 1): (0.5, 1), (3, 2): (0.5, 1), (4, 2): (1.0, 1), (4, 3): (0.5, 1)}


def shown(change: Any) -> tuple[Any, ...]:
    pair = change.pair
    return change.time, change.kind, pair.newer, pair.older, pair.similarity, pair.overlap
