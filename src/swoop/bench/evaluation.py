"""The paper's evaluation by one command: runs, figures, and what the paper says beside each of them."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swoop.bench.claims import CLAIMS, Seen
from swoop.bench.experiments import EXPERIMENTS, Latency, Results, Run, Scale, latency, perform, stream_of

TITLES = {
    "set-rate": "Set rate against the window, k = 10",
    "result-size": "Set rate against k (FLICKR, average window 1,000)",
    "pre-candidates": "Pre-candidates and candidates per set (TWEET, k = 10)",
    "ablations": "Without the candidate index, without the incremental stock",
    "token-order": "The order of lists, k = 10",
    "dblp": "Why the order matters on DBLP: bursts, and two tokens that become frequent late",
    "stock": "Largest stock",
    "latency": "Latency under 80 % load (TWEET, k = 10)",
}


def evaluate(folder: Path, names: list[str], scale: Scale, say: Callable[[str], None]) -> Path:
    """Do the runs of the named experiments that are not there yet, and write the report."""
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder / "results.parquet")
    wanted = list(dict.fromkeys(run for name in names for run in EXPERIMENTS[name](scale)))
    wanted.sort(key=lambda run: (run.stream, run.sets))
    for number, run in enumerate(wanted, 1):
        if results.get(run) is None:
            result = perform(run, scale.limit)
            results.add(result)
            note = "" if result.is_complete else f", stopped after {result.done:,} sets"
            say(f"{number}/{len(wanted)} {_name(run)}: {result.rate:,.0f} sets/s{note}")
    say("latency")
    stream, _ = stream_of("tweet", scale.sets)
    latencies = [latency(stream, window) for window in scale.windows_of("tweet")]
    say("drawing")
    return write_report(folder, results, latencies, scale)


def _name(run: Run) -> str:
    return f"{run.algorithm} on {run.stream}, window {run.window:,}, k {run.k:,}"


def write_report(folder: Path, results: Results, latencies: list[Latency], scale: Scale) -> Path:
    from swoop.bench.figures import figures

    dblp, _ = stream_of("dblp", scale.sets)
    parts = []
    for name, chart in figures(results, dblp, scale.windows_of("dblp")[-1]).items():
        chart = chart.configure_view(strokeOpacity=0).configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal"
        )
        chart.save(folder / f"{name}.png", scale_factor=2)
        chart.save(folder / f"{name}.svg")
        parts.append(f"<h2>{TITLES[name]}</h2><figure>{(folder / f'{name}.svg').read_text()}</figure>{_claims(name, results)}")
    parts.append(f"<h2>{TITLES['latency']}</h2>{_latency(latencies)}")
    parts.append(f"<h2>How many times faster than</h2>{_ratios(results)}")
    path = folder / "report.html"
    path.write_text(_PAGE.replace("BODY", "".join(parts)), encoding="utf-8")
    return path


def _claims(figure: str, results: Results) -> str:
    rows = []
    seen = Seen(results)
    for claim in CLAIMS:
        if claim.figure == figure:
            holds, found = claim.look(seen)
            word = {True: "seen", False: "not seen", None: "not looked at"}[holds]
            rows.append(
                f"<tr><td>{html.escape(claim.says)}</td><td class={word.split()[0]}>{word}</td>"
                f"<td>{html.escape(found)}</td></tr>"
            )
    return f"<table><tr><th>The paper</th><th>here</th><th></th></tr>{''.join(rows)}</table>" if rows else ""


def _table(head: list[str], rows: list[list[Any]]) -> str:
    line = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table class=numbers><tr>{line}</tr>{body}</table>"


def _latency(latencies: list[Latency]) -> str:
    head = ["average window", "arrivals per second", "median", "p99", "p99.9", "longest", "longest queue", "longest insertion"]
    return _table(
        head,
        [
            [
                f"{x.window:,}",
                f"{x.rate:,.0f}",
                *(f"{1e6 * x.percentiles[name]:,.0f} µs" for name in ("p50", "p99", "p99.9")),
                f"{1e3 * x.longest:.1f} ms",
                f"{x.longest_queue:,}",
                f"{1e3 * x.longest_processing:.1f} ms",
            ]
            for x in latencies
        ],
    )


def _ratios(results: Results) -> str:
    """Of the engine to the others, per stream and window."""
    seen = Seen(results)
    rows = []
    for r in seen.of("swoop", k=10):
        others = [seen.like(r, other) for other in ("swoop-minimal", "scase", "static", "base")]
        cells = [f"{r.rate / o.rate:,.1f}{'' if o.is_complete else ' *'}" if o else "" for o in others]
        stocks = [f"{o.largest_stock:,}" if o else "" for o in (r, *others)]
        rows.append([r.stream.upper(), f"{r.window:,}", f"{r.rate:,.0f}", *cells, " / ".join(stocks)])
    head = ["stream", "average window", "sets per second", "SWOOP as in the paper", "SCase", "Static", "Base"]
    return (
        _table([*head, "largest stocks, in this order"], rows) + "<p>* stopped at its limit of time: its rate up to there.</p>"
    )


_PAGE = """<!doctype html><html lang=en><meta charset=utf-8><title>Swoop: the paper's evaluation</title>
<meta name=viewport content='width=device-width'><style>
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2433; margin: 3rem auto; max-width: 72rem; padding: 0 1.5rem; }
h1, h2 { font-weight: 650; letter-spacing: -0.02em; } h2 { margin-top: 3rem; } figure { margin: 1rem 0; overflow-x: auto; }
table { border-collapse: collapse; } td, th { border-top: 1px solid #e4e7ec; padding: .4rem .8rem .4rem 0; text-align: left;
vertical-align: top; } th { color: #667085; font-weight: 500; } .seen { color: #2f7d4f; }
.not { color: #b3541e; white-space: nowrap; }
.numbers td + td, .numbers th + th { text-align: right; font-variant-numeric: tabular-nums; } p { color: #667085; }
</style><h1>The paper's evaluation</h1>BODY</html>
"""
