"""Random trials for as long as one likes: ``python -m tests.support.soak --minutes 10``. Differences are told with their seeds.

The same ``--seed`` tries the same streams again, another one tries others.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support import family_trials
from tests.support.faults import Fault, failing_allocations, guarded_memory, interrupted_lines
from tests.support.live_trials import families_in_cells, in_cells, live, live_families, sliced
from tests.support.rare import report
from tests.support.real import compare, streams
from tests.support.trials import WAYS, Trial, run, run_interrupted


@dataclass
class Result:
    """Of some trials."""

    trials: int = 0
    moments: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.trials += other.trials
        self.moments += other.moments
        self.taken.update(other.taken)
        self.differences += other.differences


def in_process(seed: int, taken: Counter[str]) -> int:
    trial = Trial.draw(seed)
    return sum(run(trial, way, taken) for way in WAYS)


def interrupted(seed: int, taken: Counter[str]) -> int:
    trial = Trial.draw(seed, 40)
    moments = 0
    for occasions, error in ((failing_allocations, MemoryError), (interrupted_lines, KeyboardInterrupt)):
        count = Fault(0, error)
        run_interrupted(trial, count, occasions)
        for n in random.Random(seed).sample(range(1, count.seen + 1), min(5, count.seen)):
            run_interrupted(trial, Fault(n, error), occasions)
            moments += len(trial.expected) + len(trial.records)
    return moments


def families(seed: int, taken: Counter[str]) -> int:
    trial = family_trials.FamilyTrial.draw(seed)
    moments = sum(family_trials.run(trial, way, taken) for way in family_trials.WAYS)
    moments += family_trials.run_as_history(trial, taken)
    for occasions, error in ((failing_allocations, MemoryError), (interrupted_lines, KeyboardInterrupt)):
        count = Fault(0, error)
        family_trials.run_interrupted(trial, count, occasions)
        for n in random.Random(seed).sample(range(1, count.seen + 1), min(3, count.seen)):
            family_trials.run_interrupted(trial, Fault(n, error), occasions)
    return moments


KINDS: dict[str, Callable[[int, Counter[str]], int]] = {
    "process": in_process,
    "interrupted": interrupted,
    "families": families,
    "slices": sliced,
    "live": live,
    "live families": live_families,
    "cells": in_cells,
    "family cells": families_in_cells,
}


def real(folder: Path, seed: int, taken: Counter[str]) -> int:
    return sum(compare(rows, seed) for _, rows in streams(folder))


def work(kinds: list[str], seeds: range, guarded: bool, data: Path | None) -> Result:
    found = Result()
    ways = {kind: KINDS[kind] for kind in kinds}
    if data is not None:
        ways["real"] = partial(real, data)
    with guarded_memory() if guarded else nullcontext():
        for seed in seeds:
            for kind, way in ways.items():
                try:
                    found.moments += way(seed, found.taken)
                except Exception:
                    found.differences.append(f"seed {seed}, {kind}:\n{traceback.format_exc(limit=-4)}")
            found.trials += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long (default: 5)")
    parser.add_argument("--trials", type=int, help="how many trials, instead of how long")
    parser.add_argument("--seed", type=int, default=0, help="of the first trial, in millions")
    parser.add_argument("--ways", default=",".join(KINDS), help="some of " + ",".join(KINDS))
    parser.add_argument("--data", type=Path, help="also the streams of a folder: Parquet files with a time and tokens or text")
    parser.add_argument("--guarded", action="store_true", help="arrays end where memory ends: misuse kills the process")
    options = parser.parse_args()
    logging.getLogger("swoop").setLevel(logging.ERROR)
    kinds, first = options.ways.split(","), 1_000_000 * options.seed
    if options.trials is not None:
        total = work(kinds, range(first, first + options.trials), options.guarded, options.data)
        return close(total)
    total, until, said = Result(), time.monotonic() + 60 * options.minutes, 0.0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = set()
        while waiting or time.monotonic() < until:
            while len(waiting) < 2 * (os.cpu_count() or 1) and time.monotonic() < until and not total.differences:
                waiting.add(pool.submit(work, kinds, range(first, first + 10), options.guarded, options.data))
                first += 10
            if not waiting:
                break
            done = next(as_completed(waiting))
            waiting.remove(done)
            total.add(done.result())
            if time.monotonic() - said > 2:
                said = time.monotonic()
                print(f"\r{total.trials:,} trials, {total.moments:,} moments, {len(total.differences)} differences", end="")
    print()
    return close(total)


def close(total: Result) -> int:
    for difference in total.differences:
        print(difference)
    print(report(total.taken))
    print(f"{total.trials:,} trials, {total.moments:,} moments compared, {len(total.differences)} differences")
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
