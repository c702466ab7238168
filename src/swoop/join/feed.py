"""From the rows of the engine to pairs and changes, with the caller's ids and times."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from swoop.errors import InternalError
from swoop.join.ids import Ids
from swoop.results import Change, Changes, Id, Kind, Pair, SkybandStep, Stream, TopK
from swoop.similarity import Similarity
from swoop.times import FIRST_DATETIME, LAST_DATETIME, Clock

if TYPE_CHECKING:
    import pyarrow as pa

    from swoop.join.kept import KeptColumns

KINDS: tuple[Kind, ...] = ("enter", "outranked", "expired")
SIDES: tuple[Stream, ...] = ("left", "right")


Records: TypeAlias = "Callable[[], tuple[pa.Table, pa.Table]]"
"""Gives what is kept of the newer and of the older sets of pairs."""


class Rows:
    """Rows of the engine with the ids that go with them, and what is kept of their sets."""

    def __init__(
        self,
        rows: np.ndarray,
        newer: list[Id],
        older: list[Id],
        seen: np.ndarray | None = None,
        records: Records | None = None,
    ) -> None:
        self.rows = rows
        self.newer = newer
        self.older = older
        self.seen = seen  # where copies count once
        self.records = records

    @classmethod
    def of(cls, rows: np.ndarray, seen: np.ndarray | None, ids: Ids, kept: KeptColumns | None) -> Rows:
        """What is kept of sets is looked up when somebody asks; until then, ``kept`` must not change."""
        records = None if kept is None else cache(lambda: (kept.take(rows["newer"]), kept.take(rows["older"])))
        return cls(rows, ids.get_all(rows["newer"].tolist()), ids.get_all(rows["older"].tolist()), seen, records)

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Several parts as one: one at least."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.rows for part in parts]),
            [name for part in parts for name in part.newer],
            [name for part in parts for name in part.older],
            None if parts[0].seen is None else np.concatenate([part.seen for part in parts if part.seen is not None]),
            _joined_records(parts),
        )

    def with_schema(self, schema: pa.Schema) -> Rows:
        """The same with all columns that are kept by now."""
        from swoop.join.kept import whole

        sides = self.records() if self.records is not None else (no_records(len(self)), no_records(len(self)))
        newer, older = (whole(side, schema) for side in sides)
        return Rows(self.rows, self.newer, self.older, self.seen, lambda: (newer, older))

    @classmethod
    def none(cls, copies_once: bool) -> Rows:
        """No rows, of which there are the same columns as of some."""
        from swoop.engine.layout import CHANGE, SEEN

        return cls(np.zeros(0, CHANGE), [], [], np.zeros(0, SEEN) if copies_once else None)

    def __len__(self) -> int:
        return len(self.rows)

    def pair_maker(self, clock: Clock, similarity: Similarity, two_streams: bool) -> Callable[[int], Pair]:
        unbounded = clock.window.duration == 0

        def copies(index: int) -> Iterator[Any]:
            if self.seen is not None:
                for name, value in zip(self.seen.dtype.names or (), self.seen[index].tolist(), strict=True):
                    yield value if name.endswith("copies") else clock.result_time(value)

        def records(index: int) -> dict[str, Any]:
            if self.records is None:
                return {}
            sides = zip(("newer_record", "older_record"), self.records(), strict=True)
            return {side: record_at(rows, index) for side, rows in sides}

        def make(index: int) -> Pair:
            row = self.rows[index]
            return Pair(
                similarity.shown(float(row["key"])),
                self.newer[index],
                self.older[index],
                int(row["overlap"]),
                clock.result_time(int(row["start"])),
                None if unbounded else clock.result_time(int(row["end"])),
                SIDES[row["newer_side"]] if two_streams else None,
                (int(row["newer"]), int(row["older"])),
                *copies(index),
                **records(index),
            )

        return make

    def columns(self, clock: Clock, similarity: Similarity) -> dict[str, Any]:
        """The pairs as Arrow columns."""
        import pyarrow as pa

        ends = time_column(self.rows["end"], clock)
        if clock.window.duration == 0:
            ends = pa.nulls(len(self), ends.type)
        return {
            "similarity": pa.array([similarity.shown(key) for key in self.rows["key"].tolist()], pa.float64()),
            "newer": id_column(self.newer),
            "older": id_column(self.older),
            "overlap": pa.array(self.rows["overlap"]),
            "start": time_column(self.rows["start"], clock),
            "end": ends,
            **self._copies(clock),
            **self._records(),
        }

    def _records(self) -> dict[str, Any]:
        if self.records is None:
            return {}
        sides = zip(("newer", "older"), self.records(), strict=True)
        return {f"{side}_{name}": rows[name] for side, rows in sides for name in rows.column_names}

    def _copies(self, clock: Clock) -> dict[str, Any]:
        import pyarrow as pa

        if self.seen is None:
            return {}
        columns = {name: np.ascontiguousarray(self.seen[name]) for name in self.seen.dtype.names or ()}
        return {
            name: pa.array(column) if name.endswith("copies") else time_column(column, clock)
            for name, column in columns.items()
        }


def _joined_records(parts: list[Rows]) -> Records | None:
    """What is kept of the sets of all parts, some of which may be from before anything was."""
    import pyarrow as pa

    if all(part.records is None for part in parts):
        return None
    found = [(no_records(len(part)),) * 2 if part.records is None else part.records() for part in parts]
    newer, older = (pa.concat_tables(tables, promote_options="permissive") for tables in zip(*found, strict=True))
    return lambda: (newer, older)


def record_at(records: pa.Table | None, index: int) -> dict[str, Any] | None:
    """What is kept of a set, by column."""
    from swoop.readable import value_at

    return None if records is None else {name: value_at(records[name], index) for name in records.column_names}


def no_records(count: int) -> pa.Table:
    """So many rows without columns."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(count)}).select([])


