"""How sets arrive: everything is checked first, and ids, clock and feed follow what the engine did, whatever interrupts it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swoop.errors import CapacityExceeded, InvalidType
from swoop.join.ids import Ids, read_id
from swoop.join.sets import flatten, read_set, single_kind
from swoop.results import Id
from swoop.text.blocks import Block
from swoop.text.functions import TokenFunction
from swoop.times import Clock, Time, TimeKind, WindowSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from swoop.engine.contents import Names
    from swoop.join.kept import KeptColumns

NO_SIDES = np.empty(0, np.int8)
NOTHING: Mapping[str, str] = MappingProxyType({})

Insert = Callable[..., None]
"""Lets sets arrive: their times, offsets, tokens and sides, as :meth:`swoop.engine.engine.Engine.insert` takes them."""

ReadSides = Callable[[Any, dict[str, int]], np.ndarray]
"""Reads the sides of the rows of a batch, of which the columns are given, and notes how many there are by column."""


def names_to_keep(keep: str | Sequence[str]) -> Mapping[str, str]:
    """The columns that a caller wants to be kept, by the names they are kept by: the same ones."""
    if not keep:
        return NOTHING
    from swoop.join.kept import check_keep

    return {name: name for name in check_keep(keep)}


class _Begun(NamedTuple):
    """Arrivals that were begun: their times; how many sets had arrived, what the index time was, and what was kept before."""

    kind: TimeKind
    ticks: Sequence[int] | np.ndarray
    arrivals: int
    now: int
    kept: KeptColumns | None


class Records(NamedTuple):
    """Where copies count once, of the record of each set of a batch: its name, where it has one, and room for its identity."""

    names: Names | None
    found: np.ndarray

    def of(self, rows: slice) -> tuple[Names | None, np.ndarray]:
        """The same of some sets, as the engine takes it."""
        return None if self.names is None else self.names.of(rows), self.found[rows]


class Arrivals:
    """Sets that arrive at an engine, with their times and ids. Threads may share it: each call is done as a whole."""

    def __init__(self, window: WindowSpec, engine: Any) -> None:
        self._clock = Clock(window)
        self._ids = Ids()
        self._kept: KeptColumns | None = None  # columns that are kept of sets, if any ever were
        self._engine = engine
        self._lock = threading.RLock()  # kernels run without Python's global lock
        self._begun: _Begun | None = None
        self._replay: Insert | None = None  # lets sets arrive that have arrived before, in a run that is resumed

    def __reduce__(self) -> Any:
        raise InvalidType("a join cannot be copied or pickled; use save and load")

    @property
    def window(self) -> WindowSpec:
        """The sliding window."""
        return self._clock.window

    # what is made of them

    def _take_changes(self) -> None:
        """Take the changes from the engine, if there is a feed."""
        raise NotImplementedError

    def _named(self) -> Callable[[], np.ndarray] | None:
        """What gives the arrival numbers of sets whose ids are needed though they may have left the window; None: none are."""
        raise NotImplementedError

    def _shown_when_left(self) -> Callable[[], np.ndarray] | None:
        """The same of sets of which kept columns are shown."""
        return self._named()

    # arrivals

    def _insert(
        self,
        tokens: Iterable[Any],
        time: Time | None,
        id: Id | None,
        side: int,
        sides: np.ndarray,
        record: Mapping[str, Any] | None,
    ) -> None:
        """Let one set arrive. ``sides``: the same for the engine, empty in a self join."""
        found = read_set(tokens)
        name = read_id(id)
        engine = self._engine
        with self._lock:
            self._finish()
            kind, ticks = self._clock.read(time)
            row = None if record is None else self._read_record(record)
            try:
                self._begin(kind, (ticks,), None if name is None else [name], row)
                tick = ticks if kind != "none" and self.window.kind != "count" else engine.arrivals
                single = single_kind(found)
                if single is not None:
                    engine.insert_one(tick, side, single[1], single[0])
                else:
                    offsets, column = flatten([found])
                    engine.insert(np.array([tick], np.int64), offsets, column, sides)
            finally:
                self._finish()

    def _read_record(self, record: Mapping[str, Any]) -> pa.Table | dict[str, Any] | None:
        from swoop.join.kept import read_record

        if self._kept is not None and self._kept.are_plain(record):
            return dict(record)
        row = read_record(record, None if self._kept is None else self._kept.schema)
        if not row.num_columns:
            return None
        self._check_kept(row)
        return row

    def _check_kept(self, rows: pa.Table) -> None:
        """Refuse columns that do not go with those that are kept already."""
        if self._kept is not None:
            self._kept.check(rows)

    def _begin(
        self,
        kind: TimeKind,
        ticks: Sequence[int] | np.ndarray,
        ids: Sequence[Id | None] | None,
        kept: pa.Table | dict[str, Any] | None = None,
    ) -> None:
        """Note that sets with these times are to arrive, and take their ids and what is to be kept of them."""
        engine = self._engine
        arrivals = engine.arrivals
        self._begun = _Begun(kind, ticks, arrivals, engine.now, self._kept)
        self._ids.add(arrivals, engine.oldest, ids, len(ticks))
        if kept is not None and not isinstance(kept, dict):
            from swoop.join.kept import KeptColumns

            self._kept = (self._kept or KeptColumns(kept.schema)).widened(kept.schema)
            self._kept.add(arrivals, kept, len(ticks))
        elif self._kept is not None and len(ticks) == 1:
            self._kept.add_plain(arrivals, kept or {})
        elif self._kept is not None:
            self._kept.add(arrivals, None, len(ticks))

    def _finish(self) -> None:
        """Take note of what has happened since it was begun: what has arrived has arrived, whatever interrupted the rest.

        Interrupted at any line, it can be done again.
        """
        if self._begun is None:
            return
        engine = self._engine
        kind, ticks, before, then, kept = self._begun
        arrived = engine.arrivals - before
        if arrived < len(ticks):
            self._ids.cut(before + arrived)
            if not arrived:
                self._kept = kept  # without columns that only these sets have
            if self._kept is not None:
                self._kept.cut(before + arrived)
        if kind == "none" or self.window.kind == "count":
            if arrived:
                self._clock.advance(kind, int(ticks[arrived - 1]))
        elif arrived or engine.now != then:
            self._clock.advance(kind, engine.now)
        self._take_changes()
        self._ids.forget(engine.oldest, self._named())
        if self._kept is not None:
            self._kept.forget(engine.oldest, self._shown_when_left())
        self._begun = None

    def _insert_many(
        self,
        data: Any,
        tokens: str | TokenFunction,
        time: str | None,
        id: str | None,
        read_sides: ReadSides,
        keep: Mapping[str, str] = NOTHING,
        records: Records | None = None,
    ) -> None:
        """Let many sets arrive, in the order of the rows of a batch. ``keep``: columns, by the names they are kept by."""
        from swoop.join import columns as cs

        with self._lock:
            self._finish()
            columns = cs.read_table(data)
            sets, lengths = cs.read_sets(columns, tokens)
            size = next(iter(lengths.values()))
            ids: list[Any] | None = None
            if time is None:
                self._clock.check_kind("none", None)
                kind: Any = "none"
                ticks = np.zeros(size, np.int64)
            else:
                kind, ticks = cs.read_times(cs.find_column(columns, time, "time"), time, self._clock)
                lengths[time] = len(ticks)
            if id is not None:
                ids = cs.read_ids(cs.find_column(columns, id, "id"), id)
                lengths[id] = len(ids)
            sides = read_sides(columns, lengths)
            kept = self._read_kept(columns, keep, lengths) if keep else None
            if cs.check_lengths(lengths):
                self._insert_blocks(kind, ticks, sets, sides, ids, kept, records)

    def _read_kept(self, columns: Any, keep: Mapping[str, str], lengths: dict[str, int]) -> pa.Table:
        from swoop.join.kept import read_kept

        rows = read_kept(columns, keep, lengths)
        self._check_kept(rows)
        return rows

    def _insert_blocks(
        self,
        kind: Any,
        ticks: np.ndarray,
        sets: Iterable[Block],
        sides: np.ndarray,
        ids: list[Any] | None,
        kept: pa.Table | None,
        records: Records | None,
    ) -> None:
        """Let sets arrive, of which the tokens come in blocks of rows."""
        before = self._engine.arrivals
        try:
            self._begin(kind, ticks, ids, kept)
            untimed = kind == "none" or self.window.kind == "count"
            times = np.arange(before, before + len(ticks)) if untimed else ticks
            insert = self._replay or self._engine.insert
            for first, rows, offsets, tokens in sets:
                rows_of = slice(first, first + rows)
                of_records = () if records is None else records.of(rows_of)
                insert(times[rows_of], offsets, tokens, sides[rows_of] if len(sides) else sides, *of_records)
        except CapacityExceeded as error:
            error.arrived = self._engine.arrivals - before
            error.args = (f"row {error.arrived}: {error}. The rows before it have arrived, it and those behind it have not",)
            raise
        finally:
            self._finish()

    def advance(self, time: Time) -> None:
        """Advance the time without an arrival: what has ended by then is gone.

        A window of the last n sets does not move with time, so there only the time is checked.
        """
        with self._lock:
            self._finish()
            kind, ticks = self._clock.read(time)
            if kind == "none":
                raise InvalidType("advance needs a time, not None")
            if self.window.kind == "count":
                self._clock.advance(kind, ticks)
                return
            try:
                self._begin(kind, (), None)
                self._engine.advance(ticks)
                self._clock.advance(kind, ticks)
            finally:
                self._finish()
