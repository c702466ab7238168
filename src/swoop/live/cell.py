"""One cell of a grid: its engine, its rows, its state, and what it reports.

A cell lives in the memory of a worker. After each batch it has written to its store all that another worker needs to go on in
its place: the rows of its window in chunks, and a state that names them. The state has a version that nothing else has, so a
cell in memory can be told from one that a worker kept from an attempt that did not count.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop import errors
from swoop.errors import InvalidFile, SwoopError
from swoop.join.payloads import TablePayloads
from swoop.join.topk_join import TopKJoin
from swoop.live.ahead import believe, rejected_rows, split_ahead
from swoop.live.chunks import SETS, Chunk, Damaged, Store, add_rows, read_chunks, seal, unseal
from swoop.live.grid import Grid
from swoop.live.pieces import concatenated, drained, in_pieces
from swoop.live.row_order import same_key_as_before, sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.live.watermark import advance_watermark, expired_until, split_all_at_watermark, split_at_watermark
from swoop.text.functions import TokenFunction

SET = ("time", "id", "copy", "stream", "text")  # who a set is, and what results say about it
TIEBREAK = ("id", "copy")  # what tells sets of the same time apart, and orders them
COLUMNS = (*SETS, "group")  # that the rows of a cell have at least
SHARES = ("shared", "only_newer", "only_older")


class CellStore(Store, Protocol):
    """Where a cell keeps its chunks and its state."""

    def delete(self, name: str) -> None: ...

    def state(self) -> str | None: ...

    def write_state(self, state: str) -> None: ...


@dataclass(frozen=True)
class CellState:
    """What a cell knows besides its rows. Times are ticks."""

    version: str = ""
    batches: int = 0
    highest: int | None = None
    watermark: int | None = None
    chunks: tuple[Chunk, ...] = ()
    ahead: int = 0

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
    """What a cell reports after a batch: changes of its top-k, rows that were late or too far ahead, and figures."""

    events: pa.Table
    late: pa.Table
    rejected: pa.Table
    figures: dict[str, Any]


def error_to_json(error: SwoopError) -> bytes:
    """An error of a cell, for the driver to raise: what goes through Spark as an exception arrives as text only."""
    return json.dumps({"error": type(error).__name__, "message": str(error)}).encode()


def error_from_json(data: bytes) -> SwoopError:
    """The error that :func:`error_to_json` has written."""
    found = json.loads(data)
    kind: type[SwoopError] = getattr(errors, found["error"], SwoopError)
    return kind.__new__(kind, found["message"])  # its message is complete


class _Part:
    """A join of a cell, and who its sets are, by arrival number."""

    def __init__(self, spec: StreamSpec, two_sides: bool) -> None:
        self.join = TopKJoin.from_spec(replace(spec.join.in_ticks(), two_streams=two_sides, track_changes=True))
        self.sets = TablePayloads()
        self._tokens = spec.tokens

    def insert(self, rows: pa.Table, sides: pa.Array | None) -> None:
        known = [name for name in SET if name in rows.column_names]
        self.sets.add(self.join.stats.sets, rows.select(known))
        given_type = rows.schema.field("tokens").type
        self.token_lists = pa.list_(pa.string()) if isinstance(self._tokens, TokenFunction) else given_type
        given = rows.select(["tokens", "time"])
        if sides is not None:
            given = given.append_column("side", sides)
        self.join.insert_many(given, self._tokens, stream="side" if sides is not None else None)

    def forget(self) -> None:
        """Sets that left the window are not asked for any more."""
        figures = self.join.stats
        self.sets.forget(figures.sets - figures.window_size)


class Cell:
    """A cell in memory, as of some state; it goes from batch to batch."""

    def __init__(self, spec: StreamSpec, grid: Grid, number: int, state: CellState, store: Store) -> None:
        self._spec, self._grid, self._number = spec, grid, number
        two_sides = spec.join.two_streams or not grid.is_home(number)
        self._parts = [_Part(spec, two_sides) for _ in range(grid.parts(number, spec.join.two_streams))]
        self._held: pa.Table | None = None
        self.state = state
        with self._readable_chunks():
            entered, self._held = split_all_at_watermark(read_chunks(store, state.chunks, COLUMNS), state.watermark)
        if self._held is not None:
            self._insert_sorted(entered, state.watermark)
            self._take_events()

    def step(self, sets: pa.Table | None, spans: np.ndarray, store: CellStore, ended: int | None = None) -> Report:
        """Take the rows of a batch. ``spans`` are the times of all rows of the batch, whichever cells they are for.

        ``ended`` is the watermark at the end of an earlier run: what waited then has entered, and its changes are known.
        """
        if ended is not None and (self.state.watermark is None or self.state.watermark < ended):
            self._advance_watermark(None, ended)
            self._take_events()
            self.state = replace(self.state, watermark=ended)
        before = self.state
        believed, ahead = believe(spans, before.highest, before.ahead, self._spec.max_ahead)
        late = beyond = None
        if sets is not None:
            sets, beyond = split_ahead(sets, believed)
            late, sets = split_at_watermark(sets, before.watermark)
        highest, watermark = before.highest, before.watermark
        if watermark is None or (believed is not None and believed >= watermark):
            highest, watermark = advance_watermark(highest, watermark, believed, self._spec.lateness)
        entered = self._advance_watermark(sets, watermark)
        events = self._take_events()
        version = uuid.uuid4().hex
        chunks = self._write_chunks(store, sets, watermark, f"{before.batches:09}-{version[:8]}")
        self.state = CellState(version, before.batches + 1, highest, watermark, chunks, ahead)
        store.write_state(self.state.to_json())
        is_home = self._grid.is_home(self._number)
        figures = {
            "cell": self._number,
            "watermark": watermark,
            "highest": highest,
            "sets": entered if is_home else 0,
            **self._figures(),
        }
        late, beyond = (self._reported(rows) for rows in (late, beyond))
        rejected = rejected_rows(self._spec.shown(sort_rows(beyond))) if beyond.num_rows else beyond
        return Report(events, late, rejected, figures)

    def _reported(self, rows: pa.Table | None) -> pa.Table:
        """Rows of the batch that do not enter, as one of the cells that have them reports them."""
        if rows is None or not self._grid.is_home(self._number):
            return pa.table({})
        return rows.drop_columns("group")

    def finish(self) -> Report:
        """The stream has ended: let the rows enter that are held."""
        if self.state.highest is not None:
            self._advance_watermark(None, self.state.highest + 1)
        return Report(self._take_events(), pa.table({}), pa.table({}), self._figures())

    def _figures(self) -> dict[str, int]:
        """Sizes. Those of the window are reported by one of the cells of each set."""
        joins = [part.join.stats for part in self._parts]
        is_home = self._grid.is_home(self._number)
        return {
            "held": self._held.num_rows if is_home and self._held is not None else 0,
            "window_size": sum(join.window_size for join in joins) if is_home else 0,
            "stock_size": sum(join.stock_size for join in joins),
            "vocabulary_size": sum(join.vocabulary_size for join in joins),
            "memory_bytes": sum(join.memory_bytes for join in joins),
        }

    def _advance_watermark(self, sets: pa.Table | None, watermark: int | None) -> int:
        """Let rows enter up to the watermark and hold the others back. How many have entered."""
        entered, self._held = split_all_at_watermark([part for part in (self._held, sets) if part is not None], watermark)
        count = int(sum(part.num_rows for part in entered))
        self._insert_sorted(entered, watermark)
        return count

    def _insert_sorted(self, rows: list[pa.Table], watermark: int | None) -> None:
        """Let sets arrive in order, and time move on to just before the watermark. Takes the rows away."""
        for piece in in_pieces(drained(rows)):
            in_order = _with_copies(sort_rows(piece))
            parts, sides = self._grid.roles(self._number, in_order, self._spec.join.two_streams)
            for number, part in enumerate(self._parts):
                mine = pa.array(parts == number)
                if pc.any(mine).as_py():
                    part.insert(in_order.filter(mine), sides.filter(mine) if sides is not None else None)
        for part in self._parts:
            if watermark is not None and part.join.stats.sets:
                part.join.advance(watermark - 1)

    def _write_chunks(self, store: CellStore, sets: pa.Table | None, watermark: int | None, step: str) -> tuple[Chunk, ...]:
        """Write the rows of a batch, and delete the chunks that nobody needs any more."""
        before = self.state.chunks
        expired = expired_until(watermark, self._spec.join.window.duration)
        if sets is None:
            chunks = tuple(chunk for chunk in before if chunk.latest > expired)
        else:
            with self._readable_chunks():
                chunks = add_rows(store, before, step, sets, expired)
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
        found = [events for part in self._parts if (events := _events(part)) is not None]
        for part in self._parts:
            part.forget()
        return concatenated(found) if found else pa.table({})


def _with_copies(rows: pa.Table) -> pa.Table:
    """Rows, in order, with a number that tells those apart that are the same in time and id.

    Sets of one id are in one group, so whoever has one of them has them all, and gives them the same numbers.
    """
    places = np.arange(rows.num_rows)
    first = np.maximum.accumulate(np.where(same_key_as_before(rows), 0, places))
    return rows.append_column("copy", pa.array(places - first))


def _events(part: _Part) -> pa.Table | None:
    """The changes of a join: who the pair is, and which step they belong to.

    A step is an arrival or a moment at which pairs expire. What enters with the time of its newer set is due to that arrival;
    what is outranked, to the arrival of what enters after it.
    """
    changes = part.join.changes().to_arrow()
    if not changes.num_rows:
        return None
    kind, time = changes["kind"].to_numpy(zero_copy_only=False), changes["time"].to_numpy()
    newer, older = (part.sets.take(changes[name].to_numpy()) for name in ("newer", "older"))
    arrives = (kind == "enter") & (newer["time"].to_numpy() == time)
    by = np.where(arrives, changes["newer"].to_numpy(), -1)
    after = np.minimum.accumulate(np.where(arrives, np.arange(len(by)), len(by))[::-1])[::-1]  # the next arrival's place
    outranked = kind == "outranked"
    by[outranked] = by[after[outranked]]
    steps = part.sets.take(np.maximum(by, part.sets.first))
    is_arrival = pa.array(by >= 0)
    shares = _shares(part, changes)
    return pa.table(
        {
            "time": changes["time"],
            "kind": changes["kind"],
            "similarity": changes["similarity"],
            "overlap": changes["overlap"],
            "arrival": is_arrival,
            **{f"by_{name}": pc.if_else(is_arrival, steps[name], pa.scalar(None, steps[name].type)) for name in TIEBREAK},
            **{f"newer_{name}": newer[name] for name in newer.column_names},
            **{f"older_{name}": older[name] for name in older.column_names},
            **shares,
        }
    )


def _shares(part: _Part, changes: pa.Table) -> dict[str, pa.Array]:
    """What both sets of a pair share and what only one has, for pairs that are in the top-k now."""
    pairs = zip(*(changes[name].to_pylist() for name in ("newer", "older", "kind")), strict=True)
    entered = {(newer, older): number for number, (newer, older, kind) in enumerate(pairs) if kind == "enter"}
    rows: list[Any] = [(None, None, None)] * changes.num_rows
    for pair in part.join.topk():
        if pair.arrivals in entered:
            found = part.join.explain(pair)
            rows[entered[pair.arrivals]] = [sorted(found.shared), sorted(found.only_newer), sorted(found.only_older)]
    columns = zip(*rows, strict=True)
    return {name: pa.array(column, part.token_lists) for name, column in zip(SHARES, columns, strict=True)}
