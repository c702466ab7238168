"""A stream goes on from a checkpoint that an earlier release made; see ``tests/live/data/README.md``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from swoop.live import checkpoint, manifest
from tests.live.make import BATCHES, DATA, batches_without_sizes, cases, make
from tests.support.live_runs import check, run, scenario

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
        assert {folder.name for folder in made.iterdir()} == set(cases()) - ({"kept"} if version == 1 else set())
        told = [*made.glob("*/swoop/parameters.json"), *made.glob("*/*/_swoop*.json")]
        assert {json.loads(file.read_text())["version"] for file in told} == {version}


def test_what_is_made_now_goes_on(tmp_path: Path) -> None:
    """Which is what a folder is made with, should the version be raised."""
    make(tmp_path / "made")
    for name in ("once", "families"):
        test_it_goes_on(tmp_path / "made" / f"{name}.zip", tmp_path / name)
