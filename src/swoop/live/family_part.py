"""The families of a cell: over all sets of its groups, of which it tells the merge how they are linked."""

from __future__ import annotations

import pyarrow as pa

from swoop.join.algorithms import make_family_engine
from swoop.join.payloads import TablePayloads
from swoop.join.slices import arrive
from swoop.live.family_merge import KEY, LINK
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction


class FamilyPart:
    """The families of a cell, and who its sets are, by arrival number.

    Links are between valid sets, so a cell that is rebuilt from the rows of its window goes on as any other.
    """

    def __init__(self, spec: FamilySpec, tokens: str | TokenFunction) -> None:
        self._spec, self._tokens = spec.in_ticks(), tokens
        self._engine = make_family_engine(self._spec, links=True)
        self._sets = TablePayloads()

    def insert(self, rows: pa.Table, sides: pa.Array | None) -> None:
        """Let sets arrive; whichever groups they are of, they may be linked."""
        known = [name for name in (*KEY, "text", "record") if name in rows.column_names]
        self._sets.add(self._engine.arrivals, rows.select(known))
        for _ in arrive(self._engine, [rows], self._spec.window, self._tokens):
            pass

    def advance(self, now: int) -> None:
        """Let time move on."""
        self._engine.advance(now)

    def take_events(self) -> pa.Table | None:
        """The links since the last call."""
        first, *ends = self._engine.links()
        self._engine.forget_changes(first + len(ends[0]))
        links = None
        if len(ends[0]):
            sets = [self._sets.take(numbers) for numbers in ends]
            columns = {
                f"{which}_{name}": rows[name] for which, rows in zip(LINK, sets, strict=True) for name in rows.column_names
            }
            columns.pop("older_record", None)  # it is not the newest of a family, or that is known
            links = pa.table(columns)
        self._sets.forget(self._engine.oldest)
        return links

    def sizes(self) -> dict[str, int]:
        """Sizes."""
        engine = self._engine
        return {
            "window_size": engine.arrivals - engine.oldest,
            "stock_size": 0,
            "vocabulary_size": engine.vocabulary_size,
            "memory_bytes": engine.memory_bytes,
        }
