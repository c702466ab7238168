"""The live page: the top-k and the families of a running stream in a browser. Needs the extra ``dashboard``.

What is here: a :class:`Board` holds the state of the page and needs only the standard library, but for what people take away
(``change_log``, ``downloads``, ``kept``); :func:`serve` serves it on a port (``app``, ``server``, ``guard``); ``static`` is the
page itself.

What you may touch: how the page looks and what it shows. Two things must stay: text from data never becomes markup, and the
page is served on loopback unless the caller asks for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swoop.dashboard.board import Board, Source
from swoop.dashboard.families import FamilySource
from swoop.installing import how_to_install

if TYPE_CHECKING:
    from swoop.dashboard.server import Page, serve

__all__ = ["Board", "FamilySource", "Page", "Source", "serve"]


def __getattr__(name: str) -> Any:
    if name in ("Page", "serve"):
        try:
            from swoop.dashboard import server
        except ImportError as error:
            raise ImportError(f"the live page needs additional packages: {how_to_install('dashboard')} ({error})") from error
        return getattr(server, name)
    raise AttributeError(f"module 'swoop.dashboard' has no attribute {name!r}")
