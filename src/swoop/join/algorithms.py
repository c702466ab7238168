"""The algorithms that a join can run, by name: what makes their engines, and whether those have a change feed.

Factories are named, not imported, so that the baselines are loaded only when asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from swoop.errors import InvalidArgument


class Algorithm(NamedTuple):
    """``factory``: the module and the function that makes an engine from the name of the algorithm and the settings."""

    factory: str
    has_feed: bool = False


_BASELINES = "swoop.paper.baselines.baseline:make_baseline"

ALGORITHMS = {
    "swoop": Algorithm("swoop.engine.engine:make_engine", has_feed=True),
    "swoop-minimal": Algorithm("swoop.engine.engine:make_engine", has_feed=True),
    "base": Algorithm(_BASELINES),
    "scase": Algorithm(_BASELINES),
    "static": Algorithm(_BASELINES),
    "swoop-noindex": Algorithm(_BASELINES),
    "swoop-noincrement": Algorithm(_BASELINES),
    "swoop-noopt": Algorithm(_BASELINES),
}


def check_algorithm(name: str, track_changes: bool) -> str:
    """The name of an algorithm, checked."""
    if name not in ALGORITHMS:
        raise InvalidArgument(f"there is no algorithm {name!r}: it must be one of {', '.join(ALGORITHMS)}")
    if track_changes and not ALGORITHMS[name].has_feed:
        raise InvalidArgument(f"algorithm {name!r} has no change feed; leave out track_changes, or use 'swoop'")
    return name


def make_engine(name: str, settings: Any) -> Any:
    module, function = ALGORITHMS[name].factory.split(":")
    return getattr(import_module(module), function)(name, settings)
