"""Engines for what is asked for. Factories are named, not imported: baselines are loaded only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from swoop.spec import ALGORITHMS, FamilySpec, JoinSpec

_ALL_PAIRS = "swoop.engine.all_pairs_engine:make_all_pairs"
_ALL = 2**62  # more than there are


def make_engine(spec: JoinSpec, first: int = 0) -> Any:
    """An engine that does what a join is asked for, by the algorithm of that name, one of :data:`swoop.spec.ALGORITHMS`.

    Its first set has the arrival number ``first``.
    """
    from swoop.engine.settings import Settings

    similarity, least = spec.similarity, spec.min_similarity
    settings = Settings(
        k=_ALL if spec.k is None else spec.k,
        duration=spec.window.duration,
        kind=similarity.kind,
        function=similarity.address,
        threshold=-np.inf if least is None else similarity.largest_key_below(least),
        side_count=2 if spec.two_streams else 1,
        tracking=spec.track_changes,
        copies_once=spec.copies == "once",
        max_pairs=spec.max_pairs or 0,
    )
    if spec.k is None:
        return _load(_ALL_PAIRS)(settings, first)
    return _load(ALGORITHMS[spec.algorithm].factory)(spec.algorithm, settings, first)


def make_family_engine(spec: FamilySpec, *, tracking: bool = False, links: bool = False) -> Any:
    """An engine of families, with a feed of changes or one of links, if asked for."""
    from swoop.engine.family_engine import FamilyEngine
    from swoop.engine.kinship import LINKS
    from swoop.engine.settings import Settings

    similarity = spec.similarity
    return FamilyEngine(
        Settings(
            k=1,
            duration=spec.window.duration,
            kind=similarity.kind,
            function=similarity.address,
            threshold=similarity.largest_key_below(spec.min_similarity),
            tracking=LINKS if links else tracking,
        )
    )


def _load(factory: str) -> Any:
    module, function = factory.split(":")
    return getattr(import_module(module), function)
