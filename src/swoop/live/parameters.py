"""The parameters of a stream that every run from its checkpoint must share."""

from __future__ import annotations

from typing import Any

from swoop.errors import InvalidArgument

BEFORE = {"cells": 1, "two_streams": False, "copies": "each", "finds": "pairs", "keep": {}, "by": []}
"""Parameters that are not written where they are these, or that earlier releases did not know."""


def check_same(checkpoint: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to go on with other parameters than those that a checkpoint was made with, and say which."""
    differences = _differences({**BEFORE, **before}, {**BEFORE, **now})
    if differences:
        raise InvalidArgument(
            f"{checkpoint} was made with other parameters: {'; '.join(differences)}. Use the same as before, or a new "
            "checkpoint"
        )


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In what two streams differ, in words."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if "finds" in names:
        names = [name for name in names if name not in ("k", "copies", "two_streams")]  # families have none of these
    elif "cells" in names and "all" not in (before.get("k"), now.get("k")):
        names = [name for name in names if name != "k"]  # without cells it is no parameter, as it may be lowered

    def shown(parameters: dict[str, Any], name: str) -> str:
        return "a number" if name == "k" and name not in parameters else repr(parameters.get(name))

    return [f"{name} was {shown(before, name)} and now is {shown(now, name)}" for name in names]
