"""A live stream inside somebody else's stateful operator, who brings its rows, keeps its state and takes its results further.

The stream keeps nothing itself: before a step it is in memory or made from its state, and after it the state is in the store
again, the rows of the window in chunks and all else in a text that names them. That text has a version that no other has, so a
stream in memory can be told from one that was kept from an attempt that did not count.

Results are rows of one table: changes, late rows and rejected rows, which ``kind`` tells apart. Times in it are ticks.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from swoop.engine.layout import SEEN
from swoop.errors import InvalidFile
from swoop.live.ahead import rejected_rows
from swoop.live.cell import CellStore
from swoop.live.checkpoint import Counters, State
from swoop.live.chunks import Chunk, Damaged, add_rows, read_chunks, seal, sealed, unseal
from swoop.live.engines import StepResult
from swoop.live.one_family_engine import OneFamilyEngine
from swoop.live.parameters import check_same
from swoop.live.ranked_engine import RankedEngine
from swoop.live.row_order import sort_rejected, sort_rows
from swoop.live.stream_spec import StreamSpec
from swoop.spec import FamilySpec, JoinSpec

Read = TypeVar("Read")

FORMAT = 1
"""Of the state: raised with any change of its fields or of those of :class:`State`. States without a format are of format 1."""

LATE, REJECTED = "late", "rejected"  # kinds, beside those of changes
LATE_REASON = "the time is before the watermark"


@dataclass(frozen=True)
class EmbeddedState:
    """What is kept of a stream besides its chunks: ``state`` is a :class:`State` in JSON, and so are the ``parameters``.

    ``run`` is what the stream calls itself, as long as it lives.
    """

    version: str
    run: str
    parameters: str
    state: str
    format: int = 1


class EmbeddedStream:
    """A stream with one engine, as of some state; it goes from step to step."""

    def __init__(self, spec: StreamSpec, store: CellStore) -> None:
        self._spec = spec
        self.kept = read_state(store, spec)
        self._state = State(-1, spec.k) if self.kept is None else _intact(partial(unseal, self.kept.state, State))
        self._window = _Window(store)
        kind = OneFamilyEngine if isinstance(spec.join, FamilySpec) else RankedEngine
        self._engine: Any = kind(spec, self._window)
        self._engine.restore(self._state, spec.k)

    def step(self, rows: pa.Table, store: CellStore) -> pa.Table:
        """Take the rows of a batch, in any order; see :data:`swoop.live.single_engine.COLUMNS`. Gives the results."""
        before, self._window.store = self._state, store
        result = self._engine.process_batch(before, before.batch + 1, rows)
        counters = replace(result.state.counters, changes=before.counters.changes + len(result.changes))
        self._state = replace(result.state, counters=counters)
        for name in (before.names | self._window.written) - self._state.names:
            store.delete(name)
        self._window.written = set()
        run = uuid.uuid4().hex if self.kept is None else self.kept.run
        self.kept = EmbeddedState(uuid.uuid4().hex, run, json.dumps(_lasting(self._spec)), seal(self._state), FORMAT)
        store.write_state(seal(self.kept))
        return results(self._spec, before.counters, result)

    def is_for(self, spec: StreamSpec) -> bool:
        """Whether what may change from run to run is what it is here."""
        return (spec.lateness, spec.max_ahead) == (self._spec.lateness, self._spec.max_ahead)

    @property
    def memory_bytes(self) -> int:
        """Of the engine."""
        return int(self._engine.join._engine.memory_bytes)


def read_state(store: CellStore, spec: StreamSpec) -> EmbeddedState | None:
    """What is kept of a stream; None if it begins. Refuses to go on with other parameters."""
    text = store.state()
    if text is None:
        return None
    version = _intact(lambda: int(sealed(text).get("format", 1)))
    if version > FORMAT:
        raise InvalidFile(
            f"the state of a stream has format version {version}, made by a newer release; this one reads versions up to "
            f"{FORMAT}. Upgrade Swoop"
        )
    kept = _intact(partial(unseal, text, EmbeddedState))
    check_same("the checkpoint", json.loads(kept.parameters), _lasting(spec))
    return kept


def _lasting(spec: StreamSpec) -> dict[str, Any]:
    """The parameters that every run must share. Only ``lateness`` and ``max_ahead`` may change."""
    return {**spec.lasting(), **({"k": spec.k} if spec.k is not None else {}), **({"by": list(spec.by)} if spec.by else {})}


def _intact(read: Callable[[], Read]) -> Read:
    """What is read of a state."""
    try:
        return read()
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged("its state", error) from error


def _damaged(name: str, why: object) -> InvalidFile:
    return InvalidFile(
        f"the state of a stream is damaged: {name}: {why}. Restore the checkpoint from a copy, or begin with a new one"
    )


class _Window:
    """The rows of a window in the store of now."""

    def __init__(self, store: CellStore) -> None:
        self.store = store
        self.written: set[str] = set()

    def read(self, chunks: Sequence[Chunk], needed: Sequence[str] = ("time",)) -> Iterator[pa.Table]:
        try:
            yield from read_chunks(self.store, chunks, needed)
        except Damaged as error:
            raise _damaged(f"chunk {error.name}", error.why) from error

    def add(self, state: State, rows: pa.Table, expired: int) -> State:
        return replace(state, chunks=self._add_rows(state, state.chunks, rows, expired))

    def add_origins(self, state: State, rows: pa.Table, expired: int) -> State:
        return replace(state, origins=self._add_rows(state, state.origins, rows, expired))

    def _add_rows(self, state: State, chunks: tuple[Chunk, ...], rows: pa.Table, expired: int) -> tuple[Chunk, ...]:
        try:
            found = add_rows(self.store, chunks, f"{state.step}-{uuid.uuid4().hex[:12]}", rows, expired)
        except Damaged as error:
            raise _damaged(f"chunk {error.name}", error.why) from error
        self.written |= {chunk.name for chunk in found}
        return found

    def damaged(self, name: str, why: object) -> InvalidFile:
        return _damaged(name, why)


# results


def results(spec: StreamSpec, counted: Counters, result: StepResult) -> pa.Table:
    """What a step gives, with the columns of :func:`result_columns`. Changes, late rows and rejected rows are numbered,
    each of the three from the beginning of the stream on.
    """
    late = spec.shown(sort_rows(result.late)) if result.late.num_rows else None
    changes = result.changes.to_arrow() if len(result.changes) else None
    rejected = sort_rejected(result.rejected) if result.rejected.num_rows else None
    tables = []
    if changes is not None:
        tables.append(_with_sequence(changes, counted.changes))
    if late is not None:
        tables.append(_with_sequence(_not_entered(LATE, rejected_rows(late, LATE_REASON), late["time"]), counted.late))
    if rejected is not None:
        tables.append(_with_sequence(_not_entered(REJECTED, rejected), counted.rejected))
    keep = [name for name, _ in spec.keep]
    names, kept = result_columns(spec.join, keep), kept_columns(spec.join, keep)
    if not tables:
        return pa.table({name: pa.nulls(0) for name in names})
    found = pa.concat_tables([table.cast(_in_ticks(table.schema, kept)) for table in tables], promote_options="permissive")
    missing = {name: pa.nulls(found.num_rows) for name in names if name not in found.column_names}
    return pa.table({name: missing[name] if name in missing else found[name] for name in names})


def kept_columns(join: JoinSpec | FamilySpec, keep: Sequence[str]) -> list[str]:
    """What results call kept columns."""
    sides = ("newer", "older") if isinstance(join, JoinSpec) else ("representative",)
    return [f"{side}_{name}" for side in sides for name in keep]


def result_columns(join: JoinSpec | FamilySpec, keep: Sequence[str] = ()) -> list[str]:
    """The names of the columns of results, in order."""
    if isinstance(join, JoinSpec):
        found = ["rank", "similarity", "newer", "older", "overlap", "start", "end"]
        found += (SEEN.names or ()) if join.copies == "once" else ()
    else:
        found = ["family", "into", "size", "total", "first_seen", "representative"]
    return ["sequence", "time", "kind", *found, *kept_columns(join, keep), "reason", "row"]


def _not_entered(kind: str, rows: pa.Table, times: Any = None) -> pa.Table:
    """Rows that do not enter, as results."""
    kinds = pa.array([kind] * rows.num_rows, pa.string())
    table = rows.select(["reason", "row"]).append_column("kind", kinds)
    return table if times is None else table.append_column("time", times)


def _with_sequence(rows: pa.Table, first: int) -> pa.Table:
    return rows.append_column("sequence", pa.array(np.arange(first, first + rows.num_rows)))


def _in_ticks(schema: pa.Schema, kept: Sequence[str]) -> pa.Schema:
    is_time = [pa.types.is_timestamp(field.type) and field.name not in kept for field in schema]
    return pa.schema([field.with_type(pa.int64()) if time else field for field, time in zip(schema, is_time, strict=True)])
