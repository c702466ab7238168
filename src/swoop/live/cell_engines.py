"""The engines of a live join in the cells of a grid: what the driver does after each batch.

Cells report what changed in their top-k; the driver merges this into the changes of the whole, and keeps the union of their
top-k under the checkpoint. The rows of the window are in the cells' own state.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from swoop.errors import NotInWindow, SwoopError, error_from_json, too_many_pairs
from swoop.live.checkpoint import SIZES, Checkpoint, State
from swoop.live.chunks import from_bytes
from swoop.live.engines import NO_ROWS, Feed, Snapshot, StepResult
from swoop.live.family_merge import FamilyMerge, MergedFamilies
from swoop.live.merge import Merge
from swoop.live.pieces import concatenated
from swoop.live.record_merge import RecordMerge
from swoop.live.stream_spec import StreamSpec
from swoop.live.watermark import MIN_TICK
from swoop.results import Changes, Explanation, FamilyChanges, Pair, SkybandStep, TopK

log = logging.getLogger("swoop.live")


class GridEngines:
    """The merge of what cells report, whatever they find.

    Parameters
    ----------
    finish_cells
        Gives the results of the cells when the stream ends and the rows enter that they hold.

    Attributes
    ----------
    cells
        Metrics of each cell in the last batch.
    """

    cells: list[dict[str, Any]]

    def __init__(self, spec: StreamSpec, checkpoint: Checkpoint, finish_cells: Callable[[], pa.Table]) -> None:
        self._spec, self._checkpoint, self._finish_cells = spec, checkpoint, finish_cells
        self.cells = []

    def restore(self, state: State, k: int | None) -> Feed | None:
        """Read what the driver knew. With cells, k cannot be lowered."""
        chunks = list(self._checkpoint.read(state.chunks))
        with self._blaming(state, KeyError, IndexError, TypeError, ValueError):
            union = concatenated(chunks)
            self._merge_anew(union, _last_tick(state.watermark), k)
        return None

    @contextmanager
    def _blaming(self, state: State, *errors: type[Exception]) -> Iterator[None]:
        """Such errors are the fault of the checkpoint: what it has is not what was known then."""
        try:
            yield
        except errors as error:
            if isinstance(error, SwoopError):
                raise
            why = f"{type(error).__name__}: {error}"
            raise self._checkpoint.damaged(f"what cells had found by states/{state.step}.json", why) from error

    def _merge_anew(self, union: pa.Table | None, now: int, k: int | None) -> None:
        """Begin with what was known at a time."""
        raise NotImplementedError

    def _apply(self, events: pa.Table, now: int) -> Any:
        """Take what all cells have told up to a time, and give the changes of the whole."""
        raise NotImplementedError

    def _union(self) -> pa.Table:
        """All that is known now."""
        raise NotImplementedError

    def process_batch(self, before: State, batch: int, rows: pa.Table) -> StepResult:
        """Take the results of the cells for a batch; ``rows`` have the columns ``cell``, ``what`` and ``data``."""
        tables, metrics = read_results(rows)
        self.cells = sorted(metrics, key=lambda cell: cell["cell"])
        watermark = metrics[0]["watermark"] if metrics else before.watermark
        with self._blaming(before, ValueError):
            changes = self._apply(tables["events"], _last_tick(watermark))
        counted = before.counters
        arrived = int(sum(cell["rows"] for cell in metrics))
        state = replace(
            before,
            batch=batch,
            ended=False,
            max_event_time=metrics[0]["max_event_time"] if metrics else before.max_event_time,
            watermark=watermark,
            metrics=_sum(metrics) if metrics else before.metrics,
            counters=replace(
                counted,
                rows=counted.rows + arrived,
                late=counted.late + tables["late"].num_rows,
                rejected=counted.rejected + tables["rejected"].num_rows,
                sets=counted.sets + sum(cell["sets"] for cell in metrics),
            ),
        )
        if rebuilt := [cell for cell in metrics if cell["rebuilt"]]:
            log.warning(
                "batch %d: cells %s were rebuilt from their state, %d sets in %.1f s",
                batch,
                ", ".join(str(cell["cell"]) for cell in rebuilt),
                sum(cell["rebuilt"] for cell in rebuilt),
                max(cell["seconds"] for cell in rebuilt),
            )
        return StepResult(self._write_union(state), changes, tables["late"], tables["rejected"], arrived)

    def advance(self, before: State, after: State) -> StepResult:
        """The end of the stream: cells learn the time from rows, so there is no other step without any."""
        tables, metrics = read_results(self._finish_cells())
        with self._blaming(before, ValueError):
            changes = self._apply(tables["events"], _last_tick(after.watermark))
        counted = before.counters
        counters = replace(counted, sets=counted.rows - counted.late - counted.rejected)
        state = replace(after, ended_at=after.watermark, counters=counters, metrics=_sum(metrics))
        return StepResult(self._write_union(state), changes)

    def _write_union(self, state: State) -> State:
        """Write what is known, which the state then names."""
        union = self._union()
        if not union.num_rows:
            union = pa.table({"time": pa.array([], pa.int64())})
        return self._checkpoint.add(replace(state, chunks=()), union, MIN_TICK)

    def _sizes(self, state: State) -> dict[str, int]:
        """Those of all cells together."""
        return {**dict.fromkeys(SIZES, 0), **state.metrics}


class CellEngines(GridEngines):
    """The top-k of all cells. What is known is the union of theirs. A thread that asks while a batch is merged waits for it."""

    def __init__(self, spec: StreamSpec, checkpoint: Checkpoint, finish_cells: Callable[[], pa.Table]) -> None:
        super().__init__(spec, checkpoint, finish_cells)
        self._reading = threading.Lock()

    def _merge_anew(self, union: pa.Table | None, now: int, k: int | None) -> None:
        join = self._spec.pairs
        kind = RecordMerge if join.copies == "once" else Merge
        merge = kind(k, join.similarity, self._spec.clock(), join.two_streams, self._spec.kept)
        if union is not None:
            merge.restore(union, now)
        with self._reading:
            self._merge = merge

    def _apply(self, events: pa.Table, now: int) -> Changes:
        with self._reading:
            changes = self._merge.apply(events, now)
        if (most := self._spec.pairs.max_pairs) is not None and self._merge.most > most:
            raise too_many_pairs(self._merge.most, most, "in this batch")
        return changes

    def _union(self) -> pa.Table:
        return self._merge.union()

    def snapshot(self, state: State) -> Snapshot[TopK]:
        """The top-k of the whole, and the sizes of all cells together."""
        return Snapshot(self._merge.topk, self._sizes(state))

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has, while the pair is in the top-k of its cell."""
        with self._reading:
            found = self._merge.explain(pair)
        if found is None:
            raise NotInWindow(
                f"the pair of {pair.newer!r} and {pair.older!r} is no longer in the top-k; with cells, only pairs that are "
                "in it now can be explained"
            )
        return found

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of both sets, while the pair is in the top-k of its cell."""
        with self._reading:
            return self._merge.texts(pair)

    def skyband(self) -> list[SkybandStep]:
        """As far as the pairs of the cells' top-k tell."""
        join = self._spec.pairs
        if join.k is None:
            assert join.min_similarity is not None
            return [SkybandStep(None, join.min_similarity)]
        with self._reading:
            return self._merge.skyband()


