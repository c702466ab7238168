"""From the rows of the engine to pairs and changes, with the caller's ids and times."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from swoop.errors import InternalError
from swoop.join.ids import Ids
from swoop.results import Change, Changes, Id, Kind, Pair, SkybandStep, Stream, TopK
from swoop.similarity import Similarity
from swoop.times import FIRST_DATETIME, LAST_DATETIME, Clock

KINDS: tuple[Kind, ...] = ("enter", "outranked", "expired")
SIDES: tuple[Stream, ...] = ("left", "right")


class Rows:
    """Rows of the engine with the ids that go with them."""

    def __init__(self, rows: np.ndarray, newer: list[Id], older: list[Id], seen: np.ndarray | None = None) -> None:
        self.rows = rows
        self.newer = newer
        self.older = older
        self.seen = seen  # where copies count once

    @classmethod
    def of(cls, rows: np.ndarray, seen: np.ndarray | None, ids: Ids) -> Rows:
        return cls(rows, [ids.get(a) for a in rows["newer"].tolist()], [ids.get(a) for a in rows["older"].tolist()], seen)

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Several parts as one."""
        from swoop.engine.layout import CHANGE

        if not parts:
            return cls(np.zeros(0, CHANGE), [], [])
        return cls(
            np.concatenate([part.rows for part in parts]),
            [name for part in parts for name in part.newer],
            [name for part in parts for name in part.older],
            None if parts[0].seen is None else np.concatenate([part.seen for part in parts if part.seen is not None]),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def pair_maker(self, clock: Clock, similarity: Similarity, two_streams: bool) -> Callable[[int], Pair]:
        unbounded = clock.window.duration == 0

        def copies(index: int) -> Iterator[Any]:
            if self.seen is not None:
                for name, value in zip(self.seen.dtype.names or (), self.seen[index].tolist(), strict=True):
                    yield value if name.endswith("copies") else clock.result_time(value)

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
        }

    def _copies(self, clock: Clock) -> dict[str, Any]:
        import pyarrow as pa

        if self.seen is None:
            return {}
        columns = {name: np.ascontiguousarray(self.seen[name]) for name in self.seen.dtype.names or ()}
        return {
            name: pa.array(column) if name.endswith("copies") else time_column(column, clock)
            for name, column in columns.items()
        }


def time_column(ticks: np.ndarray | list[int], clock: Clock) -> Any:
    """Times as an Arrow column, the same as :meth:`swoop.times.Clock.result_time` gives one by one."""
    import pyarrow as pa

    if clock.window.kind == "count" or clock.kind not in ("naive", "aware"):
        return pa.array(ticks, pa.int64())
    known = np.clip(np.asarray(ticks, np.int64), FIRST_DATETIME, LAST_DATETIME)
    return pa.array(known).cast(pa.timestamp("us", "UTC" if clock.kind == "aware" else None))


def id_column(ids: list[Id]) -> Any:
    """Ids of one type keep it; a mixture becomes strings."""
    import pyarrow as pa

    kinds = set(map(type, ids))
    if len(kinds) > 1:
        return pa.array([name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name) for name in ids])
    return pa.array(ids, pa.int64() if not kinds else None)


def make_topk(found: Rows, clock: Clock, similarity: Similarity, two_streams: bool) -> TopK:
    return TopK(len(found), found.pair_maker(clock, similarity, two_streams), lambda: found.columns(clock, similarity))


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

    def __init__(self) -> None:
        self._parts: list[tuple[int, Rows, dict[tuple[int, int], bool]]] = []  # with the number of changes up to each
        self._taken = 0
        self._top: set[tuple[int, int]] = set()

    def restore(self, waiting: Rows | None, top: np.ndarray) -> None:
        """Begin with changes that nobody has asked for, and with those who are in the top-k."""
        self._top = set(zip(top["newer"].tolist(), top["older"].tolist(), strict=True))
        if waiting is not None:
            self._parts.append((self._taken, waiting, {}))

    def take(self, engine: Any, ids: Ids) -> None:
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
            self._parts.append((stop, Rows.of(part, None if seen is None else seen[taken - first :], ids), self._moves(part)))
        for pair, is_in in self._parts[-1][2].items():
            if is_in:
                self._top.add(pair)
            else:
                self._top.discard(pair)
        engine.forget_changes(stop)

    def _moves(self, rows: np.ndarray) -> dict[tuple[int, int], bool]:
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
        return Rows.joined([rows for _, rows, _ in self._parts])

    def changes(self, clock: Clock, similarity: Similarity, two_streams: bool) -> Changes:
        found = self.waiting()
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

        changes = Changes(len(found), make, columns)
        if self._parts:
            self._taken = self._parts[-1][0]
            self._parts = []
        return changes
