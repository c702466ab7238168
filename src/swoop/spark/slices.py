"""What a task does with the sets of one slice, and with the links of all. Runs in Spark's Python workers.

The memory of a slice is that of one window. The links of all slices are put together in one task, which has them in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.algorithms import make_engine, make_family_engine
from swoop.join.columns import take_rows
from swoop.join.links import Groups, Links, find_firsts, replay_links, take_links
from swoop.join.payloads import TablePayloads
from swoop.join.slices import NEVER, Segments, arrive, replay, similarities, take_changes
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import LATEST

BATCH_ROWS = 1 << 14
PAIR = ("newer_time", "newer_place", "older_time", "older_place")
RECORDS = ("newer_record", "older_record")
"""What is kept of both sets, if anything is: a struct each."""


def replay_slice(
    batches: Iterable[pa.RecordBatch],
    spec: JoinSpec,
    tokens: str | TokenFunction,
    start: int,
    stop: int | None,
    id_type: pa.DataType,
) -> Iterator[pa.RecordBatch]:
    """The segments of stays within ``[start, stop)``, with who the sets are. Times are ticks.

    ``leave`` is the time at which a stay ends or is cut. A task does not know whether there are rows after its own, so it goes
    on to ``stop``; what happens after its last set, ``is_after``, counts only if there are. Who shall know that is told
    by a last row that is none: its ``last`` is the time of the last set of the slice.

    Without ``stop``, the slice has all sets: the history ends with the last of them, and who is there then has no ``leave``.
    """
    sets = _Sets()
    is_whole = stop is None
    for segments, oldest in replay(
        sets.note_arriving(batches), spec, tokens, start, NEVER - 1 if stop is None else stop, is_whole
    ):
        for batch in sets.segments(segments, spec, id_type):
            is_after = pc.and_kleene(pc.greater(batch["leave"], sets.last_time), not is_whole)
            last = pa.nulls(batch.num_rows, pa.int64())
            yield batch.append_column("is_after", is_after).append_column("last", last)
        sets.forget(oldest)
    if not is_whole and sets.last_time >= start:
        kinds = [*_pair_fields(id_type, sets), ("similarity", pa.float64()), ("overlap", pa.int64()), ("enter", pa.int64())]
        kinds += [("leave", pa.int64()), ("is_after", pa.bool_()), ("last", pa.int64())]
        yield _row(pa.schema(kinds), is_after=True, last=sets.last_time)


def _pair_fields(id_type: pa.DataType, sets: _Sets) -> list[tuple[str, pa.DataType]]:
    records = [] if sets.record_type is None else [(name, sets.record_type) for name in RECORDS]
    return [*((name, pa.int64()) for name in PAIR), ("newer", id_type), ("older", id_type), *records]


def _row(schema: pa.Schema, **values: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{**dict.fromkeys(schema.names), **values}], schema)


class PushedHistory:
    """A whole history, of one slice, for those who are given its sets and cannot ask for them. Times are ticks."""

    def __init__(self, spec: JoinSpec, tokens: str | TokenFunction, id_type: pa.DataType) -> None:
        self._spec, self._tokens, self._id_type = spec, tokens, id_type
        self._engine, self._sets, self._segments = make_engine(spec), _Sets(), Segments(-LATEST)

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Let sets arrive, in order, and give the stays that have ended, as :func:`replay_slice` does."""
        for _ in arrive(
            self._engine, self._sets.note_arriving([batch]), self._spec.window, self._tokens, self._spec.two_streams
        ):
            yield from self._told(self._segments.take(take_changes(self._engine)))
            self._sets.forget(self._engine.first_needed)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The stays that go on when the history ends."""
        yield from self._told(self._segments.end(NEVER, self._engine.topk()))

    def _told(self, segments: np.ndarray) -> Iterator[pa.RecordBatch]:
        return self._sets.segments(segments, self._spec, self._id_type)


class PushedFamilies:
    """The families of a whole history, likewise. Times are ticks."""

    def __init__(self, spec: FamilySpec, tokens: str | TokenFunction, id_type: pa.DataType) -> None:
        self._spec, self._tokens, self._id_type = spec, tokens, id_type
        self._engine, self._sets = make_family_engine(spec, links=True), _Sets()
        self._links: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Let sets arrive, in order. What is found is given in the end: until then, families may grow and merge."""
        for _ in arrive(self._engine, self._sets.note_arriving([batch]), self._spec.window, self._tokens):
            newer, older = take_links(self._engine)
            if len(newer):
                self._links += pa.table(self._sets.pairs(newer, older, self._id_type)).combine_chunks().to_batches()
            self._sets.forget(self._engine.oldest)
        return iter(())

    def end(self) -> Iterator[pa.RecordBatch]:
        """The families, as :class:`LinkedSets` gives them."""
        end = _row(pa.schema(_pair_fields(self._id_type, self._sets)), newer_time=self._sets.last_time)
        return LinkedSets.of([*self._links, end]).families(self._spec.window.duration)


