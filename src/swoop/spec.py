"""What a join is asked for, and what families are: checked once, whichever way to run it is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

from swoop.errors import InvalidArgument, InvalidType
from swoop.similarity import Similarity, check_min_similarity, find_similarity
from swoop.times import WindowSpec, find_window


class KnownAlgorithm(NamedTuple):
    """``factory``: what makes the engine, as "module:function"; it is imported when it is asked for."""

    factory: str
    has_feed: bool = False
    has_copies: bool = False


_ENGINE, _BASELINE = "swoop.engine.engine:make_engine", "swoop.paper.baselines.baseline:make_baseline"

ALGORITHMS = {
    "swoop": KnownAlgorithm(_ENGINE, has_feed=True, has_copies=True),
    "swoop-minimal": KnownAlgorithm(_ENGINE, has_feed=True, has_copies=True),
    "base": KnownAlgorithm(_BASELINE),
    "scase": KnownAlgorithm(_BASELINE),
    "static": KnownAlgorithm(_BASELINE),
    "swoop-noindex": KnownAlgorithm(_BASELINE),
    "swoop-noincrement": KnownAlgorithm(_BASELINE),
    "swoop-noopt": KnownAlgorithm(_BASELINE),
}
"""The algorithms that a join can run, what makes their engines, and what they can do."""

Copies = Literal["each", "once"]

MAX_PAIRS = 10_000_000
"""How many pairs there may be at a time where all above a threshold are asked for, unless something else is said."""

_MOST_PAIRS = 2**31 - 1


@dataclass(frozen=True, init=False)
class JoinSpec:
    """What a join is asked for; :class:`swoop.TopKJoin` describes it.

    Examples
    --------
    >>> JoinSpec(10, "1 hour", "cosine", min_similarity=1).min_similarity
    1.0
    >>> JoinSpec(0)
    Traceback (most recent call last):
    ...
    swoop.errors.InvalidArgument: k must be at least 1, not 0
    """

    k: int | None
    window: WindowSpec
    similarity: Similarity
    two_streams: bool
    min_similarity: float | None
    track_changes: bool
    algorithm: str
    copies: Copies
    max_pairs: int | None

    def __init__(
        self,
        k: int | None = 10,
        window: Any = None,
        similarity: str | Similarity = "jaccard",
        *,
        two_streams: bool = False,
        min_similarity: float | None = None,
        track_changes: bool = False,
        algorithm: str = "swoop",
        copies: Copies = "each",
        max_pairs: int | None = None,
    ) -> None:
        measure = find_similarity(similarity)
        checked = {
            "k": _check_k(k),
            "window": find_window(window),
            "similarity": measure,
            "two_streams": bool(two_streams),
            "min_similarity": check_min_similarity(measure, min_similarity),
            "track_changes": bool(track_changes),
            "algorithm": _check_algorithm(algorithm, bool(track_changes)),
            "copies": _check_copies(copies, algorithm),
            "max_pairs": _check_max_pairs(max_pairs, k),
        }
        if k is None:
            _check_all_pairs(min_similarity, algorithm)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def in_ticks(self) -> JoinSpec:
        """The same for sets whose times are ticks already."""
        return replace(self, window=WindowSpec("integer", self.window.duration))


@dataclass(frozen=True, init=False)
class FamilySpec:
    """What families are asked for; :class:`swoop.Families` describes it.

    >>> FamilySpec(1, "1 hour").min_similarity
    1.0
    """

    min_similarity: float
    window: WindowSpec
    similarity: Similarity

    def __init__(self, min_similarity: float, window: Any, similarity: str | Similarity = "jaccard") -> None:
        measure = find_similarity(similarity)
        least = check_min_similarity(measure, min_similarity)
        if least is None:
            raise InvalidType("min_similarity must be a number: from which similarity on are two sets linked?")
        checked = {"min_similarity": least, "window": find_window(window), "similarity": measure}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def in_ticks(self) -> FamilySpec:
        """The same for sets whose times are ticks already."""
        return replace(self, window=WindowSpec("integer", self.window.duration))


def _check_k(k: object) -> int | None:
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise InvalidType(f"k must be an integer, or None for all pairs from min_similarity on, not {k!r}")
    if k < 1:
        raise InvalidArgument(f"k must be at least 1, not {k}")
    return int(k)


def _check_max_pairs(max_pairs: object, k: object) -> int | None:
    if k is not None:
        if max_pairs is not None:
            raise InvalidArgument(
                f"max_pairs={max_pairs!r} was given, but there are at most k={k!r} pairs; leave it out, or use k=None"
            )
        return None
    if max_pairs is None:
        return MAX_PAIRS
    if isinstance(max_pairs, bool) or not isinstance(max_pairs, Integral):
        raise InvalidType(f"max_pairs must be an integer, not {max_pairs!r}")
    if not 1 <= int(max_pairs) <= _MOST_PAIRS:
        raise InvalidArgument(f"max_pairs must be from 1 to {_MOST_PAIRS}, not {max_pairs}")
    return int(max_pairs)


def _check_all_pairs(min_similarity: object, algorithm: str) -> None:
    if min_similarity is None:
        raise InvalidArgument(
            "k=None asks for all pairs that are similar enough; say how similar with min_similarity, or how many pairs with k"
        )
    if algorithm != "swoop":
        raise InvalidArgument(
            f"algorithm {algorithm!r} finds the k most similar pairs; leave it out, or give a k instead of None"
        )


def _check_algorithm(name: str, track_changes: bool) -> str:
    if name not in ALGORITHMS:
        raise InvalidArgument(f"there is no algorithm {name!r}: it must be one of {', '.join(ALGORITHMS)}")
    if track_changes and not ALGORITHMS[name].has_feed:
        raise InvalidArgument(f"algorithm {name!r} has no change feed; leave out track_changes, or use 'swoop'")
    return name


def _check_copies(copies: Copies, algorithm: str) -> Copies:
    if copies not in get_args(Copies):
        raise InvalidArgument(
            f"copies must be 'each' (every set counts) or 'once' (equal sets count as one), not {copies!r:.60}"
        )
    if copies == "once" and not ALGORITHMS[algorithm].has_copies:
        raise InvalidArgument(f"algorithm {algorithm!r} has no copies='once'; leave out copies, or use 'swoop'")
    return copies
