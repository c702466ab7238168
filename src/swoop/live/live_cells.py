"""A live join whose engines are in the cells of a grid: what the driver does after each batch. Nothing here knows Spark.

Cells say what changed in their top-k; the driver merges this into the changes of the whole, and keeps the union of their top-k
under the checkpoint. The rows of the window are in the cells' own state.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from swoop.errors import NotInWindow
from swoop.live.base import Resuming, log
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.chunks import from_bytes
from swoop.live.live_join import NEVER
from swoop.live.merge import Merge
from swoop.live.outputs import Output
from swoop.live.pieces import concatenated
from swoop.live.stream_spec import StreamSpec
from swoop.results import Changes, Explanation, Pair, Step

FIGURES = ("held", "window_size", "stock_size", "vocabulary_size", "memory_bytes")


class LiveCells(Resuming):
    """The join of a stream that comes in numbered batches, with engines in cells.

    Attributes
    ----------
    cells
        Figures of each cell in the last batch.

    Parameters
    ----------
    finish_cells
        Gives what the cells say when the stream ends and the rows enter that they hold.
    """

    cells: list[dict[str, Any]]

    def __init__(
        self,
        spec: StreamSpec,
        checkpoint: Checkpoint,
        changes: Output,
        late: Output,
        rejected: Output,
        finish_cells: Callable[[], pa.Table],
    ) -> None:
        self._finish_cells = finish_cells
        self.cells = []
        super().__init__(spec, checkpoint, changes, late, rejected)

    @property
    def ended(self) -> int | None:
        """The watermark at the end of the last run that ended its stream."""
        return self._state.ended_at

    def _restore(self, state: State) -> list[Changes]:
        kept = concatenated(list(self._checkpoint.read(state.chunks)))
        join = self._spec.join
        self._merge = Merge(self._k, join.similarity, self._clock, join.two_streams, kept)
        return []

    def _take(self, batch: int, rows: pa.Table) -> int:
        """Take what the cells say about a batch; ``rows`` have the columns ``cell``, ``what`` and ``data``."""
        before = self._state
        tables, figures = _read(rows)
        self.cells = sorted(figures, key=lambda one: one["cell"])
        changes = self._merge.apply(tables["events"])
        counted = before.counters
        arrived = int(sum(one["rows"] for one in figures))
        state = replace(
            before,
            batch=batch,
            ended=False,
            highest=figures[0]["highest"] if figures else before.highest,
            watermark=figures[0]["watermark"] if figures else before.watermark,
            figures=_sum(figures) if figures else before.figures,
            counters=replace(
                counted,
                rows=counted.rows + arrived,
                late=counted.late + tables["late"].num_rows,
                rejected=counted.rejected + tables["rejected"].num_rows,
                sets=counted.sets + sum(one["sets"] for one in figures),
                changes=counted.changes + len(changes),
            ),
        )
        self._keep(state)
        self._put(before, [changes], tables["late"], tables["rejected"])
        if rebuilt := [one for one in figures if one["rebuilt"]]:
            log.warning(
                "batch %d: cells %s were rebuilt from their state, %d sets in %.1f s",
                batch,
                ", ".join(str(one["cell"]) for one in rebuilt),
                sum(one["rebuilt"] for one in rebuilt),
                max(one["seconds"] for one in rebuilt),
            )
        return arrived

    def _keep(self, state: State) -> None:
        """Write the union of the cells' top-k, and the state that names it."""
        kept = self._merge.kept()
        if not kept.num_rows:
            kept = pa.table({"time": pa.array([], pa.int64())})
        self._state = self._checkpoint.write(self._checkpoint.add(replace(state, chunks=()), kept, NEVER))

    def end(self) -> None:
        if self.stats.held and not self._state.ended:
            self._finish()

    def _finish(self) -> None:
        started = time.perf_counter()
        before = self._state
        highest = before.highest
        assert highest is not None
        tables, figures = _read(self._finish_cells())
        changes = self._merge.apply(tables["events"])
        counted = before.counters
        counters = replace(counted, changes=counted.changes + len(changes), sets=counted.rows - counted.late - counted.rejected)
        state = replace(before, ended=True, watermark=highest + 1, ended_at=highest + 1)
        self._keep(replace(state, counters=counters, figures=_sum(figures)))
        nothing = pa.table({})
        self._put(before, [changes], nothing, nothing)
        self._checkpoint.collect(self._state)  # its results are out: the next run goes on from here
        self._done(self.stats.batch_rows, started)

    def explain(self, pair: Pair) -> Explanation:
        found = self._merge.explain(pair)
        if found is None:
            raise NotInWindow(
                f"the pair of {pair.newer!r} and {pair.older!r} is not in the top-k any more; with cells, only what is "
                "there now can be explained"
            )
        return found

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        return self._merge.texts(pair)

    def skyband(self) -> list[Step]:
        return self._merge.skyband()

    def _publish(self, rows: int, seconds: float) -> None:
        self.stats = self._figures(rows, seconds, **{**dict.fromkeys(FIGURES, 0), **self._state.figures})
        self.topk = self._merge.topk


def _read(said: pa.Table) -> tuple[dict[str, pa.Table], list[dict[str, Any]]]:
    """What the cells say: tables by what they are, and the figures of each cell."""
    found: dict[str, list[Any]] = {"events": [], "late": [], "rejected": [], "figures": []}
    for what, data in zip(said["what"].to_pylist(), said["data"], strict=True):
        buffer = data.as_buffer()
        found[what].append(json.loads(buffer.to_pybytes()) if what == "figures" else from_bytes(buffer))
    figures = found.pop("figures")
    return {what: concatenated(tables) if tables else pa.table({}) for what, tables in found.items()}, figures


def _sum(figures: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(one[name] for one in figures) for name in FIGURES}
