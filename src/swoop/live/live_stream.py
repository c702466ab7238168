"""A live join: what can be asked of the pairs that a stream has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from swoop.live.checkpoint import Checkpoint
from swoop.live.engines import PairEngines
from swoop.live.outputs import Output
from swoop.live.resumable import LiveStats, ResumableStream
from swoop.live.stream_spec import StreamSpec
from swoop.results import Change, Changes, Explanation, Pair, SkybandStep, TopK


@dataclass(frozen=True)
class StreamStats(LiveStats):
    """Metrics of a live join, after its last batch: those of :class:`LiveStats`, and the pairs in its stock."""

    stock_size: int


class LiveStream(ResumableStream[TopK, StreamStats]):
    """A live join that comes in numbered batches and resumes from its checkpoint."""

    def __init__(
        self, spec: StreamSpec, checkpoint: Checkpoint, engines: PairEngines, changes: Output, late: Output, rejected: Output
    ) -> None:
        self._engines = engines

        def texts(change: Change) -> tuple[str | None, str | None]:
            return engines.texts(change.pair)

        super().__init__(spec, checkpoint, engines, changes, late, rejected, stats=StreamStats, texts=texts)

    @property
    def topk(self) -> TopK:
        """As of the last step that was done."""
        return self.result

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has."""
        return self._engines.explain(pair)

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set; None where there is none (any more)."""
        return self._engines.texts(pair)

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter."""
        return self._engines.skyband()

    @cached_property
    def no_changes(self) -> Changes:
        """An empty feed, with the columns of a full one."""
        return self._spec.make_join(self._spec.k).changes()
