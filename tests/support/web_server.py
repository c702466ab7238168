"""A web server on loopback that answers as it is told to, and remembers what was posted."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG, DROP, DRIP = -1, -2, -3


class WebServer:
    """``answers`` are the codes of the next answers, or how to give none; after them it is always 200.

    Attributes
    ----------
    posted
        What was posted, with the answer to it.
    """

    def __init__(self) -> None:
        self.answers: deque[int] = deque()
        self.posted: list[tuple[int, dict[str, Any]]] = []
        self.freed = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                code = outer.answers.popleft() if outer.answers else 200
                outer.posted.append((code, body))
                if code == HANG:
                    outer.freed.wait(60)
                if code == DRIP:  # an answer that never ends, and is never silent
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-More: ")
                    while not outer.freed.wait(0.02):
                        self.wfile.write(b"x")
                if code > 0:
                    self.send_response(code)
                    if 300 <= code < 400:
                        self.send_header("Location", outer.url)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook/secret"

    @property
    def arrived(self) -> list[dict[str, Any]]:
        """What was posted and answered with 200."""
        return [body for code, body in self.posted if code == 200]

    def serve(self) -> None:
        self._server.serve_forever(0.05)

    def close(self) -> None:
        self.freed.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def web_server() -> Iterator[WebServer]:
    server = WebServer()
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        yield server
    finally:
        server.close()
