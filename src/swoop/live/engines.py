"""What a live stream needs of its engines, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from swoop.live.checkpoint import State
from swoop.results import Changes, Explanation, Pair, SkybandStep, TopK

NO_ROWS = pa.table({})


@dataclass(frozen=True)
class StepResult:
    """What a step of a stream gives: a batch, or time that moves on without one.

    Attributes
    ----------
    state
        That after the step. Its chunks are written; it counts when it is written itself.
    changes
        Of the top-k. They are not counted in the state yet.
    late, rejected
        Rows of the batch that do not enter.
    rows
        How many rows came.
    """

    state: State
    changes: Changes
    late: pa.Table = field(default_factory=lambda: NO_ROWS)
    rejected: pa.Table = field(default_factory=lambda: NO_ROWS)
    rows: int = 0


@dataclass(frozen=True)
class Snapshot:
    """What people see after a step: the top-k, and ``sizes`` by the names that :class:`StreamStats` has for them."""

    topk: TopK
    sizes: dict[str, int]


class Engines(Protocol):
    """One engine, or those of all cells, as of some state. They keep the rows that they need under the checkpoint."""

    def restore(self, state: State, k: int | None) -> Changes | None:
        """Be as after a state, from now on with this k. Gives the changes that this makes, if k was lowered."""

    def process_batch(self, before: State, batch: int, rows: Any) -> StepResult:
        """Take the rows of a batch."""

    def advance(self, before: State, after: State) -> StepResult:
        """A step without rows, to the watermark of ``after``."""

    def snapshot(self, state: State) -> Snapshot:
        """What is to be seen now. What has left the window is forgotten."""

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has."""

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set; None where there is none (any more)."""

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter."""
