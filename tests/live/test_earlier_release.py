"""A stream goes on from a checkpoint that an earlier release made; see ``tests/live/data/README.md``."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from swoop.live import checkpoint, embedded, manifest
from swoop.live.chunks import NAMES_IN_FILES, sealed
from swoop.live.embedded import EmbeddedState
from tests.live.make import (
    BATCHES,
    DATA,
    batches_without_sizes,
    cases,
    embedded_cases,
    embedded_store,
    make,
    make_embedded,
    results_of,
)
from tests.support.live_cases import scenario
from tests.support.live_judge import check
from tests.support.live_runs import run
from tests.support.stores import MemoryStore

FILES = sorted(DATA.glob("version-*/*.zip"))


def test_one_engine(tmp_path: Path) -> None:
    shutil.unpack_archive(DATA / "one-engine.zip", tmp_path)
    case = scenario(idle=True)
    check(tmp_path, case, run(tmp_path, case, from_batch=BATCHES), BATCHES)


@pytest.mark.parametrize(
    "file", [file for file in FILES if not file.stem.startswith("cells")], ids=lambda file: f"{file.parent.name} {file.stem}"
)
def test_it_goes_on(file: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(file, tmp_path)
    case = cases()[file.stem]
    check(tmp_path, case, run(tmp_path, case, from_batch=BATCHES), batches_without_sizes(file))


def test_every_earlier_version_is_here(tmp_path: Path) -> None:
    """Who raises a version of the format adds a folder, made by the last release that wrote the one before."""
    assert checkpoint.VERSION == manifest.VERSION
    assert [folder.name for folder in sorted(DATA.glob("version-*"))] == [f"version-{n}" for n in range(1, checkpoint.VERSION)]
    for file in FILES:
        shutil.unpack_archive(file, tmp_path / file.parent.name / file.stem)
    for version in range(1, checkpoint.VERSION):
        made = tmp_path / f"version-{version}"
        later = {"kept", "cells-kept"} if version == 1 else {"cells-kept"}
        assert {folder.name for folder in made.iterdir()} == set(cases()) - later
        told = [*made.glob("*/swoop/parameters.json"), *made.glob("*/*/_swoop*.json")]
        assert {json.loads(file.read_text())["version"] for file in told} == {version}


def test_what_is_made_now_goes_on(tmp_path: Path) -> None:
    """Which is what a folder is made with, should the version be raised."""
    make(tmp_path / "made")
    for name in ("once", "families"):
        test_it_goes_on(tmp_path / "made" / f"{name}.zip", tmp_path / name)


@pytest.mark.parametrize("file", sorted(DATA.glob("embedded-*/*.zip")), ids=lambda file: f"{file.parent.name} {file.stem}")
def test_a_state_that_somebody_else_keeps_goes_on(file: Path) -> None:
    case = embedded_cases()[file.stem]
    whole = MemoryStore()
    before = results_of(case.batches[:BATCHES], case.spec, whole)
    after = results_of(case.batches[BATCHES:], case.spec, embedded_store(file))
    assert after == results_of(case.batches[BATCHES:], case.spec, whole)
    assert min(len(before), len(after)) > 5


def test_every_format_of_such_states_is_here(tmp_path: Path) -> None:
    """That of now too, so that a change of its fields is noticed: who makes one raises the format and adds a folder."""
    folders = [DATA / f"embedded-{n}" for n in range(1, embedded.FORMAT + 1)]
    assert sorted(DATA.glob("embedded-*")) == folders
    make_embedded(tmp_path / "made")
    for folder in (folders[-1], tmp_path / "made"):
        assert {file.stem for file in folder.iterdir()} == set(embedded_cases())
        for file in folder.iterdir():
            text = embedded_store(file).text
            assert text is not None
            found = sealed(text)
            assert set(found) == {field.name for field in fields(EmbeddedState)}
            assert found["format"] == embedded.FORMAT
            assert set(sealed(found["state"])) == {
                NAMES_IN_FILES.get(field.name, field.name) for field in fields(checkpoint.State)
            }
