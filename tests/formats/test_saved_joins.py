"""Joins that earlier releases saved are loaded, and go on exactly: one folder for each version of the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import swoop
from swoop import oracle
from swoop.join.storage import VERSION
from swoop.oracle import Record
from swoop.spec import ALGORITHMS
from tests.formats.make import JOINS, make, options_of, record_of

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("version-*/*.swoop"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.stem}")
def test_it_goes_on(file: Path) -> None:
    goes_on(file)


def goes_on(file: Path) -> None:
    known = json.loads(file.with_suffix(".json").read_text())
    options = options_of(known["options"])
    given = [record_of(record) for record in known["records"]]
    kept = [record.pop("record", None) for record in given]
    records = [Record(**record) for record in given]
    similarity = options.get("similarity")
    join = swoop.TopKJoin.load(file, similarity if isinstance(similarity, swoop.Similarity) else None)
    assert join.k == options["k"]
    assert join.algorithm == options.get("algorithm", "swoop")
    asked = {name: value for name, value in options.items() if name not in ("algorithm", "track_changes")}
    arrived = known["saved"]
    assert join.stats.sets == arrived
    assert list(join.topk()) == oracle.topk(records[:arrived], **asked)
    feed: list[Any] = list(join.changes()) if join.track_changes else []
    for record in records[arrived:]:
        join.insert(record.tokens, record.time, record.id, record.stream, record=kept[arrived])
        arrived += 1
        assert list(join.topk()) == oracle.topk(records[:arrived], **asked)
        for pair in join.topk():
            assert (pair.newer_record, pair.older_record) == tuple(kept[number] for number in pair.arrivals or ())
    if join.track_changes:
        feed += join.changes()
        for change in feed:
            assert (change.pair.newer_record, change.pair.older_record) == tuple(kept[n] for n in change.pair.arrivals)
        assert feed == oracle.changes(records, **asked)[known["changes_read"] :]
    if ALGORITHMS[join.algorithm].has_feed:
        join._check()


def test_every_version_is_here() -> None:
    """Who raises the version of the format adds a folder, made by the last release that wrote the one before."""
    assert [folder.name for folder in sorted(FOLDER.glob("version-*"))] == [f"version-{n}" for n in range(1, VERSION + 1)]
    files = {n: {file.stem for file in FILES if file.parent.name == f"version-{n}"} for n in (1, 2, 3)}
    kept = {"kept", "kept-once"}  # without kept columns, a file has version 2
    assert files[1] == set(JOINS) - kept - {"all", "once"}
    assert files[2] == set(JOINS) - kept
    assert files[3] == kept


def test_what_is_made_now_goes_on(tmp_path: Path) -> None:
    """Which is what a folder is made with, should the version be raised."""
    make(tmp_path / "made")
    for file in (tmp_path / "made").glob("*.swoop"):
        goes_on(file)
