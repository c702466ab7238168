"""Why rows were rejected: counted by reason, whatever values they have."""

from __future__ import annotations

import json

import pytest

from swoop.reasons import Reasons, kind_of, shown_row


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


def test_a_reason_without_a_value_has_a_row_as_an_example() -> None:
    given = ["the text is null", 'time: cannot read "a"', "the text is null", "the id is null"]
    rows = [json.dumps({"url": "u", "id": place, "time": f"2024-05-0{place + 1}", "text": None}) for place in range(4)]
    rows[3] = json.dumps({"id": None, "time": 7, "reason": "the id is null", "tags": ["x"], "text": "a" * 50})
    reasons, other = Reasons(), Reasons()
    reasons.add(given, rows.__getitem__)
    other.merge(reasons)
    other.add(given[:1], lambda place: "another")
    for found, nulls in ((reasons, 2), (other, 3)):
        assert found.lines({"the text is null": "try"}) == [
            f"{nulls}: the text is null; for example id 0, time 2024-05-01, url u (try)",
            '1: time: cannot read "a"',
            f'1: the id is null; for example time 7, tags ["x"], text {"a" * 29}…',
        ]
    assert [told["example"] for told in reasons.told()] == [None, "a", None]


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("not JSON", "not JSON"),
        ("[1, 2]", "[1, 2]"),
        ("{}", ""),
        ("x" * 101, "x" * 99 + "…"),
        ('{"id": "\\ud800", "b": {"c": [1.5, true]}}', 'id ?, b {"c": [1.5, true]}'),
        ("[" * 99_999, "[" * 99 + "…"),
        (json.dumps({f"c{place}": place for place in range(50)} | {"id": 3}), None),
        ('{"id": "' + "x" * 200_000 + '"}', '{"id": "' + "x" * 91 + "…"),
    ],
)
def test_rows_in_short(row: str, shown: str | None) -> None:
    found = shown_row(row)
    assert len(found) <= 100
    assert found == shown if shown is not None else found.startswith("id 3, c0 0, c1 1")
