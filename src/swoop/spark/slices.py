"""What a task does with the sets of one slice. Runs in Spark's Python workers; memory is that of one window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from swoop.join.payloads import TablePayloads
from swoop.join.slices import NEVER, replay, similarities
from swoop.spec import JoinSpec
from swoop.text.functions import TokenFunction

PAIR = ("newer_time", "newer_place", "older_time", "older_place")


def replay_slice(
    batches: Iterable[pa.RecordBatch],
    spec: JoinSpec,
    tokens: str | TokenFunction,
    start: int,
    stop: int,
    is_last: bool,
    id_type: pa.DataType,
) -> Iterator[pa.RecordBatch]:
    """The segments of stays within ``[start, stop)``, with who the sets are. Times are ticks.

    ``leave`` is the time at which a stay ends or is cut, and null if the history ends.
    """
    sets = _Sets()
    for segments, oldest in replay(sets.arriving(batches), spec, tokens, start, stop, is_last):
        if len(segments):
            newer, older = (sets.take(segments[side]) for side in ("newer", "older"))
            columns = {
                "newer_time": newer["time"],
                "newer_place": newer["place"],
                "older_time": older["time"],
                "older_place": older["place"],
                "newer": newer["id"].cast(id_type),
                "older": older["id"].cast(id_type),
                "similarity": similarities(segments["key"], spec.similarity),
                "overlap": segments["overlap"],
                "enter": segments["enter"],
                "leave": pa.array(segments["leave"], mask=segments["leave"] == NEVER),
            }
            yield from pa.table(columns).combine_chunks().to_batches()
        sets.forget(oldest)


class _Sets(TablePayloads):
    """Who the sets of the window are: in every slice alike, whatever their arrival numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._arrived = 0
        self._time, self._place = 0, -1  # of the last set

    def arriving(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Note the time of sets before they arrive, their places among the sets of that time, and their ids."""
        for batch in batches:
            times = batch.column("time").to_numpy()
            if len(times) == 0:
                continue
            numbers = np.arange(len(times))
            begins = np.concatenate(([True], times[1:] != times[:-1]))
            places = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
            if self._time == times[0]:  # the batch before ended within these
                places[times == times[0]] += self._place + 1
            self._time, self._place = times[-1], places[-1]
            self.add(self._arrived, pa.table({"time": times, "place": places, "id": batch.column("id")}))
            self._arrived += len(times)
            yield batch