def replay_links_of_slice(
    batches: Iterable[pa.RecordBatch], spec: FamilySpec, tokens: str | TokenFunction, start: int, id_type: pa.DataType
) -> Iterator[pa.RecordBatch]:
    """The links of the sets from ``start`` on, with who the sets are. Times are ticks.

    The last row is none: it has the time of the last set, which may be the end of the history, and nothing else.
    """
    sets = _Sets()
    for newer, older, oldest in replay_links(sets.note_arriving(batches), spec, tokens, start):
        if len(newer):
            yield from pa.table(sets.pairs(newer, older, id_type)).combine_chunks().to_batches()
        sets.forget(oldest)
    yield _row(pa.schema(_pair_fields(id_type, sets)), newer_time=sets.last_time)


@dataclass(frozen=True)
class LinkedSets:
    """All sets that have a link, in order: their times and ids, and the place of the first set of the family of each.

    ``now``: the end of the history. ``records``: what is kept of the sets, if anything is.
    """

    times: np.ndarray
    ids: pa.Array
    id_type: pa.DataType
    firsts: np.ndarray
    now: int
    records: pa.Array | None = None

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> LinkedSets:
        """What the links of all slices say, of which there is at least one."""
        table = pa.Table.from_batches(list(batches))
        now = pc.max(table["newer_time"]).as_py()
        links = table.filter(pc.is_valid(table["older_time"]))
        times, places = (
            np.concatenate([links[f"{side}_{name}"].to_numpy() for side in ("newer", "older")]) for name in ("time", "place")
        )
        order = np.lexsort((places, times))
        times, places = times[order], places[order]
        is_first = np.append(True, (times[1:] != times[:-1]) | (places[1:] != places[:-1]))[: len(times)]
        numbers = np.empty(len(times), np.int64)
        numbers[order] = np.cumsum(is_first) - 1
        newer, older = np.split(numbers, 2)
        ids, *records = (
            pa.chunked_array([*links[one].chunks, *links[other].chunks], links[one].type)
            for one, other in (("newer", "older"), RECORDS)
            if one in links.column_names
        )
        firsts = find_firsts(int(is_first.sum()), [Links(newer, older, 0)])
        found = [take_rows(column, order[is_first]) for column in (ids, *records)]
        return cls(times[is_first], found[0], ids.type, firsts, now, *found[1:])

    def families(self, duration: int) -> Iterator[pa.RecordBatch]:
        """The families of at least two sets, as :func:`swoop.spark.families_history` gives them."""
        groups = Groups.of(self.firsts, self.times > self.now - duration)
        for part in _parts(len(groups.firsts)):
            firsts, newest = groups.firsts[part], groups.newest[part]
            columns = {
                "id": self._ids_of(firsts),
                "size": groups.sizes[part],
                "total": groups.totals[part],
                "first_seen": self.times[firsts],
                "last_seen": self.times[newest],
                "representative": self._ids_of(newest),
                **({} if self.records is None else {"representative_record": self.records.take(pa.array(newest))}),
            }
            yield pa.RecordBatch.from_pydict(columns)

    def members(self) -> Iterator[pa.RecordBatch]:
        """Which set is in which family, as :func:`swoop.spark.family_members` gives it."""
        for part in _parts(len(self.times)):
            firsts = self.firsts[part]
            columns = {"id": self._ids_of(np.arange(part.start, part.start + len(firsts))), "time": self.times[part]}
            yield pa.RecordBatch.from_pydict({**columns, "family": self._ids_of(firsts)})

    def _ids_of(self, places: np.ndarray) -> pa.Array:
        return self.ids.take(pa.array(places)).cast(self.id_type)


def _parts(rows: int) -> list[slice]:
    """Batches that are given out. Long ids, many times, would be too much for one."""
    return [slice(at, at + BATCH_ROWS) for at in range(0, rows, BATCH_ROWS)]


class _Sets(TablePayloads):
    """Who the sets of the window are: in every slice alike, whatever their arrival numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._arrived = 0
        self._time, self._place = 0, -1  # of the last set
        self.record_type: pa.DataType | None = None  # None where there are no records

    def note_arriving(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
            record = {"record": batch.column("record")} if "record" in batch.schema.names else {}
            self.record_type = record["record"].type if record else None
            self.add(self._arrived, pa.table({"time": times, "place": places, "id": batch.column("id"), **record}))
            self._arrived += len(times)
            yield batch

    def segments(self, segments: np.ndarray, spec: JoinSpec, id_type: pa.DataType) -> Iterator[pa.RecordBatch]:
        """Segments of positive duration, with who their sets are."""
        segments = segments[segments["leave"] > segments["enter"]]
        if len(segments):
            columns = {
                **self.pairs(segments["newer"], segments["older"], id_type),
                "similarity": similarities(segments["key"], spec.similarity),
                "overlap": segments["overlap"],
                "enter": segments["enter"],
                "leave": pa.array(segments["leave"], mask=segments["leave"] == NEVER),
            }
            yield from pa.table(columns).combine_chunks().to_batches()

    @property
    def last_time(self) -> int:
        return int(self._time)

    def pairs(self, newer: np.ndarray, older: np.ndarray, id_type: pa.DataType) -> dict[str, Any]:
        """Who the sets of pairs are."""
        one, other = self.take(newer), self.take(older)
        records = (
            {} if self.record_type is None else {name: rows["record"] for name, rows in zip(RECORDS, (one, other), strict=True)}
        )
        return {
            "newer_time": one["time"],
            "newer_place": one["place"],
            "older_time": other["time"],
            "older_place": other["place"],
            "newer": one["id"].cast(id_type),
            "older": other["id"].cast(id_type),
            **records,
        }
