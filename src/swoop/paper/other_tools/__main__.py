"""Measure other tools beside Swoop.

Examples
--------
    python -m swoop.paper.other_tools                              print the table
    python -m swoop.paper.other_tools --docs docs/comparison.md    write it into a page
    python -m swoop.paper.other_tools --posts posts.jsonl          with your own posts, in any file that swoop run reads
    python -m swoop.paper.other_tools --posts a.csv --posts b.csv  a table for each file
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from swoop.paper.data_sets import DataSet, generate_warm
from swoop.paper.measure import info, machine
from swoop.paper.other_tools import comparison
from swoop.paper.other_tools.adapters import TOOLS
from swoop.paper.other_tools.experiment import CHART, chart
from swoop.paper.posts import sets_of
from swoop.paper.report import Chart, save, write_into

CHART_NAME = "comparison"


def main(arguments: list[str] | None = None) -> None:
    """Run with these arguments, or with those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m swoop.paper.other_tools", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, help="page to write the table into")
    parser.add_argument("--shape", default="tweet", help="shape of the data set")
    parser.add_argument(
        "--posts",
        type=Path,
        action="append",
        help="a file of posts, long or short, in place of generated ones; repeat for more",
    )
    parser.add_argument("--sets", type=int, default=20_000, help="sets in the data set")
    parser.add_argument("--window", type=int, default=2000, help="average number of sets in the window")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of CPU time per tool")
    parser.add_argument(
        "--one", nargs=4, metavar=("NAME", "FILE", "MICROSECONDS", "THRESHOLD"), help="measure one tool and print JSON"
    )
    options = parser.parse_args(arguments)
    if options.one:
        name, path, window, threshold = options.one
        data_set = DataSet.load(Path(path))
        measured = comparison.measure(TOOLS[name], data_set, int(window), options.k, float(threshold), options.limit)
        print(json.dumps(measured))
        return
    lines: list[str] = []
    for posts in options.posts or [None]:
        name = CHART_NAME if not lines or posts is None else f"{CHART_NAME}-{posts.stem}"
        lines += ["", *_section(posts, options, name)] if lines else _section(posts, options, name)
    if options.docs:
        write_into(options.docs, lines)
    else:
        print("\n".join(lines))


def _section(posts: Path | None, options: argparse.Namespace, name: str) -> list[str]:
    """What was measured with one data set, with a chart where it goes into a page."""
    data_set = generate_warm(options.shape, options.sets) if posts is None else sets_of(posts, options.sets)
    results = comparison.compare(data_set, data_set.window_for(options.window), options.k, info, options.limit)
    size = data_set.tokens.size / len(data_set)
    what = f"A stream shaped like {options.shape}" if posts is None else f"The first posts of {posts.name}"
    about = f"{what}: {len(data_set):,} sets of {size:.0f} tokens on average"
    return [
        f"{about}, {options.window:,} of them in the window, k = {options.k}. {machine()}.",
        "",
        *(draw(results, options.docs.parent / "charts", name) if options.docs else []),
        *comparison.table(results),
    ]


def draw(results: list[comparison.ToolResult], folder: Path, name: str = CHART_NAME) -> list[str]:
    """The lines of a page that show the chart, which is drawn into the folder, if anything was measured."""
    drawn = chart(results)
    if drawn is None:
        return []
    save([Chart(name, drawn, CHART)], folder, ("svg",))
    return [f"![{CHART}](charts/{name}.svg)", ""]


if __name__ == "__main__":
    main()
