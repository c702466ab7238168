"""A stream goes on from a checkpoint that an earlier release made; see ``tests/live/data/README.md``."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.live_runs import check, run, scenario

DATA = Path(__file__).parent / "data"
BATCHES = 4  # that are done


def test_one_engine(tmp_path: Path) -> None:
    shutil.unpack_archive(DATA / "one-engine.zip", tmp_path)
    case = scenario(idle=True)
    check(tmp_path, case, run(tmp_path, case, from_batch=BATCHES))
