"""The families of a stream, live: Structured Streaming brings the rows in batches, the engine lives in the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from swoop.join.family_snapshot import Order
from swoop.live.cell_engines import FamilyCellEngines
from swoop.live.checkpoint import Checkpoint
from swoop.live.live_families import FamilyStreamStats, LiveFamilies
from swoop.live.one_family_engine import OneFamilyEngine
from swoop.results import Family, FamilyChange, FamilyChanges, FamilyList, Id
from swoop.similarity import Similarity
from swoop.spark.handle import LiveHandle
from swoop.spark.rows import Names, find_keep, find_spark_window
from swoop.spark.starting import StartableStream, check_driver, check_sets, make_spec, prepared
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import Time


def families_stream(
    sets: DataFrame,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    text: str | None = None,
    reason: str | None = None,
    lateness: Any = "10 seconds",
    max_ahead: Any = None,
    cells: int | Literal["auto"] = 1,
    rate: float | None = None,
    keep: str | Sequence[str] = (),
) -> FamilyStream:
    """The families of a stream, to be started: groups of near copies, with a name that stays.

    Parameters
    ----------
    sets, id, time, tokens, reason, lateness, max_ahead, cells, rate
        As for :func:`swoop.spark.topk_stream`.
    min_similarity, window, similarity
        As for :class:`swoop.Families`. The window is a duration or an integer.
    text
        A column to show to people: it is stored with the window, and :meth:`FamilyHandle.examples` has it.
    keep
        Columns to come along: of representatives, results and changes have them as ``representative_text`` and so on, and
        families in ``record``. They are stored with the window.

    Examples
    --------
    ::

        posts = spark.readStream.schema("id long, time timestamp, text string").json("posts")
        stream = families_stream(posts, min_similarity=0.5, window="1 hour", tokens=words("text"), text="text")
        handle = stream.start(checkpoint="state", changes="changes")
        handle.families(10, order="growing")
    """
    check_driver(sets, "families_stream", "families_changes")
    names = Names(id, time, tokens, None, text, reason, keep=find_keep(keep))
    check_sets(sets, names, "swoop.families_history")
    asked = FamilySpec(min_similarity, find_spark_window(window), similarity)
    spec = make_spec(sets, names, asked, lateness, max_ahead, cells, rate)
    return FamilyStream(prepared(sets, names, spec), spec, names)


class FamilyHandle(LiveHandle[LiveFamilies]):
    """Running live families. What can be asked is as of the last batch; any thread may ask, and nobody waits for a batch."""

    def families(self, n: int | None = None, order: Order = "size") -> FamilyList:
        """The families of at least two sets that have one in the window; see :meth:`swoop.Families.families`."""
        return self._live.result.families(n, order)

    def members(self, id: Id | Family) -> list[Id]:
        """The ids of the sets of a family that are in the window; see :meth:`swoop.Families.members`."""
        found = self._live.result
        return found.named(found.arrivals(id))

    def examples(self, family: Id | Family, n: int = 3) -> list[tuple[Id, Time, str | None]]:
        """Ids, times and texts of ``n`` sets of a family, at most: the newest, those with different texts first.

        The text is None if ``families_stream`` was given none, or if the set has left the window since.
        """
        return self._live.examples(family, n)

    def texts(self, change: FamilyChange) -> tuple[str | None, str | None]:
        """The texts of the first and of the newest set (its representative) that a family had at a change.

        Texts are kept until the sets have left the window, and for a while longer: also those of a family that began and ended
        in the last batch are there. None where there is no text any more.
        """
        return self._live.texts(change)

    def changes(self) -> FamilyChanges:
        """Everything that happened to families since the last call. Only with ``changes="memory"``."""
        return FamilyChanges.joined(self._unread())

    @property
    def stats(self) -> FamilyStreamStats:
        """Metrics after the last batch."""
        return self._with_alerts(self._live.stats)


class FamilyStream(StartableStream[FamilyHandle]):
    """Live families that can be started."""

    def _make_live(
        self, checkpoint: Checkpoint, outputs: dict[str, Any], finish_cells: Callable[[], pa.Table] | None
    ) -> LiveFamilies:
        spec = self._spec
        engines = (
            OneFamilyEngine(spec, checkpoint) if finish_cells is None else FamilyCellEngines(spec, checkpoint, finish_cells)
        )
        return LiveFamilies(spec, checkpoint, engines, **outputs)

    def _handle(self, *arguments: Any) -> FamilyHandle:
        return FamilyHandle(*arguments)
