"""Tokens of many rows, as they go to the engine."""

from __future__ import annotations

from typing import Any, NamedTuple


class Block(NamedTuple):
    """The tokens of some rows; those of the n-th are ``offsets[n]`` to ``offsets[n + 1]``."""

    first: int
    rows: int
    offsets: Any
    tokens: Any
