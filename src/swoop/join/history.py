"""The top-k of a whole history in one process: slices of time on several threads, without Spark, with the same result."""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidData, InvalidType, UnusableRows
from swoop.join.columns import as_array, check_token_argument, read_whole_ids, take_rows
from swoop.join.feed import time_column
from swoop.join.inputs import read_columns
from swoop.join.row_order import find_order
from swoop.join.slices import NEVER, SEGMENT, Extent, join_segments, replay, similarities, steps_of
from swoop.join.unusable import time_kind, why_unusable
from swoop.results import History, Kind, Pair, Stream
from swoop.similarity import Similarity
from swoop.spec import Copies, JoinSpec
from swoop.stays import Stay
from swoop.text.columns import join_texts
from swoop.text.functions import TokenFunction
from swoop.times import Clock, TimeKind, WindowSpec, find_window

BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
"""What a thread takes out of the history at a time, at most."""

CHUNK_ROWS = 1000
"""Smaller chunks, on average, are put together: what is done for each would take longer than that."""


def history(
    data: Any,
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    stream: str | None = None,
    min_similarity: float | None = None,
    max_pairs: int | None = None,
    slices: int | None = None,
    threads: int | None = None,
    copies: Copies = "each",
) -> History:
    """Every stay of a pair in the top-k of a history, as :func:`swoop.spark.topk_history` gives it, without Spark.

    Parameters
    ----------
    data
        One row per set, in any order: an Arrow table or record batch, a pandas or Polars data frame, a dict of columns, a
        ``pyarrow.dataset.Dataset``, a ``RecordBatchReader``, or an iterator of batches. Only columns that are used are read.
        Sets with equal times enter in the order of their ids, those with equal ids in the order of their tokens or texts.
        Unusable rows are left out with a warning that counts them.
    k, window, similarity, min_similarity, max_pairs
        As for :class:`swoop.TopKJoin`. The window is a duration or an integer.
    id, time, tokens, stream
        Names of the columns. Tokens may also be made from columns of text, by :func:`swoop.words`, :func:`swoop.word_ngrams`
        or :func:`swoop.char_ngrams`. ``stream`` names a column with ``"left"`` and ``"right"``; then only pairs across the
        sides count.
    slices
        The number of slices that time is cut into; by default chosen from the data and the threads. The result does not depend
        on it.
    threads
        How many slices run at a time; by default as many as there are cores.
    copies
        As for :class:`swoop.TopKJoin`. Where copies count once, what a record is called depends on all that came before, so
        time is not cut: the history is one slice.

    Returns
    -------
    History
        One row per stay of positive duration, by ``enter``, then ``similarity`` descending, then ``newer`` and ``older`` in the
        order in which they arrived. The history ends at the time of its last row; pairs that are still in the top-k then have
        no ``leave``.

    Notes
    -----
    The rows are kept in memory. They are not copied, unless they come in many small batches: then once.

    Examples
    --------
    >>> import swoop
    >>> posts = {"id": ["a", "b", "c"], "time": [1, 4, 9], "text": ["Win a phone", "win a PHONE!", "Lovely morning"]}
    >>> for stay in swoop.history(posts, k=1, window=5, tokens=swoop.words("text")):
    ...     print(stay.pair.newer, stay.pair.older, stay.pair.similarity, stay.enter, stay.leave)
    b a 1.0 4 6
    """
    check_token_argument(tokens)
    spec = JoinSpec(
        k,
        _find_window(window),
        similarity,
        two_streams=stream is not None,
        min_similarity=min_similarity,
        track_changes=True,
        max_pairs=max_pairs,
        copies=copies,
    )
    _check_count("slices", slices)
    slices = 1 if copies == "once" else slices
    _check_count("threads", threads)
    rows, kind = read_rows(data, spec.window, id=id, time=time, tokens=tokens, stream=stream)
    segments = _replay_all(rows, spec, slices, threads or _cores())
    return _result(rows, segments if copies == "once" else join_segments(segments), spec, kind)


def read_rows(
    data: Any, window: WindowSpec, *, id: str, time: str, tokens: str | TokenFunction, stream: str | None = None
) -> tuple[Rows, TimeKind]:
    """The usable rows of a history, and of which kind its times are. Tells how many are not usable, if there are some."""
    texts = tokens.columns if isinstance(tokens, TokenFunction) else (tokens,)
    named = [("id", id), ("time", time), *(("tokens", name) for name in texts), *([("stream", stream)] if stream else [])]
    columns = {name: _in_few_chunks(column, name) for name, column in read_columns(data, named).items()}
    kind = time_kind(columns[time].type, time, window if window.kind in ("duration", "integer") else None)
    ids = read_whole_ids(columns[id], id)
    reasons = why_unusable(columns, id=id, time=time, tokens=tokens, stream=stream)
    _warn(reasons)
    usable = None if reasons.null_count == len(reasons) else np.flatnonzero(pc.is_null(reasons).to_numpy(zero_copy_only=False))
    sets = _Sets([columns[name] for name in texts], tokens, columns[stream] if stream else None)
    return Rows.in_order(_ticks(columns[time], time, usable), ids, sets, usable), kind


def _find_window(window: object) -> WindowSpec:
    found = find_window(window)
    if found.kind not in ("duration", "integer"):
        raise InvalidArgument(
            f"the window of a history must be a duration or an integer, not {window!r}; for other windows use swoop.TopKJoin"
        )
    return found


