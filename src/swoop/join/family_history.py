"""The families of a whole history, in one pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.engine.forest import flatten, unite
from swoop.join import columns as cs
from swoop.join.algorithms import make_family_engine
from swoop.join.arrivals import NO_SIDES
from swoop.join.feed import time_column
from swoop.join.history import Rows, read_rows
from swoop.results import Family, FamilyHistory
from swoop.similarity import Similarity
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import Clock


def families_history(
    data: Any,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
) -> FamilyHistory:
    """All families that a history has had, as :class:`swoop.Families` would have shown them, and the family of each row.

    Parameters
    ----------
    data
        One row per set, in any order, as for :func:`swoop.history`. Sets with equal times enter in the order of their ids.
        Unusable rows are left out with a warning that counts them.
    min_similarity, window, similarity
        As for :class:`swoop.Families`.
    id, time, tokens
        Names of the columns. Tokens may also be made from columns of text, by :func:`swoop.words`, :func:`swoop.word_ngrams`
        or :func:`swoop.char_ngrams`.

    Returns
    -------
    FamilyHistory
        One row per family of at least two sets, by first set. ``size`` is how many of its sets are in the window at the end of
        the history, so 0 if it has ended. Families that became part of another one are in that one.

    Examples
    --------
    >>> import swoop
    >>> posts = {"id": ["a", "b", "c", "d"], "time": [1, 4, 9, 30], "text": ["Win a phone", "win a PHONE!", "Hello", "Win it"]}
    >>> found = swoop.families_history(posts, 0.5, window=5, tokens=swoop.words("text"))
    >>> found
    FamilyHistory([Family(id='a', size=0, total=2, first_seen=1, last_seen=4, representative='b')])
    >>> found.rows().column("family").to_pylist()
    ['a', 'a', 'c', 'd']
    """
    cs.check_token_argument(tokens)
    spec = FamilySpec(min_similarity, window, similarity)
    rows, kind = read_rows(data, spec.window, id=id, time=time, tokens=tokens)
    times = np.arange(len(rows.times)) if spec.window.kind == "count" else rows.times
    firsts = _find_firsts(spec, rows, times)
    clock = Clock(spec.window)
    clock.kind = kind
    return _result(rows, times, firsts, clock)


def _find_firsts(spec: FamilySpec, rows: Rows, times: np.ndarray) -> np.ndarray:
    """Of each set, by arrival number, the first set of its family."""
    engine = make_family_engine(spec, links=True)
    parents = np.arange(len(times))
    at = 0
    for batch in rows.batches(0, len(times), threading.Event()):
        for first, count, offsets, tokens in cs.read_sets(batch, rows.sets.tokens)[0]:
            engine.insert(times[at + first : at + first + count], offsets, tokens, NO_SIDES)
        at += len(batch["time"])
        start, newer, older = engine.links()
        engine.forget_changes(start + len(newer))
        unite(parents, newer, older)
    flatten(parents)
    return parents


def _result(rows: Rows, times: np.ndarray, firsts: np.ndarray, clock: Clock) -> FamilyHistory:
    size, duration = len(times), clock.window.duration
    totals = np.bincount(firsts, minlength=size)
    valid = times > times[-1] - duration if duration and size else np.ones(size, bool)
    sizes = np.bincount(firsts[valid], minlength=size)
    newest = np.zeros(size, np.int64)
    np.maximum.at(newest, firsts, np.arange(size))
    found = np.flatnonzero(totals > 1)
    totals, sizes, newest = totals[found], sizes[found], newest[found]

    def ids_of(arrivals: np.ndarray) -> pa.Array:
        return rows.ids.take(pa.array(rows.lying_at(arrivals), pa.int64()))

    names, representatives = ids_of(found), ids_of(newest)

    def make(index: int) -> Family:
        return Family(
            names[index].as_py(),
            int(sizes[index]),
            int(totals[index]),
            clock.result_time(int(times[found[index]])),
            clock.result_time(int(times[newest[index]])),
            representatives[index].as_py(),
            int(found[index]),
        )

    def columns() -> dict[str, Any]:
        return {
            "id": names,
            "size": pa.array(sizes, pa.int64()),
            "total": pa.array(totals, pa.int64()),
            "first_seen": time_column(times[found], clock),
            "last_seen": time_column(times[newest], clock),
            "representative": representatives,
        }

    def labels() -> pa.Table:
        return pa.table({"id": ids_of(np.arange(size)), "time": time_column(times, clock), "family": ids_of(firsts)})

    return FamilyHistory(len(found), make, columns, labels)
