"""Reproduce the paper's evaluation, or measure how fast Swoop is.

Examples
--------
    swoop bench                                    the paper's evaluation, small, in less than five minutes
    swoop bench                                    again: only runs what is missing
    swoop bench --full --only token-order          one experiment at the paper's sizes
    swoop bench --data-set dblp=dblp.xml.gz        with a real data set
    swoop bench data-sets                          the paper's table of data sets, at full length
    swoop bench performance                        rates, memory, Spark: docs/performance.md, in a quarter of an hour
    swoop bench performance --peer ./swoop_paper   alternating with a C++ program
    swoop bench cells                              costs and benefits of cells on a Spark cluster, in ten minutes
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np

from swoop.errors import InvalidArgument
from swoop.paper import measure, near_copies
from swoop.paper.data_sets import SHAPES, DataSet, generate
from swoop.paper.evaluation import EXPERIMENTS, evaluate, make_table
from swoop.paper.experiments import FULL, QUICK
from swoop.paper.measure import info
from swoop.paper.report import Chart, save, write_into
from swoop.paper.result_store import commit

HEADER = """\
# Performance

Made by `swoop bench performance`; do not edit by hand.

Commit {commit}, {machine}. One core.

Rates are sets per second of CPU time, from an Arrow table with integer tokens to the final top-k: reading the table, the
vocabulary and everything else included. Each is the best of {rounds} rounds, or of as many as start within {seconds:g}
seconds. The data sets are synthetic, shaped like those of the paper (`swoop.paper.data_sets`). "Without a floor" is
`algorithm="swoop-minimal"`, the paper's own stock (see [The floor](floor.md)).

