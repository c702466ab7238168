"""Differences of the page's state: what a client needs to come from one version to a later one.

A state is a dict. Of its keyed sections a difference has the entries that are new or changed, and None for those that are gone;
other sections are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

State = dict[str, Any]
KEYED = ("pairs", "stays")


def difference(old: State, new: State) -> State:
    """What has to be applied to ``old`` to get ``new``; empty if nothing.

    >>> difference({"now": 1, "pairs": {"a": 1, "b": 2}}, {"now": 2, "pairs": {"b": 2, "c": 3}})
    {'now': 2, 'pairs': {'a': None, 'c': 3}}
    """
    found: State = {}
    for section, value in new.items():
        before = old.get(section)
        if section in KEYED:
            before = before or {}
            part = {key: None for key in before if key not in value}
            part.update({key: entry for key, entry in value.items() if key not in before or before[key] != entry})
            if part:
                found[section] = part
        elif section not in old or before != value:
            found[section] = value
    return found


def applied(state: State, change: State) -> State:
    """A state after a difference.

    >>> applied({"now": 1, "pairs": {"a": 1, "b": 2}}, {"now": 2, "pairs": {"a": None, "c": 3}})
    {'now': 2, 'pairs': {'b': 2, 'c': 3}}
    """
    result = dict(state)
    for section, value in change.items():
        if section in KEYED:
            entries = {**state.get(section, {}), **value}
            result[section] = {key: entry for key, entry in entries.items() if entry is not None}
        else:
            result[section] = value
    return result


def merged(changes: Iterable[State]) -> State:
    """Several differences, each after the other, as one.

    >>> merged([{"pairs": {"a": 1, "b": 2}}, {"now": 3, "pairs": {"a": None}}])
    {'pairs': {'a': None, 'b': 2}, 'now': 3}
    """
    result: State = {}
    for change in changes:
        for section, value in change.items():
            result[section] = {**result.get(section, {}), **value} if section in KEYED else value
    return result
