"""The paper's evaluation by one command: runs, charts, and beside each of them what the paper says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swoop.paper import batches, latency, profiles, report
from swoop.paper.claims import CLAIMS, OTHERS, PAPER, Seen
from swoop.paper.data_sets import SHAPES
from swoop.paper.experiments import DATA_SETS, FULL, GENERATED, RUNS, DataSets, Result, Run, Scale, perform
from swoop.paper.measure import machine
from swoop.paper.other_tools import experiment as other_tools
from swoop.paper.report import Chart, Heading, Part, Table, Text
from swoop.paper.result_store import ResultStore, digest_of, version

EXPERIMENTS = (*RUNS, "dblp", "batches", "latency", "data-sets", "other-tools")
Info = Callable[[str], None]

TITLES = {
    "set-rate": "Set rate against the window, k = 10",
    "large-k": "Set rate against the window, k = 1,000",
    "result-size": "Set rate against k",
    "pre-candidates": "Pre-candidates and candidates per set, k = 10",
    "ablations": "Without the candidate index, without the incremental stock",
    "token-order": "The order of lists, k = 10",
    "dblp": "Why the order matters on DBLP",
    "latency": "Latency at 80 % load",
    "stock": "Largest stock",
}
ABOUT = {
    "set-rate": "Sets per second of CPU time. A triangle is a run that was stopped at its time limit: its rate up to there is "
    "mostly that of windows that were not yet full, so it is too high. "
    "DBLP arrives in bursts; as in the paper, its windows are days.",
    "pre-candidates": "Pre-candidates are the pairs that an algorithm looks at, candidates those that it sends to its stock.",
    "token-order": "SWOOP visits the shortest list first; SWOOP-noopt visits lists in the order in which tokens appeared.",
    "dblp": "Most sets in the spikes are home pages, with a name and the two tokens that all home pages have.",
    "latency": "TWEET, k = 10. Sets are inserted one by one from Python and arrive at 80 % of the sustainable rate. "
    "The latency is the time from the arrival of a set to the result, including waiting.",
    "stock": "Pairs in the stock, sampled during a run. The dotted line is k times the window, the worst case.",
}


@dataclass
class Stores:
    """All results in the folder of an evaluation."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = ResultStore(self.folder / "results.parquet", Result)
        self.profiles = ResultStore(self.folder / "data-sets.parquet", profiles.Profile, digest_of("paper/data_sets.py"))
        self.bursts = ResultStore(self.folder / "bursts.parquet", profiles.Bursts)
        self.batches = ResultStore(self.folder / "batches.parquet", batches.Batches)
        self.latencies = ResultStore(self.folder / "latency.parquet", latency.Latency)
        self.other_tools = ResultStore(self.folder / "other-tools.parquet", other_tools.ToolMeasurement)


def evaluate(
    folder: Path, names: list[str], scale: Scale, info: Info, real: Mapping[str, Path] | None = None, docs: Path | None = None
) -> Path:
    """Do what is missing of the named experiments, and write the report; with ``docs``, also the page of the documentation."""
    stores, data_sets = Stores(folder), DataSets(scale, real)
    planned = {run.case: run for name in names if name in RUNS for run in RUNS[name](scale, data_sets)}
    runs = sorted(planned.values(), key=lambda run: DATA_SETS.index(run.data_set))
    for number, run in enumerate(runs, 1):
        known = stores.results.get(run.case)
        if known is None or (known.stopped == "time" and known.cpu_seconds < scale.limit):
            result = perform(run, data_sets, scale.limit)
            stores.results.add(result)
            note = f", stopped at its {result.stopped} limit after {result.done:,} sets" if result.stopped else ""
            info(f"{number}/{len(runs)} {_name(run)}: {result.rate:,.0f} sets/s{note}")
    others = _measure_others(stores, names, scale, data_sets, info)
    info("drawing")
    parts = _parts(stores, planned.values(), others, scale, data_sets)
    report.save(parts, folder, ("svg", "png"))
    page = folder / "report.html"
    page.write_text(report.as_html("The paper's evaluation", parts, folder), encoding="utf-8")
    if docs:
        report.save(parts, docs / "charts", ("svg",))
        made = Text("Made by `swoop bench --docs docs`; do not edit by hand.")
        (docs / "evaluation.md").write_text(report.as_markdown("Evaluation", [made, *parts], "charts"), encoding="utf-8")
    return page


def _name(run: Run) -> str:
    return f"{run.algorithm} on {run.data_set}, window {run.shown_window}, k {run.k:,}"


