"""Serving the live page on a port."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
import time
import warnings
from typing import Self
from urllib.parse import quote

import uvicorn

from swoop.dashboard.app import make_app
from swoop.dashboard.board import Board, Source
from swoop.dashboard.families import FamilySource
from swoop.dashboard.guard import LOOPBACK
from swoop.errors import InvalidArgument, SwoopError


class Page:
    """The live page, served by a thread of this process until it is closed.

    Parameters
    ----------
    source
        What to show: the handle of a stream, a :class:`swoop.TopKJoin` or a :class:`swoop.Families`. None: pass it to
        :meth:`show` later.
    port
        0 picks a free one.
    host
        The interface to bind; only this machine by default.
    token
        Token required to view the page. It is part of :attr:`url`; afterwards, a cookie stands for it.
    title
        The title of the page.
    origin
        Where the stream comes from, such as the name of a file; the page says it.

    Attributes
    ----------
    board
        The state of the page. Pass its ``take_changes`` to the stream.
    port
        The port it is served on.

    Examples
    --------
    Create the page first, so that the stream can send it every change::

        page = Page(title="Posts")
        handle = topk_stream(sets, k=10, window="1 hour", text="text").start(changes=[page.board.take_changes, "changes"])
        page.show(handle)
        print(page.url)
    """

    def __init__(
        self,
        source: Source | FamilySource | None = None,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
        title: str = "Swoop",
        origin: str | None = None,
    ) -> None:
        if token is not None and not token:
            raise InvalidArgument("the token is empty; use a long random string, such as secrets.token_urlsafe(), or None")
        self.board = Board(title, origin=origin)
        if source is not None:
            self.board.show(source)
        self.board.refresh()
        local = _is_loopback(host)
        if not local:
            audience = "anyone who can reach it" if token is None else "anyone with the token"
            warnings.warn(
                f"the live page is served on {host}, beyond this machine, to {audience}, without encryption", stacklevel=2
            )
        listening = _listen(host, port)
        self.port: int = listening.getsockname()[1]
        self._host, self._token = host, token
        self._closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        app = make_app(
            self.board, self._closing, names=LOOPBACK | {host} if local else None, token=token, cookie=f"swoop-{self.port}"
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(listening,), name="swoop page", daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise SwoopError("the live page could not be started; see the log")
            time.sleep(0.005)

    def _run(self, listening: socket.socket) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            await self._server.serve([listening])

        with listening:
            asyncio.run(main())

    @property
    def url(self) -> str:
        """The URL to open, with the token if there is one."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        query = "" if self._token is None else f"?token={quote(self._token, safe='')}"
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{query}"

    def show(self, source: Source | FamilySource) -> None:
        """Show this source from now on; families beside pairs, if there are both."""
        self.board.show(source)

    def close(self) -> None:
        """Stop serving. Browsers keep what they show and try to reconnect."""
        if self._thread.is_alive() and self._loop is not None:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._server.should_exit = True
            self._thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def serve(
    source: Source | FamilySource | None = None,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    title: str = "Swoop",
    origin: str | None = None,
) -> Page:
    """Serve the live page of a source; see :class:`Page` for the parameters.

    >>> import swoop
    >>> from swoop.dashboard import serve
    >>> with serve(swoop.TopKJoin(k=10, window="1 hour")) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    return Page(source, port=port, host=host, token=token, title=title, origin=origin)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise InvalidArgument(
            f"the live page cannot be served on {host}, port {port}: {error}; choose another port, or 0 for a free one"
        ) from error
