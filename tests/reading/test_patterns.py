"""Patterns as regular expressions. What they read is in test_dates."""

from __future__ import annotations

import re

import pytest

from swoop.reading.patterns import any_case, expression


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("yyyy-MM-dd HH:mm", ["year", "month", "day", "hour", "minute"]),
        ("%I %p %d %B %y", ["hour", "half", "day", "month_name", "short_year"]),
        ("yyyy", ["year"]),
        ("uuuuLLLdd'T'HH.SSSXXX", ["year", "month_name", "day", "hour", "fraction", "sign", "offset_hours", "offset_minutes"]),
    ],
)
def test_groups(pattern: str, groups: list[str]) -> None:
    assert list(re.compile(expression(pattern)).groupindex) == groups


def test_only_letters_of_ascii() -> None:
    """Which letters are the same in another case differs between languages; the Kelvin sign is no k."""
    assert re.fullmatch(any_case("kms"), "kMs")
    assert not re.fullmatch(any_case("kms"), "\u212ams")
