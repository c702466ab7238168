"""What cells cost and bring: a live join on a cluster of processes on this machine, with one core each.

python -m swoop.bench.scaling --groups 1 2 3 4
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from swoop.bench.measure import as_table
from swoop.bench.standalone import Cluster
from swoop.bench.streams import Stream, generate


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
        file = folder / f"{number:05}.parquet"
        pq.write_table(table.slice(start, size), file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def grow(groups: int, stream: Stream, window: int, batch: int, say: Callable[[str], None]) -> Grown:
    """Run the stream through a grid, and once more a little, from its state."""
    from swoop.spark import session, topk_stream

    with tempfile.TemporaryDirectory() as name, Cluster(Path(name), memory="3g") as cluster:
        folder = Path(name)
        last = stream.times[-1] + stream.window_for(window) // 100
        write_files(stream, folder / "in", batch)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = session(cluster.master, spark_executor_memory="1g", spark_executor_cores=1, spark_locality_wait="2s")
        cells = groups * (groups + 1) // 2

        def run() -> Any:
            sets = spark.readStream.schema("time long, tokens array<bigint>, id long").option("maxFilesPerTrigger", 1)
            rows = sets.parquet(str(folder / "in"))
            found = topk_stream(rows, 10, stream.window_for(window), lateness=0, cells=cells)
            return found.start(folder / "state", changes=folder / "changes")

        files = -(-len(stream) // batch)
        seen: list[Any] = []
        try:
            with run() as handle:
                while handle.stats.batch < files - 1:
                    if not handle.is_active:
                        handle.await_termination()
                    time.sleep(0.01)
                    if handle.stats.batch >= len(seen):
                        seen.append(list(getattr(handle._live, "cells", [])))
                        say(f"g={groups}: batch {handle.stats.batch} of {files - 1}, {handle.stats.batch_seconds:.1f} s")
                time.sleep(0.5)
                took = [progress.durationMs["triggerExecution"] / 1000 for progress in handle.query.recentProgress][1:]
                figures = handle.stats
            after = seen[files // 2 :]
            spent = sum(one["spent"] for batch_cells in after for one in batch_cells)
            taken = sum(one["taken"] for batch_cells in after for one in batch_cells)
            late = took[files // 2 - 1 : files - 1]
            extra = pa.table({"time": [int(last)], "tokens": [[1]], "id": [-1]})
            pq.write_table(extra, folder / "in/99999.parquet")
            with run() as handle:
                while handle.stats.batch < files:
                    if not handle.is_active:
                        handle.await_termination()
                    time.sleep(0.01)
                again = list(getattr(handle._live, "cells", []))
        finally:
            spark.stop()
        changelogs = [file.stat().st_size for file in (folder / "state/state").rglob(f"{files - 1}.changelog")]
        return Grown(
            groups,
            cells,
            rate=batch * len(late) / sum(late),
            cell_rate=taken / spent if spent else 0.0,
            state=sum(changelogs) / batch,
            memory=figures.memory_bytes / max(1, figures.window_size),
            rebuilt=sum(one["rebuilt"] for one in again),
            rebuild=max((one["seconds"] for one in again), default=0.0),
            rebuilds=sum(one["rebuilt"] > 0 for batch_cells in seen[2:] for one in batch_cells),
        )


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m swoop.bench.scaling", description=__doc__)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 2, 3, 4], help="g: sets are in so many groups")
    parser.add_argument("--window", type=int, default=100_000, help="sets in the window, on average")
    parser.add_argument("--batch", type=int, default=100_000, help="sets of a batch")
    parser.add_argument("--batches", type=int, default=12)
    given = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    stream = generate("tweet", given.batch * given.batches)
    found = []
    for groups in given.groups:
        found.append(grow(groups, stream, given.window, given.batch, say))
        say(str(asdict(found[-1])))
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
