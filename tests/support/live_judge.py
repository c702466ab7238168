"""What live streams should say: everything that they have written and found is compared with its definition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from swoop import oracle
from swoop.live import ahead
from swoop.live.live_families import LiveFamilies
from swoop.live.manifest import result_files
from swoop.live.stream_spec import StreamSpec
from swoop.oracle import Record
from swoop.spec import FamilySpec
from tests.support.judge import judge
from tests.support.live_cases import Row, Run
from tests.support.live_runs import opened


def found(live: Any) -> list[Any]:
    """What a live stream has found."""
    return list(live.result.families() if isinstance(live, LiveFamilies) else live.topk)


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    where = opened(folder / name)
    names = (file.removeprefix(where.address("")) for file in result_files(where))
    return [row for file in names for row in pq.read_table(pa.BufferReader(where.read(file))).to_pylist()]


def results(folder: Path, live: Any) -> Any:
    stats = replace(live.stats, memory_bytes=0, batch_seconds=0.0, batch_rows=0, vocabulary_size=0)
    rejected = sorted(map(repr, read(folder, "rejected")))
    return [read(folder, name) for name in ("changes", "late")], rejected, stats, found(live)


def order(row: Row) -> Any:
    return row.time, row.id, row.tokens, row.stream


def reach(times: list[int], begin: int, max_ahead: int) -> int:
    """How far one gets from some time in steps that are short enough."""
    for time in sorted(times):
        if begin < time <= begin + max_ahead:
            begin = time
    return begin


def latest_believed(times: list[int], highest: int | None, run: int, max_ahead: int) -> tuple[int | None, int]:
    """The same as `ahead.believe`, by its definition."""
    if not times:
        return highest, run
    median = sorted(times)[(len(times) - 1) // 2]
    if highest is None:
        return reach(times, median, max_ahead), 0
    latest = reach(times, highest, max_ahead)
    beyond = sum(time > latest for time in times)
    if median > latest and run + beyond >= ahead.AGREEING:
        return reach(times, median, max_ahead), 0
    return latest, run + beyond if beyond == len(times) else 0


def arrivals(run: Run, flushed: bool = True) -> tuple[list[Record], list[int], int]:
    """The sets that enter, late ids and rejected rows by the definition. ``flushed``: what is held at the end enters, too."""
    entered: list[Row] = []
    late: list[int] = []
    rejected = 0
    watermark = highest = reached = -(10**9)
    latest, in_a_row, max_ahead = None, 0, run.spec.max_ahead
    for batch, rows in enumerate(run.batches):
        usable = [row for row in rows if row.reason is None]
        if max_ahead is not None:
            latest, in_a_row = latest_believed([row.time for row in usable], latest, in_a_row, max_ahead)
            usable = [row for row in usable if latest is not None and row.time <= latest]
        rejected += len(rows) - len(usable)
        late += [row.id for row in sorted((row for row in usable if row.time < watermark), key=order)]
        on_time = [row for row in usable if row.time >= watermark]
        entered += on_time
        if on_time:
            highest = max(highest, *(row.time for row in on_time))
            watermark = max(watermark, highest - run.spec.lateness)
        for passed in run.idles_after(batch):
            if any(row.time >= watermark - run.spec.join.window.duration for row in entered):
                reached = max(highest, reached) + passed
                latest = None if latest is None else max(latest, reached)
                watermark = max(watermark, reached - run.spec.lateness)
        if batch in run.ends and any(row.time >= watermark for row in entered):
            watermark = highest + 1
    records = [row.record(run.spec) for row in sorted(entered, key=order) if flushed or row.time < watermark]
    if records and watermark - 1 > records[-1].time:  # an empty set makes no pair, but time goes on to it
        records.append(replace(records[-1], tokens=(), time=watermark - 1))
    return records, late, rejected


def expected(run: Run, flushed: bool = True) -> Any:
    """Changes, late ids, rejected rows and top-k by the definition."""
    records, late, rejected = arrivals(run, flushed)
    if isinstance(run.spec.join, FamilySpec):
        join = run.spec.join
        asked: Any = (records, join.min_similarity, join.window, join.similarity)
        names = columns_of(run.spec)
        feed = [(c.time, c.kind, *(getattr(c, name) for name in names)) for c in oracle.family_changes(*asked)]
        return feed, late, rejected, oracle.families(*asked)
    judged = judge(records, **run.options())
    names = columns_of(run.spec)
    changes = [(c.time, c.kind, *(getattr(c.pair, name) for name in names)) for c in judged.changes]
    return changes, late, rejected, judged.topk()


def columns_of(spec: StreamSpec) -> tuple[str, ...]:
    """What is compared of pairs, or of families."""
    if isinstance(spec.join, FamilySpec):
        return ("family", "into", "size", "total", "first_seen", "representative")
    seen = [f"{which}_{what}" for which in ("newer", "older") for what in ("copies", "first_seen", "last_seen")]
    return ("newer", "older", "similarity", "overlap", "start", "end", *(seen if spec.pairs.copies == "once" else ()))


def check(folder: Path, case: Run, live: Any, earlier: int = 0) -> None:
    """Compare everything with the definition. Batches before ``earlier`` were done when families did not tell their sizes."""
    changes, late, rejected, result = expected(case)
    names = ("time", "kind", *columns_of(case.spec))
    rows = read(folder, "changes")
    told = [tuple(row.get(name) for name in names) for row in rows]
    if isinstance(case.spec.join, FamilySpec):
        changes = [change[:4] if row["batch"] < earlier else change for row, change in zip(rows, changes, strict=True)]
        told = [row[: len(change)] for row, change in zip(told, changes, strict=True)]
    assert told == changes
    if case.spec.keep:
        check_records([*rows, *result_of(live)], case.spec)
    assert [row["id"] for row in read(folder, "late")] == late
    assert len(read(folder, "rejected")) == rejected
    for name in ("changes", "late", "rejected"):
        assert [row["sequence"] for row in read(folder, name)] == list(range(len(read(folder, name))))
    assert found(live) == result
    if isinstance(case.spec.join, FamilySpec):
        join, records = case.spec.join, arrivals(case)[0]
        for way in ("newest", "growing"):
            expected_so = oracle.families(records, join.min_similarity, join.window, join.similarity, order=way)
            assert list(live.result.families(3, way)) == expected_so[:3]
    stats = live.stats
    assert (stats.late, stats.rejected, stats.changes) == (len(late), rejected, len(changes))
    assert stats.rows == sum(map(len, case.batches)) == stats.sets + stats.late + stats.rejected
    assert stats.held == 0


def result_of(live: Any) -> list[dict[str, Any]]:
    """What a live stream has found, as rows."""
    found = live.result.families() if isinstance(live, LiveFamilies) else live.result
    rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return rows


def check_records(found: list[dict[str, Any]], spec: StreamSpec) -> None:
    """Rows of results have what was kept of the sets that they name: a time tells which of those with the same id it is."""
    for row in found:
        if "representative" in row:
            assert row["representative_name"] == f"set {row['representative']}"
            continue
        assert (row["newer_name"], row["older_name"]) == (f"set {row['newer']}", f"set {row['older']}")
        if "newer_copies" in row:
            assert (row["newer_at"], row["older_at"]) == (row["newer_first_seen"], row["older_first_seen"])
        else:
            assert (row["newer_at"], row["older_at"]) == (row["start"], row["end"] - spec.join.window.duration)
