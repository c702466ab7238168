"""Charts of results, for notebooks and reports. They need altair, which is imported at first use.

Ids and tokens are data of the chart and never part of its specification. A ``<`` is shown as ``‹``, so that text cannot become
markup in a page that embeds a chart.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from swoop.errors import InvalidArgument
from swoop.installing import how_to_install
from swoop.look import ACCENT, AMBER, FONT, INK, PALE, QUIET, WASH
from swoop.marking import shortened
from swoop.stays import stays_of
from swoop.times import EPOCH, EPOCH_UTC, Time
from swoop.unseen import printable

if TYPE_CHECKING:
    import altair

    from swoop.results import Change, Explanation, Family, FamilyChange, Pair, SkybandStep

    Chart = altair.Chart | altair.LayerChart

WIDTH, ROW = 460, 24
OUTCOMES = {
    **{"still there": ACCENT, "expired": PALE, "outranked": AMBER, "left": PALE},
    **{"ended": PALE, "merged": AMBER, "seen": ACCENT},
}  # of pairs, and of families
MOST_TICKS = 2000
FACTS = ("newer", "older", "similarity", "overlap", "start", "end")
AXIS = {
    "grid": False,
    "labelColor": QUIET,
    "titleColor": QUIET,
    "labelFont": FONT,
    "titleFont": FONT,
    "titleFontWeight": "normal",
    "domainColor": PALE,
    "tickColor": PALE,
    "tickCount": 8,
    "labelOverlap": True,
    "labelSeparation": 8,
}
CLOCK = {
    "year": "%Y",
    "month": "%b %Y",
    "date": "%d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
    "milliseconds": "%S.%L",
}  # format of times, by the finest unit that a tick of the axis needs


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise ImportError(f"charts need the package altair: {how_to_install('notebook')}") from error
    return altair


def topk(pairs: Sequence[Pair], most: int = 50) -> Chart:
    """One bar per pair, as long as the pair is similar, for the first ``most`` pairs in the given order.

    Examples
    --------
    >>> import swoop
    >>> from swoop import charts
    >>> join = swoop.TopKJoin(k=2, window=10)
    >>> for time, text in enumerate(["abc", "abd", "bcd"]):
    ...     join.insert(list(text), time)
    >>> charts.topk(join.topk()).save("pairs.html")  # doctest: +SKIP
    """
    alt = _altair()
    shown = pairs[:most]
    low, high = _extent([pair.similarity for pair in shown])
    rows = [
        {"place": place, "label": _pair_label(pair.newer, pair.older), "low": low, **_facts(pair)}
        for place, pair in enumerate(shown, 1)
    ]
    base = _data(alt, rows)
    y = alt.Y("place:O", title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=QUIET, labelFont=FONT))
    similarity = alt.X(
        "similarity:Q", title="similarity", scale=alt.Scale(domain=[low, high], nice=False), axis=alt.Axis(**AXIS)
    )
    bars = base.mark_bar(color=WASH, cornerRadiusEnd=3).encode(x=similarity, x2="low:Q", y=y, tooltip=_tooltip(alt, *FACTS))
    labels = base.mark_text(font=FONT, align="left", color=INK, limit=WIDTH - 60).encode(x=alt.value(8), y=y, text="label:N")
    values = base.mark_text(font=FONT, align="left", color=ACCENT)
    values = values.encode(x=alt.value(WIDTH + 8), y=y, text=alt.Text("similarity:Q", format=".3~g"))
    title = f"the first {len(rows)} of {len(pairs)} pairs" if len(rows) < len(pairs) else ""
    return _finished(alt, bars + labels + values, len(rows), title)


def changes(feed: Sequence[Change], most: int = 30) -> Chart:
    """Which pairs were in the top-k when: one bar per stay, coloured by how it ended.

    Stays that began before the first change of ``feed`` are drawn from that change, and unfinished ones up to the last change.

    Parameters
    ----------
    feed
        The result of :meth:`swoop.TopKJoin.changes`.
    most
        The maximum number of pairs; those with the longest stays are shown.
    """
    stays = [
        {
            "key": stay.key,
            **{name: getattr(stay.pair, name) for name in ("newer", "older", "similarity", "overlap")},
            "enter": feed[0].time if stay.enter is None else stay.enter,
            "leave": stay.leave,
            "outcome": stay.how or "still there",
        }
        for stay in stays_of(feed)
    ]
    return _timeline(stays, most, max((change.time for change in feed), default=None))


def timeline(stays: Iterable[Any], most: int = 30) -> Chart:
    """Which pairs were in the top-k when, from the rows of :func:`swoop.spark.topk_history`.

    Parameters
    ----------
    stays
        Rows or dicts with ``newer``, ``older``, ``similarity``, ``overlap``, ``enter`` and ``leave``, such as
        ``topk_history(...).collect()``.
    most
        The maximum number of pairs; those with the longest stays are shown.

    Examples
    --------
    >>> from swoop import charts
    >>> row = {"newer": 2, "older": 1, "similarity": 0.5, "overlap": 1, "enter": 10, "leave": None}
    >>> charts.timeline([row, {**row, "newer": 3, "enter": 20, "leave": 30}]).to_dict()["height"]
    40
    """
    rows = [
        {
            **{name: row[name] for name in ("newer", "older", "similarity", "overlap", "enter", "leave")},
            "key": (row["newer"], row["older"]),
            "outcome": "still there" if row["leave"] is None else "left",
        }
        for row in stays
    ]
    times = [time for row in rows for time in (row["enter"], row["leave"]) if time is not None]
    return _timeline(rows, most, max(times, default=None))


def _timeline(stays: list[dict[str, Any]], most: int, last: Time | None) -> Chart:
    alt = _altair()
    if most < 1:
        raise InvalidArgument(f"most must be at least 1, not {most}")
    axis = _TimeAxis(stay["enter"] for stay in stays)
    lasting: dict[Any, Any] = {}
    for stay in stays:
        stay["duration"] = axis.number(stay["leave"] if stay["leave"] is not None else last) - axis.number(stay["enter"])
        lasting[stay["key"]] = lasting.get(stay["key"], 0) + stay["duration"]
    shown = sorted(lasting, key=lambda key: -lasting[key])[:most]
    order = {key: number for number, key in enumerate(key for key in lasting if key in set(shown))}
    rows = [
        {
            "row": order[stay["key"]],
            "label": _pair_label(stay["newer"], stay["older"], 26),
            "enter": axis.number(stay["enter"]),
            "leave": axis.number(stay["enter"]) + stay["duration"],
            "entered": _shown(stay["enter"]),
            "left": "" if stay["leave"] is None else _shown(stay["leave"]),
            "outcome": stay["outcome"],
            **{name: _plain(stay[name]) for name in ("newer", "older", "similarity", "overlap")},
        }
        for stay in stays
        if stay["key"] in order
    ]
    title = f"{len(order)} of {len(lasting)} pairs: those with the longest stays" if len(order) < len(lasting) else ""
    fields = ("newer", "older", "similarity", "overlap", "entered", "left", "outcome")
    return _finished(alt, _lives(alt, rows, axis, fields), len(order), title, row=20)


def _lives(alt: Any, rows: list[dict[str, Any]], axis: _TimeAxis, fields: Sequence[str]) -> Any:
    """Bars from ``enter`` to ``leave``, in the line ``row`` with its ``label``, coloured by ``outcome``."""
    y = alt.Y("row:O", title=None, axis=None)
    used = [name for name in OUTCOMES if any(row["outcome"] == name for row in rows)]
    colour = alt.Color(
        "outcome:N",
        scale=alt.Scale(domain=used, range=[OUTCOMES[name] for name in used]),
        legend=alt.Legend(title=None, orient="top", symbolType="square", labelColor=INK, labelFont=FONT, symbolStrokeWidth=0),
    )
    bars = (
        _data(alt, rows)
        .mark_bar(height=12, cornerRadius=2)
        .encode(
            x=axis.x(alt, "enter"),
            x2="leave:Q",
            y=y,
            color=colour,
            stroke=alt.Stroke("outcome:N", scale=colour["scale"], legend=None),  # so that what has no duration is visible
            tooltip=_tooltip(alt, *fields),
        )
    )
    return bars + _row_labels(alt, {row["row"]: row["label"] for row in rows}, y, 330)


def families(feed: Sequence[FamilyChange], most: int = 30) -> Chart:
    """Which families there were when, and how they grew: a bar per family, coloured by how it ended, with a tick for each set.

    A bar begins with the family's second set, with which it is born. Families from before the first change of ``feed``
    are drawn from that change, and unfinished ones up to the last change.

    Parameters
    ----------
    feed
        The result of :meth:`swoop.Families.changes`.
    most
        The maximum number of families; those that grew most are shown.

    Examples
    --------
    >>> import swoop
    >>> from swoop import charts
    >>> waves = swoop.Families(0.5, window=10)
    >>> for time, text in enumerate(["abc", "abd", "xyz", "abc"]):
    ...     waves.insert(list(text), time)
    >>> charts.families(waves.changes()).save("families.html")  # doctest: +SKIP
    """
    begin, last = (feed[0].time, feed[-1].time) if len(feed) else (None, None)
    lives: list[dict[str, Any]] = []
    there: dict[Any, dict[str, Any]] = {}
    for change in feed:
        known = there.get(change.key)
        if known is None or change.kind == "born":
            since = change.time if change.kind == "born" else begin
            known = {"family": change.family, "enter": since, "leave": None, "outcome": "still there", "times": []}
            lives.append(known)
            there[change.key] = known
        if change.kind in ("born", "grew"):
            known["times"] += [change.time] * (2 if change.kind == "born" else 1)
            continue
        del there[change.key]
        known["leave"], known["outcome"] = change.time, change.kind
        if change.into is not None:
            known["outcome"] = "merged"
            if change.into_key in there:
                there[change.into_key]["times"] += known["times"]
    for life in lives:
        life["records"] = len(life["times"])
    return _family_lives(lives, most, last)


def family_history(found: Sequence[Family], most: int = 30) -> Chart:
    """When the families of a history were seen: one bar per family, from its first to its last set.

    Parameters
    ----------
    found
        The result of :func:`swoop.families_history` or :meth:`swoop.Families.families`.
    most
        The maximum number of families; those with the most sets are shown.
    """
    lives: list[dict[str, Any]] = [
        {"family": f.id, "enter": f.first_seen, "leave": f.last_seen, "outcome": "seen", "times": [], "records": f.total}
        for f in found
    ]
    return _family_lives(lives, most, None)


def _family_lives(lives: list[dict[str, Any]], most: int, last: Time | None) -> Chart:
    alt = _altair()
    if most < 1:
        raise InvalidArgument(f"most must be at least 1, not {most}")
    axis = _TimeAxis(life["enter"] for life in lives)
    largest = sorted(range(len(lives)), key=lambda place: -lives[place]["records"])[:most]
    shown = [lives[place] for place in sorted(largest)]
    rows = [
        {
            "row": row,
            "label": _label(life["family"], 40),
            "enter": axis.number(life["enter"]),
            "leave": axis.number(last if life["leave"] is None else life["leave"]),
            "first": _shown(life["enter"]),
            "last": "" if life["leave"] is None else _shown(life["leave"]),
            **{name: _plain(life[name]) for name in ("family", "records", "outcome")},
        }
        for row, life in enumerate(shown)
    ]
    y = alt.Y("row:O", title=None, axis=None)
    chart = _lives(alt, rows, axis, ("family", "records", "first", "last", "outcome"))
    times = [{"row": row, "enter": axis.number(time)} for row, life in enumerate(shown) for time in life["times"]]
    ticks = _data(alt, times[:: max(1, len(times) // MOST_TICKS)]).mark_tick(color="white", opacity=0.5, height=12, thickness=1)
    counts = _data(alt, rows).mark_text(font=FONT, align="left", color=ACCENT)
    counts = counts.encode(x=alt.value(WIDTH + 8), y=y, text=alt.Text("records:Q", format=","))
    chart = chart + ticks.encode(x=axis.x(alt, "enter"), y=y) + counts
    title = f"{len(shown)} of {len(lives)} families: those with the most sets" if len(shown) < len(lives) else ""
    return _finished(alt, chart, len(shown), title, row=20)


def explanation(explained: Explanation, most: int = 100) -> Chart:
    """The tokens of both sets side by side, at most ``most``: first the shared ones, then those that only one set has."""
    alt = _altair()
    newer, older = ("newer: " + _label(explained.pair.newer, 30), "older: " + _label(explained.pair.older, 30))
    if newer == older:
        older += " "
    sides = {"shared": (newer, older), "only newer": (newer,), "only older": (older,)}
    tokens = [(kind, token) for kind, tokens in explained._in_order() for token in tokens]
    shown = tokens[:most]
    rows = [
        {"row": row, "token": _label(token, 300), "kind": kind, "set": side}
        for row, (kind, token) in enumerate(shown)
        for side in sides[kind]
    ]
    y = alt.Y("row:O", title=None, axis=None)
    across = alt.Axis(orient="top", labelAngle=0, labelLimit=200, domain=False, ticks=False, labelColor=INK, labelFont=FONT)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(sides), range=[ACCENT, AMBER, PALE]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="square", labelColor=INK, labelFont=FONT),
    )
    cells = _data(alt, rows).mark_rect(cornerRadius=3, stroke="white", strokeWidth=2)
    cells = cells.encode(
        x=alt.X("set:N", title=None, sort=[newer, older], axis=across),
        y=y,
        color=colour,
        tooltip=_tooltip(alt, "token", "kind"),
    )
    known = sorted(_harmless(token) for _, token in tokens)
    labels = _row_labels(alt, {row: _label(token, 36, known) for row, (_, token) in enumerate(shown)}, y, 260)
    title = f"{len(shown)} of {len(tokens)} tokens" if len(shown) < len(tokens) else ""
    return _finished(alt, cells + labels, len(shown), title, width=300, row=20)


class HasSkyband(Protocol):
    """A join, or the handle of a live one."""

    def topk(self) -> Sequence[Pair]: ...
    def skyband(self) -> list[SkybandStep]: ...


def skyband(join: HasSkyband, now: Time | None = None) -> Chart:
    """How similar a new pair must be to matter, by its end time, and the pairs of the top-k at their end times.

    A new pair below the steps can never enter the top-k: at least k pairs are as similar and outlast it.

    Parameters
    ----------
    join
        A :class:`swoop.TopKJoin`, or the handle of a live one.
    now
        Where the chart begins; by default the latest start of a pair in the top-k.

    Examples
    --------
    >>> import swoop
    >>> from swoop import charts
    >>> join = swoop.TopKJoin(k=1, window=10)
    >>> for time, text in enumerate(["ab", "ab", "bc"]):
    ...     join.insert(list(text), time)
    >>> len(charts.skyband(join).to_dict()["layer"])
    3
    """
    alt = _altair()
    pairs, steps = join.topk(), join.skyband()
    if any(pair.end is None for pair in pairs):
        raise InvalidArgument("in an unbounded window pairs never end, so the skyband has no steps to draw")
    begin = now if now is not None else max((pair.start for pair in pairs), default=None)
    axis = _TimeAxis([] if begin is None else [begin])
    low, high = _extent([*(pair.similarity for pair in pairs), *(step.similarity for step in steps)])
    corners = []
    at = begin
    for step in steps:
        corners += [{"time": axis.number(time), "similarity": step.similarity} for time in (at, step.until)]
        at = step.until
    if corners:
        corners.append({"time": corners[-1]["time"], "similarity": low})
    stairs = _data(alt, [{**corner, "low": low} for corner in corners])
    similarity = alt.Y(
        "similarity:Q", title="similarity", scale=alt.Scale(domain=[low, high], nice=False), axis=alt.Axis(**AXIS)
    )
    x = axis.x(alt, "time", "end of the pair")
    area = stairs.mark_area(color=WASH, opacity=0.5).encode(x=x, y=similarity, y2="low:Q")
    line = stairs.mark_line(color=ACCENT, strokeWidth=2, strokeJoin="round").encode(x=x, y=similarity, order=alt.value(0))
    points = _data(alt, [{"time": axis.number(pair.end), **_facts(pair)} for pair in pairs])
    points = points.mark_circle(size=80, color=ACCENT, opacity=1, stroke="white", strokeWidth=1)
    points = points.encode(x=x, y=similarity, tooltip=_tooltip(alt, *FACTS))
    return _finished(alt, area + line + points, 11)


class _TimeAxis:
    """Times as numbers, and an axis that shows them as integers, or as dates: in UTC, or without a zone as they are."""

    def __init__(self, times: Iterable[Time]) -> None:
        first = next(iter(times), 0)
        self.dates = isinstance(first, dt.datetime)
        self.zone = "UTC" if isinstance(first, dt.datetime) and first.tzinfo is not None else None

    def number(self, time: Any) -> Any:
        if not isinstance(time, dt.datetime):
            return time
        return (time - (EPOCH if time.tzinfo is None else EPOCH_UTC)) / dt.timedelta(milliseconds=1)

    def x(self, alt: Any, field: str, title: str | None = None) -> Any:
        scale = alt.Scale(type="utc", nice=False) if self.dates else alt.Scale(zero=False, nice=False)
        axis = {**AXIS, "format": CLOCK} if self.dates else {**AXIS, "format": "d", "tickMinStep": 1}
        if self.zone:
            title = f"{title} ({self.zone})" if title else self.zone
        return alt.X(f"{field}:{'T' if self.dates else 'Q'}", title=title, scale=scale, axis=alt.Axis(**axis))


def _facts(pair: Pair) -> dict[str, Any]:
    return {
        "newer": _plain(pair.newer),
        "older": _plain(pair.older),
        "similarity": pair.similarity,
        "overlap": pair.overlap,
        "start": _shown(pair.start),
        "end": "never" if pair.end is None else _shown(pair.end),
    }


def _plain(value: Any) -> Any:
    """Numbers unchanged, everything else as harmless text."""
    return value if isinstance(value, int | float) else _label(value, 300)


def _label(value: Any, longest: int, others: Sequence[str] = ()) -> str:
    return shortened(_harmless(value), longest, others)


def _harmless(value: Any) -> str:
    return printable(str(value)).replace("<", "‹")


def _pair_label(newer: Any, older: Any, longest: int = 34) -> str:
    return f"{_label(newer, longest)} ~ {_label(older, longest)}"


def _shown(time: Time) -> str:
    return time.isoformat(" ") if isinstance(time, dt.datetime) else str(time)


def _extent(similarities: Sequence[float]) -> tuple[float, float]:
    """The range of the axis: 0 to 1 where that fits; for hamming, with values below 0, a little beyond the least similar."""
    least, greatest = min(similarities, default=0.0), max(similarities, default=1.0)
    low = 0.0 if least >= 0 else least - max(1.0, (greatest - least) / 4)
    return low, 1.0 if least >= 0 and greatest <= 1 else max(greatest, 0.0)


def _tooltip(alt: Any, *fields: str) -> list[Any]:
    kinds = {"similarity": "Q", "overlap": "Q", "records": "Q"}
    return [
        alt.Tooltip(f"{field}:{kinds.get(field, 'N')}", **({"format": ".4~g"} if field == "similarity" else {}))
        for field in fields
    ]


def _data(alt: Any, rows: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.Data(values=rows))


def _row_labels(alt: Any, labels: dict[int, str], y: Any, limit: int) -> Any:
    """Names left of the rows. As labels of an axis, equal names would become one row."""
    names = _data(alt, [{"row": row, "label": label} for row, label in labels.items()])
    return names.mark_text(font=FONT, align="right", color=INK, limit=limit).encode(x=alt.value(-8), y=y, text="label:N")


def _finished(alt: Any, chart: Any, rows: int, title: str = "", *, width: int = WIDTH, row: int = ROW) -> Chart:
    heading = alt.TitleParams(title, anchor="start", fontSize=11, fontWeight="normal", font=FONT, color=INK)
    finished: Chart = chart.properties(
        width=width, height=max(1, rows) * row, view=alt.ViewBackground(stroke=None), **({"title": heading} if title else {})
    )
    return finished
