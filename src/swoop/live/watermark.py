"""The watermark of a stream: rows before it have entered the join, and a row that comes with an earlier time is late.

It follows the latest row at a distance, the lateness. Times are ticks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from swoop.live.pieces import concatenated

MIN_TICK = -(2**63)  # before every time


def advance_watermark(
    max_event_time: int | None, watermark: int | None, latest: int | None, lateness: int
) -> tuple[int | None, int | None]:
    """The time of the latest row of all and the watermark, after rows that are not late; ``latest`` is the latest of them."""
    if latest is None:
        return max_event_time, watermark
    max_event_time = latest if max_event_time is None else max(max_event_time, latest)
    passed = max_event_time - lateness
    return max_event_time, passed if watermark is None else max(watermark, passed)


def expired_until(watermark: int | None, duration: int) -> int:
    """Rows up to this time have left a window of this duration."""
    return MIN_TICK if watermark is None else max(MIN_TICK, watermark - 1 - duration)


def split_at_watermark(rows: pa.Table, watermark: int | None) -> tuple[pa.Table, pa.Table]:
    """The rows before a watermark, and the others."""
    none = rows.schema.empty_table()  # a slice of no rows would hold on to all of them
    if watermark is None:
        return none, rows
    before = pc.less(rows["time"], watermark)
    if pc.all(before).as_py():
        return rows, none
    return rows.filter(before), rows.filter(pc.invert(before))


def split_all_at_watermark(tables: Iterable[pa.Table], watermark: int | None) -> tuple[list[pa.Table], Any]:
    """The rows of several tables before a watermark, in tables, and the others in one; None if there is no table."""
    before: list[pa.Table] = []
    after: list[pa.Table] = []
    for table in tables:
        for rows, parts in zip(split_at_watermark(table, watermark), (before, after), strict=True):
            parts.append(rows)
    return before, concatenated(after)
