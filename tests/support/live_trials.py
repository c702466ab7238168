"""Random trials of what Spark runs, without Spark: histories in slices, live joins that die, cells; with tiny thresholds."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

from swoop.engine import thresholds
from swoop.live import ahead, chunks
from swoop.live.stream_spec import StreamSpec
from swoop.oracle import Record
from swoop.spec import JoinSpec
from tests.support import live_cases, live_judge, live_runs
from tests.support.cells import run_cells
from tests.support.histories import SIMILARITIES
from tests.support.live_cases import Row, Run
from tests.support.rare import tiny
from tests.support.rhythms import stream
from tests.support.slices import run_sliced, stays_of
from tests.support.trials import THRESHOLDS, WINDOWS

SIZE = 60


def numbered(records: list[Record]) -> list[Record]:
    """The same sets with integers for tokens."""
    numbers: dict[Any, int] = {}
    return [
        Record(
            [numbers.setdefault((type(token), token), len(numbers)) for token in record.tokens],
            record.time,
            None,
            record.stream,
        )
        for record in records
    ]


def options(rng: random.Random) -> dict[str, Any]:
    similarity = rng.choice(SIMILARITIES)
    k = rng.choice([1, 2, 3, 10, 1000, None])
    least: list[float | None] = [*THRESHOLDS.get(similarity, (0.0, 0.2, 1 / 3, 0.7, 1.0))]
    return {
        "k": k,
        "window": rng.choice(WINDOWS),
        "similarity": similarity,
        "two_streams": rng.random() < 0.3,
        "min_similarity": rng.choice(least if k is None else [None, None, *least]),
    }


def with_copies(case: Run, rng: random.Random) -> Run:
    """The same, but copies count once; there are many, and they outlive a short window, in which time goes on slowly."""
    rows = [row for batch in case.batches for row in batch]
    common = [rng.choice(rows).tokens for _ in range(rng.randrange(1, 6))]
    batches: list[list[Row]] = []
    now = 0
    for batch in case.batches:
        batches.append([])
        for row in batch:
            now += rng.choice([0, 1, 1, 2, 5])
            tokens = rng.choice(common) if rng.random() < 0.6 else row.tokens
            batches[-1].append(replace(row, time=now - rng.choice([0, 0, 0, 1, 3, 20]), tokens=tokens))
    join = {"copies": "once", "window": rng.choice([3, 8, 15, 30])}
    return replace(case, batches=batches, spec=replace(live_cases.with_join(case.spec, **join), lateness=rng.choice([0, 3, 9])))


def sliced(seed: int, taken: Counter[str]) -> int:
    """A history, cut anywhere."""
    rng = random.Random(f"{seed} sliced")
    asked = options(rng)
    records = numbered(stream(rng, rng.randrange(1, SIZE), asked["two_streams"]))
    first, last = int(records[0].time), int(records[-1].time)  # type: ignore[arg-type]
    cuts = [*sorted({first, *(rng.randrange(first, last + 1) for _ in range(rng.randrange(6)))}), last + 1]
    with thresholds.use(tiny(rng, SIZE)):
        found = run_sliced(records, list(pairwise(cuts)), rng.randrange(1, 20), **asked)
    expected = stays_of(records, **asked)
    assert found == expected, seed
    return len(expected) + len(records)


def run_of(rng: random.Random) -> Run:
    """Batches of a stream with a rhythm, some of its rows late, bad, or from the future."""
    asked = options(rng)
    spec = StreamSpec(
        JoinSpec(**asked),
        lateness=rng.choice([0, 3, 50]),
        time_kind="integer",
        max_ahead=rng.choice([None, None, 5, 3000]),
    )
    rows = [
        Row(
            rng.choice([number, number % 4]),
            int(record.time) - rng.choice([0, 0, 0, 1, 3, 60, -5000]),  # type: ignore[arg-type]
            tuple(record.tokens),  # type: ignore[arg-type]
            record.stream or "left",
            "bad" if rng.random() < 0.05 else None,
        )
        for number, record in enumerate(numbered(stream(rng, rng.randrange(1, SIZE), asked["two_streams"])))
    ]
    cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(rng.randrange(9)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    run = Run(batches, frozenset(rng.sample(range(len(batches)), min(len(batches), rng.randrange(3)))), spec)
    return live_cases.with_texts(run, rng.choice(live_cases.FUNCTIONS)) if rng.random() < 0.3 else run


def _lived(seed: int, cells: int | None, taken: Counter[str], finds: str = "pairs") -> int:
    real_merge = chunks.read_chunks

    def merge(*arguments: Any) -> Any:
        taken["chunks merged"] += 1
        return real_merge(*arguments)

    rng = random.Random(f"{seed} {cells} {finds}")
    case = run_of(rng)
    case = with_copies(case, rng) if rng.random() < 0.6 else case
    if finds == "families":
        least = THRESHOLDS.get(case.spec.join.similarity.name, (0.0, 0.2, 1 / 3, 0.5, 0.7, 1.0))
        case = replace(case, spec=live_cases.families(case.spec, rng.choice(least)))
    if cells is None:
        case = replace(
            case, idles=tuple(tuple(rng.choices([1, 4, 40, 4000], k=rng.choice([0, 0, 1, 2]))) for _ in case.batches)
        )
    case = replace(case, spec=replace(case.spec, keep=rng.choice([(), live_cases.KEEP])))
    with (
        tempfile.TemporaryDirectory() as name,
        thresholds.use(tiny(rng, SIZE)),
        patch.object(ahead, "AGREEING", 3),
        patch.object(chunks, "MERGED", rng.choice([2, 3, 16])),
        patch.object(chunks, "read_chunks", merge),
    ):
        folder = Path(name)
        if cells is None:
            live_runs.run_again(folder, case, lambda batch: rng.random() < 0.7)
            live: Any = live_runs.start(folder, case.spec)
        else:
            live = run_cells(folder, case, cells, rng, dies=0.2)
        live_judge.check(folder, case, live)
    return sum(map(len, case.batches)) + live.stats.changes


def live(seed: int, taken: Counter[str]) -> int:
    """A live join whose process dies now and then."""
    return _lived(seed, None, taken)


def live_families(seed: int, taken: Counter[str]) -> int:
    """Live families whose process dies now and then."""
    return _lived(seed, None, taken, "families")


def in_cells(seed: int, taken: Counter[str]) -> int:
    """The same with cells, whose driver dies now and then."""
    return _lived(seed, 2 + seed % 3, taken)


def families_in_cells(seed: int, taken: Counter[str]) -> int:
    """Families, of which cells find the links; the driver dies now and then."""
    return _lived(seed, 2 + seed % 3, taken, "families")
