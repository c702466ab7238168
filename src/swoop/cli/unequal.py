"""``swoop stream --no-equal``: pairs of equal sets are found, but not shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from swoop.cli.history import EQUAL

if TYPE_CHECKING:
    from swoop.results import Change, Pair


def unequal(changes: Sequence[Change], measure: str) -> list[Change]:
    """Changes, but for those of pairs of equal sets."""
    return [change for change in changes if change.pair.similarity < EQUAL[measure]]


class WithoutEqual:
    """The handle of a live join for those who show it: everything but pairs of equal sets."""

    def __init__(self, handle: Any, measure: str) -> None:
        self._handle, self._measure = handle, measure
        self.hidden = 0
        """How many pairs of the top-k were of equal sets, when it was last asked for."""

    def topk(self) -> list[Pair]:
        """The most similar pairs of sets that differ."""
        every = list(self._handle.topk())
        found = [pair for pair in every if pair.similarity < EQUAL[self._measure]]
        self.hidden = len(every) - len(found)
        return found

    def changes(self) -> list[Change]:
        """Changes since the last call, of such pairs."""
        return unequal(self._handle.changes(), self._measure)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)
