"""What cells cost and bring: a live join on a cluster of processes on this machine, with one core each.

python -m swoop.paper.scaling --groups 1 2 3 4
"""

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

from swoop.paper.competitors import machine
from swoop.paper.kept import commit
from swoop.paper.measure import as_table
from swoop.paper.standalone import Cluster
from swoop.paper.streams import Stream, generate

EXECUTORS = 2  # and files of a batch


@dataclass(frozen=True)
class Grown:
    """A grid of so many groups on two one-core executors.

    Attributes
    ----------
    rate
        Sets per second that it sustains, by the clock, from files to results.
    cell_rate
        Sets per second of one cell alone, while it works: state included.
    state
        Bytes of state that a set of a batch costs, in all cells together.
    memory
        Bytes per set of the window, of all engines together.
    rebuilt, rebuild
        Sets of the window of all cells, and the seconds that the slowest cell needs to be rebuilt from its state.
    rebuilds
        Cells that were rebuilt after the first two batches, without a fault.
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


def write_files(stream: Stream, folder: Path, size: int) -> None:
    """The stream as Parquet files that are taken one after the other."""
    folder.mkdir()
    table = as_table(stream)
    table = table.append_column("id", pa.array(np.arange(len(stream))))
    for number, start in enumerate(range(0, len(stream), size)):
        for part in range(EXECUTORS):
            file = folder / f"{number:05}-{part}.parquet"
            pq.write_table(table.slice(start, size).slice(part * size // EXECUTORS, size // EXECUTORS), file)
            os.utime(file, (1_700_000_000 + number,) * 2)


def grow(groups: int, stream: Stream, window: int, batch: int, say: Callable[[str], None]) -> Grown:
    """Run the stream through a grid, and then one row more in a new run, which has to rebuild its cells."""
    from swoop.spark import session

    with tempfile.TemporaryDirectory() as name, Cluster(Path(name), EXECUTORS, memory="3g") as cluster:
        folder = Path(name)
        write_files(stream, folder / "in", batch)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = session(cluster.master, spark_executor_memory="1g", spark_executor_cores=1)
        cells, length, batches = groups * (groups + 1) // 2, stream.window_for(window), -(-len(stream) // batch)
        try:
            seen, took, figures = _run(spark, folder, cells, length, batches, say)
            row = pa.table({"time": [int(stream.times[-1]) + length // 100], "tokens": [[1]], "id": [-1]})
            pq.write_table(row, folder / "in/99999.parquet")
            (*_, again), _, _ = _run(spark, folder, cells, length, batches + 1, say)
        finally:
            spark.stop()
        written = [file.stat().st_size for file in (folder / "state/state").rglob(f"{batches - 1}.changelog")]
    later = [one for cells_then in seen[batches // 2 :] for one in cells_then]
    return Grown(
        groups,
        cells,
        rate=batch * len(took[batches // 2 :]) / sum(took[batches // 2 :]),
        cell_rate=sum(one["taken"] for one in later) / max(1e-9, sum(one["spent"] for one in later)),
        state=sum(written) / batch,
        memory=figures.memory_bytes / max(1, figures.window_size),
        rebuilt=sum(one["rebuilt"] for one in again),
        rebuild=max((one["seconds"] for one in again), default=0.0),
        rebuilds=sum(one["rebuilt"] > 0 for cells_then in seen[2:] for one in cells_then),
    )


def _run(spark: Any, folder: Path, cells: int, window: int, batches: int, say: Callable[[str], None]) -> tuple[Any, Any, Any]:
    """Figures of the cells after each batch, the seconds that batches took, and figures of the stream."""
    from swoop.spark import topk_stream

    reader = spark.readStream.schema("time long, tokens array<bigint>, id long").option("maxFilesPerTrigger", EXECUTORS)
    rows = topk_stream(reader.parquet(str(folder / "in")), 10, window, lateness=0, cells=cells)
    seen: list[list[dict[str, Any]]] = []
    with rows.start(folder / "state", changes=folder / "changes") as handle:
        done = handle.stats.batch
        while done < batches - 1:
            if handle.await_termination(0.01):
                raise RuntimeError("the stream has ended before its time")
            if handle.stats.batch > done:
                done = handle.stats.batch
                seen.append(list(getattr(handle._live._engines, "cells", [])))
                say(f"{cells} cells: batch {done + 1} of {batches}, {handle.stats.batch_seconds:.1f} s")
        time.sleep(1)  # until Spark has told about the last one
        progress = {one.batchId: one.durationMs["triggerExecution"] / 1000 for one in handle.query.recentProgress}
        return seen, [progress[number] for number in sorted(progress)], handle.stats


def table(found: list[Grown]) -> list[str]:
    """The figures as a table."""
    head = ["g", "cells", "sets/s, sustained", "sets/s in a cell", "copies of a set", "state written, bytes per set"]
    head += ["memory, bytes per set", "rebuilding all cells"]
    lines = [f"| {' | '.join(head)} |", "|" + "--:|" * len(head)]
    for one in found:
        own = [f"{one.cell_rate:,.0f}", str(one.groups), f"{one.state:,.0f}"] if one.cells > 1 else ["", "1", ""]
        rebuild = f"{one.rebuilt:,} sets, {one.rebuild:.1f} s" if one.cells > 1 else ""
        lines.append(f"| {one.groups} | {one.cells} | {one.rate:,.0f} | {' | '.join(own)} | {one.memory:,.0f} | {rebuild} |")
    return lines


def report(
    groups: list[int], say: Callable[[str], None], window: int = 100_000, batch: int = 100_000, batches: int = 14
) -> list[str]:
    """The section of docs/scaling.md that is measured."""
    stream = generate("tweet", batch * batches)
    found = [grow(one, stream, window, batch, say) for one in groups]
    return [
        f"Swoop {commit()} on {machine()}, two cores in all:",
        f"a standalone cluster of {EXECUTORS} executors with one core, the driver on the same cores, from files to results.",
        f"Tweet shape, window of {window:,} sets, k = 10, batches of {batch:,} sets, of which the later half counts.",
        "",
        *table(found),
        "",
        f"Cells that were rebuilt after the second batch, without a fault: {sum(one.rebuilds for one in found)}. State is",
        "written in proportion to the batch; the window is not written again. With one cell there is no state on the",
        "cluster: the driver keeps its rows under the checkpoint.",
    ]
