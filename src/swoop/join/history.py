"""The top-k of a whole history in one process: slices of time on several threads, without Spark, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.engine.contents import Names
from swoop.errors import InvalidArgument
from swoop.join.columns import check_token_argument
from swoop.join.feed import record_at, time_column
from swoop.join.kept import check_keep
from swoop.join.keys import find_by
from swoop.join.links import find_firsts, find_links
from swoop.join.parallel import Cutting, Slice
from swoop.join.rows import Rows, read_rows
from swoop.join.slices import NEVER, SEGMENT, join_segments, replay, similarities
from swoop.readable import value_at
from swoop.results import History, Kind, Pair, Stream
from swoop.similarity import Similarity
from swoop.spec import Copies, FamilySpec, JoinSpec
from swoop.stays import Stay
from swoop.text.functions import TokenFunction
from swoop.times import Clock, TimeKind, WindowSpec, find_window

COLUMNS = ("newer", "older", "similarity", "overlap", "enter", "leave")

WORTH_NAMING = 4
"""From so many threads on it is worth to find out what records are called, so that time can be cut where copies count once."""


def history(
    data: Any,
    k: int | None,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    stream: str | None = None,
    min_similarity: float | None = None,
    max_pairs: int | None = None,
    slices: int | None = None,
    threads: int | None = None,
    copies: Copies = "each",
    keep: str | Sequence[str] = (),
    by: str | Sequence[str] | None = None,
) -> History:
    """Every stay of a pair in the top-k of a history, as :func:`swoop.spark.topk_history` gives it, without Spark.

    Parameters
    ----------
    data
        One row per set, in any order: an Arrow table or record batch, a pandas or Polars data frame, a dict of columns, a
        ``pyarrow.dataset.Dataset``, a ``RecordBatchReader``, or an iterator of batches. Only columns that are used are read.
        Sets with equal times enter in the order of their ids, those with equal ids in the order of their tokens or texts.
        Unusable rows are left out with a warning that counts them.
    k, window, similarity, min_similarity, max_pairs
        As for :class:`swoop.TopKJoin`. The window is a duration or an integer.
    id, time, tokens, stream
        Names of the columns. Tokens may also be made from columns of text, by :func:`swoop.words`, :func:`swoop.word_ngrams`
        or :func:`swoop.char_ngrams`. ``stream`` names a column with ``"left"`` and ``"right"``; then only pairs across the
        sides count.
    slices
        The number of slices that time is cut into; by default chosen from the data and the threads. The result does not depend
        on it.
    threads
        How many slices run at a time; by default as many as there are cores.
    copies
        As for :class:`swoop.TopKJoin`. Where copies count once, what a record is called depends on all that came before. That
        is found out first, in slices, too, which takes about as long as the rest: so, unless ``slices`` says otherwise, time is
        only cut from four threads on. With two streams it is not cut: the history is one slice.
    keep
        Columns to come along, such as ``["text", "author"]``: the result has them as ``newer_text``, ``older_text`` and so on,
        and pairs have them in ``newer_record`` and ``older_record``. Where copies count once, they are those of the first set
        of a record, as its id is.
    by
        One column or several that make a key: one independent result per key, as if the rows of no other key were there. Each
        history ends with the last row of its key. A null is a key like others. Where copies count once, the history of a key is
        one slice, unless ``slices`` says otherwise.

    Returns
    -------
    History
        One row per stay of positive duration, by ``enter``, then ``similarity`` descending, then ``newer`` and ``older`` in the
        order in which they arrived. The history ends at the time of its last row; pairs that are still in the top-k then have
        no ``leave``. With keys, one history after the other, in the order of the keys, whose columns come first; stays have
        the key in ``by``.

    Notes
    -----
    The rows are kept in memory. They are not copied, unless they come in many small batches: then once.

    Examples
    --------
    >>> import swoop
    >>> posts = {"id": ["a", "b", "c"], "time": [1, 4, 9], "text": ["Win a phone", "win a PHONE!", "Lovely morning"]}
    >>> for stay in swoop.history(posts, k=1, window=5, tokens=swoop.words("text")):
    ...     print(stay.pair.newer, stay.pair.older, stay.pair.similarity, stay.enter, stay.leave)
    b a 1.0 4 6
    >>> swoop.history(posts, k=1, window=5, tokens=swoop.words("text"), keep="text")[0].pair.newer_record
    {'text': 'win a PHONE!'}
    """
    check_token_argument(tokens)
    spec = JoinSpec(
        k,
        _find_window(window),
        similarity,
        two_streams=stream is not None,
        min_similarity=min_similarity,
        track_changes=True,
        max_pairs=max_pairs,
        copies=copies,
    )
    cutting, kept = Cutting(slices, threads), check_keep(keep)
    names = find_by(by, [*COLUMNS, *(f"{side}_{name}".lower() for side in COLUMNS[:2] for name in kept)])
    rows, kind = read_rows(data, spec.window, id=id, time=time, tokens=tokens, stream=stream, keep=kept, by=names)
    if copies == "once" and (stream is not None or (slices is None and (names or cutting.at_once < WORTH_NAMING))):
        cutting = Cutting(1, threads)
    return _result(rows, _find(rows, spec, cutting), spec, kind)


def _find_window(window: object) -> WindowSpec:
    found = find_window(window)
    if found.kind not in ("duration", "integer"):
        raise InvalidArgument(
            f"the window of a history must be a duration or an integer, not {found}; for other windows use swoop.TopKJoin"
        )
    return found


@dataclass(frozen=True)
class Found:
    """The stays of a history, or of that of each key, one history after the other.

    ``stays`` have the arrival numbers of their own history; ``newer`` and ``older`` are the places of these sets among all
    rows. ``history``: which one a stay is of. ``keys``: those of the histories.
    """

    stays: np.ndarray
    newer: np.ndarray
    older: np.ndarray
    history: np.ndarray
    keys: pa.Table | None = None

    def take(self, places: np.ndarray) -> Found:
        """Some stays, in this order."""
        stays, newer, older, history = (found[places] for found in (self.stays, self.newer, self.older, self.history))
        return Found(stays, newer, older, history, self.keys)


def _find(rows: Rows, spec: JoinSpec, cutting: Cutting) -> Found:
    """The stays of all rows, or of those of each key."""
    if not rows.keys:
        (stays,) = _replay_all([rows], spec, cutting)
        return Found(stays, stays["newer"], stays["older"], np.zeros(len(stays), np.int64))
    keys, arrivals = rows.by_key()
    found = _replay_all([rows.part(own) for own in arrivals], spec, cutting)
    none = np.empty(0, np.int64)
    newer, older = (
        np.concatenate([none, *(own[stays[side]] for own, stays in zip(arrivals, found, strict=True))])
        for side in ("newer", "older")
    )
    history = np.repeat(np.arange(len(found)), [len(stays) for stays in found])
    return Found(np.concatenate([np.empty(0, SEGMENT), *found]), newer, older, history, keys)


def _replay_all(histories: Sequence[Rows], spec: JoinSpec, cutting: Cutting) -> list[np.ndarray]:
    """The stays of each history, whose slices run on all threads."""
    in_ticks, duration = spec.in_ticks(), spec.window.duration

    def task(rows: Rows) -> Callable[[Slice], np.ndarray]:
        names = _names(rows, spec.window, cutting) if spec.copies == "once" else None

        def run(part: Slice) -> np.ndarray:
            own = None if names is None else names.of(slice(part.first, None))
            found = replay(part.batches, in_ticks, rows.sets.tokens, part.start, part.stop, part.is_last, part.first, own)
            return np.concatenate([segments for segments, _ in found])

        return run

    found = cutting.run_all([(rows, task(rows)) for rows in histories], duration)
    return [join_segments(np.concatenate([np.empty(0, SEGMENT), *parts])) for parts in found]


def _names(rows: Rows, window: WindowSpec, cutting: Cutting) -> Names | None:
    """What the records of all sets are called, if there are several slices: copies are families of equal sets."""
    if len(rows.times) == 0 or len(cutting.cuts(rows, window.duration)) == 2:
        return None
    (links,) = find_links([rows], FamilySpec(1.0, window), cutting)
    firsts = find_firsts(len(rows.times), links)
    return Names(firsts, rows.times[firsts])


def _result(rows: Rows, found: Found, spec: JoinSpec, kind: TimeKind) -> History:
    shown = similarities(found.stays["key"], spec.similarity)
    order = np.lexsort((found.older, found.newer, -shown, found.stays["enter"], found.history))
    found, shown = found.take(order), shown[order]
    stays, keys = found.stays, found.keys
    newer, older = (rows.ids.take(pa.array(rows.lying_at(side))) for side in (found.newer, found.older))
    streams = _streams(rows, found.newer) if spec.two_streams else None
    starts, ends = rows.times[found.newer], stays["end"]
    is_open = stays["leave"] == NEVER
    clock = Clock(spec.window)
    clock.kind = kind

    @cache
    def records() -> dict[str, pa.Table]:
        return {"newer": rows.records(found.newer), "older": rows.records(found.older)} if rows.kept else {}

    @cache
    def key_of(history: int) -> tuple[Any, ...]:
        return () if keys is None else tuple(value_at(column, history) for column in keys.columns)

    def make(index: int) -> Stay:
        stay = stays[index]
        pair = Pair(
            float(shown[index]),
            newer[index].as_py(),
            older[index].as_py(),
            int(stay["overlap"]),
            clock.time(int(starts[index])),
            clock.time(int(ends[index])),
            None if streams is None else streams[index],
            (int(stay["newer"]), int(stay["older"])),
            newer_record=record_at(records().get("newer"), index),
            older_record=record_at(records().get("older"), index),
        )
        enter, key = clock.time(int(stay["enter"])), key_of(int(found.history[index]))
        if is_open[index]:
            return Stay(pair, enter, by=key)
        how: Kind = "expired" if stay["leave"] == ends[index] else "outranked"
        return Stay(pair, enter, clock.time(int(stay["leave"])), how, by=key)

    def columns() -> dict[str, Any]:
        leave = time_column(np.where(is_open, stays["enter"], stays["leave"]), clock)
        of_keys = {} if keys is None else {name: keys[name].take(pa.array(found.history)) for name in keys.column_names}
        return {
            **of_keys,
            "newer": newer,
            "older": older,
            "similarity": pa.array(shown),
            "overlap": pa.array(stays["overlap"]),
            "enter": time_column(stays["enter"], clock),
            "leave": pc.if_else(pa.array(is_open), pa.scalar(None, leave.type), leave),
            **{f"{side}_{name}": found[name] for side, found in records().items() for name in found.column_names},
        }

    return History(len(stays), make, columns)


def _streams(rows: Rows, arrivals: np.ndarray) -> list[Stream]:
    found: list[Stream] = rows.sets.take(rows.lying_at(arrivals))["stream"].to_pylist()
    return found
