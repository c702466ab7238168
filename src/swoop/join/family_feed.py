"""From the rows of the engine of families to families and changes, with the caller's ids and times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from swoop.errors import InternalError
from swoop.join.feed import id_column, no_records, record_at, time_column
from swoop.join.ids import Ids
from swoop.results import Family, FamilyChange, FamilyChanges, FamilyKind, FamilyList, Id
from swoop.times import Clock

if TYPE_CHECKING:
    import pyarrow as pa

    from swoop.join.kept import KeptColumns

KINDS: tuple[FamilyKind, ...] = ("born", "grew", "merged", "ended")
_BORN, _GREW, _MERGED, _ENDED = range(4)


def names_of(arrivals: np.ndarray, ids: Ids) -> list[Any]:
    """How results call some sets, many of which are the same; None for -1."""
    known, places = np.unique(arrivals, return_inverse=True)
    names = [None if arrival < 0 else ids.get(arrival) for arrival in known.tolist()]
    return [names[place] for place in places.tolist()]


def record_columns(records: pa.Table | None) -> dict[str, Any]:
    """What is kept of representatives, as columns of results."""
    return {} if records is None else {f"representative_{name}": records[name] for name in records.column_names}


def make_list(
    rows: np.ndarray,
    last_seen: np.ndarray,
    names: list[Id],
    representatives: list[Id],
    clock: Clock,
    records: pa.Table | None = None,
) -> FamilyList:
    """Families, of which the rows, the times of their newest sets, the ids of their first and newest ones, and what is kept
    of the latter are given.
    """

    def make(index: int) -> Family:
        row = rows[index]
        return Family(
            names[index],
            int(row["size"]),
            int(row["total"]),
            clock.result_time(int(row["first_seen"])),
            clock.result_time(int(last_seen[index])),
            representatives[index],
            int(row["first"]),
            record_at(records, index),
        )

    def columns() -> dict[str, Any]:
        import pyarrow as pa

        together = id_column([*names, *representatives])  # of one type
        return {
            "id": together.slice(0, len(names)),
            "size": pa.array(rows["size"].astype(np.int64)),
            "total": pa.array(np.ascontiguousarray(rows["total"])),
            "first_seen": time_column(np.ascontiguousarray(rows["first_seen"]), clock),
            "last_seen": time_column(last_seen, clock),
            "representative": together.slice(len(names)),
            **record_columns(records),
        }

    return FamilyList(len(rows), make, columns)


@dataclass(frozen=True)
class FamilyRows:
    """Changes: rows of the engine with the ids that go with them.

    ``sets``: what their source calls the first and the newest sets of families; None: by their arrival numbers. Sizes of -1:
    nothing is known of what the family was, or which its newest set. ``records``: what is kept of the newest sets.
    """

    rows: np.ndarray
    families: list[Id]
    into: list[Id | None]
    representatives: list[Id | None]
    sets: list[tuple[Any, Any]] | None = None
    records: pa.Table | None = None


def _joined_records(parts: list[FamilyRows]) -> pa.Table | None:
    """What is kept of the newest sets of all parts, some of which may be from before anything was."""
    import pyarrow as pa

    if all(part.records is None for part in parts):
        return None
    found = [no_records(len(part.rows)) if part.records is None else part.records for part in parts]
    return pa.concat_tables(found, promote_options="permissive")


def make_changes(found: FamilyRows, clock: Clock) -> FamilyChanges:
    rows = found.rows

    def make(index: int) -> FamilyChange:
        row = rows[index]
        first, newest, into = (int(row[name]) for name in ("family", "newest", "into"))
        told: dict[str, Any] = {}
        if row["size"] >= 0:
            told = {
                "size": int(row["size"]),
                "total": int(row["total"]),
                "first_seen": clock.result_time(int(row["first_seen"])),
                "representative": found.representatives[index],
                "sets": (first, newest) if found.sets is None else found.sets[index],
                "record": record_at(found.records, index),
            }
        time, of, to = clock.result_time(int(row["time"])), found.families[index], found.into[index]
        return FamilyChange(time, KINDS[row["kind"]], of, to, arrival=first, into_arrival=None if to is None else into, **told)

    def columns() -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        several = found.families, found.into, found.representatives
        together = id_column([name for names in several for name in names if name is not None])  # of one type
        place = count()
        families, into, representatives = (
            together.take(pa.array([None if name is None else next(place) for name in names], pa.int64())) for names in several
        )
        unknown = rows["size"] < 0
        times = [time_column(np.ascontiguousarray(rows[name]), clock) for name in ("time", "first_seen")]
        return {
            "time": times[0],
            "kind": pa.array([KINDS[kind] for kind in rows["kind"].tolist()], pa.string()),
            "family": families,
            "into": into,
            "size": pa.array(rows["size"], mask=unknown),
            "total": pa.array(rows["total"], mask=unknown),
            "first_seen": pc.if_else(pa.array(unknown), None, times[1]),
            "representative": representatives,
            **record_columns(found.records),
        }

    return FamilyChanges(len(rows), make, columns)


def in_order(rows: np.ndarray) -> np.ndarray:
    """Families that end at the same time, or that one set merges, are in the order of their first sets.

    The engine has them as their sets came, or as they were found.
    """
    ended, merged = rows["kind"] == _ENDED, rows["kind"] == _MERGED
    goes_on = ended[1:] & ended[:-1] & (rows["time"][1:] == rows["time"][:-1])
    goes_on |= merged[1:] & merged[:-1]  # something grows between those that different sets merge
    if not goes_on.any():
        return rows
    group = np.concatenate(([0], np.cumsum(~goes_on)))
    found: np.ndarray = rows[np.lexsort((np.where(ended | merged, rows["family"], 0), group))]
    return found


class FamilyFeed:
    """Changes that nobody has asked for yet. Their ids are looked up at once, while they are known.

    It knows which families are there, so it notices a birth of one that is there and an end of one that is not.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, FamilyRows, dict[int, bool]]] = []  # with the number of changes up to each
        self._taken = 0
        self._there: set[int] = set()

    def restore(self, waiting: FamilyRows | None, there: list[int]) -> None:
        """Begin with changes that nobody has asked for, and with the families that are there."""
        self._there = set(there)
        if waiting is not None:
            self._parts.append((self._taken, waiting, {}))

    def add_records(self, records: pa.Table) -> None:
        """Of the newest sets of the changes that it began with, this is kept."""
        self._parts = [(count, replace(rows, records=records), moves) for count, rows, moves in self._parts]

    def take(self, engine: Any, ids: Ids, kept: KeptColumns | None = None) -> None:
        """Take the changes from the engine. Interrupted at any line, it can be done again."""
        if not engine.has_changes:
            return
        first, rows = engine.family_changes()
        if len(rows) == 0:  # it was interrupted at its end
            return
        taken = self._parts[-1][0] if self._parts else self._taken
        stop = first + len(rows)
        if taken < stop:
            part = in_order(rows[taken - first :])
            representatives: list[Any] = ids.get_all(part["newest"].tolist())
            records = None if kept is None else kept.take(part["newest"].astype(np.int64))
            named = FamilyRows(
                part, names_of(part["family"], ids), names_of(part["into"], ids), representatives, records=records
            )
            self._parts.append((stop, named, self._moves(part)))
        for family, is_there in self._parts[-1][2].items():
            if is_there:
                self._there.add(family)
            else:
                self._there.discard(family)
        engine.forget_changes(stop)

    def _moves(self, rows: np.ndarray) -> dict[int, bool]:
        """Which families are there after some changes, and which are not any more."""
        found: dict[int, bool] = {}
        moves = rows[rows["kind"] != _GREW]
        for time, kind, family in zip(*(moves[name].tolist() for name in ("time", "kind", "family")), strict=True):
            comes = kind == _BORN
            if found.get(family, family in self._there) == comes:
                raise InternalError(
                    f"the change feed says at time {time} that the family of set {family} {KINDS[kind]}, "
                    + ("but it is there already" if comes else "but it is not there")
                )
            found[family] = comes
        return found

    def waiting(self) -> FamilyRows:
        """All changes that nobody has asked for."""
        from swoop.engine.kinship import FAMILY_CHANGE

        parts = [rows for _, rows, _ in self._parts]
        return FamilyRows(
            np.concatenate([np.zeros(0, FAMILY_CHANGE), *(part.rows for part in parts)]),
            [name for part in parts for name in part.families],
            [name for part in parts for name in part.into],
            [name for part in parts for name in part.representatives],
            records=_joined_records(parts),
        )

    def changes(self, clock: Clock, schema: pa.Schema | None = None) -> FamilyChanges:
        """The same for somebody who asks for them, with all columns that are kept by now: they wait no more."""
        found = self.waiting()
        if schema is not None:
            from swoop.join.kept import whole

            known = no_records(len(found.rows)) if found.records is None else found.records
            found = replace(found, records=whole(known, schema))
        changes = make_changes(found, clock)
        if self._parts:
            self._taken = self._parts[-1][0]
            self._parts = []
        return changes
