"""Run the benchmarks and write the report.

Examples
--------
    swoop bench                        how fast Swoop is, about a quarter of an hour
    swoop bench --sets 20000           a quick look
    swoop bench paper                  the paper's evaluation, small, in two minutes; again: what is missing
    swoop bench paper --full           at the paper's sizes
    swoop bench --peer ./swoop_paper   in turns with a C++ program
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

from swoop.bench import measure
from swoop.bench.evaluation import evaluate
from swoop.bench.experiments import EXPERIMENTS, FULL, QUICK
from swoop.bench.streams import SHAPES, Stream, generate

HEADER = """\
# Performance

Made by `make bench`; do not edit by hand.

Commit {commit}, {machine}. One core.

Rates are sets per second of CPU time, best of {rounds} rounds, from an Arrow table with integer tokens to the final top-k:
reading the table, the vocabulary and everything else included. The streams are synthetic, shaped like those of the paper
(`swoop.bench.streams`). "Without a floor" is `algorithm="swoop-minimal"`, the paper's own stock (see [The floor](floor.md)).

The peer is the paper's algorithm as published, in C++ (Boost multi-index, linked lists), run in turns with Swoop on the same
streams; its rates leave out loading. `make bench BENCH="--peer PROGRAM"` runs any program that takes
`swoop FILE --k K --window MICROSECONDS` and prints JSON with `sets_per_cpu_s` and `rss_peak_mb`; `Stream.save` describes the
file.
"""

ENDLESS = """\
An endless stream of which 70 % of the tokens are new, window of the last 10,000 sets. Memory of the engine after so many
windows:
"""


def main(given: list[str] | None = None) -> None:
    """Run with the given arguments, or those of the process."""
    parser = argparse.ArgumentParser(
        prog="swoop bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["performance", "paper"], default="performance")
    parser.add_argument("--full", action="store_true", help="the paper's sizes (paper)")
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), help="an experiment; may be repeated (paper)")
    parser.add_argument("--folder", type=Path, default=Path("evaluation"), help="results and report (paper)")
    parser.add_argument("--sets", type=int, default=300_000, help="sets per stream (enron: a fifteenth)")
    parser.add_argument("--large-k-sets", type=int, default=100_000, help="sets per stream at k = 1000 (enron: a fifth)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--peer", help="a program that runs the paper's algorithm on a saved stream and prints JSON")
    parser.add_argument("--streams", type=Path, help="a folder of saved streams to use instead of generated ones")
    parser.add_argument("--more", type=Path, action="append", help="a further saved stream; may be repeated")
    parser.add_argument("--spark-rows", type=int, default=1_000_000, help="rows of the histories on Spark; 0 leaves Spark out")
    parser.add_argument("--out", type=Path, default=Path("docs/performance.md"), help="the report")
    arguments = parser.parse_args(given)
    if arguments.what == "paper":
        page = evaluate(arguments.folder, arguments.only or list(EXPERIMENTS), FULL if arguments.full else QUICK, say)
        say(f"written: {page}")
        return

    with tempfile.TemporaryDirectory() as folder:
        lines = report(arguments, Path(folder))
    arguments.out.write_text("\n".join(lines) + "\n")
    say(f"written: {arguments.out}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def load(name: str, sets: int, arguments: argparse.Namespace) -> Stream:
    if arguments.streams:
        whole = Stream.load(arguments.streams / f"{name}.bin")
        sets = min(sets, len(whole))
        return Stream(name, whole.times[:sets], whole.offsets[: sets + 1], whole.tokens[: whole.offsets[sets]])
    say(f"generating {name}, {sets} sets")
    return generate(name, sets)


COLUMNS = """\
| stream | sets | average window | sets/s | without a floor | times that | peer, sets/s | times the peer | bytes per set |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
""".splitlines()


def report(arguments: argparse.Namespace, folder: Path) -> list[str]:
    lines = header(arguments)
    for k, total, windows in (
        (10, arguments.sets, [100, 1000, 10_000, 100_000]),
        (1000, arguments.large_k_sets, [1000, 10_000]),
        (10_000, arguments.large_k_sets, [10_000]),
        (100_000, arguments.large_k_sets, [10_000]),
    ):
        lines += ["", f"## Set rate, k = {k:,}", "", *COLUMNS]
        for name in SHAPES:
            stream = load(name, total // (15 if k == 10 else 5) if name == "enron" else total, arguments)
            lines += rates(stream, [w for w in windows if 2 * w < len(stream)], k, arguments, folder)
    if arguments.more:
        lines += ["", "## Real streams, k = 10", "", *COLUMNS]
        for path in arguments.more:
            lines += rates(Stream.load(path), [1000, 10_000], 10, arguments, folder)
    lines += memory(arguments, folder) + latency(arguments)
    if arguments.spark_rows:
        from swoop.bench import spark

        lines += spark.report(arguments.spark_rows, say)
    return lines


def rates(stream: Stream, windows: list[int], k: int, arguments: argparse.Namespace, folder: Path) -> list[str]:
    """The rows of a table of rates. The larger k, the longer the others would take; they are left out."""
    lines = []
    alone = k > 1000
    peer = None if alone else arguments.peer
    for r in measure.rates(stream, windows, k, arguments.rounds, peer, folder, minimal=not alone):
        cells = [r.stream, f"{r.sets:,}", f"{r.window:,}", f"{r.swoop:,.0f}"]
        for other in (r.minimal, r.peer):
            cells += [f"{other:,.0f}", f"{r.swoop / other:.1f}"] if other else ["", ""]
        lines.append(f"| {' | '.join(cells)} | {r.memory_per_set:,.0f} |")
        say(lines[-1])
    return lines


def header(arguments: argparse.Namespace) -> list[str]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    model = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    machine = f"{model}, Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}"
    return HEADER.format(commit=commit or "unknown", machine=machine, rounds=arguments.rounds).splitlines()


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def memory(arguments: argparse.Namespace, folder: Path) -> list[str]:
    say("memory")
    stream = load("tweet", arguments.sets, arguments)
    window = min(100_000, len(stream) // 3)
    resident = measure.resident_bytes_per_set(stream, window, folder)
    curve = measure.endless()
    largest = max(curve)
    bars = [f"    {n / 2:4.1f}  {'#' * round(50 * size / largest):50} {size / 1e6:5.1f} MB" for n, size in enumerate(curve, 1)]
    return [
        "",
        "## Memory",
        "",
        f"Tweet shape, average window {window:,}: the process grows by {resident:,.0f} bytes per set in the window.",
        "",
        ENDLESS,
        *bars,
    ]


def latency(arguments: argparse.Namespace) -> list[str]:
    say("single insertions, change feed, strings, start")
    stream = load("tweet", min(arguments.sets, 100_000), arguments)
    window = min(10_000, len(stream) // 3)
    single, bulk = measure.single_insertion(stream, window)
    cost = measure.feed_cost(stream, window, arguments.rounds)
    strings = max(
        measure.run(measure.as_table(stream, texts=True), stream.window_for(window), 10)[0] for _ in range(arguments.rounds)
    )
    cold, warm = measure.start_times()
    say("pauses when similarity collapses")
    large = load("tweet", 4 * arguments.sets, arguments)
    full = len(large) * 5 // 6
    pauses = np.sort(measure.pauses(large, full))
    return [
        "",
        "## One set at a time, strings, start",
        "",
        f"Tweet shape, window {window:,}, k = 10.",
        "",
        "| what | figure |",
        "|---|--:|",
        f"| one `insert` from Python, median | {single:.1f} µs |",
        f"| one set of a bulk, mean | {bulk:.1f} µs |",
        f"| one `insert` beyond the algorithm's own work | {single - bulk:.1f} µs |",
        f"| bulk with string tokens, from Arrow | {strings:,.0f} sets/s |",
        f"| cost of the change feed | {100 * cost:.0f} % |",
        f"| longest of {len(pauses):,} arrivals after similarity collapsed, window {full:,} | {pauses[-1]:.1f} ms |",
        f"| the same, 99.9th percentile | {1000 * pauses[int(0.999 * len(pauses))]:.0f} µs |",
        f"| the same, median | {1000 * pauses[len(pauses) // 2]:.1f} µs |",
        f"| start of a process to its first result, warm cache | {warm:.2f} s |",
        f"| the same with the first compile | {cold:.1f} s |",
    ]


if __name__ == "__main__":
    main()
