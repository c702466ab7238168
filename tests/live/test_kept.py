"""Kept columns of live streams: results show those of the right sets, however often the process dies.

Tests of swoop.live.known_records.
"""

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
from swoop.readable import rows_of
from tests.support import cells
from tests.support.live_cases import KEEP, SPEC, Row, Run, families, runs, table, with_join
from tests.support.live_judge import check, check_records, read, result_of
from tests.support.live_runs import fresh, limits, run, run_again, small, start
from tests.support.stores import MemoryStore

pytestmark = pytest.mark.usefixtures("few_agree")


cases = st.one_of(runs(idle=True), runs(idle=True, finds="families"))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases, st.randoms(use_true_random=False), limits)
def test_recovered_at_any_batch(folder: Path, case: Run, rng: random.Random, limit: int | None) -> None:
    case = replace(case, spec=replace(case.spec, keep=KEEP))
    with small(limit):
        run_again(fresh(folder), case, lambda batch: rng.random() < 0.6, rng)
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


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(runs(), runs(finds="families")), st.integers(2, 3), st.integers(0, 2**32).map(random.Random), limits)
def test_in_cells(folder: Path, case: Run, groups: int, rng: random.Random, limit: int | None) -> None:
    """Workers forget, and drivers die before the commit."""
    case = replace(case, spec=replace(case.spec, keep=KEEP))
    with small(limit):
        check(folder, case, cells.run_cells(fresh(folder), case, groups, rng, dies=0.3))


ODD = (
    ("text", pa.string()),
    ("when", pa.timestamp("us", "UTC")),
    ("tags", pa.list_(pa.struct([("n", pa.int32()), ("raw", pa.binary())]))),
    ("price", pa.decimal128(9, 2)),
    ("ratio", pa.float64()),
)
"""What Python does not have as it is, or not at all."""


def odd_table(rows: list[Row], batch: int) -> pa.Table:
    """Many rows are the same in all but their records."""
    records = [
        {
            "text": None if n % 7 == 3 else f"{batch} {n}",
            "when": 2**60 + n,  # in the year 38,505
            "tags": [{"n": n, "raw": b"\xff"}, None] if n % 3 else None,
            "price": None,
            "ratio": float("nan"),
        }
        for n in range(len(rows))
    ]
    given = pa.struct([(name, pa.int64() if name == "when" else kind) for name, kind in ODD])
    return table(rows).append_column("record", pa.array(records, given).cast(pa.struct(ODD)))


@pytest.mark.parametrize("kind", ["each", "once", "families"])
def test_cells_show_the_same_as_one_engine(folder: Path, kind: str) -> None:
    """All columns of changes, late rows and results, also of sets that look alike and of records that outlive their first."""
    spec = replace(with_join(SPEC, copies="once" if kind == "once" else "each", k=4), keep=ODD)
    if kind == "families":
        spec = families(spec, 0.5)
    rng = random.Random(4)
    rows = [Row(n % 2, n // 3 - rng.choice([0, 0, 0, 2, 9]), tuple(rng.choices(range(4), k=2))) for n in range(240)]
    batches = [rows[n : n + 12] for n in range(0, 240, 12)]
    cluster = cells.Cluster(Run(batches, frozenset(), spec), 2, rng)

    def begin(where: str) -> Any:
        live = start(folder / where, spec) if where == "one" else cells.start(folder / where, cluster)
        live._changes.put = lambda state, found, *_: told[where].extend([in_full(found.to_arrow())] if len(found) else [])
        live._late.put = lambda state, late, *_: told[where].extend([in_full(late)] if len(late) else [])
        return live

    told: dict[str, list[Any]] = {"one": [], "cells": []}
    lives = {where: begin(where) for where in told}
    for batch, part in enumerate(batches):
        given = odd_table(part, batch)
        lives["one"].process(batch, given)
        lives["cells"].process(batch, cluster.run(given, None, str(batch // 5)))
        if batch % 5 == 3:
            lives = {where: begin(where) for where in told}
        one, other = (live.result.families() if kind == "families" else live.result for live in lives.values())
        assert other == one
        assert in_full(other.to_arrow()) == in_full(one.to_arrow())
        assert list(map(records_of, other)) == list(map(records_of, one))
    for live in lives.values():
        live.finish()
    assert told["cells"] == told["one"]
    assert len(told["one"]) > 15


def in_full(rows: pa.Table) -> Any:
    """Types and values, also of what Python does not have, or what differs from itself."""
    return rows.schema, list(map(repr, rows_of(rows)))


def records_of(found: Any) -> str:
    """Of a pair, or of a family."""
    return repr([getattr(found, name, None) for name in ("newer_record", "older_record", "record")])


@pytest.mark.parametrize("finds", ["pairs", "families"])
def test_the_driver_of_cells_forgets_records(folder: Path, finds: str) -> None:
    """It knows those of pairs in the top-k of cells, or of the newest sets of families, and about as many more."""
    spec = replace(SPEC, keep=KEEP)
    rows = [Row(n, n, (n % 3, n % 5, 7)) for n in range(300)]
    case = Run([rows[n : n + 6] for n in range(0, 300, 6)], frozenset(), spec if finds == "pairs" else families(spec, 0.5))
    cluster = cells.Cluster(case, 2, random.Random(2))
    live = cells.start(folder, cluster)
    for batch, part in enumerate(case.batches):
        live.process(batch, cluster.run(table(part, case.spec), None, "run"))
        assert live._steps._merge._kept._kept._sets.size < 150
    assert live._steps._merge._kept._count > 250


def test_cells_refuse_other_records(folder: Path) -> None:
    """Those of another run, and those of a state that is damaged."""
    case = replace(run_cases("once"), spec=replace(run_cases("once").spec, keep=KEEP))
    cluster = cells.Cluster(case, 2, random.Random(2))
    cells.run_on(cluster, folder / "kept", case)
    for spec in (replace(cluster.spec, keep=()), replace(cluster.spec, keep=KEEP[:1])):
        with pytest.raises(InvalidArgument, match=r"keep was \{'name': 'string', 'at': 'int64'\} and now is"):
            cells.start(folder / "kept", cells.Cluster(replace(case, spec=spec), 2, random.Random(2)))
    plain = cells.Cluster(replace(case, spec=replace(case.spec, keep=())), 2, random.Random(2))
    cells.start(folder / "plain", plain)
    with pytest.raises(InvalidArgument, match=r"keep was \{\} and now is \{'name'"):
        cells.start(folder / "plain", cluster)
    cluster.spec = replace(cluster.spec, keep=(("name", pa.string()), ("at", pa.list_(pa.int64()))))
    with pytest.raises(InvalidFile, match="cell 1 is damaged: chunk .*the records of sets are not as they should be"):
        cluster.cell(1)
