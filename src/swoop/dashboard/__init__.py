"""The live page: the top-k of a running stream in a browser. Needs the extra ``dashboard``.

A :class:`Board` is the state of the page and needs nothing but the standard library; :func:`serve` puts it on a port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swoop.dashboard.board import Board, Source

if TYPE_CHECKING:
    from swoop.dashboard.server import Page, serve

__all__ = ["Board", "Page", "Source", "serve"]


def __getattr__(name: str) -> Any:
    if name in ("Page", "serve"):
        try:
            from swoop.dashboard import server
        except ImportError as error:
            raise ImportError(f"the live page needs more packages: pip install 'swoop-join[dashboard]' ({error})") from error
        return getattr(server, name)
    raise AttributeError(f"module 'swoop.dashboard' has no attribute {name!r}")
