"""From changes to stays."""

from __future__ import annotations

from swoop.results import Change
from swoop.stays import Stay, Stays, stays_of
from tests.support.still import pair


def test_all_stays_in_the_order_in_which_they_are_told() -> None:
    before, one, two = pair("x", "y"), pair("a", "b"), pair("c", "d")
    changes = [
        Change(3, "enter", one),
        Change(4, "outranked", before),
        Change(4, "enter", two),
        Change(5, "expired", one),
        Change(7, "enter", one),
    ]
    assert stays_of(changes) == [
        Stay(one, 3, 5, "expired"),
        Stay(before, None, 4, "outranked"),
        Stay(two, 4),
        Stay(one, 7),
    ]


def test_told_twice_and_guessed() -> None:
    stays, one = Stays(), pair("a", "b", start=2)
    assert stays.guess(one) == Stay(one, 2, is_guess=True)
    assert stays.guess(one) is None
    assert stays.take(Change(3, "enter", one)) == Stay(one, 3)
    assert stays.take(Change(3, "enter", one)) is None
    assert stays.open == [Stay(one, 3)]
    stays.forget(one)
    assert stays.open == []
    assert stays.end(one, 9, "expired") == Stay(one, None, 9, "expired")
