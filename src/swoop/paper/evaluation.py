"""The paper's evaluation by one command: runs, figures, and what the paper says beside each of them."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swoop.paper import alternatives, batches, latency, profiles, report
from swoop.paper.claims import CLAIMS, OTHERS, PAPER, Seen
from swoop.paper.experiments import FULL, GENERATED, RUNS, STREAMS, Result, Run, Scale, Streams, perform
from swoop.paper.kept import Kept, digest_of, version
from swoop.paper.report import Heading, Part, Picture, Table, Text
from swoop.paper.streams import SHAPES

EXPERIMENTS = (*RUNS, "dblp", "batches", "latency", "streams", "alternatives")
Say = Callable[[str], None]

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
    "set-rate": "Sets per second of CPU time. A triangle is a run that was stopped at its limit of time: its rate up to there, "
    "mostly of windows that were not yet full, so too good. DBLP arrives in bursts; as in the paper, its windows are days.",
    "pre-candidates": "Pre-candidates are the pairs that an algorithm looks at, candidates those that it sends to its stock.",
    "token-order": "SWOOP visits the shortest list first; SWOOP-noopt visits lists in the order in which tokens appeared.",
    "dblp": "Most sets of the spikes are home pages, with a name and the two tokens that all home pages have.",
    "latency": "TWEET, k = 10. Sets are inserted one by one from Python, and arrive at 80 % of the rate that this sustains. "
    "The latency is the time from the arrival of a set to the result, waiting included.",
    "stock": "Pairs in the stock, looked at now and then during a run. The dotted line is k times the window, the worst case.",
}


@dataclass
class Store:
    """All that is kept in the folder of an evaluation."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = Kept(self.folder / "results.parquet", Result)
        self.profiles = Kept(self.folder / "streams.parquet", profiles.Profile, digest_of("bench/streams.py"))
        self.bursts = Kept(self.folder / "bursts.parquet", profiles.Bursts)
        self.batches = Kept(self.folder / "batches.parquet", batches.Batches)
        self.latencies = Kept(self.folder / "latency.parquet", latency.Latency)
        self.alternatives = Kept(self.folder / "alternatives.parquet", alternatives.Alternative)


def evaluate(
    folder: Path, names: list[str], scale: Scale, say: Say, real: Mapping[str, Path] | None = None, docs: Path | None = None
) -> Path:
    """Do what is not there yet of the named experiments, and write the report; with ``docs`` also the page of the site."""
    store, streams = Store(folder), Streams(scale, real)
    wanted = {run.case: run for name in names if name in RUNS for run in RUNS[name](scale, streams)}
    runs = sorted(wanted.values(), key=lambda run: STREAMS.index(run.stream))
    for number, run in enumerate(runs, 1):
        known = store.results.get(run.case)
        if known is None or (known.stopped == "time" and known.cpu_seconds < scale.limit):
            result = perform(run, streams, scale.limit)
            store.results.add(result)
            note = f", stopped at its limit of {result.stopped} after {result.done:,} sets" if result.stopped else ""
            say(f"{number}/{len(runs)} {_name(run)}: {result.rate:,.0f} sets/s{note}")
    others = _look(store, names, scale, streams, say)
    say("drawing")
    parts = _parts(store, wanted.values(), others, scale, streams)
    report.save(parts, folder, ("svg", "png"))
    page = folder / "report.html"
    page.write_text(report.as_html("The paper's evaluation", parts, folder), encoding="utf-8")
    if docs:
        report.save(parts, docs / "figures", ("svg",))
        made = Text("Made by `swoop bench --docs docs`; do not edit by hand.")
        (docs / "evaluation.md").write_text(report.as_markdown("Evaluation", [made, *parts], "figures"), encoding="utf-8")
    return page


def _name(run: Run) -> str:
    return f"{run.algorithm} on {run.stream}, window {run.shown_window}, k {run.k:,}"


