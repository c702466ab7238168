"""The charts of the evaluation, with logarithmic axes as in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from swoop.look import ACCENT, AMBER, BLUE, FONT, INK, LINE, PALE, PLUM, QUIET, WASH
from swoop.paper.experiments import ABLATIONS, DATA_SETS, MAIN, TOKEN_ORDER, Result
from swoop.paper.latency import Latency
from swoop.paper.measure import Rate
from swoop.paper.profiles import Bursts

COLOURS = {
    "swoop": ACCENT,
    "swoop-minimal": BLUE,
    "scase": AMBER,
    "static": PLUM,
    "base": QUIET,
    "swoop-noindex": AMBER,
    "swoop-noincrement": PLUM,
    "swoop-noopt": QUIET,
}
NAMES = {"swoop": "Swoop", "swoop-minimal": "SWOOP as in the paper", "scase": "SCase", "static": "Static", "base": "Base"}
NAMES |= {"swoop-noindex": "no-index", "swoop-noincrement": "no-increment", "swoop-noopt": "SWOOP-noopt"}
COMPLETE, STOPPED = "complete", "stopped at its limit"
RATE = "sets per second"


def result_charts(results: Iterable[Result]) -> dict[str, Any]:
    """The charts of runs, by name; those without runs are left out."""
    rows = [_row(result) for result in results]
    k_10 = [row for row in rows if row["k"] == 10]
    tweet, flickr, dblp = ([row for row in k_10 if row["data_set"] == name] for name in ("tweet", "flickr", "dblp"))
    by_k = [row for row in rows if row["data_set"] == "flickr" and row["window"] == 1000]
    large_k = [row for row in rows if row["data_set"] == "flickr" and row["k"] == 1000]
    window = "average window"
    panels: dict[str, list[Any]] = {
        "set-rate": [
            _lines(
                [row for row in _of(k_10, MAIN) if row["data_set"] == data_set],
                "window", "rate", "days" if data_set == "dblp" else window, RATE, data_set.upper(),
            )
            for data_set in DATA_SETS
        ],
        "large-k": [_lines(_of(large_k, MAIN), "window", "rate", window, RATE, "FLICKR, k = 1,000")],
        "result-size": [_lines(_of(by_k, MAIN), "k", "rate", "k", RATE, "FLICKR, average window 1,000")],
        "pre-candidates": [
            _lines(_of(tweet, MAIN), "window", "pre_candidates", window, "per set", "Pre-candidates (TWEET)"),
            _lines(_of(tweet, MAIN), "window", "candidates", window, "per set", "Candidates (TWEET)"),
        ],
        "ablations": [
            _lines(_of(by_k, ABLATIONS), "k", "rate", "k", RATE, "FLICKR, average window 1,000"),
            _lines(_of(tweet, ABLATIONS), "window", "rate", window, RATE, "TWEET, k = 10"),
        ],
        "token-order": [
            _lines(_of(dblp, TOKEN_ORDER), "window", "rate", "days", RATE, "DBLP"),
            _lines(_of(dblp, TOKEN_ORDER), "window", "pre_candidates", "days", "per set", "Pre-candidates (DBLP)"),
        ],
        "stock": [
            _lines(_of(flickr, MAIN), "window", "largest_stock", window, "pairs", "FLICKR, k = 10", worst=True),
            _lines(_of(by_k, MAIN), "k", "largest_stock", "k", "pairs", "FLICKR, average window 1,000", worst=True),
        ],
    }  # fmt: skip
    return {name: finished(there) for name, parts in panels.items() if (there := [part for part in parts if part is not None])}


def rates_chart(rates: Iterable[Rate]) -> Any:
    """The set rates at k = 10 of Swoop, of Swoop without a floor, and of the peer if there is one."""
    rows = [
        {"data_set": rate.data_set, "window": rate.window, "algorithm": algorithm, "name": name, "rate": value}
        for rate in rates
        if rate.k == 10
        for algorithm, name, value in (
            ("swoop", "Swoop", rate.swoop),
            ("swoop-minimal", "without a floor", rate.minimal),
            ("base", "the peer in C++", rate.peer),
        )
        if value
    ]
    panels = [
        _lines([row for row in rows if row["data_set"] == data_set], "window", "rate", "average window", RATE, data_set.upper())
        for data_set in DATA_SETS
    ]
    return finished([panel for panel in panels if panel is not None])


def finished(panels: Sequence[Any], columns: int = 3) -> Any:
    """Panels side by side, with one legend."""
    import altair as alt

    return (
        alt.concat(*panels, columns=columns)
        .configure(font=FONT, padding={"left": 24, "right": 12, "top": 5, "bottom": 5})  # fonts of readers may be wider
        .configure_view(strokeOpacity=0)
        .configure_axis(
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            domainColor=PALE,
            tickColor=PALE,
            gridColor=LINE,
            labelColor=QUIET,
            titleColor=QUIET,
        )
        .configure_legend(
            orient="bottom", labelFontSize=12, symbolSize=90, symbolOpacity=1, columns=6, columnPadding=20, labelColor=INK
        )
        .configure_title(fontSize=13, anchor="start", fontWeight=600, color=INK)
        .configure_concat(spacing=28)
    )


def _row(result: Result) -> dict[str, Any]:
    return {
        "data_set": result.data_set,
        "window": result.window,
        "k": result.k,
        "algorithm": result.algorithm,
        "name": NAMES[result.algorithm],
        "rate": result.rate,
        "pre_candidates": result.pre_candidates,
        "candidates": result.candidates,
        "largest_stock": result.largest_stock,
        "run": STOPPED if result.stopped else COMPLETE,
    }


def _of(rows: list[dict[str, Any]], algorithms: tuple[str, ...]) -> list[dict[str, Any]]:
    return [row for row in rows if row["algorithm"] in algorithms]


def _lines(
    rows: list[dict[str, Any]], x: str, y: str, x_title: str, y_title: str, title: str, *, worst: bool = False
) -> Any | None:
    """A line per algorithm; stopped runs are triangles. ``worst``: also the paper's bound, k times the window."""
    import altair as alt

    rows = [row for row in rows if row[y] > 0]
    if not rows:
        return None
    found = {row["algorithm"]: row["name"] for row in rows}
    there = [algorithm for algorithm in NAMES if algorithm in found]
    names = [found[algorithm] for algorithm in there]
    ticks = sorted({row[x] for row in rows})
    powers = [10.0**power for power in range(-3, 10)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", values=ticks, grid=False)),
        y=alt.Y(
            f"{y}:Q", title=y_title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", values=powers, gridOpacity=0.4)
        ),
        color=alt.Color(
            "name:N", title=None, scale=alt.Scale(domain=names, range=[COLOURS[algorithm] for algorithm in there]), sort=names
        ),
    )
    marks = base.mark_point(size=45, filled=True, opacity=1)
    if "run" in rows[0]:
        shapes = alt.Scale(domain=[COMPLETE, STOPPED], range=["circle", "triangle-up"])
        marks = marks.encode(shape=alt.Shape("run:N", title=None, scale=shapes, sort=[COMPLETE]))
    layers = [base.mark_line(strokeWidth=2), marks]
    if worst:
        points = {row[x]: row["k"] * row["window"] for row in rows}
        bound = alt.Chart(alt.InlineData(values=[{x: at, y: pairs} for at, pairs in points.items()]))
        layers.append(bound.mark_line(strokeDash=[2, 3], color=PALE).encode(x=f"{x}:Q", y=f"{y}:Q"))
    return alt.layer(*layers).properties(width=245, height=200, title=title)


