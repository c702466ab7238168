"""Kept columns of live streams: results show those of the right sets, however often the process dies."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.embedded import EmbeddedStream
from swoop.live.live_stream import LiveStream
from tests.support.live_runs import (
    KEEP,
    SPEC,
    Row,
    Run,
    check_records,
    fresh,
    limits,
    read,
    run,
    run_again,
    runs,
    small,
    start,
    table,
    with_join,
)
from tests.support.stores import MemoryStore

pytestmark = pytest.mark.usefixtures("few_agree")


def result_of(live: Any) -> list[dict[str, Any]]:
    found = live.result if isinstance(live, LiveStream) else live.result.families()
    rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return rows


cases = st.one_of(runs(idle=True), runs(idle=True, finds="families"))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases, st.randoms(use_true_random=False), limits)
def test_recovered_at_any_batch(folder: Path, case: Run, chance: random.Random, limit: int | None) -> None:
    case = replace(case, spec=replace(case.spec, keep=KEEP))
    with small(limit):
        run_again(fresh(folder), case, lambda batch: chance.random() < 0.6, chance)
        again = start(folder, case.spec)
    check_records(read(folder, "changes"), case.spec)
    check_records(result_of(again), case.spec)


def test_first_sets_that_left_the_window_long_ago(folder: Path) -> None:
    """Each batch is done by a new process; records are called after sets that no chunk of the window has any more."""
    spec = replace(with_join(SPEC, copies="once", min_similarity=0.1, window=10), lateness=0, keep=KEEP)
    rows = [Row(100 + n, 3 * n, (1, 2, 3 + n % 3)) for n in range(15)]
    for batch, row in enumerate(rows):
        live = start(folder, spec)
        live.process(batch, table([row], spec))
    found = start(folder, spec)
    shown = {record["name"]: record["at"] for pair in found.topk for record in (pair.newer_record, pair.older_record)}
    assert shown == {"set 100": 0, "set 101": 3, "set 102": 6}
    check_records(result_of(found), spec)


def test_what_was_kept_is_a_parameter(folder: Path) -> None:
    spec = replace(SPEC, keep=KEEP)
    start(folder / "kept", spec)
    for other, shown in ((SPEC, r"\{\}"), (replace(SPEC, keep=KEEP[:1]), r"\{'name': 'string'\}")):
        with pytest.raises(InvalidArgument, match=rf"keep was \{{'name': 'string', 'at': 'int64'\}} and now is {shown}"):
            start(folder / "kept", other)
    start(folder / "plain", SPEC)
    with pytest.raises(InvalidArgument, match=r"keep was \{\} and now is \{'name'"):
        start(folder / "plain", spec)


def test_results_have_the_columns_before_there_are_any(folder: Path) -> None:
    live = start(folder, replace(SPEC, keep=KEEP))
    columns = ["newer_name", "newer_at", "older_name", "older_at"]
    assert live.no_changes.to_arrow().column_names[-4:] == live.topk.to_arrow().column_names[-4:] == columns


def test_late_rows_and_rows_from_the_future_show_their_records(folder: Path) -> None:
    spec = replace(SPEC, keep=KEEP, max_ahead=100)
    live = start(folder, spec)
    live.process(0, table([Row(1, 50, (1,)), Row(2, 60, (1,))], spec))
    live.process(1, table([Row(3, 3, (1,)), Row(4, 61, (1,)), Row(5, 900, (1,))], spec))
    assert [row["record"] for row in read(folder, "late")] == [{"name": "set 3", "at": 3}]
    assert '"record": {"name": "set 5", "at": 900}' in read(folder, "rejected")[0]["row"]


def test_damaged_records_are_found(folder: Path) -> None:
    spec = replace(SPEC, keep=KEEP)
    live = start(folder, spec)
    live.process(0, table([Row(n, n, (1, 2)) for n in range(9)], spec))
    other = replace(SPEC, keep=(("name", pa.string()), ("at", pa.list_(pa.int64()))))
    with pytest.raises(InvalidFile, match="the records of sets are not as they should be"):
        live._steps.__class__(other, live._checkpoint).restore(live._state, 3)


@pytest.mark.parametrize("copies", ["each", "once"])
def test_embedded(copies: Any) -> None:
    """A stream whose state somebody else keeps, made anew from it before each step."""
    case = run_cases(copies)
    store, found = MemoryStore(), []
    for rows in case.batches:
        found += EmbeddedStream(case.spec, store).step(table(rows, case.spec), store).to_pylist()
    changes = [row for row in found if row["kind"] in ("enter", "outranked", "expired")]
    assert changes
    check_records(changes, case.spec)


def run_cases(copies: Any) -> Run:
    spec = replace(with_join(SPEC, copies=copies), keep=KEEP)
    rng = random.Random(3)
    rows = [Row(n, n, tuple(rng.choices(range(4), k=2))) for n in range(60)]
    return Run([rows[n : n + 6] for n in range(0, 60, 6)], frozenset(), spec)


def test_whole_runs_are_as_without(folder: Path) -> None:
    case = run_cases("each")
    plain = replace(case, spec=replace(case.spec, keep=()))
    assert list(run(folder / "kept", case).topk) == list(run(folder / "plain", plain).topk)
