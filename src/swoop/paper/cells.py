"""Costs and benefits of cells: a live join on a local cluster of one-core processes (``swoop bench cells``)."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from swoop.paper.data_sets import DataSet, generate
from swoop.paper.measure import as_table, machine
from swoop.paper.result_store import commit
from swoop.paper.standalone import Cluster

EXECUTORS = 2  # and files of a batch


@dataclass(frozen=True)
class GridRate:
    """The measurements of a grid of cells on two executors with one core each.

    Attributes
    ----------
    rate
        Sustained sets per second of wall time, from files to results.
    cell_rate
        Sets per second of one cell while it works, including its state.
    state
        Bytes of state written per set of a batch, over all cells.
    memory
        Bytes per set in the window, over all engines.
    rebuilt, rebuild
        Sets in the windows of all cells, and the seconds that the slowest cell takes to be rebuilt from its state.
    rebuilds
        Cells that were rebuilt after the first two batches without a failure.
    """

    groups: int
    cells: int
    rate: float
    cell_rate: float
    state: float
    memory: float
    rebuilt: int
    rebuild: float
    rebuilds: int


def write_files(data_set: DataSet, folder: Path, size: int) -> None:
    """The data set as Parquet files, to be read one after the other."""
    folder.mkdir()
    table = as_table(data_set)
    table = table.append_column("id", pa.array(np.arange(len(data_set))))
    for number, start in enumerate(range(0, len(data_set), size)):
        for part in range(EXECUTORS):
            file = folder / f"{number:05}-{part}.parquet"
            pq.write_table(table.slice(start, size).slice(part * size // EXECUTORS, size // EXECUTORS), file)
            os.utime(file, (1_700_000_000 + number,) * 2)


def measure_grid(groups: int, data_set: DataSet, window: int, batch: int, info: Callable[[str], None]) -> GridRate:
    """Run the data set through a grid, and then one more row in a new run, which has to rebuild its cells."""
    from swoop.spark import session

    with tempfile.TemporaryDirectory() as name, Cluster(Path(name), EXECUTORS, memory="3g") as cluster:
        folder = Path(name)
        write_files(data_set, folder / "in", batch)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = session(cluster.master, spark_executor_memory="1g", spark_executor_cores=1)
        cells, duration, batches = groups * (groups + 1) // 2, data_set.window_for(window), -(-len(data_set) // batch)
        try:
            seen, took, stats = _run(spark, folder, cells, duration, batches, info)
            row = pa.table({"time": [int(data_set.times[-1]) + duration // 100], "tokens": [[1]], "id": [-1]})
            pq.write_table(row, folder / "in/99999.parquet")
            (*_, again), _, _ = _run(spark, folder, cells, duration, batches + 1, info)
        finally:
            spark.stop()
        written = [file.stat().st_size for file in (folder / "state/state").rglob(f"{batches - 1}.changelog")]
    later = [one for cells_then in seen[batches // 2 :] for one in cells_then]
    return GridRate(
        groups,
        cells,
        rate=batch * len(took[batches // 2 :]) / sum(took[batches // 2 :]),
        cell_rate=sum(one["taken"] for one in later) / max(1e-9, sum(one["spent"] for one in later)),
        state=sum(written) / batch,
        memory=stats.memory_bytes / max(1, stats.window_size),
        rebuilt=sum(one["rebuilt"] for one in again),
        rebuild=max((one["seconds"] for one in again), default=0.0),
        rebuilds=sum(one["rebuilt"] > 0 for cells_then in seen[2:] for one in cells_then),
    )


def _run(spark: Any, folder: Path, cells: int, window: int, batches: int, info: Callable[[str], None]) -> tuple[Any, Any, Any]:
    """Metrics of the cells after each batch, the seconds that batches took, and the stats of the stream."""
    from swoop.spark import topk_stream

    reader = spark.readStream.schema("time long, tokens array<bigint>, id long").option("maxFilesPerTrigger", EXECUTORS)
    rows = topk_stream(reader.parquet(str(folder / "in")), 10, window, lateness=0, cells=cells)
    seen: list[list[dict[str, Any]]] = []
    with rows.start(folder / "state", changes=folder / "changes") as handle:
        done = handle.stats.batch
        while done < batches - 1:
            if handle.await_termination(0.01):
                raise RuntimeError("the stream has ended prematurely")
            if handle.stats.batch > done:
                done = handle.stats.batch
                seen.append(list(getattr(handle._live._engines, "cells", [])))
                info(f"{cells} cells: batch {done + 1} of {batches}, {handle.stats.batch_seconds:.1f} s")
        time.sleep(1)  # until Spark has reported the last one
        progress = {one.batchId: one.durationMs["triggerExecution"] / 1000 for one in handle.query.recentProgress}
        return seen, [progress[number] for number in sorted(progress)], handle.stats


def table(rates: list[GridRate]) -> list[str]:
    """The measurements as a table."""
    head = ["g", "cells", "sets/s, sustained", "sets/s in a cell", "copies of a set", "state written, bytes per set"]
    head += ["memory, bytes per set", "rebuilding all cells"]
    lines = [f"| {' | '.join(head)} |", "|" + "--:|" * len(head)]
    for one in rates:
        own = [f"{one.cell_rate:,.0f}", str(one.groups), f"{one.state:,.0f}"] if one.cells > 1 else ["", "1", ""]
        rebuild = f"{one.rebuilt:,} sets, {one.rebuild:.1f} s" if one.cells > 1 else ""
        lines.append(f"| {one.groups} | {one.cells} | {one.rate:,.0f} | {' | '.join(own)} | {one.memory:,.0f} | {rebuild} |")
    return lines


def report(
    groups: list[int], info: Callable[[str], None], window: int = 100_000, batch: int = 100_000, batches: int = 14
) -> list[str]:
    """The measured section of docs/scaling.md."""
    data_set = generate("tweet", batch * batches)
    rates = [measure_grid(one, data_set, window, batch, info) for one in groups]
    return [
        f"Swoop {commit()} on {machine()}, two cores in total:",
        f"a standalone cluster of {EXECUTORS} one-core executors, the driver on the same cores, from files to results.",
        f"Tweet shape, window of {window:,} sets, k = 10, batches of {batch:,} sets, of which the second half counts.",
        "",
        *table(rates),
        "",
        f"Cells rebuilt after the second batch without a failure: {sum(one.rebuilds for one in rates)}. State is",
        "written in proportion to the batch; the window is not written again. With one cell there is no state on the",
        "cluster: the driver keeps its rows under the checkpoint.",
    ]
