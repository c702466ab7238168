"""Why rows were rejected: counted by reason, whatever values they have."""

from __future__ import annotations

from swoop.reasons import Reasons, kind_of


def test_counts_by_reason() -> None:
    reasons = Reasons()
    reasons.add(['time: cannot read "a"', "the id is null", 'time: cannot read "b "c" d"'])
    other = Reasons()
    other.count('time: cannot read "e"', 5)
    other.count('row: 3 values instead of 2 "x"')
    reasons.merge(other)
    assert reasons.lines() == ['7: time: cannot read "a"', "1: the id is null", '1: row: 3 values instead of 2 "x"']
    assert reasons.rows == 9
    assert reasons.told() == [
        {"reason": "time: cannot read", "rows": 7, "example": "a"},
        {"reason": "the id is null", "rows": 1, "example": None},
        {"reason": "row: 3 values instead of 2", "rows": 1, "example": "x"},
    ]


def test_values_do_not_matter() -> None:
    assert kind_of('id: cannot read "x" as an integer') == kind_of('id: cannot read "y "z" " as an integer')
    assert kind_of("the id is null") == "the id is null"
