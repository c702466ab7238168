"""What a task does with the sets of one slice. Runs in Spark's Python workers; memory is that of one window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
import pyarrow as pa

from swoop.join.payloads import TablePayloads
from swoop.join.topk_join import TopKJoin
from swoop.spec import JoinSpec
from swoop.stays import Stay, Stays
from swoop.text.functions import TokenFunction

PAIR = ("newer_time", "newer_place", "older_time", "older_place")


def replay_slice(
    batches: Iterable[pa.RecordBatch],
    spec: JoinSpec,
    tokens: str | TokenFunction,
    start: int,
    stop: int,
    last: bool,
    id_type: pa.DataType,
) -> Iterator[pa.RecordBatch]:
    """Let the sets of a slice arrive, in order, and give the segments of stays within ``[start, stop)``. Times are ticks.

    ``leave`` is the time at which a stay ends or is cut, and null if the history ends.
    """
    join = TopKJoin.from_spec(spec)
    segments = _Segments(start, id_type)
    for batch in batches:
        segments.arrive(batch)
        join.insert_many(batch, tokens, stream="stream" if spec.two_streams else None)
        yield from segments.take(join)
    if not last:
        join.advance(stop - 1)
    yield from segments.take(join)
    yield from segments.end(None if last else stop)


class _Segments:
    """The part of stays that lies in a slice, with who the sets are: in every slice alike, whatever their arrival numbers."""

    def __init__(self, start: int, id_type: pa.DataType) -> None:
        self._start, self._id_type = start, id_type
        self._stays = Stays()
        self._sets = TablePayloads()
        self._arrived = 0
        self._time, self._place = 0, -1  # of the last set

    def arrive(self, batch: pa.RecordBatch) -> None:
        """Note the time of sets that arrive, their places among the sets of that time, and their ids."""
        times = batch.column("time").to_numpy()
        if len(times) == 0:
            return
        numbers = np.arange(len(times))
        begins = np.concatenate(([True], times[1:] != times[:-1]))
        places = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
        if self._time == times[0]:  # the batch before ended within these
            places[times == times[0]] += self._place + 1
        self._time, self._place = times[-1], places[-1]
        self._sets.add(self._arrived, pa.table({"time": times, "place": places, "id": batch.column("id")}))
        self._arrived += len(times)

    def take(self, join: TopKJoin) -> Iterator[pa.RecordBatch]:
        """The segments that have ended since the last call."""
        found = map(self._stays.take, join.changes())
        yield from self._give([stay for stay in found if stay is not None and stay.how is not None])
        stats = join.stats
        self._sets.forget(stats.sets - stats.window_size)

    def end(self, leave: int | None) -> Iterator[pa.RecordBatch]:
        """The segments that are cut at the end of the slice, or last at the end of the history."""
        yield from self._give([stay._replace(leave=leave) for stay in self._stays.open])

    def _give(self, stays: list[Stay]) -> Iterator[pa.RecordBatch]:
        """Those of positive length."""
        rows = []
        for stay in stays:
            enter = max(cast(int, stay.enter), self._start)
            if stay.leave is None or cast(int, stay.leave) > enter:
                rows.append((stay.pair, enter, stay.leave))
        if not rows:
            return
        pairs, enters, leaves = zip(*rows, strict=True)
        arrivals = np.array([pair.arrivals for pair in pairs])
        newer, older = (self._sets.take(arrivals[:, side]) for side in (0, 1))
        columns = {
            "newer_time": newer["time"],
            "newer_place": newer["place"],
            "older_time": older["time"],
            "older_place": older["place"],
            "newer": newer["id"].cast(self._id_type),
            "older": older["id"].cast(self._id_type),
            "similarity": pa.array([pair.similarity for pair in pairs], pa.float64()),
            "overlap": pa.array([pair.overlap for pair in pairs], pa.int64()),
            "enter": pa.array(enters, pa.int64()),
            "leave": pa.array(leaves, pa.int64()),
        }
        yield from pa.table(columns).combine_chunks().to_batches()
