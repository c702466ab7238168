"""Reading a source into the state of the page."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from swoop.dashboard.differences import State
from swoop.dashboard.timeline import Timeline
from swoop.dashboard.wire import clipped, facts_of, key_of, shown_time, shown_tokens, stairs
from swoop.errors import NotInWindow
from swoop.results import Explanation, Pair
from swoop.times import Time

if TYPE_CHECKING:
    from swoop.dashboard.board import Source

log = logging.getLogger("swoop.dashboard")

METRICS = (
    "rows", "late", "rejected", "held", "sets", "changes", "window_size", "stock_size", "vocabulary_size", "memory_bytes",
    "batch", "batch_rows", "batch_seconds",
)  # fmt: skip
TEXT = 1_000
REASONS, REASON = 4, 160  # reasons of rejected rows that are shown, and characters of each
TOKENS = 80  # of each kind, where there is no text
MARKS = 500  # shared tokens to mark in the texts
RATE_SPAN = 10.0
RATE_PAUSE = 1.0  # seconds between two measurements; people cannot read faster
SHARE = 0.05  # of the time that may be spent on the skyband, whose cost grows with the stock


class Reader:
    """Reads a source repeatedly.

    Attributes
    ----------
    pairs
        The pairs shown, by key, best first.
    """

    def __init__(self, title: str, limit: int, clock: Callable[[], float]) -> None:
        self._title, self._limit, self._clock = title, limit, clock
        self.pairs: dict[str, Pair] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._now: Time | None = None
        self._source: Source | None = None
        self._arrived: deque[tuple[float, int]] = deque()
        self._rate: float | None = None
        self._stairs: dict[str, Any] = {"from": None, "steps": []}
        self._rate_due = self._stairs_due = -math.inf
        self._failing = ""

    def reached(self, time: Time | None) -> None:
        """Note that the stream has reached a time."""
        try:
            if time is not None and (self._now is None or time > self._now):  # type: ignore[operator]
                self._now = time
        except TypeError:  # the times of another stream
            self._now = time

    def read(self, source: Source | None, timeline: Timeline, *, complete: bool) -> State:
        """The current state. If the source cannot be read, the last state with the reason."""
        if source is not self._source:
            self._source, self._now = source, None
            self._rate_due = self._stairs_due = -math.inf
            self._arrived.clear()
        status, metrics = {"state": "waiting", "reason": None}, {}
        if source is not None:
            try:
                metrics = self._metrics(source)
                self._read_pairs(source, timeline, complete=complete)
                status = _status(source)
                self._failing = ""
            except Exception as error:  # whatever it is, the page must keep running and show it
                status = {"state": "failed", "reason": f"the page cannot read the stream: {_reason(error)}"}
                if self._failing != status["reason"]:
                    log.warning("the page cannot read the stream", exc_info=error)
                self._failing = status["reason"] or ""
        return {
            "title": self._title,
            "status": status,
            "now": shown_time(self._now),
            "metrics": metrics,
            "order": list(self.pairs),
            "skyband": self._stairs,
            "pairs": self._rows,
            "stays": timeline.rows(),
        }

    def _read_pairs(self, source: Source, timeline: Timeline, *, complete: bool) -> None:
        pairs = {key_of(pair): pair for pair in islice(source.topk(), self._limit)}
        for pair in pairs.values():
            self.reached(pair.start)
        timeline.compare(pairs.values(), self._now, complete=complete)
        if (began := self._clock()) >= self._stairs_due:
            self._stairs = {"from": shown_time(self._now), "steps": stairs(source.skyband())}
            took = self._clock() - began
            self._stairs_due = began + took / SHARE
        rows = {}
        for key, pair in pairs.items():
            known = self._rows.get(key)
            rows[key] = known if known is not None and known["counts"] is not None else _row(source, pair)
        self.pairs, self._rows = pairs, rows

    def _metrics(self, source: Source) -> dict[str, Any]:
        stats, now = source.stats, self._clock()
        self.reached(getattr(stats, "watermark", None))
        values = {name: getattr(stats, name) for name in METRICS if hasattr(stats, name)}
        if now >= self._rate_due:
            self._rate_due = now + RATE_PAUSE
            self._rate = self._measured(now, values.get("rows", values.get("sets", 0)))
        if "batch_seconds" in values:
            values["batch_seconds"] = round(values["batch_seconds"], 4)
        if getattr(source, "reasons", None) is not None:
            values["reasons"] = [clipped(line, REASON)[0] for line in source.reasons.lines()[:REASONS]]  # type: ignore[attr-defined]
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
    texts: tuple[str | None, str | None] = (None, None)
    try:
        explanation = source.explain(pair)
        if hasattr(source, "texts"):
            texts = source.texts(pair)
    except NotInWindow:  # it has just left
        pass
    cuts = [(None, False) if text is None else clipped(text, TEXT) for text in texts]
    return {
        **facts_of(pair),
        "newer_text": cuts[0][0],
        "older_text": cuts[1][0],
        "cut": cuts[0][1] or cuts[1][1],
        **(
            shown_tokens(explanation, TOKENS)
            if None in texts
            else {**shown_tokens(explanation, MARKS), "only_newer": [], "only_older": []}
        ),
    }


def _status(source: Source) -> dict[str, str | None]:
    failure = getattr(source, "failure", None)
    if failure is not None:
        return {"state": "failed", "reason": _reason(failure)}
    return {"state": "running" if getattr(source, "is_active", True) else "stopped", "reason": None}


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return clipped(f"{type(error).__name__}: {lines[0] if lines else 'no message'}", 300)[0]
