"""Rare paths made common: whatever the engine does seldom, whoever looks at it when, every change is that of brute force.

Tests of swoop.engine.thresholds.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from tests.support.faults import Fault, failing_allocations, interrupted_lines
from tests.support.live_trials import in_cells, live, live_families, sliced
from tests.support.rare import PATHS, report
from tests.support.trials import WAYS, Trial, run, run_interrupted

pytestmark = pytest.mark.no_cover  # thousands of times the same lines


def test_every_way_gives_every_change(record_property: Any) -> None:
    """One by one and in bulk, looked at or not, saved and loaded, in slices, live, in cells; and no rare path is left out."""
    taken: Counter[str] = Counter()
    moments = 0
    for seed in range(60):
        trial = Trial.draw(seed)
        moments += sum(run(trial, way, taken) for way in WAYS)
    moments += sum(way(seed, taken) for seed in range(20) for way in (sliced, live, live_families, in_cells))
    record_property("report", f"{moments:,} moments were compared; rare paths were taken so often:\n{report(taken)}")
    assert [path for path in PATHS if not taken[path]] == []


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_memory_that_runs_out_at_any_allocation(error: type[BaseException]) -> None:
    """Each allocation of some streams fails once; afterwards results, ids, feed and all invariants are right."""
    failed = 0
    for seed in range(8) if error is MemoryError else range(8, 16):
        trial = Trial.draw(seed, 40)
        occasions = Fault(0, error)
        run_interrupted(trial, occasions, failing_allocations)
        failed += sum(run_interrupted(trial, Fault(n, error), failing_allocations) for n in range(1, occasions.seen + 1))
    assert failed > 200


def test_interrupted_at_any_line() -> None:
    """Ctrl-C may come between any two lines of the engine and of the join."""
    failed = 0
    for seed in range(15):
        trial = Trial.draw(seed, 30)
        occasions = Fault(0, KeyboardInterrupt)
        run_interrupted(trial, occasions, interrupted_lines)
        for n in random.Random(seed).sample(range(1, occasions.seen + 1), min(50, occasions.seen)):
            failed += run_interrupted(trial, Fault(n, KeyboardInterrupt), interrupted_lines)
    assert failed > 500


def test_no_access_outside_of_an_array() -> None:
    """In a process whose arrays end where memory ends, and are gone when they are freed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.soak", "--trials", "40", "--guarded", "--ways", "process,interrupted"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
