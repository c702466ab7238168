"""Ranking keys: similarities as numbers that compare exactly (paper, sections 4 and 5.3).

A similarity is a function of the two set sizes and the overlap. Jaccard, dice and cosine are fractions; their key is one
correctly rounded division of two integers, for cosine of its square, ``o*o / (l*m)``. Correct rounding never swaps two
fractions, but it can make different ones equal, namely when denominators reach 2**26. Sets have fewer than 2**25 tokens, so
this concerns cosine only: its key has a second part, the rounded remainder of the division, which decides between equal
quotients (exact while the product of the sizes stays below 2**53). All others have remainder 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swoop.engine.compile import call_similarity, int64, jit, uint64
from swoop.engine.layout import State
from swoop.similarity import COSINE, DICE, HAMMING, JACCARD, MAX_SET_SIZE, OVERLAP

NO_BOUND = -math.inf

_SPLIT = 134217729.0  # 2**27 + 1: splits a double into two halves of 26 bits (Dekker)


@jit
def key(state: State, l: int, m: int, o: int) -> float:
    """Ranking key of two sets of sizes l and m that share o tokens."""
    kind = state.kind
    if kind == JACCARD:
        return o / (l + m - o)
    if kind == COSINE:
        return (o * o) / (l * m)
    if kind == DICE:
        return (2 * o) / (l + m)
    if kind == OVERLAP:
        return float(o)
    if kind == HAMMING:
        return float(2 * o - l - m)
    return call_similarity(state.function, l, m, o)


@jit
def remainder(state: State, l: int, m: int, o: int, quotient: float) -> float:
    """What the key leaves out: ``o*o/(l*m) - quotient``, for cosine; else 0."""
    if state.kind != COSINE:
        return 0.0
    denominator = float(l * m)
    product = quotient * denominator
    c = _SPLIT * quotient
    quotient_high = c - (c - quotient)
    quotient_low = quotient - quotient_high
    c = _SPLIT * denominator
    denominator_high = c - (c - denominator)
    denominator_low = denominator - denominator_high
    error = quotient_low * denominator_low - (
        ((product - quotient_high * denominator_high) - quotient_low * denominator_high) - quotient_high * denominator_low
    )
    return ((float(o * o) - product) - error) / denominator


@jit
def above(state: State, l: int, m: int, o: int, bound: float, bound_remainder: float) -> bool:
    """Whether the pair ranks strictly above the bound."""
    value = key(state, l, m, o)
    if value != bound:
        return value > bound
    return remainder(state, l, m, o, value) > bound_remainder


@jit
def upper_bound(state: State, l: int, position: int) -> float:
    """ub(l, position): no set that is absent from ``position`` lists of a set of size l ranks above it (Theorem 1)."""
    return key(state, l, l - position, l - position)


@jit
def within_upper_bound(state: State, l: int, m: int, o: int, position: int) -> bool:
    """Whether the pair ranks no higher than ub(l, position). In integers: this is asked of every set that a list holds."""
    kind = state.kind
    rest = l - position
    if kind == JACCARD:
        return o * l <= rest * (l + m - o)
    if kind == COSINE:
        return o * o <= rest * m
    if kind == DICE:
        return o * (l + rest) <= rest * (l + m)
    if kind == OVERLAP:
        return o <= rest
    if kind == HAMMING:
        return 2 * o - m <= rest
    return key(state, l, m, o) <= key(state, l, rest, rest)


class Sizes(NamedTuple):
    """Sizes of sets, from the least on."""

    least: int
    span: int


ANY_SIZE = Sizes(0, MAX_SET_SIZE)


@jit
def sizes_reaching(state: State, l: int, most: int, bound: float) -> Sizes:
    """No set of another size that shares at most ``most`` tokens with a set of size l reaches the bound.

    The least is that of a subset. The largest is rounded up to the next integer, so it does not matter how floats round.
    """
    kind = state.kind
    if kind == OVERLAP:
        least, largest = bound, math.inf
    elif kind == HAMMING:
        least, largest = bound + l, 2 * most - l - bound
    elif bound <= 0.0:
        return ANY_SIZE
    elif kind == JACCARD:
        least, largest = bound * l, most + most / bound - l
    elif kind == COSINE:
        least, largest = bound * l, most / bound * (most / l)
    elif kind == DICE:
        least, largest = bound * l / (2.0 - bound), 2 * most / bound - l
    else:
        return ANY_SIZE
    first = int64(min(max(least, 0.0), MAX_SET_SIZE))
    return Sizes(first, int64(min(max(largest, least, 0.0), MAX_SET_SIZE)) + 1 - first)


@jit
def contains(sizes: Sizes, size: int) -> bool:
    return uint64(size - sizes.least) <= uint64(sizes.span)


@jit
def min_overlap(state: State, l: int, m: int, most: int, bound: float, bound_remainder: float) -> int:
    """The smallest overlap that ranks above the bound, given that ``most`` does.

    The formula gives the neighbourhood, exact comparison of keys the border.
    """
    kind = state.kind
    if bound == NO_BOUND:
        return 1
    if kind == JACCARD:
        guess = bound * (l + m) / (1.0 + bound)
    elif kind == COSINE:
        guess = math.sqrt(max(bound, 0.0) * (l * m))
    elif kind == DICE:
        guess = bound * (l + m) / 2.0
    elif kind == OVERLAP:
        guess = bound
    elif kind == HAMMING:
        guess = (bound + l + m) / 2.0
    else:
        return _search_min_overlap(state, l, m, most, bound, bound_remainder)
    o = min(max(int(guess), 1), most)
    while o > 1 and above(state, l, m, o - 1, bound, bound_remainder):
        o -= 1
    while o < most and not above(state, l, m, o, bound, bound_remainder):
        o += 1
    return o


@jit
def _search_min_overlap(state: State, l: int, m: int, most: int, bound: float, bound_remainder: float) -> int:
    low = 1
    while low < most:
        middle = (low + most) >> 1
        if above(state, l, m, middle, bound, bound_remainder):
            most = middle
        else:
            low = middle + 1
    return low
