"""A bit for each token: those of one set are marked, and the tokens of others are looked up."""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import int64, jit


@jit
def mark_tokens(membership: Any, tokens: Any, first: int, size: int) -> None:
    for p in range(first, first + size):
        token = int64(tokens[p])
        membership[token >> 6] |= int64(1) << (token & 63)


@jit
def unmark_tokens(membership: Any, tokens: Any, first: int, size: int) -> None:
    for p in range(first, first + size):
        membership[int64(tokens[p]) >> 6] = 0


@jit
def overlap_with_marked(membership: Any, arena: Any, start: int, size: int, needed: int) -> int:
    """How many tokens of a set are marked, or -1 as soon as ``needed`` is out of reach."""
    overlap = 0
    p = start
    end = start + size
    while p < end:
        stop = min(p + 16, end)
        for q in range(p, stop):
            token = int64(arena[q])
            overlap += (membership[token >> 6] >> (token & 63)) & 1
        p = stop
        if overlap + end - p < needed:
            return -1
    return overlap
