"""For as long as one likes: ``make soak SOAK=30``, in minutes. Then a summary, and every failure with how to see it again.

A part of the time goes to properties with forty times their examples, a part to real faults with many kills and to thousands of
crafted files, and the rest to random trials. Options that are not known here are those of ``python -m tests.support.soak``,
which runs the trials.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header")
EXAMPLES, KILLS, CRAFTED = 40, 4, 5000
FAULTS = (
    "tests/spark/test_stream.py::test_killed_with_signal_9",
    "tests/spark/test_changes.py::test_killed_with_signal_9",
    "tests/spark/test_cluster.py",
    "tests/spark/test_kafka.py",
    "tests/spark/test_storage.py",
    "tests/spark/test_stopping.py",
    "tests/live/test_live_join.py::test_killed_at_any_moment",
    "tests/live/test_stores.py",
    "tests/live/test_alerts.py",
    "tests/live/test_alert_delivery.py",
    "tests/live/test_checkpoint.py",
    "tests/live/test_lease.py",
    "tests/join/test_families.py::test_memory_that_runs_out_at_any_allocation",
    "tests/join/test_families.py::test_interrupted_at_any_line",
    "tests/join/test_feed.py",
    "tests/join/test_kept.py::test_interrupted_at_any_line",
    "tests/join/test_storage.py::test_interrupted_at_any_line",
    "tests/join/test_crafted_files.py::test_crafted_at_random",
    "tests/live/test_crafted_checkpoints.py",
    "tests/test_trials.py",
)
SHARES = {"properties": 0.4, "faults": 0.25}  # of the time


def properties() -> list[str]:
    """All of them, in another order each time."""
    found = subprocess.run([*PYTEST, "--collect-only", "-m", "hypothesis"], capture_output=True, text=True, check=True)
    names = [line for line in found.stdout.splitlines() if "::" in line]
    return random.sample(names, len(names))


def run_tests(tests: Sequence[str], options: Sequence[str], seconds: float) -> tuple[int, list[str]]:
    """One after the other, from the first again after the last, until the time is over: how many, and those that failed."""
    until, done, failed = time.monotonic() + seconds, 0, []
    again = itertools.cycle(tests)
    while time.monotonic() < until:
        test, done = next(again), done + 1
        print(test, flush=True)
        variables = {**os.environ, "SWOOP_CRAFTED": str(CRAFTED)}
        ended = subprocess.run([*PYTEST, *options, test], env=variables, capture_output=True, text=True, check=False)
        if ended.returncode:
            failed.append(test)
            print(ended.stdout[-8000:])
    return done, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long (default: 5)")
    options, others = parser.parse_known_args()
    seconds = 60 * options.minutes
    runs = {
        "properties": (properties(), ("--examples", str(EXAMPLES))),
        "faults": (FAULTS, ("--kills", str(KILLS))),
    }
    summary, failed = [], []
    for name, (tests, more) in runs.items():
        done, wrong = run_tests(tests, more, SHARES[name] * seconds)
        summary.append(f"{name}: {len(tests)} tests, {done} runs, {len(wrong)} failed")
        failed += [f"SWOOP_CRAFTED={CRAFTED} {' '.join(PYTEST)} {' '.join(more)} '{test}'" for test in wrong]
    left = (1 - sum(SHARES.values())) * options.minutes
    trials = [sys.executable, "-m", "tests.support.soak", "--minutes", str(left), *others]
    if subprocess.run(trials, check=False).returncode:
        failed.append(" ".join(trials))
    print(*summary, *(f"failed: {command}" for command in failed), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
