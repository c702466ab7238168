"""User-defined similarities, and pairs of sets whose similarities are hard to tell apart."""

from __future__ import annotations

import math

import swoop


def tversky(len_r: int, len_s: int, overlap: int) -> float:
    return overlap / (overlap + 0.7 * (len_r + len_s - 2 * overlap)) if overlap else 0.0


def share_of_the_larger(len_r: int, len_s: int, overlap: int) -> float:
    return overlap / max(len_r, len_s)


def large_numbers(len_r: int, len_s: int, overlap: int) -> float:
    return 1000.0 * overlap / math.sqrt(float(len_r + len_s))


USER_DEFINED = [swoop.Similarity(f) for f in (tversky, share_of_the_larger, large_numbers)]


# Pairs of shapes (l, m, o) whose squared cosines are the same double; the second is the larger fraction.
COLLISIONS = [
    ((23170, 23624, 20009), (22565, 24238, 20001)),
    ((22826, 31652, 20037), (24338, 29582, 20002)),
    ((22024, 36334, 20003), (26674, 30006, 20005)),
]
