"""The rows of a history, in the order in which they enter: columns of Arrow, which are not copied where they are in order."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidData, UnusableRows
from swoop.join.columns import as_array, check_lengths, read_whole_ids, take_rows
from swoop.join.inputs import read_columns
from swoop.join.kept import as_kept
from swoop.join.keys import as_key, split
from swoop.join.row_order import find_order, order_key
from swoop.join.unusable import time_kind, why_unusable
from swoop.readable import values_of
from swoop.text.columns import join_texts
from swoop.text.functions import TokenFunction
from swoop.times import TimeKind, WindowSpec

BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
"""What a thread takes out of the history at a time, at most."""

CHUNK_ROWS = 1000
"""Smaller chunks, on average, are put together: what is done for each would take longer than that."""


def read_rows(
    data: Any,
    window: WindowSpec,
    *,
    id: str,
    time: str,
    tokens: str | TokenFunction,
    stream: str | None = None,
    keep: Sequence[str] = (),
    by: Sequence[str] = (),
) -> tuple[Rows, TimeKind]:
    """The usable rows of a history, and of which kind its times are. Tells how many are not usable, if there are some."""
    texts = tokens.columns if isinstance(tokens, TokenFunction) else (tokens,)
    named = [("id", id), ("time", time), *(("tokens", name) for name in texts), *([("stream", stream)] if stream else [])]
    named += [*(("keep", name) for name in keep), *(("by", name) for name in by)]
    columns = {name: _in_few_chunks(column, name) for name, column in read_columns(data, named).items()}
    kind = time_kind(columns[time].type, time, window if window.kind in ("duration", "integer") else None)
    ids = read_whole_ids(columns[id], id)
    reasons = why_unusable(columns, id=id, time=time, tokens=tokens, stream=stream)
    _warn(reasons)
    usable = None if reasons.null_count == len(reasons) else np.flatnonzero(pc.is_null(reasons).to_numpy(zero_copy_only=False))
    sets = _Sets([columns[name] for name in texts], tokens, columns[stream] if stream else None)
    kept = {name: as_kept(columns[name], name) for name in keep}
    keys = {name: as_key(columns[name], name) for name in by}
    check_lengths({name: len(column) for name, column in {id: columns[id], **kept, **keys}.items()})
    return replace(Rows.in_order(_ticks(columns[time], time, usable), ids, sets, usable, kept), keys=keys), kind


def _in_few_chunks(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    is_whole = column.num_chunks < 2 or len(column) >= CHUNK_ROWS * column.num_chunks
    return column if is_whole else pa.chunked_array([as_array(column, name, name)])


def _warn(reasons: pa.Array) -> None:
    if count := len(reasons) - reasons.null_count:
        counts = Counter({each["values"]: each["counts"] for each in reasons.drop_null().value_counts().to_pylist()})
        details = ", ".join(f"{reason} ({number})" for reason, number in counts.most_common())
        warnings.warn(UnusableRows(count, f"reasons: {details}"), stacklevel=4)


def _ticks(times: pa.ChunkedArray, name: str, usable: np.ndarray | None) -> np.ndarray:
    """The times of usable rows."""
    if usable is not None:
        times = times.take(pa.array(usable))
    if pa.types.is_timestamp(times.type):
        try:
            times = times.cast(pa.timestamp("us", times.type.tz))
        except pa.ArrowInvalid as error:
            raise InvalidData(
                f"column {name!r} has times that are finer than a microsecond: {error}; round them first"
            ) from error
    return np.asarray(times.cast(pa.int64()).to_numpy())


class _Sets:
    """Tokens, or the texts that are to become tokens, and streams, as they lie in a history."""

    def __init__(self, sets: list[pa.ChunkedArray], tokens: str | TokenFunction, streams: pa.ChunkedArray | None) -> None:
        names = [f"text {number}" for number in range(len(sets))] if isinstance(tokens, TokenFunction) else ["tokens"]
        self._columns = dict(zip(names, sets, strict=True))
        self.tokens = replace(tokens, columns=tuple(names)) if isinstance(tokens, TokenFunction) else "tokens"
        if streams is not None:
            self._columns["stream"] = streams

    def slice(self, first: int, stop: int) -> dict[str, Any]:
        """Rows that follow each other, by column. Nothing is copied."""
        return {name: column[first:stop] for name, column in self._columns.items()}

    def take(self, places: np.ndarray) -> dict[str, Any]:
        """Rows at some places, by column."""
        return {name: take_rows(column, places) for name, column in self._columns.items()}

    def keys(self, places: np.ndarray) -> list[Any]:
        """What rows at some places are ordered by: tokens or text, and stream."""
        found = self.take(places)
        if isinstance(self.tokens, TokenFunction):
            sets = join_texts([as_array(found[name], name, name) for name in self.tokens.columns])
        else:
            sets = found[self.tokens]
        return list(zip(*(column.to_pylist() for column in (sets, found.get("stream")) if column is not None), strict=True))

    def batch_rows(self, rows: int) -> int:
        """How many rows may be taken out at a time."""
        size: int = sum(column.nbytes for column in self._columns.values())
        return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(1, size)))


@dataclass(frozen=True)
class Rows:
    """The usable rows of a history in the order in which they enter: the n-th has ``times[n]``, and lies at ``order[n]``.

    ``order`` is None if the rows lie in their order. ``kept`` has columns that results show, ``keys`` those that make keys.
    """

    times: np.ndarray
    ids: pa.Array
    sets: _Sets
    order: np.ndarray | None
    kept: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    keys: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)

    @classmethod
    def in_order(
        cls,
        times: np.ndarray,
        ids: pa.Array,
        sets: _Sets,
        usable: np.ndarray | None,
        kept: Mapping[str, pa.ChunkedArray],
    ) -> Rows:
        """Those at the places ``usable`` (None: all), which have these times."""

        def rest(places: np.ndarray) -> list[Any]:
            lying = places if usable is None else usable[places]
            records = zip(*(map(order_key, values_of(take_rows(column, lying))) for column in kept.values()), strict=True)
            return list(zip(sets.keys(lying), records if kept else repeat((), len(lying)), strict=True))

        order = find_order(times, ids if usable is None else ids.take(pa.array(usable)), rest)
        places = order if usable is None else usable if order is None else usable[order]
        return cls(times if order is None else times[order], ids, sets, places, kept)

    def batches(self, first: int, stop: int, is_stopped: threading.Event) -> Iterator[dict[str, Any]]:
        """Some rows, batch by batch."""
        step = self.sets.batch_rows(len(self.times))
        for at in range(first, stop, step):
            if is_stopped.is_set():
                return
            end = min(at + step, stop)
            found = self.sets.slice(at, end) if self.order is None else self.sets.take(self.order[at:end])
            yield {"time": self.times[at:end], **found}

    def by_key(self) -> tuple[pa.Table, list[np.ndarray]]:
        """The different keys, in order, and the rows of each."""
        return split(self.keys, self.lying_at(np.arange(len(self.times))))

    def part(self, arrivals: np.ndarray) -> Rows:
        """Some rows, in the same order, as if there were no others."""
        return replace(self, times=self.times[arrivals], order=self.lying_at(arrivals))

    def records(self, arrivals: np.ndarray) -> pa.Table:
        """What is kept of some rows."""
        places = self.lying_at(arrivals)
        return pa.table({name: take_rows(column, places) for name, column in self.kept.items()})

    def lying_at(self, arrivals: np.ndarray) -> np.ndarray:
        return arrivals if self.order is None else self.order[arrivals]
