"""What makes the engine of an algorithm. Factories are named, not imported: baselines are loaded only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_ENGINE = "swoop.engine.engine:make_engine"
_BASELINES = "swoop.paper.baselines.baseline:make_baseline"


def make_engine(name: str, settings: Any) -> Any:
    """An engine that runs the algorithm of this name, one of :data:`swoop.spec.ALGORITHMS`."""
    factory = _ENGINE if name in ("swoop", "swoop-minimal") else _BASELINES
    module, function = factory.split(":")
    return getattr(import_module(module), function)(name, settings)