def _look(store: Store, names: list[str], scale: Scale, streams: Streams, say: Say) -> list[alternatives.Alternative]:
    """Everything but the runs, stream by stream. Returns what was seen of other tools."""
    found = []
    for name in STREAMS:
        case = name, streams.source(name), scale.sets[name]
        if "streams" in names and store.profiles.get(case) is None:
            store.profiles.add(profiles.profile(streams.get(name)[0], *case[1:]))
        if name == "dblp" and "dblp" in names and store.bursts.get(case) is None:
            store.bursts.add(profiles.bursts(streams.get(name)[0], *case[1:]))
        if name == "enron" and "batches" in names and store.batches.get(case) is None:
            say("Static in batches")
            store.batches.add(batches.batches(streams.get(name)[0], *case[1:]))
        for window in scale.windows_of(name) if name == "tweet" and "latency" in names else ():
            if store.latencies.get((*case, window)) is None:
                say(f"latency, window {window:,}")
                store.latencies.add(latency.latency(streams.get(name)[0], *case[1:], window))
        if name == "tweet" and "alternatives" in names:
            stream = alternatives.part_of(None if streams.source(name) == GENERATED else streams.get(name)[0])
            found = alternatives.measure(stream, case[1], len(stream), store.alternatives, min(4 * scale.limit, 60.0), say)
    return found


# the report


def _parts(
    store: Store, wanted: Iterable[Run], others: list[alternatives.Alternative], scale: Scale, streams: Streams
) -> list[Part]:
    from swoop.paper.figures import bursts_figure, latency_figure, result_figures

    results = [r for run in wanted if (r := store.results.get(run.case))]
    cases = {name: (name, streams.source(name), scale.sets[name]) for name in STREAMS}
    bursts = store.bursts.get(cases["dblp"])
    found = [store.latencies.get((*cases["tweet"], window)) for window in scale.windows_of("tweet")]
    latencies = [seen for seen in found if seen is not None]
    seen = Seen(results, bursts, store.batches.get(cases["enron"]), latencies)
    charts = result_figures(results)
    if bursts:
        charts["dblp"] = bursts_figure(bursts)
    if latencies:
        charts["latency"] = latency_figure(latencies)
    parts: list[Part] = [Text(_setting(scale, streams))]
    for name, title in TITLES.items():
        if name in charts:
            parts += [Heading(title), *([Text(ABOUT[name])] if name in ABOUT else []), Picture(name, charts[name], title)]
            if name == "latency":
                parts.append(_latencies(latencies))
            parts += _claims(name, seen)
    if results:
        parts += _ratios(seen)
    if others:
        parts += _others(others)
    return parts + _profiles(store, streams)


def _setting(scale: Scale, streams: Streams) -> str:
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    real = [f"{name.upper()} from {streams.source(name)}" for name in STREAMS if streams.source(name) != GENERATED]
    sources = f"Real streams: {', '.join(real)}; the others are" if real else "Streams are"
    return (
        f"Section 7 of the paper, done again by Swoop {version()} ({scale.name}) on one core of an {model}, Python "
        f"{platform.python_version()}. {sources} generated, shaped like those of the paper (see the end). All algorithms are "
        f"compiled and share the engine's data structures. “SWOOP as in the paper” is the paper's algorithm; “Swoop” is the "
        f"engine as people use it, which adds a floor. A run is stopped after {scale.limit:g} s of CPU time."
    )


