"""Folders of results: who writes them, and what readers see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from swoop.live.checkpoint import State
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.manifest import Manifest, folder, result_files


class Clock:
    """What ``folders`` takes for the time."""

    now = 1e9

    def time(self) -> float:
        return self.now


def of(path: Path, run: str = "mine", holds: str = "changes", guard: Callable[[], None] = lambda: None, **options: Any) -> Any:
    return ResultFolder(folder(path, **options), Folder(path), Manifest(run, holds, f"/checkpoints/{run}", 0.0), guard)


def rows(*numbers: int) -> pa.Table | None:
    return pa.table({"sequence": pa.array(numbers, pa.int64())}) if numbers else None


def step(batch: int, ended: bool = False) -> str:
    return State(batch, 1, ended).step


def read_all(path: Path) -> list[int]:
    return [row for file in result_files(path) for row in pq.read_table(file)["sequence"].to_pylist()]


def listed(path: Path) -> list[int]:
    """What a reader sees that knows nothing of us."""
    return sorted(pq.read_table(path)["sequence"].to_pylist()) if list(path.glob("*.parquet")) else []
