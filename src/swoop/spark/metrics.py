"""Figures of a live join for Prometheus: its text format, and a small server on loopback."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from swoop.spark.live_join import StreamStats

_FIGURES = (
    ("rows", "swoop_rows_total", "counter", "Rows of all batches."),
    ("late", "swoop_late_rows_total", "counter", "Rows that came after the watermark."),
    ("rejected", "swoop_rejected_rows_total", "counter", "Rows that cannot be used."),
    ("sets", "swoop_sets_total", "counter", "Sets that entered the join."),
    ("changes", "swoop_changes_total", "counter", "Changes of the top-k."),
    ("batch", "swoop_batch", "gauge", "Number of the last batch; -1 before the first."),
    ("held", "swoop_held_rows", "gauge", "Rows that wait for the watermark."),
    ("watermark", "swoop_watermark", "gauge", "Watermark: seconds since 1970, or the integer time."),
    ("window_size", "swoop_window_sets", "gauge", "Sets in the window."),
    ("stock_size", "swoop_stock_pairs", "gauge", "Pairs in the stock."),
    ("vocabulary_size", "swoop_vocabulary_tokens", "gauge", "Tokens that the engine knows."),
    ("memory_bytes", "swoop_memory_bytes", "gauge", "Memory of the engine."),
    ("batch_rows", "swoop_batch_rows", "gauge", "Rows of the last batch."),
    ("batch_seconds", "swoop_batch_seconds", "gauge", "Duration of the last batch."),
)


def metrics_text(stats: StreamStats, active: bool) -> str:
    """Figures in the text format of Prometheus."""
    lines = ["# HELP swoop_up Whether the stream runs.", "# TYPE swoop_up gauge", f"swoop_up {int(active)}"]
    for field, name, kind, meaning in _FIGURES:
        value = getattr(stats, field)
        if isinstance(value, dt.datetime):
            value = value.replace(tzinfo=value.tzinfo or dt.UTC).timestamp()
        if value is not None:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return "\n".join(lines) + "\n"


class MetricsServer:
    """Serves the figures at ``/metrics``, on loopback, until it is closed."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                found = self.path.split("?")[0] in ("/metrics", "/")
                body = text().encode() if found else b"The figures are at /metrics.\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, name="swoop metrics", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