def bursts_chart(bursts: Bursts) -> Any:
    """The size of a window of one day along the data set, and the frequency of the two late tokens in it."""
    import altair as alt

    x = alt.X("set:Q", title="sets so far", axis=alt.Axis(format="~s", grid=False, tickCount=5))
    sizes = [{"set": at, "value": size} for at, size in zip(bursts.positions, bursts.sizes, strict=True)]
    shares = [
        {"set": at, "value": round(100 * share, 1), "token": token}
        for token, curve in (("the first late token", bursts.shares), ("the second", bursts.other_shares))
        for at, share in zip(bursts.positions, curve, strict=True)
    ]
    window = (
        alt.Chart(alt.InlineData(values=sizes))
        .mark_area(color=WASH, line={"color": ACCENT, "strokeWidth": 1})
        .encode(
            x=x,
            y=alt.Y("value:Q", title="sets", scale=alt.Scale(nice=5), axis=alt.Axis(format="~s", tickCount=5, gridOpacity=0.4)),
        )
    )
    tokens = (
        alt.Chart(alt.InlineData(values=shares))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=x,
            y=alt.Y("value:Q", title="% of the sets", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(gridOpacity=0.4)),
            color=alt.Color("token:N", title=None, scale=alt.Scale(range=[ACCENT, BLUE])),
        )
    )
    return finished(
        [
            window.properties(width=390, height=200, title="Sets in a window of one day (DBLP)"),
            tokens.properties(width=390, height=200, title="Sets of the window with the two late tokens"),
        ]
    )


def latency_chart(latencies: Sequence[Latency]) -> Any:
    """The length of the queue over time."""
    import altair as alt

    panels = []
    for seen in latencies:
        rows = [{"time": (n + 0.5) * seen.spent / len(seen.queue), "queue": length} for n, length in enumerate(seen.queue)]
        chart = (
            alt.Chart(alt.InlineData(values=rows))
            .mark_area(color=WASH, line={"color": ACCENT, "strokeWidth": 1}, interpolate="step")
            .encode(
                x=alt.X("time:Q", title="seconds", axis=alt.Axis(grid=False, tickCount=5)),
                y=alt.Y(
                    "queue:Q",
                    title="waiting sets",
                    scale=alt.Scale(nice=5),
                    axis=alt.Axis(format="~s", tickCount=5, gridOpacity=0.4),
                ),
            )
        )
        panels.append(chart.properties(width=245, height=150, title=f"average window {seen.window:,}"))
    return finished(panels)
