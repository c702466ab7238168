"""Cells on Spark: rows find their way to the cells of a grid, which are keys of a stateful operator.

    rows --route--> one row per cell and task: its sets as one binary, and when all rows of the task are (a heartbeat)
         --groupBy(cell), transformWithStateInPandas--> what the cells report --> the driver

Every task tells every cell when its rows are, so all cells know the watermark of the batch, and an idle cell moves on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from swoop.errors import SwoopError, error_to_json
from swoop.live.ahead import merged, spans_of
from swoop.live.cell import Cell, CellState, Report
from swoop.live.cells import copies_count_once, make_cell
from swoop.live.chunks import from_bytes, to_bytes
from swoop.live.grid import Grid
from swoop.live.stream_spec import StreamSpec

ROUTED = "cell long, sets binary, rejected binary, rows long, spans binary"
RESULT_SCHEMA = "cell long, what string, data binary"
FULL, FULL_BYTES = 200_000, 256 << 20  # rows that a task routes at once
IDLE = 600  # seconds after which a worker forgets a cell
CHUNKS, STATE = "chunks", "state"


@dataclass(frozen=True)
class Layout:
    """A grid whose cells are spread over Spark's partitions: ``keys[n]`` is what cell n is called.

    Spark puts keys into partitions by their hash. Keys are chosen so that each partition has one cell.
    """

    grid: Grid
    keys: tuple[int, ...]

    @classmethod
    def of(cls, spark: SparkSession, grid: Grid) -> Layout:
        cells = len(grid.cells)
        where = F.pmod(F.hash("id"), F.lit(cells))
        found = spark.range(200 * cells).groupBy(where.alias("partition")).agg(F.min("id").alias("key")).collect()
        return cls(grid, tuple(row.key for row in sorted(found, key=lambda row: row.partition)))

    @property
    def partitions(self) -> int:
        return len(self.keys)


def cell_results(rows: DataFrame, layout: Layout, spec: StreamSpec, run: str, ended: int | None) -> DataFrame:
    """What the cells report of the rows of a stream that was prepared; see :data:`RESULT_SCHEMA`."""
    if not copies_count_once(spec):  # else equal sets must be in one group, and the router knows what a set is
        rows = rows.withColumn("group", F.pmod(F.xxhash64("id"), F.lit(layout.grid.groups)).cast("int"))
    routed = rows.mapInArrow(_router(layout, spec), ROUTED)
    cells = Cells(layout, spec, run, ended)
    return routed.groupBy("cell").transformWithStateInPandas(cells, RESULT_SCHEMA, "Append", "None")


def _router(layout: Layout, spec: StreamSpec) -> Any:
    """What a task does with its rows: it packs them for the cells."""

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in in_parts(batches):
            yield packed(rows, layout, spec)

    return route


def in_parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of a task, as many at a time as are packed at once."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= FULL or sum(one.nbytes for one in waiting) >= FULL_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def packed(rows: pa.Table, layout: Layout, spec: StreamSpec) -> pa.RecordBatch:
    """One row per cell, with all its sets; the first cell also takes what was rejected."""
    bad = pc.is_valid(rows["reason"])
    sets = rows.filter(pc.invert(bad)).drop_columns(["reason", "row"])
    if copies_count_once(spec):
        sets = sets.append_column("group", layout.grid.groups_of(sets, spec.tokens))
    spans = spans_of(sets["time"], spec.max_ahead).tobytes()
    rejected = rows.filter(bad).select(["reason", "row"])
    parts = [layout.grid.rows_of(cell, sets) for cell in range(layout.partitions)]
    others = [None] * (layout.partitions - 1)
    return pa.RecordBatch.from_pydict(
        {
            "cell": pa.array(layout.keys, pa.int64()),
            "sets": pa.array([to_bytes(part).to_pybytes() if part.num_rows else None for part in parts], pa.binary()),
            "rejected": pa.array([to_bytes(rejected).to_pybytes() if rejected.num_rows else None, *others], pa.binary()),
            "rows": pa.array([rows.num_rows, *(0 for _ in others)], pa.int64()),
            "spans": pa.array([spans] * layout.partitions, pa.binary()),
        }
    )


_cell_cache: dict[tuple[str, int], tuple[float, Cell]] = {}
"""Cells that this worker has in memory, by run and number, with the time at which they were used."""


class Cells(StatefulProcessor):
    """The cells of a grid, as Spark's stateful operator sees them."""

    def __init__(self, layout: Layout, spec: StreamSpec, run: str, ended: int | None) -> None:
        self._layout, self._spec, self._run, self._ended = layout, spec, run, ended

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._chunks = handle.getMapState(CHUNKS, "name string", "data binary")
        self._state = handle.getValueState(STATE, "state string")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        number = self._layout.keys.index(int(key[0]))
        routed = pd.concat(list(rows))
        try:
            results = list(serialise(self._process_batch(number, routed)).items())
        except SwoopError as error:  # the driver raises it, and so the batch does not count
            results = [("error", error_to_json(error))]
        results += [("rejected", data) for data in routed["rejected"] if data is not None]
        yield pd.DataFrame([(number, *result) for result in results], columns=["cell", "what", "data"])

    def _process_batch(self, number: int, routed: pd.DataFrame) -> Report:
        store = SparkStore(self._chunks, self._state)
        started = time.perf_counter()
        cell, is_new = self._cell(number, store)
        rebuilt = sum(chunk.rows for chunk in cell.state.chunks) if is_new else 0
        seconds = time.perf_counter() - started
        tables = [from_bytes(data) for data in routed["sets"] if data is not None]
        spans = (np.frombuffer(data, np.int64).reshape(-1, 3) for data in routed["spans"])
        sets = pa.concat_tables(tables, promote_options="permissive") if tables else None
        report = cell.step(sets, merged(spans, self._spec.max_ahead), store, self._ended)
        _cell_cache[self._run, number] = time.monotonic(), cell
        _forget_others(self._run, cell.state.batches)
        report.metrics.update(rows=int(routed["rows"].sum()), rebuilt=rebuilt, seconds=seconds)
        report.metrics.update(taken=0 if sets is None else sets.num_rows, spent=time.perf_counter() - started - seconds)
        return report

    def _cell(self, number: int, store: SparkStore) -> tuple[Cell, bool]:
        """The cell in memory, if it is the one that the state tells of, else a new one; and whether it is new.

        It is taken out of memory while it is changed, so that what is left there is never half-changed.
        """
        _, cell = _cell_cache.pop((self._run, number), (0, None))
        state = CellState.from_json(store.state())
        if cell is not None and cell.state.version == state.version:
            return cell, False
        return make_cell(self._spec, self._layout.grid, number, state, store), True

    def close(self) -> None:
        pass


