"""What a live stream needs of its engines, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from swoop.join.family_snapshot import Order
from swoop.live.checkpoint import State
from swoop.results import Changes, Explanation, Family, FamilyChanges, FamilyList, Id, Pair, SkybandStep, TopK
from swoop.times import Clock

NO_ROWS = pa.table({})

Feed: TypeAlias = "Changes | FamilyChanges"
Result = TypeVar("Result", covariant=True)
"""What a stream finds: a TopK, or families."""


@dataclass(frozen=True)
class StepResult:
    """What a step of a stream gives: a batch, or time that moves on without one.

    Attributes
    ----------
    state
        That after the step. Its chunks are written; it counts when it is written itself.
    changes
        Of what is found. They are not counted in the state yet.
    late, rejected
        Rows of the batch that do not enter.
    rows
        How many rows came.
    """

    state: State
    changes: Feed
    late: pa.Table = field(default_factory=lambda: NO_ROWS)
    rejected: pa.Table = field(default_factory=lambda: NO_ROWS)
    rows: int = 0


@dataclass(frozen=True)
class Snapshot(Generic[Result]):
    """What people see after a step: what is found, and ``sizes`` by the names that :class:`StreamStats` has for them."""

    result: Result
    sizes: dict[str, int]


class Engines(Protocol[Result]):
    """One engine, or those of all cells, as of some state. They keep the rows that they need under the checkpoint."""

    def restore(self, state: State, k: int | None) -> Feed | None:
        """Be as after a state, from now on with this k. Gives the changes that this makes, if k was lowered."""

    def process_batch(self, before: State, batch: int, rows: Any) -> StepResult:
        """Take the rows of a batch."""

    def advance(self, before: State, after: State) -> StepResult:
        """A step without rows, to the watermark of ``after``."""

    def snapshot(self, state: State) -> Snapshot[Result]:
        """What is to be seen now. What has left the window is forgotten."""


class PairEngines(Engines[TopK], Protocol):
    """Those of a join."""

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has."""

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set; None where there is none (any more)."""

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter."""


class FoundFamilies(Protocol):
    """The families of a moment, which any thread may ask; sets are named by places."""

    @property
    def clock(self) -> Clock: ...

    @property
    def times(self) -> np.ndarray:
        """Of the sets, in ticks."""

    def families(self, n: int | None = None, order: Order = "size") -> FamilyList:
        """At most ``n`` families, in an order; see :meth:`swoop.Families.families`."""

    def arrivals(self, id: Id | Family) -> np.ndarray:
        """The places of the sets of a family that are in the window, in the order of their arrival."""

    def named(self, arrivals: np.ndarray) -> list[Id]:
        """The ids of the sets at some places."""

    def texts(self, arrivals: np.ndarray) -> list[str | None]:
        """The texts of the sets at some places; None where there is none (any more)."""

    def text_of(self, found: Any, /) -> str | None:
        """The text of a set that a change tells of."""


class FamilyEngines(Engines[FoundFamilies], Protocol):
    """Those of families."""

    def text_of(self, found: Any, /) -> str | None:
        """The text of a set that a change of the last step tells of."""
