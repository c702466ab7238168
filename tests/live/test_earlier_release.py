"""A stream goes on from a checkpoint that an earlier release made; see ``tests/live/data/README.md``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.live.make import BATCHES, cases, make
from tests.support.live_runs import check, run, scenario

DATA = Path(__file__).parent / "data"
FILES = [file for file in sorted(DATA.glob("release-*/*.zip")) if not file.stem.startswith("cells")]


def test_one_engine(tmp_path: Path) -> None:
    shutil.unpack_archive(DATA / "one-engine.zip", tmp_path)
    case = scenario(idle=True)
    check(tmp_path, case, run(tmp_path, case, from_batch=BATCHES), BATCHES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.stem}")
def test_it_goes_on(file: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(file, tmp_path)
    case = cases()[file.stem]
    check(tmp_path, case, run(tmp_path, case, from_batch=BATCHES), BATCHES)


def test_every_kind_is_here(tmp_path: Path) -> None:
    """Who adds a kind of stream adds a folder, made by the release that has it; and what is made now goes on."""
    assert {file.stem for file in DATA.glob("release-*/*.zip")} == set(cases())
    make(tmp_path / "made")
    for name in ("once", "families"):
        test_it_goes_on(tmp_path / "made" / f"{name}.zip", tmp_path / name)
