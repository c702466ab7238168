"""The engine of live families in the process that takes the batches."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from swoop.join.arrivals import NO_SIDES
from swoop.join.families import Families
from swoop.join.family_origins import NO_FAMILY_ORIGINS, FamilyOrigins
from swoop.join.family_snapshot import FamilySnapshot
from swoop.live.checkpoint import State
from swoop.live.engines import Snapshot
from swoop.live.single_engine import SingleEngine


class OneFamilyEngine(SingleEngine[Families]):
    """One engine of families."""

    _no_origins = NO_FAMILY_ORIGINS

    def restore(self, state: State, k: int | None) -> None:
        """Let the sets of the window that this state names arrive anew, in the families that they had."""
        families = self._spec.make_families()
        self._begin(families, FamilyOrigins(families), state)

    def _insert(self, join: Families, sets: pa.Table) -> None:
        sets, keep = self._spec.with_kept(sets)
        join._insert_many(sets, self._spec.tokens, "time", "id", lambda columns, lengths: NO_SIDES, keep)

    def text_of(self, arrival: int) -> str | None:
        """The text of a set that a change of the last step tells of."""
        with self._reading:
            found: str | None = self._texts.get(arrival, "text")
            return found

    def snapshot(self, state: State) -> Snapshot[FamilySnapshot]:
        """The families, and the sizes of their engine."""
        sizes = self._sizes("families")
        with self._reading:
            return Snapshot(replace(self.join._snapshot(), kept_texts=self._texts.frozen()), sizes)
