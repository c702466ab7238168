"""Rows from the future: which times of a batch are believed, so that one wrong clock does not make all rows after it late.

A time is believed if it is at most ``max_ahead`` after one that is. The batch is looked at as a whole, in the order of time, so
it does not matter how its rows are spread over tasks; and the clock on the wall is not asked, so a batch that is done again is
judged alike. After a longer silence, a stream goes on where more than half of a batch is, once :data:`AGREEING` rows have come
one after the other; the first batch of all is believed up to its median. Nothing here knows Spark.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.readable import rows_of
from swoop.reasons import TOO_FAR_AHEAD

AGREEING = 10
"""Rows ahead, with none that is not in between, after which a stream has moved on."""

NO_SPANS = np.empty((0, 3), np.int64)


def spans_of(times: Any, max_ahead: int | None) -> np.ndarray:
    """Times as spans without a gap of more than ``max_ahead``: first, last, number of rows. Without it, all are one span."""
    found = np.asarray(times, np.int64)
    if max_ahead is None:
        return np.array([[found.min(), found.max(), len(found)]]) if len(found) else NO_SPANS
    found = np.sort(found)
    return _joined(np.column_stack((found, found, np.ones_like(found))), max_ahead)


def merged(spans: Iterable[np.ndarray], max_ahead: int | None) -> np.ndarray:
    """The spans of all rows, from those of parts of them."""
    found = np.concatenate([NO_SPANS, *spans])
    return _joined(found[np.lexsort((found[:, 1], found[:, 0]))], max_ahead)


def _joined(spans: np.ndarray, max_ahead: int | None) -> np.ndarray:
    """Spans that are sorted, those together that are near each other."""
    if len(spans) == 0:
        return NO_SPANS
    reached = np.maximum.accumulate(spans[:, 1])
    begins = np.zeros(len(spans), bool)
    begins[0] = True
    if max_ahead is not None:
        begins[1:] = spans[1:, 0] - np.minimum(reached[:-1], spans[1:, 0]) > max_ahead
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(spans)) - 1
    return np.column_stack((spans[starts, 0], reached[ends], np.add.reduceat(spans[:, 2], starts)))


def believe(spans: np.ndarray, max_event_time: int | None, ahead: int, max_ahead: int | None) -> tuple[int | None, int]:
    """The latest time that is believed after a batch, and how many rows were ahead since the last that was not.

    ``spans`` are the times of the batch; ``max_event_time`` and ``ahead`` are the same two before it, None if there was no row.
    """
    if len(spans) == 0:
        return max_event_time, ahead
    if max_ahead is None:
        latest = int(spans[:, 1].max())
        return latest if max_event_time is None else max(max_event_time, latest), 0
    rows = int(spans[:, 2].sum())
    if max_event_time is None:
        return _median(spans), 0
    reached, near = max_event_time, 0
    for first, last, count in spans.tolist():
        if first - reached > max_ahead:
            break
        reached, near = max(reached, last), near + count
    if rows - near > near and ahead + rows - near >= AGREEING:
        return _median(spans), 0
    return reached, 0 if near else ahead + rows


def _median(spans: np.ndarray) -> int:
    """The end of the span with the median; of two rows in the middle, the earlier one."""
    counts = np.cumsum(spans[:, 2])
    return int(spans[np.searchsorted(counts, (counts[-1] + 1) // 2), 1])


def split_ahead(rows: pa.Table, latest: int | None) -> tuple[pa.Table, pa.Table]:
    """The rows up to the latest time that is believed, and the others."""
    if latest is None or not rows.num_rows or pc.max(rows["time"]).as_py() <= latest:
        return rows, rows.slice(0, 0)
    beyond = pc.greater(rows["time"], latest)
    return rows.filter(pc.invert(beyond)), rows.filter(beyond)


def rejected_rows(rows: pa.Table, reason: str = TOO_FAR_AHEAD) -> pa.Table:
    """Rows that are not taken, as the rejected output has them; by default, those that are not believed."""
    lines = [json.dumps(row, default=_in_json, ensure_ascii=False) for row in rows_of(rows)]
    return pa.table({"reason": pa.array([reason] * len(lines), pa.string()), "row": pa.array(lines, pa.string())})


def _in_json(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, dt.datetime | dt.date) else str(value)
