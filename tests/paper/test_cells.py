"""What is made of the measurements of cells; the runs themselves need a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from swoop import spark
from swoop.paper import cells
from swoop.paper.__main__ import main
from swoop.paper.data_sets import generate


@dataclass
class Metrics:
    memory_bytes: int = 1000
    window_size: int = 10


class Nothing:
    master = "spark://nowhere:1"

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *error: object) -> None: ...

    def stop(self) -> None: ...


def test_the_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(session: Any, folder: Path, cells: int, window: int, batches: int, info: Any) -> Any:
        files = sorted(file.name for file in (folder / "in").iterdir())
        assert sum(pq.read_metadata(folder / "in" / name).num_rows for name in files) >= 300
        state = folder / "state/state/0/1"
        state.mkdir(parents=True, exist_ok=True)
        (state / "2.changelog").write_bytes(bytes(5000))
        ones = [{"taken": 50, "spent": 0.1, "rebuilt": 7 if batches == 4 else 0, "seconds": 0.5}] * cells
        return [ones] * batches, [1.0] * batches, Metrics()

    monkeypatch.setattr(cells, "_run", run)
    monkeypatch.setattr(cells, "Cluster", Nothing)
    monkeypatch.setattr(cells, "generate", lambda name, sets: generate(name, 300))
    monkeypatch.setattr(spark, "session", Nothing)
    monkeypatch.setattr(cells.report, "__defaults__", (20, 100, 3))
    page = tmp_path / "scaling.md"
    page.write_text("before\n<!-- measurements -->\nold\n<!-- end of measurements -->\nafter\n")
    main(["cells", "--groups", "1", "2", "--docs", str(tmp_path)])
    text = page.read_text()
    assert "| 2 | 3 | 100 | 500 | 2 | 50 | 100 | 21 sets, 0.5 s |" in text
    assert "old" not in text
    assert "without a failure: 0." in text