def _measure_others(
    stores: Stores, names: list[str], scale: Scale, data_sets: DataSets, info: Info
) -> list[other_tools.ToolMeasurement]:
    """Everything except the runs, by data set. Returns the measurements of other tools."""
    found = []
    for name in DATA_SETS:
        case = name, data_sets.source(name), scale.sets[name]
        if "data-sets" in names and stores.profiles.get(case) is None:
            stores.profiles.add(profiles.profile(data_sets.get(name)[0], *case[1:]))
        if name == "dblp" and "dblp" in names and stores.bursts.get(case) is None:
            stores.bursts.add(profiles.bursts(data_sets.get(name)[0], *case[1:]))
        if name == "enron" and "batches" in names and stores.batches.get(case) is None:
            info("Static in batches")
            stores.batches.add(batches.batches(data_sets.get(name)[0], *case[1:]))
        for window in scale.windows_of(name) if name == "tweet" and "latency" in names else ():
            if stores.latencies.get((*case, window)) is None:
                info(f"latency, window {window:,}")
                stores.latencies.add(latency.latency(data_sets.get(name)[0], *case[1:], window))
        if name == "tweet" and "other-tools" in names:
            data_set = other_tools.part_of(None if data_sets.source(name) == GENERATED else data_sets.get(name)[0])
            found = other_tools.measure(data_set, case[1], len(data_set), stores.other_tools, min(4 * scale.limit, 60.0), info)
    return found


# the report


def _parts(
    stores: Stores, planned: Iterable[Run], others: list[other_tools.ToolMeasurement], scale: Scale, data_sets: DataSets
) -> list[Part]:
    from swoop.paper.charts import bursts_chart, latency_chart, result_charts

    results = [r for run in planned if (r := stores.results.get(run.case))]
    cases = {name: (name, data_sets.source(name), scale.sets[name]) for name in DATA_SETS}
    bursts = stores.bursts.get(cases["dblp"])
    found = [stores.latencies.get((*cases["tweet"], window)) for window in scale.windows_of("tweet")]
    latencies = [seen for seen in found if seen is not None]
    seen = Seen(results, bursts, stores.batches.get(cases["enron"]), latencies)
    charts = result_charts(results)
    if bursts:
        charts["dblp"] = bursts_chart(bursts)
    if latencies:
        charts["latency"] = latency_chart(latencies)
    parts: list[Part] = [Text(_setting(scale, data_sets))]
    for name, title in TITLES.items():
        if name in charts:
            parts += [Heading(title), *([Text(ABOUT[name])] if name in ABOUT else []), Chart(name, charts[name], title)]
            if name == "latency":
                parts.append(_latencies(latencies))
            parts += _claims(name, seen)
    if results:
        parts += _ratios(seen)
    if others:
        parts += _others(others)
    return parts + _profiles(stores, data_sets)


def _setting(scale: Scale, data_sets: DataSets) -> str:
    real = [f"{name.upper()} from {data_sets.source(name)}" for name in DATA_SETS if data_sets.source(name) != GENERATED]
    sources = f"Real data sets: {', '.join(real)}; the others are" if real else "Data sets are"
    return (
        f"Section 7 of the paper, reproduced with Swoop {version()} ({scale.name}) on one core of an {machine()}. "
        f"{sources} generated, shaped like those of the paper (see the end). All algorithms are "
        f"compiled and share the engine's data structures. “SWOOP as in the paper” is the paper's algorithm; “Swoop” is the "
        f"engine as people use it, which adds a floor. A run is stopped after {scale.limit:g} s of CPU time."
    )


def _claims(chart: str, seen: Seen) -> list[Part]:
    rows = []
    for claim in CLAIMS:
        if claim.chart == chart:
            holds, found = claim.look(seen)
            word = {True: "seen", False: "not seen", None: "not measured"}[holds]
            reason = f". {claim.why}" if holds is False and claim.why else ""
            rows.append([claim.says, word, found + reason])
    return [Table(["the paper", "here", "measured"], rows, "words")] if rows else []


def _latencies(latencies: list[latency.Latency]) -> Table:
    return Table(
        ["average window", "arrivals per second", "median", "p99", "p99.9", "longest", "longest queue", "longest insertion"],
        [
            [
                f"{x.window:,}",
                f"{x.rate:,.0f}",
                *(f"{1e6 * value:,.0f} µs" for value in (x.median, x.p99, x.p999)),
                f"{1e3 * x.longest:.1f} ms",
                f"{x.longest_queue:,}",
                f"{1e3 * x.longest_processing:.1f} ms",
            ]
            for x in latencies
        ],
    )