def _forget_others(run: str, batches: int) -> None:
    """Forget cells that other workers have taken over, and those of streams that seem to be over."""
    for key, (used, cell) in list(_cell_cache.items()):
        if time.monotonic() - used > IDLE or (key[0] == run and cell.state.batches < batches - 1):
            del _cell_cache[key]


class SparkStore:
    """The state that Spark keeps for a key."""

    def __init__(self, chunks: Any, state: Any) -> None:
        self._chunks, self._state = chunks, state

    def read(self, name: str) -> bytes:
        found = self._chunks.getValue((name,))
        if found is None:
            raise KeyError("it is missing")
        return bytes(found[0])

    def write(self, name: str, data: pa.Buffer) -> None:
        self._chunks.updateValue((name,), (data.to_pybytes(),))

    def delete(self, name: str) -> None:
        self._chunks.removeKey((name,))

    def state(self) -> str | None:
        found = self._state.get()
        return None if found is None else str(found[0])

    def write_state(self, state: str) -> None:
        self._state.update((state,))


def finish_cells(spark: SparkSession, checkpoint: str, layout: Layout, spec: StreamSpec) -> pa.Table:
    """What the cells report when the rows enter that they hold. Their state is read as Spark left it."""

    def read(name: str) -> DataFrame:
        return spark.read.format("statestore").option("path", checkpoint).option("stateVarName", name).load()

    states = read(STATE).select(F.col("key.cell").alias("cell"), F.col("value.state").alias("name"), F.lit(None).alias("data"))
    chunks = read(CHUNKS).select("key.cell", "user_map_key.name", "user_map_value.data")
    grid = layout.grid

    def finish(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        number = layout.keys.index(key[0].as_py())
        data = dict(zip(rows["name"].to_pylist(), rows["data"].to_pylist(), strict=True))
        try:
            (state,) = (CellState.from_json(name) for name, found in data.items() if found is None)
            found = serialise(make_cell(spec, grid, number, state, _ReadOnlyStore(data)).finish())
        except SwoopError as error:
            found = {"error": error_to_json(error)}
        cells = pa.array([number] * len(found), pa.int64())
        return pa.table({"cell": cells, "what": list(found), "data": list(found.values())})

    return states.unionByName(chunks).groupBy("cell").applyInArrow(finish, RESULT_SCHEMA).toArrow()


def serialise(report: Report) -> dict[str, bytes]:
    """A report as Spark carries it."""
    results = {"metrics": json.dumps(report.metrics).encode()}
    for what, table in (("events", report.events), ("late", report.late), ("rejected", report.rejected)):
        if table.num_rows:
            results[what] = to_bytes(table).to_pybytes()
    return results


class _ReadOnlyStore:
    """Chunks that are there already."""

    def __init__(self, data: dict[str, bytes]) -> None:
        self._data = data

    def read(self, name: str) -> bytes:
        return self._data[name]

    def write(self, name: str, data: Any) -> None:
        raise NotImplementedError
