"""One cell of a grid: its engine, its rows, its state, and what it reports.

A cell lives in the memory of a worker. After each batch it has written to its store all that another worker needs to go on in
its place: the rows of its window in chunks, and a state that names them. The state has a version that nothing else has, so a
cell in memory can be told from one that a worker kept from an attempt that did not count.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidFile
from swoop.live.ahead import believe, rejected_rows, split_ahead
from swoop.live.chunks import SETS, Chunk, Damaged, Store, add_rows, read_chunks, seal, unseal
from swoop.live.grid import Grid
from swoop.live.pieces import concatenated, drained, in_pieces
from swoop.live.row_order import same_key_as_before, sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.live.watermark import advance_watermark, expired_until, split_all_at_watermark, split_at_watermark

COLUMNS = (*SETS, "group")  # that the rows of a cell have at least


class CellStore(Store, Protocol):
    """Where a cell keeps its chunks and its state."""

    def delete(self, name: str) -> None: ...

    def state(self) -> str | None: ...

    def write_state(self, state: str) -> None: ...


@dataclass(frozen=True)
class CellState:
    """What a cell knows besides its rows. Times are ticks.

    Where copies count once, ``entered`` is how many sets have entered the cell, and ``names`` are chunks of names of records.
    """

    version: str = ""
    batches: int = 0
    max_event_time: int | None = None
    watermark: int | None = None
    chunks: tuple[Chunk, ...] = ()
    ahead: int = 0
    entered: int = 0
    names: tuple[Chunk, ...] = ()

    def to_json(self) -> str:
        return seal(self)

    @classmethod
    def from_json(cls, text: str | None) -> CellState:
        if text is None:
            return cls()
        try:
            return unseal(text, cls)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidFile(f"the state of a cell is damaged: {error}. Begin with a new checkpoint") from error


@dataclass(frozen=True)
class Report:
    """What a cell reports after a batch: changes of its top-k, rows that were late or too far ahead, and metrics."""

    events: pa.Table
    late: pa.Table
    rejected: pa.Table
    metrics: dict[str, Any]


class Cell:
    """A cell in memory, as of some state; it goes from batch to batch. ``parts`` are its joins."""

    def __init__(self, spec: StreamSpec, grid: Grid, number: int, parts: Sequence[Any]) -> None:
        self._spec, self._grid, self._number, self._parts = spec, grid, number, parts
        self._two_streams = spec.two_streams
        self._held: pa.Table | None = None
        self.state = CellState()

    def restore(self, state: CellState, store: Store) -> None:
        """Go on from a state, in a new cell."""
        self.state = state
        with self._readable_chunks():
            entered, self._held = split_all_at_watermark(self._read(store), state.watermark)
            if self._held is not None:
                self._restore(entered, store)
                self._take_events()

    def _read(self, store: Store) -> Iterator[pa.Table]:
        """The rows that the state of now names."""
        for chunk in self.state.chunks:
            for rows in read_chunks(store, [chunk], COLUMNS):
                yield self._with_records(rows, chunk.name)

    def _with_records(self, rows: pa.Table, name: str, column: str = "record") -> pa.Table:
        """Rows of what has this name, in which records are as they should be."""
        try:
            return self._spec.with_records(rows, column)
        except ValueError as error:
            raise Damaged(name, error) from error

    def _restore(self, entered: list[pa.Table], store: Store) -> None:
        """Let the sets arrive that had entered by the state of now."""
        self._insert_sorted(entered, self.state.watermark)

    def step(self, sets: pa.Table | None, spans: np.ndarray, store: CellStore, ended: int | None = None) -> Report:
        """Take the rows of a batch. ``spans`` are the times of all rows of the batch, whichever cells they are for.

        ``ended`` is the watermark at the end of an earlier run: what waited then has entered, and its changes are known.
        """
        if ended is not None and (self.state.watermark is None or self.state.watermark < ended):
            self._advance_watermark(None, ended)
            self._take_events()
            self.state = replace(self.state, watermark=ended)
        before = self.state
        believed, ahead = believe(spans, before.max_event_time, before.ahead, self._spec.max_ahead)
        late = beyond = None
        if sets is not None:
            sets, beyond = split_ahead(self._spec.with_records(sets), believed)
            late, sets = split_at_watermark(sets, before.watermark)
        max_event_time, watermark = before.max_event_time, before.watermark
        if watermark is None or (believed is not None and believed >= watermark):
            max_event_time, watermark = advance_watermark(max_event_time, watermark, believed, self._spec.lateness)
        entered = self._advance_watermark(sets, watermark)
        events = self._take_events()
        version = uuid.uuid4().hex
        after = CellState(version, before.batches + 1, max_event_time, watermark, ahead=ahead)
        with self._readable_chunks():
            self.state = self._write_state(store, after, sets, f"{before.batches:09}-{version[:8]}")
        store.write_state(self.state.to_json())
        is_home = self._grid.is_home(self._number)
        metrics = {
            "cell": self._number,
            "watermark": watermark,
            "max_event_time": max_event_time,
            "sets": entered if is_home else 0,
            **self._sizes(),
        }
        late, beyond = (self._reported(rows) for rows in (late, beyond))
        rejected = rejected_rows(self._spec.shown(sort_rows(beyond))) if beyond.num_rows else beyond
        return Report(events, late, rejected, metrics)

    def _reported(self, rows: pa.Table | None) -> pa.Table:
        """Rows of the batch that do not enter, as one of the cells that have them reports them."""
        if rows is None or not self._grid.is_home(self._number):
            return pa.table({})
        return rows.drop_columns("group")

    def finish(self) -> Report:
        """The stream has ended: let the rows enter that are held."""
        if self.state.max_event_time is not None:
            self._advance_watermark(None, self.state.max_event_time + 1)
        return Report(self._take_events(), pa.table({}), pa.table({}), self._sizes())

    def _sizes(self) -> dict[str, int]:
        """Sizes. Those of the window are reported by one of the cells of each set."""
        sizes: Counter[str] = Counter()
        for part in self._parts:
            sizes.update(part.sizes())
        if not self._grid.is_home(self._number):
            return {**sizes, "held": 0, "window_size": 0}
        return {**sizes, "held": 0 if self._held is None else self._held.num_rows}

    def _advance_watermark(self, sets: pa.Table | None, watermark: int | None) -> int:
        """Let rows enter up to the watermark and hold the others back. How many have entered."""
        entered, self._held = split_all_at_watermark([part for part in (self._held, sets) if part is not None], watermark)
        count = int(sum(part.num_rows for part in entered))
        self._insert_sorted(entered, watermark)
        return count

    def _insert_sorted(self, rows: list[pa.Table], watermark: int | None) -> None:
        """Let sets arrive in order, and time move on to just before the watermark. Takes the rows away."""
        for piece in in_pieces(drained(rows)):
            in_order = self._number_rows(sort_rows(piece))
            parts, sides = self._grid.roles(self._number, in_order, self._two_streams)
            for number, part in enumerate(self._parts):
                mine = pa.array(parts == number)
                if pc.any(mine).as_py():
                    self._insert(part, in_order.filter(mine), sides.filter(mine) if sides is not None else None)
        if watermark is not None:
            for part in self._parts:
                part.advance(watermark - 1)

    def _number_rows(self, rows: pa.Table) -> pa.Table:
        """Rows, in order, with what tells those apart that are alike."""
        return with_copies(rows, same_key_as_before(rows))

    def _insert(self, part: Any, rows: pa.Table, sides: pa.Array | None) -> None:
        part.insert(rows, sides)

    def _expired(self, watermark: int | None) -> int:
        """The time up to which rows have left the window."""
        return expired_until(watermark, self._spec.join.window.duration)

    def _write_state(self, store: CellStore, after: CellState, sets: pa.Table | None, step: str) -> CellState:
        """A state, with the chunks that it names: those that the state of now names and the rows of a batch."""
        return replace(after, chunks=self._write_chunks(store, self.state.chunks, step, sets, self._expired(after.watermark)))

    def _write_chunks(
        self, store: CellStore, before: tuple[Chunk, ...], step: str, rows: pa.Table | None, expired: int
    ) -> tuple[Chunk, ...]:
        """Write rows beside those of other chunks, and delete the chunks that nobody needs any more."""
        if rows is None:
            chunks = tuple(chunk for chunk in before if chunk.latest > expired)
        else:
            chunks = add_rows(store, before, step, rows, expired)
        for name in {chunk.name for chunk in before} - {chunk.name for chunk in chunks}:
            store.delete(name)
        return chunks

    @contextmanager
    def _readable_chunks(self) -> Iterator[None]:
        """Say whose chunk it is that cannot be read."""
        try:
            yield
        except Damaged as error:
            raise InvalidFile(
                f"the state of cell {self._number} is damaged: chunk {error.name}: {error.why}. Restore the checkpoint from a "
                "copy, or begin with a new one"
            ) from error

    def _take_events(self) -> pa.Table:
        """The changes since the last call, with everything that the merge of the cells must know about them."""
        found = [events for part in self._parts if (events := part.take_events()) is not None]
        return concatenated(found) if found else pa.table({})


def with_copies(rows: pa.Table, is_same: np.ndarray) -> pa.Table:
    """Rows, in order, with a number that tells those apart of which each is the same as the one before.

    They are in one group, so whoever has one of them has them all, and gives them the same numbers.
    """
    places = np.arange(rows.num_rows)
    first = np.maximum.accumulate(np.where(is_same, 0, places))
    return rows.append_column("copy", pa.array(places - first))
