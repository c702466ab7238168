"""Real streams, from Parquet files that one has: every way to run must give the same changes, with many parameters."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import swoop
from swoop.live.stream_spec import StreamSpec
from swoop.oracle import Record
from swoop.spec import JoinSpec
from swoop.times import find_window
from tests.support import live_judge, live_runs
from tests.support.cells import run_cells
from tests.support.histories import SIMILARITIES
from tests.support.judge import judge
from tests.support.live_cases import Row, Run
from tests.support.slices import run_sliced, stays_of

ROWS = 4000
KS = (1, 2, 10, 100, 1000)
WINDOWS = ("90 minutes", "6 hours", "2 days", "30 days")


def streams(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    """The streams of a folder: tokens and times of each file, in order."""
    for path in sorted(folder.glob("*.parquet")):
        rows = pq.read_table(path)
        time = next(name for name in ("ts", "time") if name in rows.column_names)
        if "tokens" in rows.column_names:
            tokens = rows["tokens"].combine_chunks()
        else:
            tokens = pc.utf8_split_whitespace(pc.utf8_lower(rows["text"])).combine_chunks()
        table = pa.table({"tokens": tokens, "time": rows[time].cast(pa.timestamp("us"))})
        yield path.stem, table.sort_by("time")


def changes(rows: pa.Table, options: dict[str, Any], algorithm: str, sizes: Iterator[int]) -> list[Any]:
    """Every change, with batches of these sizes."""
    join = swoop.TopKJoin(**options, algorithm=algorithm, track_changes=True)
    at = 0
    while at < rows.num_rows:
        size = next(sizes)
        if size == 1:
            row = rows.slice(at, 1).to_pylist()[0]
            join.insert(row["tokens"], row["time"])
        else:
            join.insert_many(rows.slice(at, size))
        at += size
    return list(join.changes())


def endless(rng: random.Random, choices: list[int]) -> Iterator[int]:
    while True:
        yield rng.choice(choices)


def compare(rows: pa.Table, seed: int) -> int:
    """A piece of a stream with parameters drawn at random. Gives the number of changes that were compared."""
    rng = random.Random(seed)
    start = rng.randrange(max(1, rows.num_rows - ROWS))
    piece = rows.slice(start, rng.choice([300, ROWS, ROWS]))
    options = {"k": rng.choice(KS), "window": rng.choice(WINDOWS), "similarity": rng.choice(SIMILARITIES)}
    whole = changes(piece, options, "swoop", endless(rng, [piece.num_rows]))
    for algorithm, sizes in (("swoop", [1]), ("swoop", [1, 7, 500]), ("swoop-minimal", [1, 50, 1000])):
        assert changes(piece, options, algorithm, endless(rng, sizes)) == whole, (seed, options, algorithm, sizes)
    small = piece.slice(0, 200)
    records = [Record(row["tokens"], row["time"]) for row in small.to_pylist()]
    assert changes(small, options, "swoop", endless(rng, [1, 60])) == judge(records, **options).changes, (seed, options)
    ticks = find_window(options["window"]).duration
    return 4 * len(whole) + len(records) + compare_on_spark(small.slice(0, 60), {**options, "window": ticks}, rng)


def compare_on_spark(rows: pa.Table, asked: dict[str, Any], rng: random.Random) -> int:
    """The same as a history in slices, live and in cells, all without Spark, against brute force. Times are ticks."""
    times = rows["time"].cast(pa.int64()).to_pylist()
    numbers: dict[str, int] = {}
    tokens = [tuple(numbers.setdefault(token, len(numbers)) for token in row) for row in rows["tokens"].to_pylist()]
    options = {**asked, "two_streams": False, "min_similarity": None}
    records = [Record(row, time) for row, time in zip(tokens, times, strict=True)]
    cuts = [*sorted({times[0], *rng.sample(times, 4)}), times[-1] + 1]
    expected = stays_of(records, **options)
    assert run_sliced(records, list(pairwise(cuts)), rng.randrange(1, 200), **options) == expected, (asked, cuts)
    spec = StreamSpec(
        JoinSpec(asked["k"], asked["window"], asked["similarity"]),
        lateness=rng.choice([0, asked["window"] // 10]),
        time_kind="integer",
    )
    given = [Row(number, time, row) for number, (row, time) in enumerate(zip(tokens, times, strict=True))]
    size = rng.choice([7, 40, 200])
    case = Run([given[at : at + size] for at in range(0, len(given), size)], frozenset(), spec)
    for groups in (None, 2, 3):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if groups is None:
                live: Any = live_runs.run_again(folder, case, lambda batch: rng.random() < 0.8)
            else:
                live = run_cells(folder, case, groups, rng, dies=0.1)
            live_judge.check(folder, case, live)
    return 4 * len(expected)