def _ratios(seen: Seen) -> list[Part]:
    """How many times faster the engine is than the others, by data set and window."""
    rows, stocks = [], []
    for r in seen.of("swoop", k=10):
        others = [seen.like(r, other) for other in (PAPER, *OTHERS)]
        cells = [f"{r.rate / o.rate:,.1f}{' *' if o.stopped else ''}" if o else "" for o in others]
        rows.append([r.data_set.upper(), r.shown_window, f"{r.rate:,.0f}", *cells])
        stocks.append(
            [
                r.data_set.upper(),
                r.shown_window,
                *(f"{o.largest_stock:,}{' *' if o.stopped else ''}" if o else "" for o in (r, *others)),
            ]
        )
    names = ["SWOOP as in the paper", "SCase", "Static", "Base"]
    return [
        Heading("How many times faster: Swoop : SWOOP : SCase : Static : Base"),
        Text(
            "How many times faster Swoop is than each of the others, k = 10. * stopped at its limit: "
            "compared with its rate up to there."
        ),
        Table(["data set", "window", "Swoop, sets per second", *names], rows),
        Text("The largest stocks of the same runs, in pairs; for Static, its result."),
        Table(["data set", "window", "Swoop", *names], stocks),
    ]


def _others(others: list[other_tools.ToolMeasurement]) -> list[Part]:
    rows = [
        [
            one.name,
            "" if one.rate is None else f"{one.rate:,.0f}",
            "" if one.recall is None else f"{100 * one.recall:.1f} %",
            "" if one.memory is None else f"{one.memory:,.0f}",
            one.note,
        ]
        for one in others
    ]
    chart = other_tools.chart(others)
    parts: list[Part] = [
        Heading("What people would use instead"),
        Text(
            f"{others[0].sets:,} sets of TWEET, average window {other_tools.WINDOW:,}, k = {other_tools.K}. None "
            "of the other tools has a window or a top-k of its own: each is used as a competent user would, with a "
            "threshold set with hindsight. Rates are measured once the window is full, from Python, one set at a time."
        ),
    ]
    if chart is not None:
        parts.append(Chart("other-tools", chart, other_tools.CHART))
    return [*parts, Table(["", "sets/s", "of the top-k found", "bytes per set", "how"], rows, "notes")]


def profile_row(row: profiles.Profile) -> list[str]:
    """A row of the table of data sets, with the paper's numbers beside ours."""
    paper = SHAPES[row.data_set]
    numbers = (row.distinct, paper.paper_universe, row.after_tenth, row.after_hundredth)
    return [
        row.data_set.upper(), f"{row.sets:,}", f"{paper.paper_sets:,}", f"{row.mean_size:.2f}", f"{paper.mean_size:.2f}",
        *(f"{number:,}" for number in numbers),
    ]  # fmt: skip


PROFILE_HEAD = ["data set", "sets", "paper", "mean size", "paper", "distinct tokens", "paper", "after 10 %", "after 1 %"]


def _profiles(stores: Stores, data_sets: DataSets) -> list[Part]:
    """For each data set, the largest that was profiled."""
    longest = {}
    for row in sorted(stores.profiles, key=lambda row: row.sets):
        if row.source == data_sets.source(row.data_set):
            longest[row.data_set] = row
    if not longest:
        return []
    about = (
        "The paper's table, and the number of distinct tokens after a part of the sets. Vocabularies grow with the data set "
    )
    about += "and match the paper at its sizes: `swoop bench data-sets` generates all data sets at those sizes."
    rows = [profile_row(longest[name]) for name in DATA_SETS if name in longest]
    return [Heading("Data sets"), Text(about), Table(PROFILE_HEAD, rows)]


def make_table(folder: Path, share: float, info: Info) -> None:
    """The table of generated data sets, at a share of the paper's sizes; stored for the report."""
    stores = Stores(folder)
    data_sets = DataSets(replace(FULL, sets={name: round(share * shape.paper_sets) for name, shape in SHAPES.items()}))
    info(" | ".join(PROFILE_HEAD))
    for name in DATA_SETS:
        sets = round(share * SHAPES[name].paper_sets)
        row = stores.profiles.get((name, GENERATED, sets))
        if row is None:
            row = profiles.profile(data_sets.get(name)[0], GENERATED, sets)
            stores.profiles.add(row)
        info(" | ".join(profile_row(row)))
