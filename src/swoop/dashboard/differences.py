"""Differences between states of the page: what a client needs to get from one version to a later one.

A state is a dict. For its keyed sections, a difference holds the new and changed entries, and None for removed ones; other
sections are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

State = dict[str, Any]
KEYED = ("pairs", "stays", "families", "ended", "lives")


def difference(old: State, new: State) -> State:
    """The difference that turns ``old`` into ``new``; empty if they are equal.

    >>> difference({"now": 1, "pairs": {"a": 1, "b": 2}}, {"now": 2, "pairs": {"b": 2, "c": 3}})
    {'now': 2, 'pairs': {'a': None, 'c': 3}}
    """
    changed: State = {}
    for section, value in new.items():
        before = old.get(section)
        if section in KEYED:
            before = before or {}
            part = {key: None for key in before if key not in value}
            part.update({key: entry for key, entry in value.items() if key not in before or before[key] != entry})
            if part:
                changed[section] = part
        elif section not in old or before != value:
            changed[section] = value
    return changed


def applied(state: State, diff: State) -> State:
    """A state with a difference applied.

    >>> applied({"now": 1, "pairs": {"a": 1, "b": 2}}, {"now": 2, "pairs": {"a": None, "c": 3}})
    {'now': 2, 'pairs': {'b': 2, 'c': 3}}
    """
    result = dict(state)
    for section, value in diff.items():
        if section in KEYED:
            entries = {**state.get(section, {}), **value}
            result[section] = {key: entry for key, entry in entries.items() if entry is not None}
        else:
            result[section] = value
    return result


def merged(differences: Iterable[State]) -> State:
    """Consecutive differences merged into one.

    >>> merged([{"pairs": {"a": 1, "b": 2}}, {"now": 3, "pairs": {"a": None}}])
    {'pairs': {'a': None, 'b': 2}, 'now': 3}
    """
    result: State = {}
    for diff in differences:
        for section, value in diff.items():
            result[section] = {**result.get(section, {}), **value} if section in KEYED else value
    return result
