"""Families that earlier releases saved are loaded, and go on exactly: one folder for each version of the format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import swoop
from swoop import oracle
from swoop.join.family_storage import FORMAT
from swoop.oracle import Record
from swoop.results import FamilyChange
from tests.formats.make import FAMILIES, make_families, options_of, record_of

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("families-*/*.families"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.stem}")
def test_they_go_on(file: Path, tmp_path: Path) -> None:
    goes_on(file, tmp_path, told=file.parent.name != "families-1")


def untold(change: FamilyChange) -> FamilyChange:
    """What version 1 has of a change."""
    return replace(change, size=None, total=None, first_seen=None, representative=None)


def goes_on(file: Path, folder: Path, told: bool) -> None:
    known = json.loads(file.with_suffix(".json").read_text())
    options = options_of(known["options"])
    made = [record_of(record) for record in known["records"]]
    kept = [record.pop("record", None) for record in made]
    records = [Record(**record) for record in made]
    similarity: Any = options.get("similarity")
    given = similarity if isinstance(similarity, swoop.Similarity) else None
    families = swoop.Families.load(file, given)
    families.save(folder / "again")  # what is not known stays so
    families = swoop.Families.load(folder / "again", given)
    arrived = known["saved"]
    assert list(families.families()) == oracle.families(records[:arrived], **options)
    for number, record in enumerate(records[arrived:], arrived):
        families.insert(record.tokens, record.time, record.id, record=kept[number])
    assert list(families.families()) == oracle.families(records, **options)
    before = oracle.family_changes(records[:arrived], **options)
    expected = oracle.family_changes(records, **options)
    if not told:
        expected[: len(before)] = [untold(change) for change in before]
    found = families.changes()
    assert [change.record for change in found if change.sets] == [kept[change.sets[1]] for change in found if change.sets]
    assert list(found) == expected[known["changes_read"] :]
    assert found.to_arrow()["total"].to_pylist() == [change.total for change in found]
    assert len(before) > known["changes_read"]
    families._check()


def test_every_version_is_here() -> None:
    """Who raises the version of the format adds a folder, made by the last release that wrote the one before."""
    assert [folder.name for folder in sorted(FOLDER.glob("families-*"))] == [
        f"families-{n}" for n in range(1, FORMAT.version + 1)
    ]
    assert {file.stem for file in FILES if file.parent.name == "families-2"} == set(FAMILIES) - {"kept"}
    assert {file.stem for file in FILES if file.parent.name == "families-3"} == {"kept"}


def test_what_is_made_now_goes_on(tmp_path: Path) -> None:
    """Which is what a folder is made with, should the version be raised."""
    make_families(tmp_path / "made")
    for file in (tmp_path / "made").glob("*.families"):
        goes_on(file, tmp_path, told=True)
