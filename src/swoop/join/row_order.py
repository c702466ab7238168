"""The order in which rows enter: by time, id, tokens and stream. What is equal in all of these is the same set.

Equal sets are in the order of their records, if these are kept: so all ways to run show the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def find_order(times: np.ndarray, ids: pa.Array, rest: Callable[[np.ndarray], Sequence[Any]]) -> np.ndarray | None:
    """The places of rows in the order in which they enter; None if they are in order already.

    ``rest`` gives tokens and stream of rows at some places, as Python objects that compare alike. It is only asked for rows
    that have their time and id in common with others.
    """
    if _is_in_order(times, ids):
        return None
    table = pa.table({"time": times, "id": ids})
    order = pc.sort_indices(table, [("time", "ascending"), ("id", "ascending")]).to_numpy().astype(np.int64)
    same = _same_as_before(times, ids, order)
    if same.any():
        twins = np.flatnonzero(same | np.append(same[1:], False))  # rows that have their time and id in common with others
        keys = zip(np.cumsum(~same)[twins].tolist(), rest(order[twins]), range(len(twins)), strict=True)
        order[twins] = order[twins[[place for *_, place in sorted(keys)]]]
    return None if bool((order == np.arange(len(order))).all()) else order


def order_key(value: Any) -> tuple[Any, ...]:
    """By which a value of a record is ordered, as Spark orders values: null first, NaN last, lists and structs by their items.

    >>> sorted([[2, None], [2], None, [float("nan")], [10]], key=order_key)
    [None, [2], [2, None], [10], [nan]]
    """
    if value is None:
        return (0,)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return (1, [order_key(item) for item in value])
    if isinstance(value, float):
        return (2,) if value != value else (1, value)
    return (1, type(value).__name__, value)  # a text may stand for a time that Python does not have


def _is_in_order(times: np.ndarray, ids: pa.Array) -> bool:
    """Whether rows are in the order of time and id, and no two have both in common."""
    later = times[1:] > times[:-1]
    if later.all():
        return True
    if (times[1:] < times[:-1]).any():
        return False
    return bool((later | pc.less(ids[:-1], ids[1:]).to_numpy(zero_copy_only=False)).all())


def _same_as_before(times: np.ndarray, ids: pa.Array, order: np.ndarray) -> np.ndarray:
    """Which rows, in this order, have the time and the id of the row before them."""
    in_order = times[order]
    places = np.flatnonzero(in_order[1:] == in_order[:-1]) + 1
    ids_before, ids_there = (ids.take(pa.array(order[found])) for found in (places - 1, places))
    is_same = pc.equal(ids_before, ids_there)
    if pa.types.is_floating(ids.type):
        is_same = pc.or_(is_same, pc.and_(pc.is_nan(ids_before), pc.is_nan(ids_there)))
    same = np.zeros(len(times), bool)
    same[places] = is_same.to_numpy(zero_copy_only=False)
    return same
