"""Saved families: they go on as they would have, and a file that cannot be right is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import swoop
from swoop.errors import InvalidFile
from tests.support.saved_files import Members, members_of, put, read, with_column, with_settings, written


def some_families(**options: Any) -> swoop.Families:
    """Three families, one of which is older than its sets, and a set without tokens."""
    families = swoop.Families(**{"min_similarity": 0.5, "window": 10, **options})
    for time, tokens in enumerate(["ab", "cd", "abc", "cde", "", "x", "abcf", "cdef", "y", "abc", "cde", "y"]):
        families.insert(list(tokens), time, id=f"set {time}")
    return families


def with_families(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("families.arrow", name, values)


def in_window(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("window.arrow", name, values)


def in_changes(name: str, values: Callable[[list[Any]], list[Any]]) -> Callable[[Members], None]:
    return with_column("changes.arrow", name, values)


def without_the_first(members: Members) -> None:
    members["families.arrow"] = written(read(members["families.arrow"]).slice(1))


def test_what_goes_on_elsewhere_goes_on(tmp_path: Path) -> None:
    families = some_families()
    families.save(tmp_path / "families")
    again = swoop.Families.load(tmp_path / "families")
    for here in (families, again):
        here.insert(list("abcdef"), 13, id="bridge")
        here.advance(30)
    assert list(again.changes()) == list(families.changes())
    assert again.stats.sets == families.stats.sets


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_settings(format="swoop join"), "is not a file of saved families"),
        (with_settings(version=4), "reads versions up to 3"),
        (with_settings(version=1), "newest_id_bytes, but should be time"),
        (with_settings(min_similarity=None), "min_similarity in settings.json is None"),
        (with_settings(min_similarity=0.1), "linked sets are of different families"),
        (with_settings(min_similarity=3), "from 0 to 1"),
        (with_settings(track_changes=False), "they are not to be tracked"),
        (with_settings(first=1), "not called after its first set"),
        (without_the_first, "a set is of a family that is not there"),
        (in_window("family", lambda values: [9, *values[1:]]), "a set is of a family that is not there"),
        (in_window("family", lambda values: [-2, *values[1:]]), "a set is of a family that is not there"),
        (in_window("family", lambda values: [-1, *values[1:]]), "a set has tokens and no family"),
        (in_window("family", lambda values: [0 if v < 0 else v for v in values]), "a family and no tokens"),
        (with_families("first", lambda values: [-1, *values[1:]]), "not called after its first set"),
        (with_families("first", lambda values: [11, *values[1:]]), "not called after its first set"),
        (with_families("first", lambda values: [values[1], *values[1:]]), "not called after its first set"),
        (with_families("total", lambda values: [0, *values[1:]]), "fewer sets in total"),
        (with_families("total", lambda values: [2**62, *values[1:]]), "or too many"),
        (with_families("first_seen", lambda values: [v + 7 for v in values]), "not first seen when its first set came"),
        (with_families("first_seen", lambda values: [-(2**63)] * len(values)), "not first seen when its first set came"),
        (with_families("id_string", lambda values: [b"other"] * len(values)), "does not have the id of its first set"),
        (in_changes("kind", lambda values: [4, *values[1:]]), "kind of a change is not from 0 to 3"),
        (in_changes("kind", lambda values: [3, *values[1:]]), "do not lead to the families"),
        (in_changes("family", lambda values: [99, *values[1:]]), "family of a change is not from 0"),
        (in_changes("into", lambda values: [0, *values[1:]]), "that did not has"),
        (in_changes("time", lambda values: values[::-1]), "times of changes fall"),
        (in_changes("family_id_string", lambda values: [None, *values[1:]]), "a family of a change has no id"),
        (in_changes("size", lambda values: [-2, *values[1:]]), "size of a change is not from -1"),
        (in_changes("size", lambda values: [0, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("size", lambda values: [-1, *values[1:]]), "a newest set of a change has no id"),
        (in_changes("total", lambda values: [1, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("total", lambda values: [2**62, *values[1:]]), "a size or a total that it cannot have"),
        (in_changes("first_seen", lambda values: [2**62, *values[1:]]), "a first or a newest set that it cannot have"),
        (in_changes("newest", lambda values: [2**62, *values[1:]]), "a first or a newest set that it cannot have"),
        (in_changes("newest_id_string", lambda values: [None, *values[1:]]), "a newest set of a change has no id"),
    ],
)
def test_refused(tmp_path: Path, change: Callable[[Members], None], why: str) -> None:
    members = members_of(some_families())  # type: ignore[arg-type]
    change(members)
    with pytest.raises(InvalidFile, match=why):
        swoop.Families.load(put(tmp_path / "families", members))


def test_a_join_is_not_loaded_as_families(tmp_path: Path) -> None:
    swoop.TopKJoin(1, 10).save(tmp_path / "join")
    with pytest.raises(InvalidFile, match="is not a file of saved families"):
        swoop.Families.load(tmp_path / "join")
    some_families().save(tmp_path / "families")
    with pytest.raises(InvalidFile, match="is not a saved join"):
        swoop.TopKJoin.load(tmp_path / "families")


def test_a_user_defined_similarity_is_given_again(tmp_path: Path) -> None:
    half = swoop.Similarity(lambda r, s, o: o / max(r, s), name="half")
    families = swoop.Families(0.5, None, half)
    families.insert_many({"tokens": [["a", "b"], ["a"], ["b", "c", "d"]]}, time=None)
    families.save(tmp_path / "families")
    with pytest.raises(InvalidFile, match="give it again"):
        swoop.Families.load(tmp_path / "families")
    assert swoop.Families.load(tmp_path / "families", half).members(0) == [0, 1]
    assert json.loads(members_of(families)["settings.json"])["format"] == "swoop families"  # type: ignore[arg-type]
