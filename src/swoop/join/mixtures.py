"""Columns of Python's values of which Arrow would change some, so that all are of one type. They are refused.

Texts would become bytes where one value is bytes, a datetime would become a date behind one, and times of day would lose their
zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.errors import InvalidData

_BYTES = (pa.types.is_binary, pa.types.is_large_binary)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_NUMBERED = (pa.types.is_duration, pa.types.is_time)


def refuse_mixture(values: Iterable[Any], kind: pa.DataType, name: str) -> None:
    """Refuse values of which Arrow has made a column of this type, if some are not what they were.

    >>> refuse_mixture(["x", b"y"], pa.array(["x", b"y"]).type, "text")
    Traceback (most recent call last):
    swoop.errors.InvalidData: column 'text' has values that would change: 'x' would become binary; make all of one type first
    """
    for value in _changed(values, kind):
        raise InvalidData(
            f"column {name!r} has values that would change: {value!r:.60} would become {kind}; make all of one type first"
        )


def refuse_mixtures(data: Any, table: pa.Table) -> None:
    """The same of a data frame with columns of objects, of which Arrow has made a table."""
    for field in table.schema:
        if field.name in data and getattr(data[field.name], "dtype", None) == np.dtype(object):
            refuse_mixture(data[field.name], field.type, field.name)


def _changed(values: Iterable[Any], kind: pa.DataType) -> Iterable[Any]:
    """The values that are others in a column of this type."""
    if any(is_one(kind) for is_one in _BYTES):
        return (value for value in values if isinstance(value, str))
    if pa.types.is_date(kind):
        return (value for value in values if isinstance(value, dt.datetime))
    if pa.types.is_timestamp(kind):
        times = (value for value in values if isinstance(value, dt.datetime) and value == value)  # but for NaT
        return (time for time in times if (time.tzinfo is None) != (kind.tz is None))
    if any(is_one(kind) for is_one in _NUMBERED):
        return (value for value in values if isinstance(value, int) or getattr(value, "tzinfo", None))
    if any(is_one(kind) for is_one in _LISTS):
        return _changed(chain.from_iterable(value for value in values if value is not None), kind.value_type)
    if pa.types.is_struct(kind):
        rows = [value for value in values if isinstance(value, Mapping)]
        return chain.from_iterable(_changed([row.get(field.name) for row in rows], field.type) for field in kind)
    return ()
