"""The web application of the live page."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from swoop.dashboard.board import Board
from swoop.dashboard.bundle import bundle
from swoop.dashboard.downloads import FORMATS, pieces, written
from swoop.dashboard.guard import Guard
from swoop.dashboard.kept import kept_page
from swoop.errors import NotInWindow

log = logging.getLogger("swoop.dashboard")

INTERVAL = 0.25  # seconds between two refreshes while a browser is connected
IDLE = 1.0
RETRY = 1000  # milliseconds after which a browser reconnects
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Refresher:
    """A thread that refreshes a board until it is stopped."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swoop page refresh", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.wait(INTERVAL if self._board.watched else IDLE):
            try:
                self._board.refresh()
            except Exception:
                log.exception("refreshing the page failed")

    def stop(self) -> None:
        self._over.set()
        self._thread.join(1.0)  # it may be waiting for a busy engine; then it ends on its own


def make_app(board: Board, closing: asyncio.Event, *, names: frozenset[str] | None, token: str | None, cookie: str) -> Guard:
    """The application: the page, its events, explanations and downloads, behind the checks of :class:`Guard`.

    When ``closing`` is set, the event streams end.
    """
    charts: list[bytes] = []
    prepared = asyncio.Event()

    def prepare(loop: asyncio.AbstractEventLoop) -> None:
        try:
            charts.append(bundle())
        except Exception:
            log.exception("the charts of the page are not available")
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(prepared.set)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        refresher = Refresher(board)
        loop = asyncio.get_running_loop()
        threading.Thread(target=prepare, args=(loop,), name="swoop page charts", daemon=True).start()
        yield
        await asyncio.to_thread(refresher.stop)

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    static = {
        file.name: file.read_bytes()
        for file in files("swoop.dashboard").joinpath("static").iterdir()
        if file.name.rpartition(".")[2] in TYPES
    }

    @app.get("/")
    def index(request: Request) -> Response:
        return _file(request, "index.html", static["index.html"])

    @app.get("/static/vega.js")
    async def vega(request: Request) -> Response:
        await _either(prepared, closing)
        if not charts:
            raise HTTPException(503, "the charts are not available")
        return _file(request, "vega.js", charts[0])

    @app.get("/static/{name}")
    def asset(request: Request, name: str) -> Response:
        if name not in static:
            raise HTTPException(404)
        return _file(request, name, static[name])

    @app.get("/events", response_class=EventSourceResponse)
    async def events(last_event_id: Annotated[str | None, Header()] = None) -> AsyncIterator[ServerSentEvent]:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(news.set)

        end = board.listen(notify)
        try:
            last = last_event_id
            while not closing.is_set():
                news.clear()
                event = board.since(last)
                if event is not None:
                    yield ServerSentEvent(raw_data=event.data, event=event.kind, id=event.id, retry=RETRY)
                    last = event.id
                await _either(news, closing)
        finally:
            end()

    @app.get("/explain")
    def explain(newer: str, older: str, pair: Annotated[str | None, Query()] = None) -> dict[str, object]:
        try:
            return board.explain(newer, older, pair)
        except NotInWindow as error:
            raise HTTPException(404, str(error)) from error

    @app.get("/family")
    def family(key: str) -> dict[str, object]:
        try:
            return board.family(key)
        except NotInWindow as error:
            raise HTTPException(404, str(error)) from error

    @app.get("/download/page.html")
    async def keep(request: Request) -> Response:
        await _either(prepared, closing)
        moment = await asyncio.to_thread(board.moment)
        page = await asyncio.to_thread(kept_page, moment, static, charts[0] if charts else None)
        return Response(page, headers=_attached("swoop.html"), media_type="text/html; charset=utf-8")

    @app.get("/download/{what}.{format}")
    def download(what: str, format: str) -> Response:
        if format not in FORMATS:
            raise HTTPException(404)
        try:
            found = board.download(what)
        except NotInWindow as error:
            raise HTTPException(404, str(error)) from error
        name = what if getattr(found, "complete", True) else f"last-{what}"  # the oldest changes may be missing
        file = written(found, format)
        return StreamingResponse(pieces(file), headers=_attached(f"swoop-{name}.{format}"), media_type=FORMATS[format])

    return Guard(app, names=names, token=token, cookie=cookie)


async def _either(*events: asyncio.Event) -> None:
    """Wait until one of these is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _attached(name: str) -> dict[str, str]:
    """Headers of something that is saved under a name, not shown."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _file(request: Request, name: str, content: bytes) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=f"{TYPES[name.rpartition('.')[2]]}; charset=utf-8")
