"""Who may see the page: checks of the Host header and of the token, and the headers of every response."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types default"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Lets only authorised requests through.

    Parameters
    ----------
    names
        Accepted names in the Host header; None: all. This defeats DNS rebinding, where the page of another site reaches this
        machine under a name of its own.
    token
        What the URL or the cookie must contain; None: nothing.
    cookie
        The name of the cookie. All ports of a host share cookies, so it should differ by port.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str] | None, token: str | None, cookie: str) -> None:
        self._app, self._names, self._token, self._cookie = app, names, token, cookie
        # derived, so that the cookie does not reveal the token and stays valid when the page is served again
        self._pass = hmac.new((token or "").encode(), b"swoop page", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        by_url = self._token is not None and _same(request.query_params.get("token"), self._token)
        app: ASGIApp = self._app
        if self._names is not None and _name(request.headers.get("host", "")) not in self._names:
            app = PlainTextResponse("This page is only served to this machine, as localhost.", 421)
        elif self._token is not None and not by_url and not _same(request.cookies.get(self._cookie), self._pass):
            app = PlainTextResponse("This page requires a token: open the complete URL.", 401)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if by_url and app is self._app:
                    headers.append("Set-Cookie", f"{self._cookie}={self._pass}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        await app(scope, receive, send_with_headers)


def _same(value: str | None, expected: str) -> bool:
    return value is not None and secrets.compare_digest(value.encode("utf-8", "surrogatepass"), expected.encode())


def _name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
