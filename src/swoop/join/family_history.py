"""The families of a whole history in one process: slices of time on several threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.join.columns import check_token_argument
from swoop.join.family_feed import record_columns
from swoop.join.feed import record_at, time_column
from swoop.join.kept import check_keep
from swoop.join.keys import find_by
from swoop.join.links import Groups, find_firsts, find_links
from swoop.join.parallel import Cutting
from swoop.join.rows import Rows, read_rows
from swoop.readable import value_at
from swoop.results import Family, FamilyHistory
from swoop.similarity import Similarity
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import Clock, WindowSpec

FAMILY = ("id", "size", "total", "first_seen", "last_seen", "representative")
MEMBER = ("id", "time", "family")


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
    by: str | Sequence[str] | None = None,
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
    by
        One column or several that make a key, as for :func:`swoop.history`: one independent result per key.

    Returns
    -------
    FamilyHistory
        One row per family of at least two sets, by first set. ``size`` is how many of its sets are in the window at the end of
        the history, so 0 if it has ended. Families that became part of another one are in that one. With keys, one history
        after the other, in the order of the keys, whose columns come first; families have the key in ``by``.

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
    spec, cutting, kept = FamilySpec(min_similarity, window, similarity), Cutting(slices, threads), check_keep(keep)
    names = find_by(by, [*FAMILY, *MEMBER, *(f"representative_{name}".lower() for name in kept)])
    rows, kind = read_rows(data, spec.window, id=id, time=time, tokens=tokens, keep=kept, by=names)
    clock, told = Clock(spec.window), Clock(WindowSpec("duration", 0))
    clock.kind = told.kind = kind
    return _result(rows, time_column(rows.times, told), _find(rows, spec, cutting), clock)


@dataclass(frozen=True)
class Found:
    """What is known of each row: when it entered, whether it is valid in the end, and the first row of its family.

    ``history``: which key it has. ``keys``: the keys, in order.
    """

    times: np.ndarray
    is_valid: np.ndarray
    firsts: np.ndarray
    history: np.ndarray
    keys: pa.Table | None = None


def _find(rows: Rows, spec: FamilySpec, cutting: Cutting) -> Found:
    """The families of all rows, or of those of each key."""
    keys, arrivals = rows.by_key() if rows.keys else (None, [np.arange(len(rows.times))])
    histories = [rows.part(own) for own in arrivals] if rows.keys else [rows]
    if spec.window.kind == "count":
        histories = [replace(part, times=np.arange(len(part.times))) for part in histories]
    size, duration = len(rows.times), spec.window.duration
    found = Found(np.empty(size, np.int64), np.ones(size, bool), np.empty(size, np.int64), np.empty(size, np.int64), keys)
    links = find_links(histories, spec, cutting)
    for number, (own, part) in enumerate(zip(arrivals, histories, strict=True)):
        found.times[own], found.history[own] = part.times, number
        found.firsts[own] = own[find_firsts(len(own), links[number])]
        if duration and len(own):
            found.is_valid[own] = part.times > part.times[-1] - duration
    return found


def _result(rows: Rows, row_times: pa.Array, found: Found, clock: Clock) -> FamilyHistory:
    times, firsts = found.times, found.firsts
    groups = Groups.of(firsts, found.is_valid)
    groups = groups.take(np.argsort(found.history[groups.firsts], kind="stable"))

    def ids_of(arrivals: np.ndarray) -> pa.Array:
        return rows.ids.take(pa.array(rows.lying_at(arrivals), pa.int64()))

    def keys_of(arrivals: np.ndarray) -> dict[str, Any]:
        keys = found.keys
        return {} if keys is None else {name: keys[name].take(pa.array(found.history[arrivals])) for name in keys.column_names}

    names, representatives, keys = ids_of(groups.firsts), ids_of(groups.newest), keys_of(groups.firsts)
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
            tuple(value_at(column, index) for column in keys.values()),
        )

    def columns() -> dict[str, Any]:
        return {
            **keys,
            "id": names,
            "size": pa.array(groups.sizes, pa.int64()),
            "total": pa.array(groups.totals, pa.int64()),
            "first_seen": time_column(times[groups.firsts], clock),
            "last_seen": time_column(times[groups.newest], clock),
            "representative": representatives,
            **record_columns(records),
        }

    def labels() -> pa.Table:
        arrivals = np.arange(len(times))
        return pa.table({**keys_of(arrivals), "id": ids_of(arrivals), "time": row_times, "family": ids_of(firsts)})

    return FamilyHistory(len(names), make, columns, labels, firsts)
