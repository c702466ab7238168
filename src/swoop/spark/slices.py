"""What a task does with the sets of one slice. Runs in Spark's Python workers; memory is that of one window."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, cast

import numpy as np
import pyarrow as pa

from swoop.join.topk_join import TopKJoin
from swoop.similarity import Similarity

PAIR = ("newer_time", "newer_place", "older_time", "older_place")
SEGMENT = (*PAIR, "newer", "older", "similarity", "overlap", "enter", "leave")
FULL = 20_000  # segments that are given at once


def replay_slice(
    batches: Iterable[pa.RecordBatch],
    k: int,
    length: int,
    similarity: str | Similarity,
    threshold: float | None,
    two_streams: bool,
    start: int,
    stop: int,
    last: bool,
    id_type: pa.DataType,
) -> Iterator[pa.RecordBatch]:
    """Let the sets of a slice arrive, in order, and give the segments of stays within ``[start, stop)``.

    ``leave`` is the time at which a stay ends or is cut, and null if the history ends.
    """
    join = TopKJoin(k, length, similarity, two_streams=two_streams, min_similarity=threshold, track_changes=True)
    stays = _Stays(start, id_type)
    sets = _Sets()
    for batch in batches:
        sets.add(batch.column("time").to_numpy(), batch.column("id"))
        join.insert_many(batch, stream="stream" if two_streams else None)
        stays.take(join, sets)
        if len(stays) > FULL:
            yield stays.give()
    if not last:
        join.advance(stop - 1)
    stays.take(join, sets)
    stays.end(None if last else stop)
    yield stays.give()


class _Sets:
    """Who the sets are, in every slice alike: time, place among the sets of that time, id. By arrival number."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, np.ndarray, np.ndarray, pa.Array]] = deque()
        self._count = 0

    def add(self, times: np.ndarray, ids: pa.Array) -> None:
        if len(times) == 0:
            return
        numbers = np.arange(len(times))
        begins = np.concatenate(([True], times[1:] != times[:-1]))
        places = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
        if self._batches and self._batches[-1][1][-1] == times[0]:  # the last batch ended within these
            places[times == times[0]] += self._batches[-1][2][-1] + 1
        self._batches.append((self._count, times, places, ids))
        self._count += len(times)

    def get(self, arrival: int) -> tuple[int, int, Any]:
        batch = bisect_right(self._batches, arrival, key=itemgetter(0)) - 1
        first, times, places, ids = self._batches[batch]
        return int(times[arrival - first]), int(places[arrival - first]), ids[arrival - first].as_py()

    def forget(self, before: int) -> None:
        """Sets before this arrival number are no longer needed; the newest is, for the places of the next."""
        while len(self._batches) > 1 and self._batches[1][0] <= before:
            self._batches.popleft()


class _Stays:
    """Who is in the top-k since when, and the segments that are over."""

    def __init__(self, start: int, id_type: pa.DataType) -> None:
        self._start, self._id_type = start, id_type
        self._open: dict[tuple[int, int], tuple[int, Any]] = {}
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, join: TopKJoin, sets: _Sets) -> None:
        for change in join.changes():
            pair, time = change.pair, cast(int, change.time)
            arrivals = cast(tuple[int, int], pair.arrivals)
            if change.kind == "enter":
                who = (sets.get(arrivals[0]), sets.get(arrivals[1]), pair.similarity, pair.overlap)
                self._open[arrivals] = (time, who)
            else:
                self._close(*self._open.pop(arrivals), time)
        stats = join.stats
        sets.forget(stats.sets - stats.window_size)

    def _close(self, enter: int, who: Any, leave: int | None) -> None:
        enter = max(enter, self._start)
        if leave is None or leave > enter:
            newer, older, similarity, overlap = who
            self._rows.append((*newer[:2], *older[:2], newer[2], older[2], similarity, overlap, enter, leave))

    def end(self, leave: int | None) -> None:
        for enter, who in self._open.values():
            self._close(enter, who, leave)

    def give(self) -> pa.RecordBatch:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(SEGMENT)
        self._rows = []
        types = [*[pa.int64()] * 4, self._id_type, self._id_type, pa.float64(), *[pa.int64()] * 3]
        arrays = [pa.array(list(values), kind) for values, kind in zip(columns, types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, list(SEGMENT))
