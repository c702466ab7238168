"""Live families: what can be asked of the families that a stream has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from swoop.errors import InvalidArgument, InvalidType
from swoop.live.checkpoint import Checkpoint
from swoop.live.engines import FamilyEngines, FoundFamilies
from swoop.live.outputs import Output
from swoop.live.resumable import LiveStats, ResumableStream
from swoop.live.stream_spec import StreamSpec
from swoop.results import Family, FamilyChange, FamilyChanges, Id
from swoop.times import Time

LOOKED_AT = 20  # sets for each example, at most, to find different texts


@dataclass(frozen=True)
class FamilyStreamStats(LiveStats):
    """Metrics of live families, after the last batch: those of :class:`LiveStats`, and how many families of at least two sets
    have one in the window.
    """

    families: int


class LiveFamilies(ResumableStream[FoundFamilies, FamilyStreamStats]):
    """Live families that come in numbered batches and resume from their checkpoint."""

    def __init__(
        self, spec: StreamSpec, checkpoint: Checkpoint, engines: FamilyEngines, changes: Output, late: Output, rejected: Output
    ) -> None:
        def texts(change: FamilyChange) -> tuple[str | None, str | None]:
            return _texts(change, engines.text_of)

        super().__init__(spec, checkpoint, engines, changes, late, rejected, stats=FamilyStreamStats, texts=texts)

    def examples(self, family: Id | Family, n: int) -> list[tuple[Id, Time, str | None]]:
        """Ids, times and texts of the newest sets of a family, those with different texts first."""
        if isinstance(n, bool) or not isinstance(n, int):
            raise InvalidType(f"n must be an integer, not {n!r:.60}")
        if n < 1:
            raise InvalidArgument(f"n must be at least 1, not {n}")
        found = self.result  # the same, whatever the stream does meanwhile
        arrivals = found.arrivals(family)[::-1][: LOOKED_AT * n]
        texts = found.texts(arrivals)
        first = {text: place for place, text in reversed([*enumerate(texts)])}
        places = sorted(range(len(texts)), key=lambda place: (texts[place] is not None and first[texts[place]] < place, place))[
            :n
        ]
        shown = arrivals[places]
        times = [found.clock.result_time(tick) for tick in found.times[shown].tolist()]
        return list(zip(found.named(shown), times, (texts[place] for place in places), strict=True))

    def texts(self, change: FamilyChange) -> tuple[str | None, str | None]:
        """The texts of the first and of the newest set that a family had at a change; None where there is none (any more)."""
        return _texts(change, self.result.text_of)

    @cached_property
    def no_changes(self) -> FamilyChanges:
        """An empty feed, with the columns of a full one."""
        return self._spec.make_families().changes()


def _texts(change: FamilyChange, text_of: Callable[[Any], str | None]) -> tuple[str | None, str | None]:
    first, newest = (None if change.sets is None else text_of(one) for one in change.sets or (None, None))
    return first, newest
