"""Reading a source into the state of the page."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from swoop.dashboard.differences import State
from swoop.dashboard.families import FamilyReader, FamilySource
from swoop.dashboard.headline import headline
from swoop.dashboard.lives import Lives
from swoop.dashboard.pace import Pace
from swoop.dashboard.timeline import Timeline
from swoop.dashboard.wire import facts_of, key_of, shown_id, shown_texts, shown_time, shown_tokens, stairs
from swoop.errors import NotInWindow
from swoop.results import Explanation, Pair
from swoop.times import Time
from swoop.unseen import clipped, printable

if TYPE_CHECKING:
    from swoop.dashboard.board import Source

log = logging.getLogger("swoop.dashboard")

METRICS = (
    "rows", "late", "rejected", "held", "sets", "changes", "window_size", "stock_size", "vocabulary_size", "memory_bytes",
    "batch", "batch_rows", "batch_seconds", "families",
)  # fmt: skip
ALERTS = ("alerts", "alerts_failed", "alerts_left_out", "alerts_waiting")  # shown once there was one
TEXT = 280  # characters of a text beside another one
REASONS, REASON = 20, 240  # reasons of rejected rows that are shown, and characters of each
TOKENS = 80  # of each kind, where there is no text
WORDS = 500  # tokens of each kind to search in, where there is one
RATE_SPAN = 10.0
RATE_PAUSE = 1.0  # seconds between two measurements; people cannot read faster


class Reader:
    """Reads a source of pairs and one of families repeatedly, as far as they are there.

    Attributes
    ----------
    pairs
        The pairs shown, by key, best first.
    families
        Reads the families.
    """

    def __init__(self, title: str, limit: int, clock: Callable[[], float], origin: str | None) -> None:
        self._title, self._limit, self._clock, self._origin = printable(title), limit, clock, origin
        self.pairs: dict[str, Pair] = {}
        self.families = FamilyReader(clock)
        self._rows: dict[str, dict[str, Any]] = {}
        self._now: Time | None = None
        self._source: Source | None = None
        self._family_source: FamilySource | None = None
        self._arrived: deque[tuple[float, int]] = deque()
        self._rate: float | None = None
        self._stairs: dict[str, Any] = {"from": None, "steps": []}
        self._rate_due = -math.inf
        self._stairs_pace = Pace(clock)  # the cost of the skyband grows with the stock
        self._failing = ""

    def note_time(self, time: Time | None) -> None:
        """Note that the stream has reached a time."""
        try:
            if time is not None and (self._now is None or time > self._now):  # type: ignore[operator]
                self._now = time
        except TypeError:  # the times of another stream
            self._now = time

    def read(
        self, source: Source | None, families: FamilySource | None, timeline: Timeline, lives: Lives, *, complete: bool
    ) -> State:
        """The current state. If a source cannot be read, the last state with the reason."""
        if source is not self._source or families is not self._family_source:
            self._source, self._family_source, self._now = source, families, None
            self._rate_due = -math.inf
            self._stairs, self._stairs_pace = {"from": None, "steps": []}, Pace(self._clock)
            self._arrived.clear()
        status: dict[str, str | None] = {"state": "waiting", "reason": None}
        metrics: dict[str, Any] = {}
        shown = [one for one in (source, families) if one is not None]
        if shown:
            try:
                for one in reversed(shown):
                    metrics = {**metrics, **self._metrics(one, measure=one is shown[0])}
                if source is not None:
                    self._read_pairs(source, timeline, complete=complete)
                if families is not None:
                    self.families.read(families, lives, self._now)
                    for family in self.families.families.values():
                        self.note_time(family.last_seen)
                status = _status(shown)
                self._failing = ""
            except Exception as error:  # whatever it is, the page must keep running and show it
                status = {"state": "failed", "reason": f"the page cannot read the stream: {_reason(error)}"}
                if self._failing != status["reason"]:
                    log.warning("the page cannot read the stream", exc_info=error)
                self._failing = status["reason"] or ""
        return {
            "title": self._title,
            "about": headline(shown, self._origin),
            "status": status,
            "now": shown_time(self._now),
            "metrics": metrics,
            "unused": _unused(shown),
            "shows": {"pairs": source is not None or families is None, "families": families is not None},
            "order": list(self.pairs),
            "hidden": getattr(source, "hidden", 0),  # pairs that are there, and that nobody wants to see
            "skyband": self._stairs,
            "pairs": self._rows,
            "stays": timeline.rows(None if source is None else lambda pair: _texts(source, pair)[0]),
            "family_orders": dict(self.families.orders),
            "families": self.families.rows,
            "ended": dict(self.families.ended),
            "lives": lives.rows(),
        }

    def _read_pairs(self, source: Source, timeline: Timeline, *, complete: bool) -> None:
        pairs = {key_of(pair): pair for pair in islice(source.topk(), self._limit)}
        for pair in pairs.values():
            self.note_time(pair.start)
        timeline.compare(pairs.values(), self._now, complete=complete)
        if self._now is not None and self._stairs_pace.is_due():  # before the first time, there is nowhere to begin
            with self._stairs_pace.measured():
                self._stairs = {"from": shown_time(self._now), "steps": stairs(source.skyband())}
        rows = {}
        for key, pair in pairs.items():
            known, facts = self._rows.get(key), facts_of(pair)
            if known is None or known["counts"] is None:
                rows[key] = _row(source, pair)
            else:  # where copies count once, their numbers and the end of the pair change
                rows[key] = known if known["copies"] is None else {**known, **facts}
        self.pairs, self._rows = pairs, rows

    def _metrics(self, source: Source | FamilySource, *, measure: bool) -> dict[str, Any]:
        stats, now = source.stats, self._clock()
        self.note_time(getattr(stats, "watermark", None))
        values = {name: getattr(stats, name) for name in METRICS if hasattr(stats, name)}
        alerts = {name: getattr(stats, name, 0) for name in ALERTS}
        values |= alerts if any(alerts.values()) else {}
        if measure and now >= self._rate_due:
            self._rate_due = now + RATE_PAUSE
            self._rate = self._measured(now, values.get("rows", values.get("sets", 0)))
        if "batch_seconds" in values:
            values["batch_seconds"] = round(values["batch_seconds"], 4)
        return {**values, "watermark": shown_time(getattr(stats, "watermark", None)), "rate": self._rate}

    def _measured(self, now: float, rows: int) -> float | None:
        """Rows per second over the last few seconds."""
        arrived = self._arrived
        if arrived and rows < arrived[-1][1]:
            arrived.clear()
        arrived.append((now, rows))
        while now - arrived[0][0] > RATE_SPAN:
            arrived.popleft()
        seconds = now - arrived[0][0]
        return round((rows - arrived[0][1]) / seconds, 1) if seconds > 0 else None


def _row(source: Source, pair: Pair) -> dict[str, Any]:
    """A pair with its texts and tokens, which never change, so they are read once."""
    explanation: Explanation | None = None
    with suppress(NotInWindow):  # it has just left
        explanation = source.explain(pair)
    texts = _texts(source, pair)
    has_text = None not in texts
    return {**facts_of(pair), **shown_texts(*texts, TEXT), **shown_tokens(explanation, WORDS if has_text else TOKENS)}


def _texts(source: Source | None, pair: Pair) -> tuple[str | None, str | None]:
    """The texts of a pair; None if there are none, or none any more."""
    try:
        return source.texts(pair) if hasattr(source, "texts") else (None, None)  # type: ignore[union-attr]
    except NotInWindow:
        return None, None


def _unused(sources: Sequence[Source | FamilySource]) -> dict[str, Any]:
    """Rows that were not used: why they were rejected, the most frequent reason first, and the last that were late."""
    rejected: dict[str, tuple[int, str]] = {}
    late: list[list[Any]] = []
    for source in sources:
        if (reasons := getattr(source, "reasons", None)) is not None:
            rejected.update({kind: (count, reasons.example(kind)) for kind, count in list(reasons.counts.items())})
        rows = getattr(source, "late_rows", ())
        late = late or [[_short(shown_id(row.id)), shown_time(row.time), shown_time(row.watermark)] for row in rows]
    most = sorted(rejected.values(), key=lambda of: -of[0])[:REASONS]
    return {"rejected": [[count, _short(example)] for count, example in most], "late": late}


def _short(text: str) -> str:
    return clipped(printable(text), REASON)


def _status(sources: Sequence[Source | FamilySource]) -> dict[str, str | None]:
    failures = [failure for source in sources if (failure := getattr(source, "failure", None)) is not None]
    if failures:
        return {"state": "failed", "reason": _reason(failures[0])}
    running = any(getattr(source, "is_active", True) for source in sources)
    return {"state": "running" if running else "stopped", "reason": None}


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return clipped(printable(f"{type(error).__name__}: {lines[0] if lines else 'no message'}"), 300)