def time_column(ticks: np.ndarray | list[int], clock: Clock) -> Any:
    """Times as an Arrow column, the same as :meth:`swoop.times.Clock.result_time` gives one by one."""
    import pyarrow as pa

    if clock.window.kind == "count" or clock.kind not in ("naive", "aware"):
        return pa.array(ticks, pa.int64())
    known = np.clip(np.asarray(ticks, np.int64), FIRST_DATETIME, LAST_DATETIME)
    return pa.array(known).cast(pa.timestamp("us", "UTC" if clock.kind == "aware" else None))


def id_column(ids: list[Id]) -> Any:
    """Ids of one type keep it; a mixture becomes strings, and so do integers that do not fit into 64 bits."""
    import pyarrow as pa

    kinds = set(map(type, ids))
    is_large = int in kinds and any(isinstance(name, int) and not -(2**63) <= name < 2**63 for name in ids)
    if len(kinds) > 1 or is_large:
        ids = [id_as_text(name) for name in ids]
    if str in kinds or len(kinds) > 1:  # surrogates on their own are no UTF-8
        ids = [name.encode(errors="backslashreplace").decode() for name in ids]  # type: ignore[union-attr]
    return pa.array(ids, pa.int64() if not kinds else None)


def id_as_text(name: Id) -> str:
    """An id among ids of other types."""
    return name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)


def make_topk(found: Rows, clock: Clock, similarity: Similarity, two_streams: bool) -> TopK:
    return TopK(len(found), found.pair_maker(clock, similarity, two_streams), lambda: found.columns(clock, similarity))


def make_changes(found: Rows, clock: Clock, similarity: Similarity, two_streams: bool) -> Changes:
    pair = found.pair_maker(clock, similarity, two_streams)

    def make(index: int) -> Change:
        row = found.rows[index]
        return Change(clock.result_time(int(row["time"])), KINDS[row["kind"]], pair(index))

    def columns() -> dict[str, Any]:
        import pyarrow as pa

        return {
            "time": time_column(found.rows["time"], clock),
            "kind": pa.array([KINDS[kind] for kind in found.rows["kind"].tolist()], pa.string()),
            **found.columns(clock, similarity),
        }

    return Changes(len(found), make, columns)


def make_skyband(pairs: Iterable[tuple[int, float]], floor: float | None, now: int, k: int, clock: Clock) -> list[SkybandStep]:
    """The k-th similarity among the pairs that end later, from the last end to the first; of end times and similarities."""
    unbounded = clock.window.duration == 0
    steps: list[SkybandStep] = []
    if floor is not None:
        steps.append(SkybandStep(None if unbounded else clock.result_time(now + clock.window.duration), floor))
    best: list[float] = []
    for end, similarity in sorted(pairs, reverse=True):
        if len(best) < k:
            heapq.heappush(best, similarity)
        else:
            heapq.heappushpop(best, similarity)
        if len(best) == k:
            step = SkybandStep(None if unbounded else clock.result_time(end), best[0])
            if steps and steps[-1].until == step.until:
                steps[-1] = step
            elif not steps or steps[-1].similarity != step.similarity:
                steps.append(step)
    return steps[::-1]