The peer is the paper's algorithm as published, in C++ (Boost multi-index, linked lists), run alternately with Swoop on the same
data sets; its rates do not include loading. `swoop bench performance --peer PROGRAM` runs any program that takes
`swoop FILE --k K --window MICROSECONDS` and prints JSON with `sets_per_cpu_s` and `rss_peak_mb`; `DataSet.save` describes the
file.
"""

ENDLESS = """\
An endless stream in which 70 % of the tokens are new, with a window of the last 10,000 sets. Memory of the engine after so
many windows:
"""


def main(given: list[str] | None = None) -> None:
    """Run with these arguments, or with those of the process."""
    parser = argparse.ArgumentParser(
        prog="swoop bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["paper", "data-sets", "performance", "cells"], default="paper")
    paper = parser.add_argument_group("paper")
    size = paper.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small data sets (the default)")
    size.add_argument("--full", action="store_true", help="the paper's sizes")
    paper.add_argument(
        "--only",
        action="append",
        choices=EXPERIMENTS,
        metavar="NAME",
        help=f"run only this experiment; can be repeated: {', '.join(EXPERIMENTS)}",
    )
    paper.add_argument(
        "--limit", type=float, help=f"seconds of CPU time per run: {QUICK.limit:g}, or {FULL.limit:g} with --full"
    )
    paper.add_argument("--data-set", action="append", default=[], metavar="NAME=PATH", help="a real data set; can be repeated")
    paper.add_argument(
        "--folder", type=Path, default=Path("evaluation"), help="folder for results and report, also of data-sets"
    )
    paper.add_argument("--docs", type=Path, help="folder of the documentation; also write its page")
    data_sets = parser.add_argument_group("data-sets")
    data_sets.add_argument(
        "--share", type=float, default=1.0, help="share of the paper's sizes; all of it takes 8 GB for some seconds"
    )
    performance = parser.add_argument_group("performance")
    performance.add_argument("--sets", type=int, default=300_000, help="sets per data set (enron: a fifteenth)")
    performance.add_argument("--large-k-sets", type=int, default=100_000, help="sets per data set at k = 1000 (enron: a fifth)")
    performance.add_argument("--rounds", type=int, default=3, help="number of rounds; the best one counts")
    performance.add_argument("--seconds", type=float, default=10.0, help="repeat short runs for this long")
    performance.add_argument("--peer", help="a program that runs the paper's algorithm on a saved data set and prints JSON")
    performance.add_argument("--data-sets", type=Path, help="folder of saved data sets to use instead of generated ones")
    performance.add_argument("--more", type=Path, action="append", help="another saved data set; can be repeated")
    performance.add_argument("--spark-rows", type=int, default=1_000_000, help="rows of the histories on Spark; 0 skips Spark")
    performance.add_argument("--text-rows", type=int, default=1_000_000, help="rows of the histories in process; 0 skips them")
    performance.add_argument(
        "--texts", type=Path, help="a Parquet file of real posts, with the columns ts and text, to use as well"
    )
    performance.add_argument("--out", type=Path, default=Path("docs/performance.md"), help="file for the report")
    cells = parser.add_argument_group("cells")
    cells.add_argument(
        "--groups", type=int, nargs="+", default=[1, 2, 3, 4], help="numbers of groups g, for g(g+1)/2 cells each; also --docs"
    )
    arguments = parser.parse_args(given)
    if arguments.what == "paper":
        scale = FULL if arguments.full else QUICK
        if arguments.limit:
            scale = replace(scale, limit=arguments.limit)
        names = arguments.only or list(EXPERIMENTS)
        page = evaluate(arguments.folder, names, scale, info, _real(arguments.data_set), arguments.docs)
        info(f"written: {page}")
        return
    if arguments.what == "cells":
        from swoop.paper.cells import report as measure_cells

        lines = measure_cells(arguments.groups, info)
        print("\n".join(lines))
        if arguments.docs:
            write_into(arguments.docs / "scaling.md", lines)
        return
    if arguments.what == "data-sets":
        make_table(arguments.folder, arguments.share, info)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = report(arguments, Path(folder))
    arguments.out.write_text("\n".join(lines) + "\n")
    info(f"written: {arguments.out}")


def _real(given: list[str]) -> dict[str, Path]:
    paths = {}
    for text in given:
        name, equals, path = text.partition("=")
        if name not in SHAPES or not equals:
            raise InvalidArgument(
                f"--data-set {text}: expected NAME=PATH, such as dblp=dblp.xml.gz, with a name of {', '.join(SHAPES)}"
            )
        if not Path(path).exists():
            raise InvalidArgument(f"--data-set {text}: {path} does not exist")
        paths[name] = Path(path)
    return paths


def load(name: str, sets: int, arguments: argparse.Namespace) -> DataSet:
    if arguments.data_sets:
        whole = DataSet.load(arguments.data_sets / f"{name}.bin")
        sets = min(sets, len(whole))
        return DataSet(name, whole.times[:sets], whole.offsets[: sets + 1], whole.tokens[: whole.offsets[sets]])
    info(f"generating {name}, {sets} sets")
    return generate(name, sets)


COLUMNS = """\
| data set | sets | average window | sets/s | without a floor | times that | peer, sets/s | times the peer | bytes per set |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
""".splitlines()


def report(arguments: argparse.Namespace, folder: Path) -> list[str]:
    lines = [*header(arguments), "", f"![{CHART}](charts/performance.svg)"]
    seen: list[measure.Rate] = []
    for k, total, windows in (
        (10, arguments.sets, [100, 1000, 10_000, 100_000]),
        (1000, arguments.large_k_sets, [1000, 10_000]),
        (10_000, arguments.large_k_sets, [10_000]),
        (100_000, arguments.large_k_sets, [10_000]),
    ):
        lines += ["", f"## Set rate, k = {k:,}", "", *COLUMNS]
        for name in SHAPES:
            data_set = load(name, total // (15 if k == 10 else 5) if name == "enron" else total, arguments)
            lines += rates(data_set, [w for w in windows if 2 * w < len(data_set)], k, arguments, folder, seen)
    draw(seen, arguments.out.parent / "charts" / "performance.svg")
    if arguments.more:
        lines += ["", "## Real data sets, k = 10", "", *COLUMNS]
        for path in arguments.more:
            lines += rates(DataSet.load(path), [1000, 10_000], 10, arguments, folder, [])
    lines += all_pairs(arguments) + near_copies.report(arguments.sets, arguments.rounds)
    lines += memory(arguments, folder) + latency(arguments)
    if arguments.text_rows:
        from swoop.paper import in_process

        lines += in_process.report(arguments.text_rows, info, arguments.texts)
    if arguments.spark_rows:
        from swoop.paper import live_costs, spark

        lines += spark.report(arguments.spark_rows, info, arguments.texts)
        lines += live_costs.report(arguments.spark_rows, info)
    return lines


def rates(
    data_set: DataSet, windows: list[int], k: int, arguments: argparse.Namespace, folder: Path, seen: list[measure.Rate]
) -> list[str]:
    """The rows of a table of rates. For large k, the others would take too long and are left out."""
    lines = []
    alone = k > 1000
    peer = None if alone else arguments.peer
    for r in measure.rates(data_set, windows, k, arguments.rounds, arguments.seconds, peer, folder, minimal=not alone):
        seen.append(r)
        cells = [r.data_set, f"{r.sets:,}", f"{r.window:,}", f"{r.swoop:,.0f}"]
        for other in (r.minimal, r.peer):
            cells += [f"{other:,.0f}", f"{r.swoop / other:.1f}"] if other else ["", ""]
        lines.append(f"| {' | '.join(cells)} | {r.memory_per_set:,.0f} |")
        info(lines[-1])
    return lines


CHART = "Sets per second against the window at k = 10, for each data set"


def draw(seen: list[measure.Rate], path: Path) -> None:
    """Draw the chart of the report."""
    from swoop.paper.charts import rates_chart

    save([Chart(path.stem, rates_chart(seen), CHART)], path.parent, ("svg",))


def header(arguments: argparse.Namespace) -> list[str]:
    machine = f"{measure.machine()}, Numba {numba.__version__}, NumPy {np.__version__}"
    return HEADER.format(
        commit=commit() or "unknown", machine=machine, rounds=arguments.rounds, seconds=arguments.seconds
    ).splitlines()


def all_pairs(arguments: argparse.Namespace) -> list[str]:
    info("all pairs above a threshold")
    table = measure.all_pairs_table(2)
    rates = {}
    for k, tracked in ((None, False), (None, True), (10**9, False)):  # with changes, 10**9 would take hours
        found = [measure.all_pairs(table, k=k, track_changes=tracked) for _ in range(arguments.rounds)]
        rates[k, tracked], pairs = max(rate for rate, _ in found), found[0][1]
    return [
        "",
        "## All pairs above a threshold",
        "",
        f"Sets per second of a stream of near copies: {measure.ALL_PAIRS_WINDOW:,} sets in the window, and",
        f"{pairs:,} pairs from 0.5 on.",
        "",
        "| what | sets/s |",
        "|---|--:|",
        f"| `k=None` | {rates[None, False]:,.0f} |",
        f"| `k=None`, with all changes taken | {rates[None, True]:,.0f} |",
        f"| `k=10**9` | {rates[10**9, False]:,.0f} |",
    ]


def memory(arguments: argparse.Namespace, folder: Path) -> list[str]:
    info("memory")
    data_set = load("tweet", arguments.sets, arguments)
    window = min(100_000, len(data_set) // 3)
    resident = measure.resident_bytes_per_set(data_set, window, folder)
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
    info("single insertions, change feed, strings, start-up")
    data_set = load("tweet", min(arguments.sets, 100_000), arguments)
    window = min(10_000, len(data_set) // 3)
    single, batch = measure.single_insertion(data_set, window)
    cost = measure.feed_cost(data_set, window, arguments.rounds)
    strings = max(
        measure.run(measure.as_table(data_set, texts=True), data_set.window_for(window), 10)[0] for _ in range(arguments.rounds)
    )
    touched, whole = measure.least(data_set, window, arguments.rounds)
    cold, warm = measure.start_times()
    info("pauses when similarity collapses")
    large = load("tweet", 4 * arguments.sets, arguments)
    full = len(large) * 5 // 6
    pauses = np.sort(measure.pauses(large, full, arguments.rounds))
    return [
        "",
        "## One set at a time, strings, start-up",
        "",
        f"Tweet shape, window {window:,}, k = 10.",
        "",
        "| what | measured |",
        "|---|--:|",
        f"| one `insert` from Python, median | {single:.1f} µs |",
        f"| one set of a batch, mean | {batch:.1f} µs |",
        f"| one `insert`, overhead beyond the algorithm | {single - batch:.1f} µs |",
        f"| touching each token's slot and nothing else | {touched:,.0f} sets/s |",
        f"| a whole batch takes so many times as long | {touched / whole:.1f} |",
        f"| batch with string tokens, from Arrow | {strings:,.0f} sets/s |",
        f"| cost of the change feed | {100 * cost:.0f} % |",
        f"| longest of {len(pauses):,} arrivals after similarity collapsed, window {full:,} | {pauses[-1]:.1f} ms |",
        f"| the same, 99.9th percentile | {1000 * pauses[int(0.999 * len(pauses))]:.0f} µs |",
        f"| the same, median | {1000 * pauses[len(pauses) // 2]:.1f} µs |",
        f"| from the start of a process to its first result, warm cache | {warm:.2f} s |",
        f"| the same with the first compile | {cold:.1f} s |",
    ]


if __name__ == "__main__":
    main()
