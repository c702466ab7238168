"""Set similarities: functions of the two set sizes and the overlap (paper, section 4).

Built-in similarities are named by strings. A user-defined one is a :class:`Similarity` made from a Python function.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

from swoop.errors import IllBehavedSimilarity, InvalidArgument, InvalidType

Function = Callable[[int, int, int], float]

JACCARD, COSINE, DICE, OVERLAP, HAMMING, USER = range(6)
LARGEST = 1e300  # absolute value of min_similarity
MAX_SET_SIZE = 2**25 - 1  # tokens


class Similarity:
    """A similarity of sets that only depends on their sizes and their overlap.

    Parameters
    ----------
    function
        A function of ``(len_r, len_s, overlap)`` that Numba can compile: arithmetic and functions from ``math``.
    name
        Its name in messages and saved joins; by default the function's name.

    Raises
    ------
    IllBehavedSimilarity
        If the function is not well-behaved. The algorithm is only exact for functions that are symmetric, are zero for
        disjoint sets, do not fall with a growing overlap, do not fall when a subset grows, and do not rise when the other
        set grows at the same overlap. The message shows a counterexample.

    Examples
    --------
    >>> tversky = Similarity(lambda len_r, len_s, overlap: overlap / (overlap + 0.5 * (len_r + len_s - 2 * overlap))
    ...                      if overlap else 0.0, name="tversky")
    >>> tversky(4, 4, 2)
    0.5
    >>> Similarity(lambda len_r, len_s, overlap: overlap * (len_r + len_s), name="longer")
    Traceback (most recent call last):
    ...
    swoop.errors.IllBehavedSimilarity: similarity 'longer' is not well-behaved: it must not rise with the other set's size,
    but f(1, 1, 1) = 2.0 and f(1, 2, 1) = 3.0
    """

    kind = USER

    def __init__(self, function: Function, name: str | None = None) -> None:
        if not callable(function):
            raise InvalidType(f"a similarity is made from a function of (len_r, len_s, overlap), not from {function!r}")
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", "user-defined"))
        check_well_behaved(self)

    def __call__(self, len_r: int, len_s: int, overlap: int) -> float:
        return float(self.function(len_r, len_s, overlap))

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled function, which belongs to this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    def __repr__(self) -> str:
        return f"<similarity {self.name!r}>"

    @cached_property
    def _compiled(self) -> Any:
        from numba import cfunc
        from numba.core.errors import NumbaError

        try:
            return cfunc("float64(int64, int64, int64)", error_model="numpy")(self.function)
        except (NumbaError, TypeError, ValueError) as error:
            raise InvalidArgument(
                f"similarity {self.name!r} cannot be compiled; use only arithmetic and functions from math. "
                f"Numba says: {str(error).strip().splitlines()[0]}"
            ) from error

    @property
    def address(self) -> int:
        """The address of the compiled function, for the engine. The similarity must outlive its use."""
        return int(self._compiled.address)

    def compiled(self, len_r: int, len_s: int, overlap: int) -> float:
        """The value of the compiled function."""
        return float(self._compiled.ctypes(len_r, len_s, overlap))

    def rank(self, similarity: float, overlap: int) -> Fraction | float:
        """A number that ranks pairs exactly, computed from what they show, for sets of fewer than 2**25 tokens."""
        return similarity

    def shown(self, key: float) -> float:
        """The similarity for a ranking key."""
        return key

    def largest_key_below(self, similarity: float) -> float:
        """The largest ranking key whose similarity is smaller than the given one."""
        return math.nextafter(similarity, -math.inf)


class _BuiltIn(Similarity):
    def __init__(self, name: str, kind: int, function: Function) -> None:
        self.name = name
        self.kind = kind
        self.function = function

    @property
    def address(self) -> int:
        return 0


class _Cosine(_BuiltIn):
    """Ranked by its square, a fraction, because doubles cannot tell all cosines apart."""

    def rank(self, similarity: float, overlap: int) -> Fraction | float:
        """The square. Two roundings lie between it and the similarity; they change its denominator, the product of the sizes,
        which is below 2**50, by less than one half.
        """
        square = overlap * overlap
        return Fraction(square, round(square / Fraction(similarity) ** 2))

    def shown(self, key: float) -> float:
        return math.sqrt(key)

    def largest_key_below(self, similarity: float) -> float:
        if similarity <= 0:
            return -math.inf
        key = similarity * similarity
        while math.sqrt(key) >= similarity:
            key = math.nextafter(key, 0.0)
        while math.sqrt(math.nextafter(key, 2.0)) < similarity:
            key = math.nextafter(key, 2.0)
        return key


BUILT_IN: dict[str, Similarity] = {
    "jaccard": _BuiltIn("jaccard", JACCARD, lambda r, s, o: o / (r + s - o) if o else 0.0),
    "cosine": _Cosine("cosine", COSINE, lambda r, s, o: math.sqrt(o * o / (r * s)) if o else 0.0),
    "dice": _BuiltIn("dice", DICE, lambda r, s, o: 2 * o / (r + s) if o else 0.0),
    "overlap": _BuiltIn("overlap", OVERLAP, lambda r, s, o: float(o)),
    "hamming": _BuiltIn("hamming", HAMMING, lambda r, s, o: float(2 * o - r - s)),
}


def find_similarity(similarity: str | Similarity) -> Similarity:
    """The similarity with this name, or the given one."""
    if isinstance(similarity, Similarity):
        return similarity
    if not isinstance(similarity, str):
        raise InvalidType(f"similarity must be one of {', '.join(BUILT_IN)} or a swoop.Similarity, not {similarity!r}")
    if similarity not in BUILT_IN:
        near = get_close_matches(similarity.lower(), BUILT_IN, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(f"there is no similarity {similarity!r}: it must be one of {', '.join(BUILT_IN)}{hint}")
    return BUILT_IN[similarity]


def check_min_similarity(similarity: Similarity, value: float | None) -> float | None:
    """The given ``min_similarity`` as a number, checked against the similarity."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise InvalidType(f"min_similarity must be a number, not {value!r}")
    try:
        least = float(value)
    except OverflowError:
        least = math.inf
    if abs(least) > LARGEST:
        raise InvalidArgument(f"min_similarity must be between -{LARGEST:g} and {LARGEST:g}, not {value!r:.60}")
    if similarity.kind in (JACCARD, COSINE, DICE) and not 0 <= least <= 1:
        raise InvalidArgument(f"min_similarity must be from 0 to 1 for {similarity.name}, not {value!r}")
    if similarity.kind == HAMMING and least > 0:
        raise InvalidArgument(
            f"min_similarity must not be above 0 for hamming, whose similarity is minus the distance; got {value!r}"
        )
    if similarity.kind == OVERLAP and least > MAX_SET_SIZE:
        raise InvalidArgument(
            f"min_similarity must be at most {MAX_SET_SIZE:,} for overlap, as many tokens as a set may have; got {value!r}"
        )
    return least


