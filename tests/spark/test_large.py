"""Windows with more token bytes than Arrow's 32-bit offsets can tell: they run, and they are restored.

Takes some minutes and 8 GB, so only where it is asked for: ``make large``.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.live.ahead import spans_of
from swoop.live.cell import CellState
from swoop.live.cells import make_cell
from swoop.live.grid import Grid
from swoop.live.stream_spec import StreamSpec
from swoop.spec import JoinSpec
from tests.support.live_runs import start

BATCHES, ROWS, TOKENS, LENGTH = 24, 2000, 50, 1000  # 2.4 GB
SPEC = StreamSpec(JoinSpec(10, 10**6), lateness=5, time_kind="integer", token_type="array<string>")


def batches(seed: int = 1) -> Iterator[pa.Table]:
    """Each token is a kilobyte, and comes often."""
    rng = np.random.default_rng(seed)
    words = pa.array([f"{n:08}" + "x" * (LENGTH - 8) for n in range(5000)])
    for batch in range(BATCHES + 2):
        count = ROWS if batch < BATCHES else 20
        time = batch * ROWS // 100 + np.arange(count) // 100
        tokens = words.take(rng.integers(0, len(words), count * TOKENS))
        yield pa.table(
            {
                "id": pa.array(np.arange(count) + batch * ROWS),
                "time": pa.array(time),
                "tokens": pa.ListArray.from_arrays(np.arange(0, count * TOKENS + 1, TOKENS, dtype=np.int32), tokens),
                "stream": pa.array(["left"] * count),
                "reason": pa.nulls(count, pa.string()),
                "row": pa.nulls(count, pa.string()),
            }
        )


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def test_a_live_join(tmp_path: Path) -> None:
    live = start(tmp_path, SPEC)
    given = list(enumerate(batches()))
    for batch, rows in given[:BATCHES]:
        live.process(batch, rows)
    assert sum(chunk.bytes for chunk in live._state.chunks) > 2**31
    del given[:BATCHES]
    before, kept = peak(), live.topk
    again = start(tmp_path, SPEC)
    print(
        f"\na window of {sum(c.bytes for c in again._state.chunks) / 2**30:.1f} GiB: {before:.1f} GB, restored {peak():.1f} GB"
    )
    assert again.topk == kept
    for batch, rows in given:
        again.process(batch, rows)
    assert again.stats.window_size + again.stats.held == BATCHES * ROWS + 40


class Store(dict[str, Any]):
    """A cell's store in memory."""

    read, write, delete = dict.__getitem__, dict.__setitem__, dict.__delitem__

    def keep(self, state: str) -> None:
        self["state"] = state

    def state(self) -> str | None:
        return self.get("state")


def test_a_cell() -> None:
    store: Any = Store()
    cell = make_cell(SPEC, Grid(1), 0, CellState(), store)
    for rows in batches():
        sets = rows.drop_columns(["reason", "row"])
        sets = sets.append_column("group", pa.array([0] * rows.num_rows, pa.int32()))
        sets = sets.append_column("text", pa.array(["y" * 50_000] * rows.num_rows))
        cell.step(sets, spans_of(rows["time"], None), store)
    before, kept = peak(), [pair.arrivals for part in cell._parts for pair in part.join.topk()]
    state = cell.state
    del cell
    again = make_cell(SPEC, Grid(1), 0, state, store)
    print(f"\na cell: {before:.1f} GB, restored {peak():.1f} GB")
    assert [pair.arrivals for part in again._parts for pair in part.join.topk()] == kept
    assert again.finish().metrics["window_size"] == BATCHES * ROWS + 40
