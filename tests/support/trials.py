"""Random trials: one stream, run in every way that a process has; each way must give every change that brute force gives.

A trial is a function of its seed. Tests run some, ``make soak`` runs them for as long as one likes.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import swoop
from swoop.engine import thresholds
from swoop.oracle import Record
from swoop.results import Change, Pair
from swoop.stays import stays_of
from tests.support.faults import Fault
from tests.support.histories import SIMILARITIES, arrivals, insert, replay
from tests.support.judge import judge
from tests.support.rare import tiny
from tests.support.rhythms import stream

WINDOWS = (1, 4, 30, 300, 5000)
THRESHOLDS: dict[str, tuple[float, ...]] = {"hamming": (-8, -3, 0), "overlap": (0, 1, 4)}


@dataclass(frozen=True)
class Trial:
    """A stream, the parameters of a join, and what brute force says about them: every change, and the top-k in the end."""

    seed: int
    records: list[Record]
    options: dict[str, Any]
    algorithm: str
    limits: thresholds.Thresholds
    end: int | None
    expected: list[Change] = field(repr=False)
    topk: list[Pair] = field(repr=False)

    @classmethod
    def draw(cls, seed: int, size: int = 70) -> Trial:
        rng = random.Random(seed)
        two_streams = rng.random() < 0.3
        similarity = rng.choice(SIMILARITIES)
        window: Any = rng.choice([*WINDOWS, swoop.last(rng.choice([1, 5, 20])), None])
        k = rng.choice([1, 1, 2, 3, 7, 30, 1000, None, None])
        least: list[float | None] = [*THRESHOLDS.get(similarity, (0.0, 0.2, 1 / 3, 0.7, 1.0))]
        options = {
            "k": k,
            "window": window,
            "similarity": similarity,
            "two_streams": two_streams,
            "min_similarity": rng.choice(least if k is None else [None, None, *least]),
            "copies": rng.choice(["each", "once"]),
        }
        records = stream(rng, rng.randrange(1, size), two_streams)
        is_timed = isinstance(window, int)
        end = int(records[-1].time) + rng.choice([0, 1, 30, 5000]) if is_timed else None  # type: ignore[arg-type]
        judged = judge(records, **options, now=end)
        algorithm = "swoop" if k is None else rng.choice(["swoop", "swoop", "swoop-minimal"])
        limits = tiny(rng, most_valid(records, window))
        return cls(seed, records, options, algorithm, limits, end, judged.changes, judged.topk())

    def join(self) -> swoop.TopKJoin:
        with thresholds.use(self.limits):
            return swoop.TopKJoin(**self.options, algorithm=self.algorithm, track_changes=True)


def most_valid(records: list[Record], window: Any) -> int:
    if window is None:
        return len(records)
    if isinstance(window, swoop.times.WindowSpec):
        return window.duration
    times = [int(record.time) for record in records]  # type: ignore[arg-type]
    first = most = 0
    for last, time in enumerate(times):
        while times[first] <= time - window:
            first += 1
        most = max(most, last - first + 1)
    return most


def look(join: swoop.TopKJoin, rng: random.Random) -> None:
    """Everything that reads, which must change nothing."""
    pairs = join.topk()
    join.stats  # noqa: B018
    if rng.random() < 0.3:
        join.skyband()
    if pairs and rng.random() < 0.3:
        join.explain(pairs[-1])


def run_as_history(trial: Trial) -> int:
    """Run a trial whose window has a duration as a history, up to its last record, and compare every stay."""
    if not isinstance(trial.options["window"], int):
        return 0
    rng = random.Random(f"{trial.seed} as a history")
    rows: list[dict[str, Any]] = []
    numbers: dict[Any, int] = {}
    for place, record in enumerate(trial.records):  # a column has one type, so tokens and ids are numbers here
        tokens = [numbers.setdefault((type(token), token), len(numbers)) for token in record.tokens]
        rows.append({"id": place, "time": record.time, "tokens": tokens, "stream": record.stream})
    rng.shuffle(rows)
    schema = pa.schema([("id", pa.int64()), ("time", pa.int64()), ("tokens", pa.list_(pa.int64())), ("stream", pa.string())])
    options = {name: value for name, value in trial.options.items() if name != "two_streams"}
    stream = "stream" if trial.options["two_streams"] else None
    how = {"slices": rng.choice([None, 1, 2, 5, 20]), "threads": rng.choice([1, 2])}
    with thresholds.use(trial.limits):
        found = swoop.history(pa.Table.from_pylist(rows, schema), **options, stream=stream, **how)
    last = trial.records[-1].time
    told = stays_of(change for change in trial.expected if change.time <= last)  # type: ignore[operator]
    expected = {
        (*stay.pair.arrivals, stay.enter, stay.leave, stay.pair.similarity) for stay in told if stay.leave != stay.enter
    }  # type: ignore[misc]
    assert {(s.pair.newer, s.pair.older, s.enter, s.leave, s.pair.similarity) for s in found} == expected, (trial, how)
    assert len(found) == len(expected)
    return len(told)


def next_part(records: list[Record], most: int) -> list[Record]:
    """The next records, of which a column can hold the ids."""
    part = records[:most]
    return part[:1] if len({type(record.id) for record in part} - {type(None)}) > 1 else part


def run(trial: Trial, way: str, taken: Counter[str]) -> int:
    """Run a trial in one way, compare every change, and count the moments that were compared."""
    if way == "as a history":
        return run_as_history(trial)
    rng = random.Random(f"{trial.seed} {way}")
    join = trial.join()
    feed: list[Change] = []
    at = 0
    while at < len(trial.records):
        part = next_part(trial.records[at:], 1 if way == "one by one" or rng.random() < 0.3 else rng.randrange(1, 30))
        insert(join, part)
        at += len(part)
        if way in ("one by one", "looked at"):
            look(join, rng)
            feed.extend(join.changes())
            assert replay(feed) == arrivals(join.topk()), (trial, way)
            if rng.random() < 0.1:
                join._check()
        if way == "made anew" and rng.random() < 0.3:
            if rng.random() < 0.5:
                join._engine.shrink()
            else:
                taken.update(join._engine.paths)
                join = saved_and_loaded(join, trial)
        if isinstance(trial.options["window"], int) and rng.random() < 0.2:  # time moves on without an arrival
            until = int(trial.records[at].time) if at < len(trial.records) else trial.end  # type: ignore[arg-type]
            now = int(part[-1].time)  # type: ignore[arg-type]
            join.advance(rng.randrange(now, max(now, int(until or now)) + 1))
    if trial.end is not None:
        join.advance(trial.end)
    if way == "never looked at":
        assert list(join.topk()) == trial.topk, (trial, way)
    feed.extend(join.changes())
    assert feed == trial.expected, (trial, way)
    join._check()
    taken.update(join._engine.paths)
    return len(trial.expected) + len(trial.records)


def saved_and_loaded(join: swoop.TopKJoin, trial: Trial) -> swoop.TopKJoin:
    with tempfile.TemporaryDirectory() as folder, thresholds.use(trial.limits):
        join.save(Path(folder) / "join")
        return swoop.TopKJoin.load(Path(folder) / "join")


WAYS = ("one by one", "looked at", "never looked at", "made anew", "as a history")


def run_interrupted(trial: Trial, fault: Fault, occasions: Any) -> bool:
    """Run a trial in which something goes wrong once; what was interrupted is tried again. Whether it went wrong."""
    rng = random.Random(f"{trial.seed} interrupted")
    went_wrong = False
    join = trial.join()

    at = 0
    while at < len(trial.records):
        part = next_part(trial.records[at:], 1 if rng.random() < 0.6 else rng.randrange(1, 12))
        if not fault.attempt(occasions, lambda part=part: insert(join, part)):  # type: ignore[misc]
            went_wrong = True
            join._check()
            assert at <= join.stats.sets <= at + len(part)
        at = join.stats.sets
        if rng.random() < 0.2 and not fault.attempt(occasions, lambda: look(join, random.Random(0))):
            went_wrong = True
    if trial.end is not None and not fault.attempt(occasions, lambda: join.advance(trial.end or 0)):
        went_wrong = True
        join.advance(trial.end)
    assert list(join.topk()) == trial.topk, (trial, fault.n)
    assert list(join.changes()) == trial.expected, (trial, fault.n)
    join._check()
    return went_wrong
