"""What live streams are given, batch by batch: rows of all kinds, and what is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from swoop.live.pieces import Backlog
from swoop.live.stream_spec import StreamSpec
from swoop.oracle import Record
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction, char_ngrams, word_ngrams, words
from tests.support.histories import SIMILARITIES, reachable, thresholds

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("time", pa.int64()),
        ("tokens", pa.list_(pa.int64())),
        ("stream", pa.string()),
        ("reason", pa.string()),
        ("row", pa.string()),
    ]
)
TEXTS = SCHEMA.set(2, pa.field("tokens", pa.string()))
FUNCTIONS = [
    words("tokens"),
    words("tokens", nfc=True, emoji=True, stop_words=["the"]),
    word_ngrams("tokens", nfc=True),
    char_ngrams("tokens", n=2),
]
PARTS = ["a ", "é ", "e\u0301 ", "\u3000", "the ", "😀", "A", "b", "ab", "ΑΣ ", "İ", "👩‍💻", "www.X.org/a ", "हिन्दी ", "𐐀"]
"""Of texts: letters in several ways, white space, emoji, and what looks alike but is not."""


@dataclass(frozen=True)
class Row:
    id: int
    time: int
    tokens: tuple[int, ...] | str  # a text, if a token function makes tokens of it
    stream: str = "left"
    reason: str | None = None

    def record(self, spec: StreamSpec) -> Record:
        tokens: Any = spec.tokens(self.tokens) if isinstance(spec.tokens, TokenFunction) else self.tokens  # type: ignore[arg-type]
        return Record(tokens, self.time, self.id, self.stream if spec.two_streams else None)  # type: ignore[arg-type]


def table(rows: list[Row], spec: StreamSpec | None = None) -> pa.Table:
    schema = TEXTS if spec is not None and isinstance(spec.tokens, TokenFunction) else SCHEMA
    found = [(r.id, r.time, r.tokens, r.stream, r.reason, "{}") for r in rows]
    made = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in found], schema)
    if spec is None or not spec.keep:
        return made
    records = [None if r.reason else {"name": f"set {r.id}", "at": r.time} for r in rows]
    return made.append_column("record", pa.array(records, pa.struct(spec.keep)))


KEEP = (("name", pa.string()), ("at", pa.int64()))
"""What is kept of rows, where something is: their ids and times, so that results tell whether it is that of the right ones."""

SPEC = StreamSpec(JoinSpec(3, 12), lateness=4, time_kind="integer")


def with_join(spec: StreamSpec, **changes: Any) -> StreamSpec:
    """The same with another join."""
    return replace(spec, join=replace(spec.pairs, **changes))


@dataclass(frozen=True)
class Run:
    """Batches, after which of them the stream ends (and goes on in a new process), and what is asked for."""

    batches: list[list[Row]]
    ends: frozenset[int]
    spec: StreamSpec = SPEC
    idles: tuple[tuple[int, ...], ...] = ()
    """For each batch, by how much time moves on after it, step by step, without rows."""

    def idles_after(self, batch: int) -> tuple[int, ...]:
        return self.idles[batch] if 0 <= batch < len(self.idles) else ()

    def options(self) -> dict[str, Any]:
        join = self.spec.pairs
        return {
            "k": join.k,
            "window": join.window.duration,
            "similarity": join.similarity,
            "two_streams": join.two_streams,
            "min_similarity": join.min_similarity,
            "copies": join.copies,
        }


def families(spec: StreamSpec, min_similarity: float) -> StreamSpec:
    """The same, but for families."""
    return replace(spec, join=FamilySpec(min_similarity, spec.join.window, spec.join.similarity))


def any_way(rows: list[Row], spec: StreamSpec, rng: random.Random) -> pa.Table | Backlog:
    """The rows of a batch in another order, at once or in pieces."""
    rows = rng.sample(rows, len(rows))
    if rng.random() < 0.5:
        return table(rows, spec)
    times = sorted(row.time for row in rows if row.reason is None)
    cuts = sorted(rng.choices(times, k=rng.randrange(4))) if times else []
    pieces: list[list[Row]] = [[] for _ in range(len(cuts) + 1)]
    for row in rows:
        piece = sum(cut <= row.time for cut in cuts) if row.reason is None else rng.randrange(len(pieces))
        pieces[piece].append(row)
    return Backlog(np.array(times, np.int64), iter([table(piece, spec) for piece in pieces]))


def small_batches() -> list[list[Row]]:
    """Forty, with many copies. All rows are on time."""
    rng = random.Random(7)
    return [[Row(n, n, tuple(rng.choices(range(6), k=2))) for n in range(7 * batch, 7 * batch + 7)] for batch in range(40)]


@st.composite
def runs(draw: st.DrawFn, idle: bool = False, finds: str = "pairs") -> Run:
    similarity = draw(st.sampled_from(SIMILARITIES))
    least = draw(thresholds(similarity))
    join = JoinSpec(
        draw(st.sampled_from([1, 2, 3, 10] if least is None else [1, 3, 10, None])),
        draw(st.integers(1, 25)),
        similarity,
        two_streams=draw(st.booleans()),
        min_similarity=least,
        copies=draw(st.sampled_from(["each", "once"])),
    )
    spec = StreamSpec(
        join,
        lateness=draw(st.integers(0, 8)),
        time_kind="integer",
        max_ahead=draw(st.sampled_from([None, None, 0, 3, 10, 20])),
        tokens=draw(st.sampled_from(["tokens", "tokens", *FUNCTIONS])),
    )
    if finds == "families":
        spec = families(spec, draw(reachable(similarity)))
    universe = draw(st.integers(1, 8))
    tokens: st.SearchStrategy[Any] = st.lists(st.integers(0, universe), max_size=5).map(tuple)
    if spec.tokens != "tokens":
        tokens = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)
    time = draw(st.integers(-5, 5))
    rows = []
    for number in range(draw(st.integers(0, 30))):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 9]))
        found = Row(
            draw(st.sampled_from([number, number % 4])),
            time - draw(st.sampled_from([0, 0, 0, 0, 1, 3, 12, -30])),
            draw(tokens),
            draw(st.sampled_from(["left", "right"])) if spec.two_streams else "left",
            draw(st.sampled_from([None] * 9 + ["bad"])),
        )
        rows.append(found)
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=8)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    ends = draw(st.frozensets(st.integers(0, len(batches) - 1), max_size=2))
    silences = st.lists(st.sampled_from([1, 3, 10, 30]), max_size=2).map(tuple)
    return Run(batches, ends, spec, tuple(draw(silences) for _ in batches) if idle else ())


def with_texts(case: Run, function: TokenFunction) -> Run:
    """The same with texts, which a token function makes tokens of: the parts of a text are as many as the tokens were."""
    batches = [
        [replace(row, tokens="".join(PARTS[n % len(PARTS)] for n in row.tokens)) for row in rows] for rows in case.batches
    ]
    return replace(case, batches=batches, spec=replace(case.spec, tokens=function, token_type=str(function)))


def scenario(idle: bool = False, **asked: Any) -> Run:
    rng = random.Random(5)
    rows = [
        Row(n, n // 2 - rng.choice([0, 0, 1, 3, 9]), tuple(rng.choices(range(6), k=rng.randrange(1, 5)))) for n in range(60)
    ]
    rows = [replace(row, reason="bad") if row.id % 17 == 5 else row for row in rows]
    return Run(
        [rows[n : n + 7] for n in range(0, 60, 7)],
        frozenset({4}),
        with_join(SPEC, **asked),
        idles=((), (), (5, 2), (), (), (), (30,)) if idle else (),
    )
