"""The algorithms that a join can run, by name: who makes their engines, and whether these have a change feed.

Factories are named, not imported: the paper's competitors are loaded only by those who ask for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from swoop.errors import InvalidArgument


class Algorithm(NamedTuple):
    """``factory``: the module and the function that makes an engine from the name of the algorithm and the settings."""

    factory: str
    has_feed: bool = False


_COMPETITORS = "swoop.paper.baselines.baseline:make_baseline"

ALGORITHMS = {
    "swoop": Algorithm("swoop.engine.engine:make_engine", has_feed=True),
    "swoop-minimal": Algorithm("swoop.engine.engine:make_engine", has_feed=True),
    "base": Algorithm(_COMPETITORS),
    "scase": Algorithm(_COMPETITORS),
    "static": Algorithm(_COMPETITORS),
    "swoop-noindex": Algorithm(_COMPETITORS),
    "swoop-noincrement": Algorithm(_COMPETITORS),
    "swoop-noopt": Algorithm(_COMPETITORS),
}


def check_algorithm(name: str, track_changes: bool) -> str:
    """The name of an algorithm, if there is one of this name that can do what is asked for."""
    if name not in ALGORITHMS:
        raise InvalidArgument(f"there is no algorithm {name!r}: it must be one of {', '.join(ALGORITHMS)}")
    if track_changes and not ALGORITHMS[name].has_feed:
        raise InvalidArgument(f"algorithm {name!r} has no change feed; leave out track_changes, or use 'swoop'")
    return name


def make_engine(name: str, settings: Any) -> Any:
    module, function = ALGORITHMS[name].factory.split(":")
    return getattr(import_module(module), function)(name, settings)