class Feed:
    """Changes that nobody has asked for yet. Their ids are looked up at once, while they are known.

    It knows who is in the top-k, so it notices an entry of what is there and an exit of what is not: such a change would be
    wrong, and is never passed on.
    """

    def __init__(self, copies_once: bool = False) -> None:
        self._copies_once = copies_once
        self._parts: list[tuple[int, Rows, Any]] = []  # with the number of changes up to each
        self._taken = 0
        self._top: set[tuple[int, int]] = set()

    def restore(self, waiting: Rows | None, top: np.ndarray) -> None:
        """Begin with changes that nobody has asked for, and with those who are in the top-k."""
        self._begin(top)
        if waiting is not None:
            self._parts.append((self._taken, waiting, None))

    def add_records(self, records: Records) -> None:
        """Of the sets of the changes that it began with, this is kept."""
        for _, rows, _ in self._parts:
            rows.records = records

    def take(self, engine: Any, ids: Ids, kept: KeptColumns | None = None) -> None:
        """Take the changes from the engine. Interrupted at any line, it can be done again."""
        if not engine.has_changes:
            return
        first, rows, seen = engine.changes()
        if len(rows) == 0:  # it was interrupted at its end
            return
        taken = self._parts[-1][0] if self._parts else self._taken
        stop = first + len(rows)
        if taken < stop:
            part = rows[taken - first :]
            found = Rows.of(part, None if seen is None else seen[taken - first :], ids, kept)
            if found.records is not None:
                found.records()  # while they are known
            self._parts.append((stop, found, self._moves(part)))
        if self._parts[-1][2] is not None:
            self._move(self._parts[-1][2])
        engine.forget_changes(stop)

    def _begin(self, top: np.ndarray) -> None:
        self._top = set(zip(top["newer"].tolist(), top["older"].tolist(), strict=True))

    def _move(self, moves: Any) -> None:
        """Take note of what :meth:`_moves` has found."""
        for pair, is_in in moves.items():
            if is_in:
                self._top.add(pair)
            else:
                self._top.discard(pair)

    def _moves(self, rows: np.ndarray) -> Any:
        """Who is in the top-k after some changes, and who is not any more."""
        found: dict[tuple[int, int], bool] = {}
        for kind, newer, older, time in zip(*(rows[name].tolist() for name in ("kind", "newer", "older", "time")), strict=True):
            pair = newer, older
            enters = KINDS[kind] == "enter"
            if found.get(pair, pair in self._top) == enters:
                raise InternalError(
                    f"the change feed says at time {time} that the pair of sets {newer} and {older} "
                    + ("enters the top-k, where it is already" if enters else "leaves the top-k, where it is not")
                )
            found[pair] = enters
        return found

    def waiting(self) -> Rows:
        """All changes that nobody has asked for."""
        return Rows.joined([rows for _, rows, _ in self._parts] or [Rows.none(self._copies_once)])

    def take_waiting(self) -> Rows:
        """The same, for somebody who asks for them: they wait no more."""
        found = self.waiting()
        if self._parts:
            self._taken = self._parts[-1][0]
            self._parts = []
        return found


class AllPairsFeed(Feed):
    """The same where nothing is outranked. All pairs that an older set ends expire together, so it is enough to know of each
    older set how many pairs there are, and the sum of their newer sets: there may be millions of pairs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open = 0, np.zeros((1, 2), np.int64)  # from which older set on, and how many pairs and their sum of each

    def _begin(self, top: np.ndarray) -> None:
        self._open = 0, np.zeros((1, 2), np.int64)
        if len(top):
            self._move(self._sums(top["older"], np.ones(len(top), np.int64), top["newer"]))

    def _move(self, moves: Any) -> None:
        olders, sums = moves
        if olders[0] < self._open[0] or olders[-1] >= self._open[0] + len(self._open[1]):
            self._open = self._room(int(olders[0]), int(olders[-1]))
        first, known = self._open
        known[olders - first] = sums

    def _room(self, first: int, last: int) -> tuple[int, np.ndarray]:
        """The same, also for older sets from a first to a last, and without those before all that have pairs."""
        before, known = self._open
        there = np.flatnonzero(known[:, 0])
        if len(there):
            first, last = min(first, before + int(there[0])), max(last, before + int(there[-1]))
        wider = np.zeros((2 * (last - first + 1), 2), np.int64)
        wider[before + there - first] = known[there]
        return first, wider

    def _moves(self, rows: np.ndarray) -> Any:
        enters, expire = (rows["kind"] == KINDS.index(kind) for kind in ("enter", "expired"))
        olders, sums = self._sums(rows["older"], enters.astype(np.int64) - expire, rows["newer"])
        left = np.isin(olders, rows["older"][expire])
        if sums[left].any():
            older = olders[left][sums[left].any(axis=1)][0]
            raise InternalError(
                f"the change feed does not say of the pairs that set {older} ends, and only of those, that they expire"
            )
        newer = rows["newer"][enters]
        if not (expire | enters).all() or (newer[1:] < newer[:-1]).any():
            raise InternalError("the change feed says that pairs are outranked, or that they enter after others that are newer")
        return olders, sums

    def _sums(self, older: np.ndarray, signs: np.ndarray, newer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some older sets, and how many pairs each has after some changes, with the sum of their newer sets."""
        order = np.argsort(older, kind="stable")
        olders, starts = np.unique(older[order], return_index=True)
        sums = np.add.reduceat(np.column_stack((signs, signs * newer))[order], starts)
        first, known = self._open
        places = olders - first
        is_known = (places >= 0) & (places < len(known))
        sums[is_known] += known[places[is_known]]
        return olders, sums
