"""The families of a whole history in one process: slices of time on several threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.join.columns import check_token_argument
from swoop.join.family_feed import record_columns
from swoop.join.feed import record_at, time_column
from swoop.join.kept import check_keep
from swoop.join.links import Groups, find_firsts, find_links
from swoop.join.parallel import Cutting
from swoop.join.rows import Rows, read_rows
from swoop.results import Family, FamilyHistory
from swoop.similarity import Similarity
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import Clock, WindowSpec


def families_history(
    data: Any,
    min_similarity: float,
    window: Any,
    similarity: str | Similarity = "jaccard",
    *,
    id: str = "id",
    time: str = "time",
    tokens: str | TokenFunction = "tokens",
    slices: int | None = None,
    threads: int | None = None,
    keep: str | Sequence[str] = (),
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
    slices, threads
        As for :func:`swoop.history`. An unbounded window is one slice. The result does not depend on them.
    keep
        Columns to come along: of the representative of a family, the result has them as ``representative_text`` and so on,
        and families have them in ``record``.

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
    check_token_argument(tokens)
    spec, cutting = FamilySpec(min_similarity, window, similarity), Cutting(slices, threads)
    rows, kind = read_rows(data, spec.window, id=id, time=time, tokens=tokens, keep=check_keep(keep))
    clock, told = Clock(spec.window), Clock(WindowSpec("duration", 0))
    clock.kind = told.kind = kind
    times = time_column(rows.times, told)
    if spec.window.kind == "count":
        rows = replace(rows, times=np.arange(len(rows.times)))
    return _result(rows, times, find_firsts(len(rows.times), find_links(rows, spec, cutting)), clock)


def _result(rows: Rows, row_times: pa.Array, firsts: np.ndarray, clock: Clock) -> FamilyHistory:
    times, duration = rows.times, clock.window.duration
    is_valid = times > times[-1] - duration if duration and len(times) else np.ones(len(times), bool)
    groups = Groups.of(firsts, is_valid)

    def ids_of(arrivals: np.ndarray) -> pa.Array:
        return rows.ids.take(pa.array(rows.lying_at(arrivals), pa.int64()))

    names, representatives = ids_of(groups.firsts), ids_of(groups.newest)
    records = rows.records(groups.newest) if rows.kept else None

    def make(index: int) -> Family:
        return Family(
            names[index].as_py(),
            int(groups.sizes[index]),
            int(groups.totals[index]),
            clock.result_time(int(times[groups.firsts[index]])),
            clock.result_time(int(times[groups.newest[index]])),
            representatives[index].as_py(),
            int(groups.firsts[index]),
            record_at(records, index),
        )

    def columns() -> dict[str, Any]:
        return {
            "id": names,
            "size": pa.array(groups.sizes, pa.int64()),
            "total": pa.array(groups.totals, pa.int64()),
            "first_seen": time_column(times[groups.firsts], clock),
            "last_seen": time_column(times[groups.newest], clock),
            "representative": representatives,
            **record_columns(records),
        }

    def labels() -> pa.Table:
        return pa.table({"id": ids_of(np.arange(len(times))), "time": row_times, "family": ids_of(firsts), "first": firsts})

    return FamilyHistory(len(names), make, columns, labels)
