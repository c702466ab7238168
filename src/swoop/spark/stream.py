"""The top-k of a stream, live: Structured Streaming brings the rows in batches, the engine lives in the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from swoop.live.cell_engines import CellEngines
from swoop.live.checkpoint import Checkpoint
from swoop.live.live_stream import LiveStream, StreamStats
from swoop.live.one_engine import OneEngine
from swoop.results import Changes, Explanation, Pair, SkybandStep, TopK
from swoop.similarity import Similarity
from swoop.spark.handle import LiveHandle
from swoop.spark.rows import Names, find_keep, find_spark_window
from swoop.spark.starting import StartableStream, check_driver, check_sets, make_spec, prepared
from swoop.spec import Copies, JoinSpec
from swoop.text.functions import TokenFunction


def topk_stream(
    sets: DataFrame,
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    stream: str | None = None,
    text: str | None = None,
    reason: str | None = None,
    min_similarity: float | None = None,
    max_pairs: int | None = None,
    copies: Copies = "each",
    lateness: Any = "10 seconds",
    max_ahead: Any = None,
    cells: int | Literal["auto"] = 1,
    rate: float | None = None,
    algorithm: str = "swoop",
    keep: str | Sequence[str] = (),
) -> TopKStream:
    """The top-k of a stream, to be started.

    Parameters
    ----------
    sets
        A streaming DataFrame with one row per set: an id (integer, string or binary), a time (timestamp or integer, as the
        window requires) and an array of tokens. Unusable rows go to the rejected output.
    k, window, similarity, min_similarity, max_pairs, copies
        As for :class:`swoop.TopKJoin`. The window is a duration or an integer.
    id, time, tokens, stream
        Names of the columns. Instead of a column of tokens, a token function such as ``words("text")`` makes tokens where the
        engine is, which is much faster than a column. ``stream`` names a column with ``"left"`` and ``"right"``; then only
        pairs across the sides count.
    reason
        A column that says what is wrong with a row, if that is known before: such rows are rejected. Null where nothing is.
    text
        A column to show to people: it is stored with the window, and :meth:`StreamHandle.texts` returns it for a pair.
    lateness
        Allowed lateness, in the time of the rows: they enter in the order of time and id once a row has arrived
        that is later by this much. Rows that arrive after that go to the late output.
    max_ahead
        How far a row may be ahead of the latest row so far, such as ``"1 hour"``. Rows further in the future are rejected, so
        that one wrong clock does not make every row after it late. It should be longer than any silence of the
        stream; see docs/spark.md for what happens after a longer one. None: every row is accepted.
    cells
        1: one engine, in the driver. 3, 6, 10, ...: the sets are divided into g groups, and each of the g(g+1)/2 pairs of
        groups has an engine on the cluster. The results are the same; see docs/scaling.md for when this pays off. ``"auto"``
        chooses from ``rate`` and the memory of the machines.
    rate
        The expected number of sets per second (with an integer window: per unit of time). Only for ``cells="auto"``.
    algorithm
        ``"swoop"``, or ``"swoop-minimal"``, which is slower but has the paper's whole skyband, for the live page and
        :meth:`StreamHandle.skyband`. The results are the same.
    keep
        Columns to come along, such as ``["text", "author"]``: results and changes have them as ``newer_text``, ``older_text``
        and so on, and pairs in ``newer_record`` and ``older_record``. They are stored with the window. Where copies count once,
        they are those of the first set of a record, as its id is.

    Examples
    --------
    ::

        posts = spark.readStream.schema("id long, time timestamp, text string").json("posts")
        stream = topk_stream(posts, k=10, window="1 hour", tokens=words("text"))
        handle = stream.start(checkpoint="state", changes="changes")
        handle.topk()
    """
    check_driver(sets, "topk_stream", "topk_changes")
    names = Names(id, time, tokens, stream, text, reason, keep=find_keep(keep))
    check_sets(sets, names, "topk_history")
    join = JoinSpec(
        k,
        find_spark_window(window),
        similarity,
        two_streams=stream is not None,
        min_similarity=min_similarity,
        track_changes=True,
        algorithm=algorithm,
        max_pairs=max_pairs,
        copies=copies,
    )
    spec = make_spec(sets, names, join, lateness, max_ahead, cells, rate)
    return TopKStream(prepared(sets, names, spec), spec, names)


class StreamHandle(LiveHandle[LiveStream]):
    """A running live join."""

    def topk(self) -> TopK:
        """The most similar pairs after the last batch, at most k, in the total order."""
        return self._live.topk

    def changes(self) -> Changes:
        """Every change of the top-k since the last call. Only with ``changes="memory"``."""
        return Changes.joined(self._unread())

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has. Both must still be in the window."""
        return self._live.explain(pair)

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        """The texts of the newer and of the older set, if ``topk_stream`` was given ``text``; None if they are gone."""
        return self._live.texts(pair)

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter, by its end time; see :meth:`swoop.TopKJoin.skyband`."""
        return self._live.skyband()

    @property
    def stats(self) -> StreamStats:
        """Metrics after the last batch."""
        return self._with_alerts(self._live.stats)


class TopKStream(StartableStream[StreamHandle]):
    """A live join that can be started."""

    def _make_live(
        self, checkpoint: Checkpoint, outputs: dict[str, Any], finish_cells: Callable[[], pa.Table] | None
    ) -> LiveStream:
        spec = self._spec
        engines = OneEngine(spec, checkpoint) if finish_cells is None else CellEngines(spec, checkpoint, finish_cells)
        return LiveStream(spec, checkpoint, engines, **outputs)

    def _handle(self, *arguments: Any) -> StreamHandle:
        return StreamHandle(*arguments)
