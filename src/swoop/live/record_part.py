"""A join of a cell where copies count once: equal sets are a record, which is called after its first set.

All cells must agree who a record is. In a cell, its identity is the arrival number of its first set; to others, it is that set
itself: its time, id, tokens and stream, and which of the sets it is that are equal in all of these. A record may outlive its
first set, so who that was is kept as long as the record lives. A cell that is rebuilt from its rows must know it, too: for
every set that is not the first of its record, the name of the record is written beside the rows.

In a cell, sets are numbered in the order in which they enter, over all its parts and workers.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from swoop.engine.contents import UNNAMED, Names
from swoop.engine.feed import ENTER
from swoop.join.payloads import RecordPayloads
from swoop.live.chunks import Damaged
from swoop.live.part import Part
from swoop.live.stream_spec import StreamSpec
from swoop.times import LATEST


def _with_texts(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Rows, with the texts of others, if there are any."""
    if "text" not in rows.column_names:
        return rows
    return rows.set_column(rows.schema.get_field_index("text"), "text", others["text"])


RENEWED = "renewed"
"""The kind of an event that is no change: a set has renewed a record, of which there may be pairs in the top-k."""

NAMED = ("time", "numbers", "first_number", "first_time", "first_id", "first_tokens", "first_copy", "first_stream")
"""Columns of names: the numbers of sets, the time of the latest of them, and the first set of their record."""