def _claims(figure: str, seen: Seen) -> list[Part]:
    rows = []
    for claim in CLAIMS:
        if claim.figure == figure:
            holds, found = claim.look(seen)
            word = {True: "seen", False: "not seen", None: "not looked at"}[holds]
            reason = f". {claim.why}" if holds is False and claim.why else ""
            rows.append([claim.says, word, found + reason])
    return [Table(["the paper", "here", "what was found"], rows, "words")] if rows else []


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
    """Of the engine to the others, per stream and window."""
    rows, stocks = [], []
    for r in seen.of("swoop", k=10):
        others = [seen.like(r, other) for other in (PAPER, *OTHERS)]
        cells = [f"{r.rate / o.rate:,.1f}{' *' if o.stopped else ''}" if o else "" for o in others]
        rows.append([r.stream.upper(), r.shown_window, f"{r.rate:,.0f}", *cells])
        stocks.append(
            [
                r.stream.upper(),
                r.shown_window,
                *(f"{o.largest_stock:,}{' *' if o.stopped else ''}" if o else "" for o in (r, *others)),
            ]
        )
    names = ["SWOOP as in the paper", "SCase", "Static", "Base"]
    return [
        Heading("How many times faster: Swoop : SWOOP : SCase : Static : Base"),
        Text(
            "How many times faster Swoop is than each of the others, k = 10. * stopped at its limit: by its rate up to there."
        ),
        Table(["stream", "window", "Swoop, sets per second", *names], rows),
        Text("The largest stocks of the same runs, in pairs; that of Static is its result."),
        Table(["stream", "window", "Swoop", *names], stocks),
    ]


def _others(others: list[alternatives.Alternative]) -> list[Part]:
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
    chart = alternatives.figure(others)
    parts: list[Part] = [
        Heading("What people would use instead"),
        Text(
            f"{others[0].sets:,} sets of TWEET, average window {alternatives.WINDOW:,}, k = {alternatives.K}. None "
            "of the others follows a window or knows a top-k by itself: each is used as a competent user would, with a "
            "threshold that was set with hindsight. Rates are from a full window on, from Python, a set at a time."
        ),
    ]
    if chart is not None:
        parts.append(Picture("alternatives", chart, "Sets per second against the share of the exact top-k that is found"))
    return [*parts, Table(["", "sets/s", "of the top-k found", "bytes per set", "how"], rows, "notes")]


def profile_row(row: profiles.Profile) -> list[str]:
    """A row of the paper's table, with the paper's figures beside it."""
    paper = SHAPES[row.stream]
    numbers = (row.distinct, paper.paper_universe, row.after_tenth, row.after_hundredth)
    return [
        row.stream.upper(), f"{row.sets:,}", f"{paper.paper_sets:,}", f"{row.mean_size:.2f}", f"{paper.mean_size:.2f}",
        *(f"{number:,}" for number in numbers),
    ]  # fmt: skip


PROFILE_HEAD = ["stream", "sets", "paper", "mean size", "paper", "distinct tokens", "paper", "after 10 %", "after 1 %"]


def _profiles(store: Store, streams: Streams) -> list[Part]:
    """Of each stream the longest that was looked at."""
    longest = {}
    for row in sorted(store.profiles, key=lambda row: row.sets):
        if row.source == streams.source(row.stream):
            longest[row.stream] = row
    if not longest:
        return []
    about = "The paper's table, and how many distinct tokens there were after a part of the sets. Vocabularies grow with the "
    about += "stream and are the paper's at its length: `swoop bench streams` makes all streams that long."
    rows = [profile_row(longest[name]) for name in STREAMS if name in longest]
    return [Heading("The streams"), Text(about), Table(PROFILE_HEAD, rows)]


def make_table(folder: Path, share: float, say: Say) -> None:
    """The paper's table, of generated streams with this share of the paper's lengths; kept for the report."""
    store = Store(folder)
    streams = Streams(replace(FULL, sets={name: round(share * shape.paper_sets) for name, shape in SHAPES.items()}))
    say(" | ".join(PROFILE_HEAD))
    for name in STREAMS:
        sets = round(share * SHAPES[name].paper_sets)
        row = store.profiles.get((name, GENERATED, sets))
        if row is None:
            row = profiles.profile(streams.get(name)[0], GENERATED, sets)
            store.profiles.add(row)
        say(" | ".join(profile_row(row)))
