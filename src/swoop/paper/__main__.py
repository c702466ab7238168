"""Run the paper's evaluation, or measure how fast Swoop is.

Examples
--------
    swoop bench                                    the paper's evaluation, small, in less than five minutes
    swoop bench                                    again: only what is missing
    swoop bench --full --only token-order          one experiment at the paper's sizes
    swoop bench --stream dblp=dblp.xml.gz          on the real stream
    swoop bench streams                            the paper's table of streams, at full length
    swoop bench performance                        rates, memory, Spark: docs/performance.md, in a quarter of an hour
    swoop bench performance --peer ./swoop_paper   in turns with a C++ program
    swoop bench cells                              what cells on a Spark cluster cost and bring, in ten minutes
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np

from swoop.errors import InvalidArgument
from swoop.paper import measure
from swoop.paper.evaluation import EXPERIMENTS, evaluate, make_table
from swoop.paper.experiments import FULL, QUICK
from swoop.paper.kept import commit
from swoop.paper.report import Picture, save
from swoop.paper.streams import SHAPES, Stream, generate

HEADER = """\
# Performance

Made by `swoop bench performance`; do not edit by hand.

Commit {commit}, {machine}. One core.

Rates are sets per second of CPU time, from an Arrow table with integer tokens to the final top-k: reading the table, the
vocabulary and everything else included. Each is the best of {rounds} rounds, or of as many as begin within {seconds:g}
seconds. The streams are synthetic, shaped like those of the paper (`swoop.paper.streams`). "Without a floor" is
`algorithm="swoop-minimal"`, the paper's own stock (see [The floor](floor.md)).

