"""Metrics of a live stream for Prometheus."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from swoop.live.resumable import LiveStats

_COUNTERS = {
    "rows": "Rows of all batches.",
    "late": "Rows that came after the watermark.",
    "rejected": "Rows that cannot be used.",
    "sets": "Sets that entered.",
    "changes": "Changes of what is found.",
    "alerts": "Alerts that were delivered.",
    "alerts_failed": "Alerts that could not be delivered, and were given up.",
    "alerts_left_out": "Alerts over the limit per minute, which were left out.",
}
_GAUGES = {
    "batch": "Number of the last batch; -1 before the first.",
    "held": "Rows that wait for the watermark.",
    "watermark": "Watermark: seconds since 1970, or the integer time.",
    "window_size": "Sets in the window.",
    "stock_size": "Pairs in the stock.",
    "families": "Families of at least two sets, one of them in the window.",
    "vocabulary_size": "Tokens that the engine knows.",
    "memory_bytes": "Memory of the engine.",
    "alerts_waiting": "Alerts that are still to be delivered.",
    "batch_rows": "Rows of the last batch.",
    "batch_seconds": "Duration of the last batch.",
}


class Metrics:
    """The metrics in the text format of Prometheus, and served at a port of the loopback interface."""

    def __init__(self, stats: Callable[[], LiveStats], active: Callable[[], bool]) -> None:
        self._stats, self._active = stats, active
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Called by Prometheus' library."""
        stats = self._stats()
        yield GaugeMetricFamily(
            "swoop_up", "Whether the stream runs; where it has ended, nothing answers at its port.", float(self._active())
        )
        for name, meaning in _COUNTERS.items():
            yield CounterMetricFamily(f"swoop_{name}", meaning, getattr(stats, name))
        for name, meaning in _GAUGES.items():
            value = getattr(stats, name, None)
            if isinstance(value, dt.datetime):
                value = value.replace(tzinfo=value.tzinfo or dt.UTC).timestamp()
            if value is not None:
                yield GaugeMetricFamily(f"swoop_{name}", meaning, value)

    def text(self) -> str:
        return generate_latest(self._registry).decode()

    def serve(self, port: int) -> Any:
        """A server at ``http://127.0.0.1:port/metrics``; 0 chooses a port."""
        server, _ = start_http_server(port, "127.0.0.1", self._registry)
        return server
