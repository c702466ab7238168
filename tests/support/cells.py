"""Cells without Spark: workers that forget, attempts that do not count, drivers that die."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from swoop.live.cell import Cell
from swoop.live.cell_engines import CellEngines, FamilyCellEngines
from swoop.live.cells import copies_count_once
from swoop.live.checkpoint import Checkpoint
from swoop.live.grid import Grid
from swoop.live.live_families import LiveFamilies
from swoop.live.live_stream import LiveStream
from swoop.live.outputs import FolderOutput
from swoop.spark import cells as cells_module
from swoop.spark.cells import Cells, Layout, packed, serialise
from swoop.spec import FamilySpec
from tests.support.live_cases import Run, table


class Kept:
    """The state of one cell, as Spark would keep it: what an attempt writes counts when the attempt does."""

    def __init__(self) -> None:
        self.committed: dict[Any, Any] = {}
        self.now: dict[Any, Any] = {}

    def getMapState(self, name: str, key: str, value: str) -> Any:
        return self

    def getValueState(self, name: str, schema: str) -> Any:
        return Value(self)

    def getValue(self, key: Any) -> Any:
        return self.now.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self.now[key] = value

    def removeKey(self, key: Any) -> None:
        del self.now[key]


class Value:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def get(self) -> Any:
        return self._kept.now.get("state")

    def update(self, value: Any) -> None:
        self._kept.now["state"] = value


class Cluster:
    """Spark with several workers, of which any may be asked for any cell, and which may try twice."""

    def __init__(self, case: Run, groups: int, rng: random.Random) -> None:
        grid = Grid(groups)
        self.layout = Layout(grid, tuple(7 + 3 * n for n in range(len(grid.cells))))
        self.spec = replace(case.spec, cells=len(grid.cells))
        self.rng = rng
        self.kept = [Kept() for _ in grid.cells]
        self.workers: list[dict[Any, Any]] = [{}, {}]
        self.rebuilt = 0

    def run(self, rows: pa.Table, ended: int | None, run: str) -> pa.Table:
        """What the cells say about a batch."""
        if not copies_count_once(self.spec):
            group = pa.array([hash(name) % self.layout.grid.groups for name in rows["id"].to_pylist()], pa.int32())
            rows = rows.append_column("group", group)
        cuts = sorted(self.rng.randrange(rows.num_rows + 1) for _ in range(2))
        tasks = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, rows.num_rows], strict=True) if b > a]
        routed = pa.Table.from_batches([packed(task, self.layout, self.spec) for task in tasks]).to_pandas() if tasks else None
        said = [pd.DataFrame({"cell": [], "what": [], "data": []})]
        if routed is not None:
            for number, key in enumerate(self.layout.keys):
                mine = routed[routed["cell"] == key].sample(frac=1, random_state=self.rng.randrange(100))
                if self.rng.random() < 0.2:
                    self._attempt(number, mine, ended, run)  # it fails at its end: what it wrote is lost
                said.append(self._attempt(number, mine, ended, run))
                self.kept[number].committed = dict(self.kept[number].now)
        frame = pd.concat(said)
        return pa.table({"what": pa.array(frame["what"], pa.string()), "data": pa.array(frame["data"], pa.binary())})

    def _attempt(self, number: int, rows: pd.DataFrame, ended: int | None, run: str) -> pd.DataFrame:
        kept = self.kept[number]
        kept.now = dict(kept.committed)
        cells_module._cell_cache = self.rng.choice(self.workers)
        if self.rng.random() < 0.1:
            cells_module._cell_cache.clear()
        cells = Cells(self.layout, self.spec, run, ended)
        cells.init(kept)  # type: ignore[arg-type]
        (found,) = cells.handleInputRows((self.layout.keys[number],), iter([rows]), None)
        cells.close()
        return found

    def finish(self) -> pa.Table:
        said = []
        for number, kept in enumerate(self.kept):
            kept.now = dict(kept.committed)
            said += serialise(self.cell(number).finish()).items()
        return pa.table({"what": [what for what, _ in said], "data": [data for _, data in said]})

    def cell(self, number: int) -> Cell:
        """A cell, made from its state."""
        cells = Cells(self.layout, self.spec, "another", None)
        cells.init(self.kept[number])  # type: ignore[arg-type]
        return cells._cell(number, cells_module.SparkStore(cells._chunks, cells._state))[0]


def start(folder: Path, cluster: Cluster) -> Any:
    """A live join, or live families."""
    spec = cluster.spec
    outputs = (FolderOutput(folder / name) for name in ("changes", "late", "rejected"))
    checkpoint = Checkpoint(folder, spec.lasting())
    if isinstance(spec.join, FamilySpec):
        return LiveFamilies(spec, checkpoint, FamilyCellEngines(spec, checkpoint, cluster.finish), *outputs)
    return LiveStream(spec, checkpoint, CellEngines(spec, checkpoint, cluster.finish), *outputs)


def run_cells(folder: Path, case: Run, groups: int, rng: random.Random, dies: float = 0.0) -> Any:
    """All batches; the driver dies now and then before Spark commits, and the batch comes again."""
    return run_on(Cluster(case, groups, rng), folder, case, dies)


def run_on(cluster: Cluster, folder: Path, case: Run, dies: float = 0.0) -> Any:
    rng = cluster.rng
    live, name = start(folder, cluster), 0
    for batch, rows in enumerate(case.batches):
        before = [dict(kept.committed) for kept in cluster.kept]
        live.process(batch, cluster.run(table(rows, case.spec), live.ended_at, str(name)))
        while rng.random() < dies:
            for kept, old in zip(cluster.kept, before, strict=True):
                kept.committed = old
            live, name = start(folder, cluster), name + 1
            live.process(batch, cluster.run(table(rows, case.spec), live.ended_at, str(name)))
        if batch in case.ends:
            live.finish()
            live, name = start(folder, cluster), name + 1
    live.finish()
    return live