The peer is the paper's algorithm as published, in C++ (Boost multi-index, linked lists), run in turns with Swoop on the same
streams; its rates leave out loading. `swoop bench performance --peer PROGRAM` runs any program that takes
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
    parser.add_argument("what", nargs="?", choices=["paper", "streams", "performance", "cells"], default="paper")
    paper = parser.add_argument_group("paper")
    size = paper.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small streams (the default)")
    size.add_argument("--full", action="store_true", help="the paper's sizes")
    paper.add_argument("--only", action="append", choices=EXPERIMENTS, metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}")
    paper.add_argument(
        "--limit", type=float, help=f"seconds of CPU time per run: {QUICK.limit:g}, or {FULL.limit:g} with --full"
    )
    paper.add_argument("--stream", action="append", default=[], metavar="NAME=PATH", help="the real data of a stream")
    paper.add_argument("--folder", type=Path, default=Path("evaluation"), help="results and report; also of streams")
    paper.add_argument("--docs", type=Path, help="the folder of the site: write its page, too")
    streams = parser.add_argument_group("streams")
    streams.add_argument(
        "--share", type=float, default=1.0, help="of the paper's lengths; all of it takes 8 GB for some seconds"
    )
    performance = parser.add_argument_group("performance")
    performance.add_argument("--sets", type=int, default=300_000, help="sets per stream (enron: a fifteenth)")
    performance.add_argument("--large-k-sets", type=int, default=100_000, help="sets per stream at k = 1000 (enron: a fifth)")
    performance.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    performance.add_argument("--seconds", type=float, default=10.0, help="short runs have more rounds, for so long")
    performance.add_argument("--peer", help="a program that runs the paper's algorithm on a saved stream and prints JSON")
    performance.add_argument("--streams", type=Path, help="a folder of saved streams to use instead of generated ones")
    performance.add_argument("--more", type=Path, action="append", help="a further saved stream; may be repeated")
    performance.add_argument(
        "--spark-rows", type=int, default=1_000_000, help="rows of the histories on Spark; 0 leaves Spark out"
    )
    performance.add_argument("--out", type=Path, default=Path("docs/performance.md"), help="the report")
    cells = parser.add_argument_group("cells")
    cells.add_argument("--groups", type=int, nargs="+", default=[1, 2, 3, 4], help="g, for g(g+1)/2 cells each; also --docs")
    arguments = parser.parse_args(given)
    if arguments.what == "paper":
        scale = FULL if arguments.full else QUICK
        if arguments.limit:
            scale = replace(scale, limit=arguments.limit)
        names = arguments.only or list(EXPERIMENTS)
        page = evaluate(arguments.folder, names, scale, say, _real(arguments.stream), arguments.docs)
        say(f"written: {page}")
        return
    if arguments.what == "cells":
        from swoop.paper.competitors import write_into
        from swoop.paper.scaling import report as grow

        lines = grow(arguments.groups, say)
        print("\n".join(lines))
        if arguments.docs:
            write_into(arguments.docs / "scaling.md", lines)
        return
    if arguments.what == "streams":
        make_table(arguments.folder, arguments.share, say)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = report(arguments, Path(folder))
    arguments.out.write_text("\n".join(lines) + "\n")
    say(f"written: {arguments.out}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _real(given: list[str]) -> dict[str, Path]:
    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if name not in SHAPES or not equals:
            raise InvalidArgument(f"--stream {text}: expected one of {', '.join(SHAPES)}, = and a path, like dblp=dblp.xml.gz")
        if not Path(path).exists():
            raise InvalidArgument(f"--stream {text}: there is no {path}")
        found[name] = Path(path)
    return found


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
    lines = [*header(arguments), "", f"![{PICTURE}](figures/performance.svg)"]
    seen: list[measure.Rate] = []
    for k, total, windows in (
        (10, arguments.sets, [100, 1000, 10_000, 100_000]),
        (1000, arguments.large_k_sets, [1000, 10_000]),
        (10_000, arguments.large_k_sets, [10_000]),
        (100_000, arguments.large_k_sets, [10_000]),
    ):
        lines += ["", f"## Set rate, k = {k:,}", "", *COLUMNS]
        for name in SHAPES:
            stream = load(name, total // (15 if k == 10 else 5) if name == "enron" else total, arguments)
            lines += rates(stream, [w for w in windows if 2 * w < len(stream)], k, arguments, folder, seen)
    draw(seen, arguments.out.parent / "figures" / "performance.svg")
    if arguments.more:
        lines += ["", "## Real streams, k = 10", "", *COLUMNS]
        for path in arguments.more:
            lines += rates(Stream.load(path), [1000, 10_000], 10, arguments, folder, [])
    lines += memory(arguments, folder) + latency(arguments)
    if arguments.spark_rows:
        from swoop.paper import spark

        lines += spark.report(arguments.spark_rows, say)
    return lines


def rates(
    stream: Stream, windows: list[int], k: int, arguments: argparse.Namespace, folder: Path, seen: list[measure.Rate]
) -> list[str]:
    """The rows of a table of rates. The larger k, the longer the others would take; they are left out."""
    lines = []
    alone = k > 1000
    peer = None if alone else arguments.peer
    for r in measure.rates(stream, windows, k, arguments.rounds, arguments.seconds, peer, folder, minimal=not alone):
        seen.append(r)
        cells = [r.stream, f"{r.sets:,}", f"{r.window:,}", f"{r.swoop:,.0f}"]
        for other in (r.minimal, r.peer):
            cells += [f"{other:,.0f}", f"{r.swoop / other:.1f}"] if other else ["", ""]
        lines.append(f"| {' | '.join(cells)} | {r.memory_per_set:,.0f} |")
        say(lines[-1])
    return lines


PICTURE = "Sets per second against the window at k = 10, for each stream"


def draw(seen: list[measure.Rate], path: Path) -> None:
    """The picture of the report."""
    from swoop.paper.figures import rates_figure

    save([Picture(path.stem, rates_figure(seen), PICTURE)], path.parent, ("svg",))


def header(arguments: argparse.Namespace) -> list[str]:
    model = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    machine = f"{model}, Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}"
    return HEADER.format(
        commit=commit() or "unknown", machine=machine, rounds=arguments.rounds, seconds=arguments.seconds
    ).splitlines()


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
    touched, whole = measure.least(stream, window, arguments.rounds)
    cold, warm = measure.start_times()
    say("pauses when similarity collapses")
    large = load("tweet", 4 * arguments.sets, arguments)
    full = len(large) * 5 // 6
    pauses = np.sort(measure.pauses(large, full, arguments.rounds))
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
        f"| touching each token's slot and nothing else | {touched:,.0f} sets/s |",
        f"| all of a bulk takes so many times as long | {touched / whole:.1f} |",
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