class FirstSets:
    """The first sets of records, by the numbers of later ones, as a cell has written them; ``begin`` is the number of the first
    set of its window.
    """

    def __init__(self, names: pa.Table | None, begin: int) -> None:
        self._numbers = self._identities = self._first_seen = np.empty(0, np.int64)
        self.identities = np.empty(0, np.int64)  # of records whose first sets have left the window,
        self.rows: pa.Table | None = None  # and those sets
        if names is None or not names.num_rows:
            return
        names = names.combine_chunks()
        lists = names["numbers"].combine_chunks()
        sizes = np.diff(lists.offsets.to_numpy())
        numbers = lists.flatten().to_numpy()
        firsts, first_seen = (names[name].to_numpy() for name in ("first_number", "first_time"))
        is_right = (firsts >= 0) & (first_seen > -LATEST) & (first_seen <= names["time"].to_numpy())
        if not is_right.all() or (np.repeat(firsts, sizes) >= numbers).any():
            raise Damaged("names", "the first set of a record is not before the others")
        prefix = "first_"
        known = [name for name in names.column_names if name.startswith(prefix)]
        rows = names.select(known).rename_columns([name.removeprefix(prefix) for name in known])
        _, places, same = np.unique(firsts, return_index=True, return_inverse=True)
        plain = rows.drop_columns("record") if "record" in rows.column_names else rows  # records may have NaN, which differ
        if len(np.unique(numbers)) < len(numbers) or plain.take(places[same]) != plain:
            raise Damaged("names", "two sets are the first of a record")
        firsts = firsts - begin  # below 0: it has left the window, and so it has no arrival number
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._identities = np.repeat(np.where(firsts < 0, firsts, UNNAMED), sizes)[order]
        self._first_seen = np.repeat(first_seen, sizes)[order]
        left = np.flatnonzero(firsts < 0)
        self.identities, places = np.unique(firsts[left], return_index=True)
        self.rows = rows.take(left[places])

    def names_of(self, numbers: np.ndarray) -> Names:
        """What the records of sets with these numbers are called."""
        if not len(self._numbers):
            return Names(np.full(len(numbers), UNNAMED), np.zeros(len(numbers), np.int64))
        places = np.minimum(np.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
        is_known = self._numbers[places] == numbers
        return Names(np.where(is_known, self._identities[places], UNNAMED), self._first_seen[places])


class RecordPart(Part):
    """A join of a cell, who its sets are, and which records they are of."""

    SET: ClassVar = ("time", "id", "tokens", "copy", "stream", "text", "record", "number")
    TIEBREAK: ClassVar = ("id", "tokens", "stream", "copy")

    def __init__(self, spec: StreamSpec, two_sides: bool) -> None:
        super().__init__(spec, two_sides)
        self._sets: RecordPayloads = RecordPayloads()
        self._names: list[pa.Table] = []
        self._renewals: list[np.ndarray] = []  # arrival numbers and identities, since the events were taken
        self._begun = 0  # how many sets had arrived then

    def restore(self, first_sets: FirstSets) -> None:
        """Begin with records whose first sets have left the window."""
        if first_sets.rows is not None:
            self._sets.keep(first_sets.identities, first_sets.rows)

    def insert(self, rows: pa.Table, sides: pa.Array | None, first_sets: FirstSets | None = None) -> None:
        """Let sets arrive. ``first_sets``: they have arrived in another worker, and their records have names."""
        names = None if first_sets is None else first_sets.names_of(rows["number"].to_numpy())
        first = self.join._engine.arrivals
        found = self.join._insert_records(self._given(rows, sides), self._tokens, None if sides is None else "side", names)
        if names is not None and (found != names.identities)[names.identities != UNNAMED].any():
            raise Damaged("names", "equal sets are of different records")
        self._sets.add(first, self._known(rows).append_column("identity", pa.array(found)))
        arrivals = np.arange(first, first + len(found))
        is_renewal = found != arrivals
        if is_renewal.any():
            self._renewals.append(np.column_stack((arrivals, found))[is_renewal])
            if first_sets is None:
                self._names.append(self._named(rows.select(["time", "number"]).filter(pa.array(is_renewal)), found[is_renewal]))

    def _named(self, rows: pa.Table, identities: np.ndarray) -> pa.Table:
        """The names of records, and which sets are of them."""
        different, record = np.unique(identities, return_inverse=True)
        order = np.argsort(record, kind="stable")  # they are in the order of time, so the last of each is the latest
        stops = np.cumsum(np.bincount(record))
        numbers = pa.array(rows["number"].to_numpy()[order])
        first_sets = self._known(self._sets.take(different))
        return pa.table(
            {
                "time": rows["time"].to_numpy()[order][stops - 1],
                "numbers": pa.ListArray.from_arrays(pa.array(np.append(0, stops), pa.int32()), numbers),
                **{f"first_{name}": first_sets[name] for name in first_sets.column_names},
            }
        )

    def records_begun_elsewhere(self) -> np.ndarray:
        """The identities of valid records whose first sets have not arrived here, one of each record."""
        identities: np.ndarray = self.join._engine.identities()
        return identities[identities < 0]

    def take_names(self) -> list[pa.Table]:
        """The names of the records of sets that have arrived since the last call, but for those that are the first of them."""
        names, self._names = self._names, []
        return names

    def take_events(self) -> pa.Table | None:
        """The changes since the last call, and which records in the top-k were renewed.

        A record that comes into the top-k is given with the times of its copies as of the last call.
        """
        changes = self.join._change_rows().rows
        tables = [self._events(changes)] if len(changes) else []
        if self._renewals and (renewed := self._renewed(changes)) is not None:
            tables.append(renewed)
        self._renewals, self._begun = [], self.join._engine.arrivals
        self._forget()
        return pa.concat_tables(tables, promote_options="permissive") if tables else None

    def _forget(self) -> None:
        engine = self.join._engine
        self._sets.forget_unnamed(engine.oldest, engine.identities)

    def _renewed(self, changes: np.ndarray) -> pa.Table | None:
        """The renewals of records that were in the top-k meanwhile."""
        renewals = np.concatenate(self._renewals)
        top, _ = self.join._engine.stock(self.join.k)
        named = np.concatenate([rows[name] for rows in (changes, top) for name in ("newer", "older")])
        renewals = renewals[np.isin(renewals[:, 1], named)]
        if not len(renewals):
            return None
        by, identities = renewals.T
        copies = self._sets.take(by)
        records = _with_texts(self._known(self._sets.take(identities)), copies)
        told = [name for name in ("time", *self.TIEBREAK, "text") if name in records.column_names]
        return pa.table(
            {
                "time": copies["time"],
                "kind": pa.array([RENEWED] * len(by), pa.string()),
                **self._step(by),
                **{f"newer_{name}": records[name] for name in told},
            }
        )

    def _pair_sets(self, identities: np.ndarray) -> pa.Table:
        """Records are their first sets, with the texts of their newest ones."""
        first, newest_of = super()._pair_sets(identities), self.join._engine.newest_of
        newest = [(identity, newest_of(identity)) for identity in identities.tolist()]
        return _with_texts(first, self._sets.take(np.array([one if valid is None else valid for one, valid in newest])))

    def _events(self, changes: np.ndarray) -> pa.Table:
        events = super()._events(changes)
        times = self._times_of_copies(changes)
        for name in ("newer", "older"):
            column = pa.array([times.pop(identity, None) for identity in changes[name].tolist()], pa.list_(pa.int64()))
            events = events.append_column(f"{name}_times", column)
        return events

    def _times_of_copies(self, changes: np.ndarray) -> dict[int, list[int]]:
        """When the copies came, before the last call, of records that have come into the top-k since."""
        entered = changes[changes["kind"] == ENTER]
        wanted = np.unique(np.concatenate((entered["newer"], entered["older"])))
        times: dict[int, list[int]] = {identity: [] for identity in wanted.tolist()}
        first, known = self._sets.columns(("identity", "time"))
        before = known.slice(0, max(0, self._begun - first))
        identities = before["identity"].to_numpy()
        places = np.flatnonzero(np.isin(identities, wanted))
        for identity, time in zip(identities[places].tolist(), before["time"].to_numpy()[places].tolist(), strict=True):
            times[identity].append(time)
        return times