def _in_few_chunks(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    is_whole = column.num_chunks < 2 or len(column) >= CHUNK_ROWS * column.num_chunks
    return column if is_whole else pa.chunked_array([as_array(column, name, name)])


def _check_count(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(f"{name} must be an integer, not {value!r}")
    if value < 1:
        raise InvalidArgument(f"{name} must be at least 1, not {value}")


def _warn(reasons: pa.Array) -> None:
    if count := len(reasons) - reasons.null_count:
        counts = Counter({each["values"]: each["counts"] for each in reasons.drop_null().value_counts().to_pylist()})
        details = ", ".join(f"{reason} ({number})" for reason, number in counts.most_common())
        warnings.warn(UnusableRows(count, f"reasons: {details}"), stacklevel=4)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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

    ``order`` is None if the rows lie in their order.
    """

    times: np.ndarray
    ids: pa.Array
    sets: _Sets
    order: np.ndarray | None

    @classmethod
    def in_order(cls, times: np.ndarray, ids: pa.Array, sets: _Sets, usable: np.ndarray | None) -> Rows:
        """Those at the places ``usable`` (None: all), which have these times."""
        if usable is None:
            order = find_order(times, ids, sets.keys)
            places = order
        else:
            order = find_order(times, ids.take(pa.array(usable)), lambda found: sets.keys(usable[found]))
            places = usable if order is None else usable[order]
        return cls(times if order is None else times[order], ids, sets, places)

    def batches(self, first: int, stop: int, is_stopped: threading.Event) -> Iterator[dict[str, Any]]:
        """Some rows, batch by batch."""
        step = self.sets.batch_rows(len(self.times))
        for at in range(first, stop, step):
            if is_stopped.is_set():
                return
            end = min(at + step, stop)
            found = self.sets.slice(at, end) if self.order is None else self.sets.take(self.order[at:end])
            yield {"time": self.times[at:end], **found}

    def extent(self, slices: int | None) -> Extent:
        steps = steps_of(slices)
        places = np.arange(steps + 1) * (len(self.times) - 1) // steps
        return Extent(len(self.times), int(self.times[0]), int(self.times[-1]), self.times[places].tolist())

    def lying_at(self, arrivals: np.ndarray) -> np.ndarray:
        return arrivals if self.order is None else self.order[arrivals]


def _replay_all(rows: Rows, spec: JoinSpec, slices: int | None, threads: int) -> np.ndarray:
    """The segments of all slices."""
    if len(rows.times) == 0:
        return np.empty(0, SEGMENT)
    in_ticks, duration, is_stopped = spec.in_ticks(), spec.window.duration, threading.Event()
    cuts = rows.extent(slices).cuts(duration, slices or (1 if threads == 1 else None), threads)

    def run(start: int, stop: int) -> np.ndarray:
        first = int(np.searchsorted(rows.times, start - duration, side="right"))
        batches = rows.batches(first, int(np.searchsorted(rows.times, stop)), is_stopped)
        parts = [found for found, _ in replay(batches, in_ticks, rows.sets.tokens, start, stop, stop == cuts[-1])]
        segments = np.concatenate(parts)
        segments["newer"] += first
        segments["older"] += first
        return segments

    return np.concatenate(_on_threads(run, list(pairwise(cuts)), threads, is_stopped))


def _on_threads(
    run: Callable[[int, int], np.ndarray], slices: list[tuple[int, int]], threads: int, is_stopped: threading.Event
) -> list[np.ndarray]:
    if threads == 1 or len(slices) == 1:
        return [run(*bounds) for bounds in slices]
    pool = ThreadPoolExecutor(threads, "swoop-slice")
    try:
        return [found.result() for found in [pool.submit(run, *bounds) for bounds in slices]]
    finally:  # after an error, or Ctrl-C, the other slices end with their batch
        is_stopped.set()
        pool.shutdown(cancel_futures=True)


def _result(rows: Rows, stays: np.ndarray, spec: JoinSpec, kind: TimeKind) -> History:
    shown = similarities(stays["key"], spec.similarity)
    order = np.lexsort((stays["older"], stays["newer"], -shown, stays["enter"]))
    stays, shown = stays[order], shown[order]
    newer, older = (rows.ids.take(pa.array(rows.lying_at(stays[side]))) for side in ("newer", "older"))
    streams = _streams(rows, stays["newer"]) if spec.two_streams else None
    starts, ends = rows.times[stays["newer"]], stays["end"]
    is_open = stays["leave"] == NEVER
    clock = Clock(spec.window)
    clock.kind = kind

    def make(index: int) -> Stay:
        stay = stays[index]
        pair = Pair(
            float(shown[index]),
            newer[index].as_py(),
            older[index].as_py(),
            int(stay["overlap"]),
            clock.time(int(starts[index])),
            clock.time(int(ends[index])),
            None if streams is None else streams[index],
            (int(stay["newer"]), int(stay["older"])),
        )
        if is_open[index]:
            return Stay(pair, clock.time(int(stay["enter"])))
        how: Kind = "expired" if stay["leave"] == ends[index] else "outranked"
        return Stay(pair, clock.time(int(stay["enter"])), clock.time(int(stay["leave"])), how)

    def columns() -> dict[str, Any]:
        leave = time_column(np.where(is_open, stays["enter"], stays["leave"]), clock)
        return {
            "newer": newer,
            "older": older,
            "similarity": pa.array(shown),
            "overlap": pa.array(stays["overlap"]),
            "enter": time_column(stays["enter"], clock),
            "leave": pc.if_else(pa.array(is_open), pa.scalar(None, leave.type), leave),
        }

    return History(len(stays), make, columns)


def _streams(rows: Rows, arrivals: np.ndarray) -> list[Stream]:
    found: list[Stream] = rows.sets.take(rows.lying_at(arrivals))["stream"].to_pylist()
    return found
