"""The figures of the evaluation, with log axes as in the paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from swoop.bench.experiments import ABLATIONS, MAIN, STREAMS, TOKEN_ORDER, Result
from swoop.bench.streams import Stream

COLOURS = {
    "swoop": "#d1495b",
    "swoop-minimal": "#30638e",
    "scase": "#edae49",
    "static": "#6a994e",
    "base": "#8d99ae",
    "swoop-noindex": "#edae49",
    "swoop-noincrement": "#6a994e",
    "swoop-noopt": "#8d99ae",
}
NAMES = {"swoop": "Swoop", "swoop-minimal": "SWOOP as in the paper", "scase": "SCase", "static": "Static", "base": "Base"}
NAMES |= {"swoop-noindex": "no-index", "swoop-noincrement": "no-increment", "swoop-noopt": "SWOOP-noopt"}


def figures(results: Iterable[Result], dblp: Stream, dblp_window: int) -> dict[str, Any]:
    """All figures for which there are results, by name."""
    rows = [_row(result) for result in results]
    by_k = [row for row in rows if row["stream"] == "flickr" and row["window"] == 1000]
    by_window = [row for row in rows if row["k"] == 10]
    tweet = [row for row in by_window if row["stream"] == "tweet"]
    flickr = [row for row in by_window if row["stream"] == "flickr"]
    of_dblp = [row for row in by_window if row["stream"] == "dblp"]
    return {
        "set-rate": _per_stream(_of(by_window, MAIN), "rate", "sets per second"),
        "result-size": _lines(_of(by_k, MAIN), "k", "rate", "k", "sets per second"),
        "pre-candidates": _lines(_of(tweet, MAIN), "window", "pre_candidates", "average window", "pre-candidates per set")
        | _lines(_of(tweet, MAIN), "window", "candidates", "average window", "candidates per set"),
        "ablations": _lines(_of(by_k, ABLATIONS), "k", "rate", "k (FLICKR)", "sets per second")
        | _lines(_of(tweet, ABLATIONS), "window", "rate", "average window (TWEET)", "sets per second"),
        "token-order": _lines(_of(of_dblp, TOKEN_ORDER), "window", "rate", "average window (DBLP)", "sets per second")
        | _lines(_of(of_dblp, TOKEN_ORDER), "window", "pre_candidates", "average window (DBLP)", "pre-candidates per set"),
        "dblp": _dblp(dblp, dblp_window),
        "stock": _lines(_of(flickr, MAIN), "window", "largest_stock", "average window (FLICKR)", "largest stock")
        | _lines(_of(by_k, MAIN), "k", "largest_stock", "k (FLICKR)", "largest stock"),
    }


def _row(result: Result) -> dict[str, Any]:
    return {
        "stream": result.stream,
        "window": result.window,
        "k": result.k,
        "algorithm": result.algorithm,
        "name": NAMES[result.algorithm],
        "rate": result.rate,
        "pre_candidates": result.pre_candidates,
        "candidates": result.candidates,
        "largest_stock": result.largest_stock,
        "run": "complete" if result.is_complete else "stopped at its limit of time",
    }


def _of(rows: list[dict[str, Any]], algorithms: tuple[str, ...]) -> list[dict[str, Any]]:
    return [row for row in rows if row["algorithm"] in algorithms]


def _lines(rows: list[dict[str, Any]], x: str, y: str, x_title: str, y_title: str, width: int = 300) -> Any:
    """A line per algorithm; runs that were stopped have open marks."""
    import altair as alt

    there = [name for algorithm, name in NAMES.items() if any(row["algorithm"] == algorithm for row in rows)]
    colours = [COLOURS[algorithm] for algorithm, name in NAMES.items() if name in there]
    base = alt.Chart(alt.InlineData(values=[row for row in rows if row[y] > 0])).encode(
        x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=5, grid=False)),
        y=alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=6, gridOpacity=0.4)),
        color=alt.Color("name:N", title=None, scale=alt.Scale(domain=there, range=colours), sort=there),
    )
    marks = base.mark_point(size=50, strokeWidth=2).encode(
        shape=alt.Shape(
            "run:N",
            title=None,
            scale=alt.Scale(domain=["complete", "stopped at its limit of time"], range=["circle", "triangle-up"]),
        )
    )
    return (base.mark_line(strokeWidth=2) + marks).properties(width=width, height=220)


def _per_stream(rows: list[dict[str, Any]], y: str, title: str) -> Any:
    import altair as alt

    parts = [
        _lines([row for row in rows if row["stream"] == stream], "window", y, "average window", title, 240).properties(
            title=stream.upper()
        )
        for stream in STREAMS
        if any(row["stream"] == stream for row in rows)
    ]
    return alt.concat(*parts, columns=3)


def _dblp(stream: Stream, window: int) -> Any:
    """Window size over the stream, and how frequent the two late tokens are in it."""
    import altair as alt

    duration = stream.window_for(window)
    first = np.searchsorted(stream.times, stream.times - duration, side="right")
    owner = np.repeat(np.arange(len(stream)), np.diff(stream.offsets))
    half = len(stream) // 2
    late = np.bincount(stream.tokens[stream.offsets[half] :])
    tokens = np.argsort(late)[::-1][:2]
    rows = []
    held = {}
    for name, token in zip(("first", "second"), tokens, strict=True):
        has = np.zeros(len(stream) + 1)
        has[1:] = np.cumsum(np.bincount(owner[stream.tokens == token], minlength=len(stream)) > 0)
        held[name] = has
    for number in range(0, len(stream), max(1, len(stream) // 400)):
        size = number + 1 - int(first[number])
        rows.append({"set": number, "what": "sets in the window", "value": size})
        for name, has in held.items():
            share = 100 * (has[number + 1] - has[int(first[number])]) / size
            rows.append({"set": number, "what": f"% of sets with the {name} token", "value": share})
    sizes = alt.Chart(alt.InlineData(values=[row for row in rows if row["what"] == "sets in the window"])).mark_area(
        color="#c6dbee", line={"color": "#30638e"}
    )
    shares = alt.Chart(alt.InlineData(values=[row for row in rows if row["what"] != "sets in the window"])).mark_line(
        strokeWidth=1.5
    )
    x = alt.X("set:Q", title="sets of the stream (DBLP)", axis=alt.Axis(format="~s", grid=False, tickCount=5))
    return sizes.encode(x=x, y=alt.Y("value:Q", title="sets in the window")).properties(width=300, height=220) | shares.encode(
        x=x,
        y=alt.Y("value:Q", title="% of the sets in the window"),
        color=alt.Color("what:N", title=None, scale=alt.Scale(range=["#d1495b", "#30638e"])),
    ).properties(width=300, height=220)
