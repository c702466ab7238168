"""Links of many cells, put together, give the families that one engine has; without Spark.

Tests of swoop.live.cells, swoop.live.family_merge, swoop.live.family_part.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import swoop
from swoop.errors import NotInWindow
from swoop.live.family_merge import FamilyMerge
from swoop.results import FamilyChange
from swoop.times import Clock, WindowSpec
from tests.support.live_trials import families_in_cells

W = 10


def links(*found: tuple[tuple[int, Any, int], tuple[int, Any, int]]) -> pa.Table:
    """Links of sets by their times, ids and numbers."""
    columns = [f"{which}_{name}" for which in ("newer", "older") for name in ("time", "id", "copy")]
    return pa.Table.from_pylist([dict(zip(columns, (*newer, *older), strict=True)) for newer, older in found])


def merge_of(union: pa.Table | None = None, now: int = 0) -> FamilyMerge:
    clock = Clock(WindowSpec("integer", W))
    clock.kind = "integer"
    return FamilyMerge(clock, union, now)


def members(merge: FamilyMerge, id: Any) -> list[Any]:
    found = merge.snapshot()
    return found.named(found.arrivals(id))


def test_families_in_cells() -> None:
    taken: Counter[str] = Counter()
    assert sum(families_in_cells(seed, taken) for seed in range(25)) > 500


def test_links_that_several_cells_find_count_once() -> None:
    merge = merge_of()
    a, b, c = (1, "a", 0), (2, "b", 0), (2, "b", 1)  # two sets of the same time and id
    found = list(merge.apply(links((b, a), (c, b), (c, a), (b, a)), 5))
    assert found == [FamilyChange(2, "born", "a", None, 2, 2, 1, "b"), FamilyChange(2, "grew", "a", None, 3, 3, 1, "b")]
    assert members(merge, "a") == ["a", "b", "b"]
    assert [(family.size, family.total, family.representative) for family in merge.snapshot().families()] == [(3, 3, "b")]
    with pytest.raises(NotInWindow, match="there is no family 'b' of at least two sets"):
        members(merge, "b")


def test_families_merge_and_end_in_the_order_of_their_first_sets() -> None:
    merge = merge_of()
    a, b, c, d, e = ((time, name, 0) for time, name in ((1, 5), (2, 4), (3, 3), (3, 6), (4, 1)))
    assert [change.kind for change in merge.apply(links((d, a), (c, b)), 3)] == ["born", "born"]
    later = merge_of(merge.snapshot().union(), 3)
    for one in (merge, later):
        assert list(one.apply(links((e, b), (e, d)), 4)) == [
            FamilyChange(4, "merged", 4, 5, 2, 2, 2, 3),
            FamilyChange(4, "grew", 5, None, 5, 5, 1, 1),
        ]
        (family,) = one.snapshot().families()
        assert (family.id, family.size, family.total, family.first_seen, family.last_seen) == (5, 5, 5, 1, 4)
        assert members(one, family) == members(one, 5) == [5, 4, 3, 6, 1]
        assert list(one.apply(pa.table({}), 12)) == []
        assert members(one, 5) == [3, 6, 1]
        assert list(merge_of(one.snapshot().union(), 12).snapshot().families()) == list(one.snapshot().families())
        assert list(one.apply(pa.table({}), 14)) == [FamilyChange(14, "ended", 5, None, 0, 5, 1, 1)]
        assert (len(one.snapshot()), one.snapshot().union().num_rows) == (0, 0)
    x, y = (20, 9, 0), (20, 8, 0)
    assert list(merge.apply(links(((21, 1, 0), x), ((21, 2, 0), y)), 40)) == [
        FamilyChange(21, "born", 9, None, 2, 2, 20, 1),
        FamilyChange(21, "born", 8, None, 2, 2, 20, 2),
        FamilyChange(31, "ended", 8, None, 0, 2, 20, 2),
        FamilyChange(31, "ended", 9, None, 0, 2, 20, 1),
    ]


def test_changes_as_columns() -> None:
    merge = merge_of()
    changes = merge.apply(links(((2, "b", 0), (1, "a", 0)), ((4, "d", 0), (3, "c", 0)), ((5, "e", 0), (4, "d", 0))), 5)
    families = swoop.Families(0.5, window=W)
    for time, (tokens, name) in enumerate([("ab", "a"), ("ab", "b"), ("cd", "c"), ("cd", "d"), ("cd", "e")], 1):
        families.insert(list(tokens), time, name)
    assert changes.to_arrow() == families.changes().to_arrow()
    assert merge.snapshot().families(1).to_arrow() == families.families(1).to_arrow()
    assert merge.snapshot().families(order="newest") == families.families(order="newest")


def test_many_sets_of_one_family() -> None:
    """A chain of a thousand families that become one, from the back to the front."""
    merge, rng = merge_of(), random.Random(5)
    firsts = [(1, n, 0) for n in range(0, 2000, 2)]
    merge.apply(links(*(((1, n + 1, 0), (1, n, 0)) for _, n, _ in firsts)), 1)
    assert len(merge.snapshot()) == 1000
    rng.shuffle(firsts)
    found = merge.apply(links(*(((2, n, 0), end) for n, pair in enumerate(pairwise(firsts)) for end in pair)), 2)
    assert Counter(change.kind for change in found) == {"merged": 999, "grew": 999}
    (family,) = merge_of(merge.snapshot().union(), 2).snapshot().families()
    assert (family.id, family.size, family.total) == (0, 2999, 2999)
