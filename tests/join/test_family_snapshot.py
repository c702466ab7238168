"""The families of a moment."""

from __future__ import annotations

import swoop


def test_it_stays_as_it_was() -> None:
    waves = swoop.Families(0.5, window=10)
    for time in range(4):
        waves.insert(["a", "b", str(time % 2)], time, id=f"row {time}")
    before = waves._snapshot()
    families, members = list(before.families()), before.named(before.arrivals("row 0"))
    for time in range(4, 3000):
        waves.insert(["a", "b"], time, id=f"row {time}")
    assert list(before.families()) == families == list(before.families(order="growing"))
    assert before.named(before.arrivals(families[0])) == members == ["row 0", "row 1", "row 2", "row 3"]
    assert waves.families()[0].total == 3000
    assert len(before) == 1
