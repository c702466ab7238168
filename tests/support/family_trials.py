"""Random trials of families: one stream, run in every way; each must give every change that brute force gives.

A trial is a function of its seed. Tests run some, ``make soak`` runs them for as long as one likes.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import swoop
from swoop import oracle
from swoop.engine import thresholds
from swoop.oracle import Record
from swoop.results import Family, FamilyChange, Id
from swoop.similarity import Similarity
from tests.support.faults import Fault
from tests.support.histories import SIMILARITIES
from tests.support.rare import tiny
from tests.support.rhythms import stream
from tests.support.trials import WINDOWS, most_valid, next_part

ORDERS = ("size", "newest", "growing")
WAYS = ("one by one", "in bulk", "made anew")
THRESHOLDS: dict[str, tuple[float, ...]] = {"hamming": (-8, -3, -1, 0), "overlap": (0, 1, 2, 4, 7)}
TVERSKY = Similarity(lambda r, s, o: o / (o + 0.5 * (r + s - 2 * o)) if o else 0.0, name="tversky")


@dataclass(frozen=True)
class FamilyTrial:
    """A stream, the parameters of families, and what brute force says: every change, and the families in the end."""

    seed: int
    records: list[Record]
    options: dict[str, Any]
    limits: thresholds.Thresholds
    end: int | None
    expected: list[FamilyChange] = field(repr=False)
    families: list[Family] = field(repr=False)

    @classmethod
    def draw(cls, seed: int, size: int = 70) -> FamilyTrial:
        rng = random.Random(f"{seed} families")
        similarity: Any = rng.choice([*SIMILARITIES, TVERSKY])
        window: Any = rng.choice([*WINDOWS, swoop.last(rng.choice([1, 5, 20])), None])
        least = THRESHOLDS.get(similarity, (0.0, 0.2, 1 / 3, 0.5, 0.5, 0.7, 1.0)) if similarity != TVERSKY else (0.5, 0.7, 7.0)
        options = {"min_similarity": rng.choice(least), "window": window, "similarity": similarity}
        records = stream(rng, rng.randrange(1, size), False)
        is_timed = isinstance(window, int)
        end = int(records[-1].time) + rng.choice([0, 1, 30, 5000]) if is_timed else None  # type: ignore[arg-type]
        changes, families = oracle.family_changes(records, **options, now=end), oracle.families(records, **options, now=end)
        return cls(seed, records, options, tiny(rng, most_valid(records, window)), end, changes, families)

    def make(self) -> swoop.Families:
        with thresholds.use(self.limits):
            return swoop.Families(**self.options)

    def judged(self, arrived: int, now: Any = None, order: str = "size") -> list[Family]:
        return oracle.families(self.records[:arrived], **self.options, now=now, order=order)


def judged_members(records: list[Record], options: dict[str, Any], now: Any) -> dict[int, list[Id]]:
    """What families have in the window, by brute force: by their first sets."""
    stream = oracle._Stream(records, options["window"], options["similarity"], False, options["min_similarity"], "each")
    at = stream.ticks_of(now)
    found, _ = oracle._grow_families(stream, at)
    return {first: [stream.name(n) for n in members if stream.is_valid(n, at)] for first, members in found.items()}


def insert(families: swoop.Families, part: list[Record]) -> None:
    """One record by ``insert``, several by ``insert_many``."""
    if len(part) == 1:
        families.insert(part[0].tokens, part[0].time, part[0].id)
        return
    columns = {"tokens": [list(r.tokens) for r in part], "time": [r.time for r in part], "id": [r.id for r in part]}
    families.insert_many(columns, id="id")


def look(families: swoop.Families, expected: list[Family], order: str) -> None:
    """Everything that reads, which must change nothing."""
    found = families.families(order=order)  # type: ignore[arg-type]
    assert list(found) == expected
    assert families.families(2, order) == expected[:2]  # type: ignore[arg-type]
    assert families.stats.families == len(expected)
    for family in found[:3]:
        members = families.members(family)
        assert len(members) == family.size
        assert members[-1] == family.representative


def saved_and_loaded(families: swoop.Families, trial: FamilyTrial) -> swoop.Families:
    similarity = trial.options["similarity"]
    with tempfile.TemporaryDirectory() as folder, thresholds.use(trial.limits):
        families.save(Path(folder) / "families")
        return swoop.Families.load(Path(folder) / "families", similarity if isinstance(similarity, Similarity) else None)


def run(trial: FamilyTrial, way: str, taken: Counter[str]) -> int:
    """Run a trial in one way, compare every change, and count the moments that were compared."""
    rng = random.Random(f"{trial.seed} {way}")
    families = trial.make()
    feed: list[FamilyChange] = []
    at = 0
    while at < len(trial.records):
        part = next_part(trial.records[at:], 1 if way == "one by one" or rng.random() < 0.3 else rng.randrange(1, 30))
        insert(families, part)
        at += len(part)
        if rng.random() < 0.3:
            order = rng.choice(ORDERS)
            look(families, trial.judged(at, order=order), order)
        if rng.random() < 0.3:
            feed.extend(families.changes())
        if rng.random() < 0.1:
            families._check()
        if way == "made anew" and rng.random() < 0.3:
            if rng.random() < 0.5:
                families._engine.shrink()
            else:
                taken.update(families._engine.paths)
                families = saved_and_loaded(families, trial)
        if trial.end is not None and rng.random() < 0.2:  # time moves on without an arrival
            now = int(part[-1].time)  # type: ignore[arg-type]
            until = int(trial.records[at].time) if at < len(trial.records) else trial.end  # type: ignore[arg-type]
            now = rng.randrange(now, max(now, until) + 1)
            families.advance(now)
            look(families, trial.judged(at, now), "size")
    if trial.end is not None:
        families.advance(trial.end)
    look(families, trial.families, "size")
    feed.extend(families.changes())
    assert feed == trial.expected, (trial, way)
    families._check()
    taken.update(families._engine.paths)
    return len(trial.expected) + len(trial.records)


def run_as_history(trial: FamilyTrial, taken: Counter[str]) -> int:
    """Every family that there was, with all its sets: rows in any order, time cut anywhere. Counts what was compared."""
    rng = random.Random(f"{trial.seed} history")
    numbers: dict[Any, int] = {}
    rows = [
        {"id": place, "time": record.time, "tokens": [numbers.setdefault((type(t), t), len(numbers)) for t in record.tokens]}
        for place, record in enumerate(trial.records)
    ]
    rng.shuffle(rows)
    schema = pa.schema([("id", pa.int64()), ("time", pa.int64()), ("tokens", pa.list_(pa.int64()))])
    slices = rng.choice([None, 1, 2, 3, 8, 30])
    with thresholds.use(trial.limits), patch("swoop.join.rows.BATCH_ROWS", rng.choice([1, 3, 100])):
        found = swoop.families_history(
            pa.Table.from_pylist(rows, schema), **trial.options, slices=slices, threads=rng.choice([1, 2])
        )
    taken["cut"] += (slices or 1) > 1 and trial.options["window"] is not None and len(trial.records) > 1
    members: dict[Any, list[int]] = {}
    for row in found.rows().to_pylist():
        members.setdefault(row["family"], []).append(row["id"])
    assert all(min(ids) == family for family, ids in members.items())
    assert [(family.id, family.total, family.representative) for family in found] == [
        (family, len(ids), max(ids)) for family, ids in sorted(members.items()) if len(ids) > 1
    ]
    plain = [Record(record.tokens, record.time) for record in trial.records]
    expected = oracle.families(plain, **trial.options)
    assert sorted((f for f in found if f.size), key=lambda f: (-f.size, f.id)) == expected, trial
    told = oracle.family_changes(plain, **trial.options)
    born, merged = ({c.family for c in told if c.kind == kind} for kind in ("born", "merged"))
    assert {family.id for family in found} == born - merged, trial
    assert found.to_arrow().num_rows == len(found)
    return len(found)


def run_interrupted(trial: FamilyTrial, fault: Fault, occasions: Any) -> bool:
    """Run a trial in which something goes wrong once; what was interrupted is tried again. Whether it went wrong."""
    rng = random.Random(f"{trial.seed} interrupted")
    families, went_wrong = trial.make(), False

    def attempt(action: Callable[[], Any]) -> bool:
        """Whether it was done; if not, nothing is broken."""
        if fault.attempt(occasions, action):
            return True
        families._check()
        return False

    at = 0
    while at < len(trial.records):
        part = next_part(trial.records[at:], 1 if rng.random() < 0.6 else rng.randrange(1, 12))
        went_wrong |= not attempt(lambda part=part: insert(families, part))  # type: ignore[misc]
        assert at <= families.stats.sets <= at + len(part)
        at = families.stats.sets
        if rng.random() < 0.2:
            went_wrong |= not attempt(lambda: families.families(order="growing") and None)
        if rng.random() < 0.1:
            went_wrong |= not attempt(families._engine.shrink)
    if trial.end is not None and not attempt(lambda: families.advance(trial.end or 0)):
        went_wrong = True
        families.advance(trial.end)
    assert list(families.families()) == trial.families, (trial, fault.n)
    assert list(families.changes()) == trial.expected, (trial, fault.n)
    families._check()
    return went_wrong