def _triples() -> Iterator[tuple[int, int, int]]:
    """Sizes and overlaps to try: all small ones, and some large ones."""
    for r in range(1, 17):
        for s in range(1, 17):
            for o in range(min(r, s) + 1):
                yield r, s, o
    rng = random.Random(1)
    for _ in range(300):
        r, s = rng.randint(1, 10 ** rng.randint(1, 5)), rng.randint(1, 10 ** rng.randint(1, 5))
        yield r, s, rng.randint(0, min(r, s))


def check_well_behaved(similarity: Similarity) -> None:
    """Raise :class:`IllBehavedSimilarity` with the violating sizes and overlaps."""
    f = similarity.compiled

    def demand(holds: bool, what: str, *triples: tuple[int, int, int]) -> None:
        if not holds:
            shown = " and ".join(f"f({r}, {s}, {o}) = {f(r, s, o)}" for r, s, o in triples)
            raise IllBehavedSimilarity(f"similarity {similarity.name!r} is not well-behaved: {what}, but {shown}")

    for r, s, o in _triples():
        value = f(r, s, o)
        demand(math.isfinite(value), "its values must be finite", (r, s, o))
        python = similarity(r, s, o)
        demand(python == value, f"compiled, it must give the same value as in Python, here {python}", (r, s, o))
        demand(value == f(s, r, o), "it must be symmetric", (r, s, o), (s, r, o))
        demand(f(r, s, 0) == 0, "it must be 0 for sets without a common token", (r, s, 0))
        if o > 0:
            demand(f(r, s, o - 1) <= value, "it must not fall with a growing overlap", (r, s, o - 1), (r, s, o))
            demand(f(r, s + 1, o) <= value, "it must not rise with the other set's size", (r, s, o), (r, s + 1, o))
        if s < r:
            demand(f(r, s, s) <= f(r, s + 1, s + 1), "it must not fall when a subset grows", (r, s, s), (r, s + 1, s + 1))
