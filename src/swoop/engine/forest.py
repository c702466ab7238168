"""A forest of sets: links between them make trees, and the root of each is its first set.

The forest begins as one tree per set, ``np.arange(n)``. A tree is put below the root that arrived first, so a parent is never
later than its children; on the way to a root, each set is put below its grandparent. That is near-linear in the links.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import jit, kernel


@kernel
def unite(parents: Any, newer: Any, older: Any) -> None:
    """Join the trees of the two sets of each link."""
    for n in range(newer.size):
        one, other = find_root(parents, newer[n]), find_root(parents, older[n])
        if one < other:
            parents[other] = one
        else:
            parents[one] = other


@kernel
def flatten(parents: Any) -> None:
    """Put each set below its root. In order of arrival, the parent of a parent is a root already."""
    for number in range(parents.size):
        parents[number] = parents[parents[number]]


@jit
def find_root(parents: Any, number: int) -> int:
    while parents[number] != number:
        parents[number] = parents[parents[number]]
        number = parents[number]
    return number