class FamilyCellEngines(GridEngines):
    """The families of all cells. What is known are the sets that are linked, and their families."""

    def _merge_anew(self, union: pa.Table | None, now: int, k: int | None) -> None:
        self._merge = FamilyMerge(self._spec.clock(), union, now, self._spec.kept)
        self._found = self._merge.snapshot()

    def _apply(self, events: pa.Table, now: int) -> FamilyChanges:
        changes = self._merge.apply(events, now)
        self._found = self._merge.snapshot()
        return changes

    def _union(self) -> pa.Table:
        return self._found.union()

    def text_of(self, key: Any) -> str | None:
        """The text of a set that a change of the last step tells of."""
        return self._found.text_of(key)

    def snapshot(self, state: State) -> Snapshot[MergedFamilies]:
        """The families of the whole, and the sizes of all cells together."""
        sizes = self._sizes(state)
        del sizes["stock_size"]
        return Snapshot(self._found, {**sizes, "families": len(self._found)})


def read_results(results: pa.Table) -> tuple[dict[str, pa.Table], list[dict[str, Any]]]:
    """The results of the cells: tables by what they are, and the metrics of each cell. Raises what one of them could not do."""
    found: dict[str, list[Any]] = {"events": [], "late": [], "rejected": [], "metrics": []}
    for what, data in zip(results["what"].to_pylist(), results["data"], strict=True):
        buffer = data.as_buffer()
        if what == "error":
            raise error_from_json(buffer.to_pybytes())
        found[what].append(json.loads(buffer.to_pybytes()) if what == "metrics" else from_bytes(buffer))
    metrics = found.pop("metrics")
    return {what: concatenated(tables) if tables else NO_ROWS for what, tables in found.items()}, metrics


def _last_tick(watermark: int | None) -> int:
    """The time that cells have reached with a watermark."""
    return MIN_TICK if watermark is None else watermark - 1


def _sum(metrics: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(cell[name] for cell in metrics) for name in SIZES}
