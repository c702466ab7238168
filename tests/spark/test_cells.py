"""Cells and their merge, without Spark: workers that forget, attempts that do not count, batches that come again.

Tests of swoop.live.cell, swoop.live.cell_engines, swoop.live.engines, swoop.live.grid, swoop.live.merge, swoop.live.part,
swoop.live.record_cell, swoop.live.record_merge, swoop.live.record_part, swoop.live.unions.
"""

from __future__ import annotations

import pickle
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.serializers import CloudPickleSerializer

from swoop import errors
from swoop.errors import (
    CapacityExceeded,
    InternalError,
    InvalidArgument,
    InvalidFile,
    NotInWindow,
    SwoopError,
    error_from_json,
    error_to_json,
)
from swoop.join.topk_join import TopKJoin
from swoop.live import chunks
from swoop.live.cell import CellState
from swoop.live.cell_engines import read_results
from swoop.live.cells import make_cell
from swoop.live.grid import Grid
from swoop.live.outputs import CallbackOutput
from swoop.live.pieces import concatenated
from swoop.results import Pair
from swoop.spark import cells as cells_module
from swoop.text.functions import TokenFunction, words
from tests.live.make import BATCHES, DATA, batches_without_sizes, cases, states_of
from tests.support import live_cases, live_runs, tampering
from tests.support.cells import Cluster, Value, run_cells, run_on, start
from tests.support.live_cases import FUNCTIONS, SPEC, Row, Run, runs, scenario, small_batches, table, with_join, with_texts
from tests.support.live_judge import check, order, read
from tests.support.live_runs import claimed, files_written, fresh, limits, run, small
from tests.support.similarities import USER_DEFINED

pytestmark = pytest.mark.usefixtures("few_agree")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(), st.integers(2, 4), st.integers(0, 2**32).map(random.Random))
def test_equal_to_brute_force(folder: Path, case: Run, groups: int, rng: random.Random) -> None:
    check(folder, case, run_cells(fresh(folder), case, groups, rng))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(finds="families"), st.integers(2, 4), st.integers(0, 2**32).map(random.Random))
def test_families_equal_to_brute_force(folder: Path, case: Run, groups: int, rng: random.Random) -> None:
    live = run_cells(fresh(folder), case, groups, rng, dies=0.2)
    check(folder, case, live)
    for family in live.result.families():
        members = live.result.named(live.result.arrivals(family))
        assert (len(members), members[-1]) == (family.size, family.representative)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(), st.integers(2, 3), st.integers(0, 2**32).map(random.Random), limits)
def test_drivers_that_die(folder: Path, case: Run, groups: int, rng: random.Random, limit: int | None) -> None:
    with small(limit):
        check(folder, case, run_cells(fresh(folder), case, groups, rng, dies=0.3))


PASSING = Run([[*(Row(n, 0, (1,)) for n in range(3)), Row(3, 20, ()), Row(4, 40, ())]], frozenset(), replace(SPEC, lateness=0))
"""Three pairs, which come and go within a batch."""


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(), st.integers(1, 12), st.integers(2, 3), st.integers(0, 2**32).map(random.Random))
@example(PASSING, 2, 2, random.Random(1))
def test_too_many_pairs(folder: Path, case: Run, most: int, groups: int, rng: random.Random) -> None:
    """All cells together have too many in the batch in which one engine has; both go on where the limit is higher."""
    least = case.spec.pairs.min_similarity
    if least is None:
        least = -8 if case.spec.pairs.similarity.name == "hamming" else 0
    spec = with_join(case.spec, k=None, min_similarity=least, max_pairs=most)
    case = replace(case, ends=frozenset(), spec=spec)
    places = (fresh(folder) / "alone", folder / "cells")
    cluster = Cluster(case, groups, rng)
    live: list[Any] = [live_runs.start(places[0], spec), start(places[1], cluster)]

    def is_refused(step: Callable[[], Any]) -> bool:
        try:
            step()
        except CapacityExceeded as error:
            assert f"max_pairs={most}" in str(error)  # noqa: PT017
            return True
        return False

    def advance(batch: int | None, run: str) -> list[bool]:
        """Both by a batch, or to the end: whether they refuse."""
        if batch is None:
            return [is_refused(one.finish) for one in live]
        sets = table(case.batches[batch], case.spec)
        told = cluster.run(sets, None, run)
        return [is_refused(lambda: live[0].process(batch, sets)), is_refused(lambda: live[1].process(batch, told))]

    name = "first"
    for batch in (*range(len(case.batches)), None):
        before = [dict(kept.committed) for kept in cluster.kept]
        refused = advance(batch, name)
        assert refused[0] == refused[1]
        if refused[0]:
            case = replace(case, spec=with_join(spec, max_pairs=None))
            cluster.spec = replace(case.spec, cells=cluster.spec.cells)
            for kept, old in zip(cluster.kept, before, strict=True):
                kept.committed = old
            live[:] = live_runs.start(places[0], case.spec), start(places[1], cluster)
            name = "second"
            assert advance(batch, name) == [False, False]
    for place, one in zip(places, live, strict=True):
        check(place, case, one)


CHECKPOINTS = [DATA / "cells.zip", *sorted(DATA.glob("version-*/cells*.zip"))]


@pytest.mark.parametrize("file", CHECKPOINTS, ids=lambda file: f"{file.parent.name} {file.stem}")
def test_a_checkpoint_of_an_earlier_release(file: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(file, tmp_path)
    case = cases()[file.stem]
    cluster = Cluster(case, 2, random.Random(7))
    for kept, state in zip(cluster.kept, states_of(tmp_path), strict=True):
        kept.committed = state
    live = start(tmp_path, cluster)
    for batch, rows in enumerate(case.batches[BATCHES:], BATCHES):
        live.process(batch, cluster.run(table(rows, case.spec), live.ended_at, str(batch)))
        if batch in case.ends:
            live.finish()
            live = start(tmp_path, cluster)
    live.finish()
    check(tmp_path, case, live, batches_without_sizes(file))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_texts_in_cells_and_in_one_engine(folder: Path, function: TokenFunction) -> None:
    """The same results, late rows with their texts, and explanations, though workers forget and drivers die."""
    case = with_texts(scenario(), function)
    alone = run(fresh(folder), case)
    outputs = [read(folder, name) for name in ("changes", "late", "rejected")]
    told = [alone.explain(pair) for pair in alone.topk]
    live = run_cells(fresh(folder), case, 2, random.Random(5), dies=0.3)
    check(folder, case, live)
    assert outputs[1]
    assert [read(folder, name) for name in ("changes", "late", "rejected")] == outputs
    assert [live.explain(pair) for pair in live.topk] == told
    assert len(told) == case.spec.join.k
    with pytest.raises(InvalidArgument, match="other parameters.*type of tokens"):
        start(folder, Cluster(with_texts(scenario(), words("tokens", keep_urls=False)), 2, random.Random(1)))


@pytest.mark.parametrize("copies", ["each", "once"])
def test_texts_to_show_are_those_of_one_engine(folder: Path, copies: str) -> None:
    """Of records, those of the newest copies; also of pairs that come and go in one batch; also of two that look the same."""
    case = scenario()
    spec = replace(with_join(case.spec, copies=copies, window=2, k=4), lateness=0)
    rows = [replace(row, id=row.id % 2, time=row.time // 3, reason=None) for batch in case.batches for row in batch]
    rows = [*{(row.time, row.id, frozenset(row.tokens)): row for row in rows}.values()]  # else it is not told which is which
    case = replace(case, batches=[rows[n : n + 15] for n in range(0, len(rows), 15)], spec=spec)
    cluster = Cluster(case, 2, random.Random(4))
    alone, live = live_runs.start(fresh(folder) / "alone", spec), start(folder / "cells", cluster)
    told: dict[Any, list[Any]] = {alone: [], live: []}
    for stream, found in told.items():
        stream._changes = CallbackOutput(lambda changes, batch, found=found: found.append(list(changes)))
    for batch, part in enumerate(case.batches):
        rows_of = table(part).append_column("text", [[f"text {batch} {n}" for n in range(len(part))]])
        alone.process(batch, rows_of)
        live.process(batch, cluster.run(rows_of, None, "run"))
        if batch == 2:
            live = start(folder / "cells", cluster)  # what is resumed knows the same
        assert list(live.topk) == list(alone.topk)
        assert live.topk.families() == alone.topk.families()
        assert [live.texts(pair) for pair in live.topk] == [alone.texts(pair) for pair in alone.topk]
        assert [live.explain(pair) for pair in live.topk] == [alone.explain(pair) for pair in alone.topk]
        if batch == 1:
            ways = [[stream.texts(change.pair) for change in found[-1]] for stream, found in told.items()]
            assert {change.kind for change in told[live][-1]} == {"enter", "expired", "outranked"}
            assert None not in {text for texts in ways[1] for text in texts}
            if copies == "each":
                assert ways[0] == ways[1]


def test_a_user_defined_similarity(folder: Path) -> None:
    """It goes to the workers, and ranks the pairs of all cells."""
    case = scenario()
    sent = pickle.loads(CloudPickleSerializer().dumps(USER_DEFINED[0]))
    case = replace(case, spec=with_join(case.spec, similarity=sent))
    check(fresh(folder), case, run_cells(folder, case, 3, random.Random(5)))


@pytest.mark.parametrize("kind", ["each", "once", "families"])
def test_a_batch_writes_at_most_four_small_files(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What cells have found, the state, changes and their manifest; the rows are in Spark's state."""
    spec = with_join(SPEC, copies="once" if kind == "once" else "each")
    case = Run(small_batches(), frozenset(), live_cases.families(spec, 0.5) if kind == "families" else spec)
    cluster, written = Cluster(case, 2, random.Random(3)), files_written(monkeypatch)
    for begin, end in ((0, 23), (23, 40)):
        live = claimed(start(folder, cluster))
        for batch in range(begin, end):
            found = cluster.run(table(case.batches[batch]), live.ended_at, str(begin))
            written.clear()
            live.process(batch, found)
            assert len(written) <= 4
    assert live.stats.changes > 100


@pytest.mark.no_cover
def test_chunks_of_a_cell_stay_few(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state has the rows of the window and no others, and old chunks are merged."""
    monkeypatch.setattr(chunks, "MERGED", 3)
    rows = [Row(n, n, (n % 5, n % 7)) for n in range(300)]
    case = Run([rows[n : n + 3] for n in range(0, 300, 3)], frozenset(), with_join(SPEC, window=60))
    cluster = Cluster(case, 2, random.Random(3))
    check(fresh(folder), case, run_on(cluster, folder, case))
    for kept in cluster.kept:
        state = CellState.from_json(kept.committed["state"][0])
        assert len(kept.committed) - 1 == len(state.chunks) <= 12
        assert sum(chunk.rows for chunk in state.chunks) <= 3 * 60


def test_what_can_be_asked(folder: Path) -> None:
    case = Run([[Row(1, 1, (1, 2, 3)), Row(2, 2, (2, 3, 4)), Row(3, 3, (9,)), Row(4, 9, ())]], frozenset())
    live = run_cells(fresh(folder), case, 2, random.Random(1))
    (pair,) = live.topk
    told = live.explain(pair)
    assert (told.shared, told.only_newer, told.only_older) == ({2, 3}, {4}, {1})
    assert live.texts(pair) == (None, None)
    with pytest.raises(NotInWindow, match="no longer in the top-k"):
        live.explain(Pair(1.0, 8, 9, 1, 1, 2))
    assert live.skyband() == []  # one pair, and k = 3


def test_the_skyband_of_known_pairs(folder: Path) -> None:
    """A bound that no pair below it can pass: as high as that of one cell, or lower, and as high for now."""
    case = replace(scenario(), ends=frozenset())
    live = run_cells(fresh(folder), case, 3, random.Random(1))
    entered = [row.record(case.spec) for row in sorted((r for b in case.batches for r in b), key=order) if row.reason is None]
    late = {row["id"] for row in read(folder, "late")}
    join = TopKJoin(case.spec.join.k, case.spec.join.window.duration, algorithm="swoop-minimal")
    for record in entered:
        if record.id not in late:
            join.insert(record.tokens, record.time, record.id)
    assert live.topk == join.topk()
    assert live.skyband()[0].similarity == join.skyband()[0].similarity == join.topk()[-1].similarity
    for step in live.skyband():
        true = next(one for one in join.skyband() if one.until >= step.until)
        assert step.similarity <= true.similarity


def test_a_damaged_chunk_is_told(folder: Path) -> None:
    case = scenario()
    cluster = Cluster(case, 2, random.Random(1))
    run_on(cluster, fresh(folder), case)
    kept = cluster.kept[0]
    name = next(key for key in kept.committed if key != "state")
    data = kept.committed[name][0]
    for damaged in (data[:-9], data[:50] + b"?" + data[51:], None):
        kept.now = dict(kept.committed)
        if damaged is None:
            del kept.now[name]
        else:
            kept.now[name] = (damaged,)
        with pytest.raises(InvalidFile, match=f"state of cell 0 is damaged: chunk {name[0]}.*Restore"):
            cluster.cell(0)
    kept.committed[name] = (data[:-9],)
    live = start(folder, cluster)
    results = cluster.run(table([Row(99, 99, (1,))]), live.ended_at, "another run")
    with pytest.raises(InvalidFile, match=f"^the state of cell 0 is damaged: chunk {name[0]}"):
        live.process(len(case.batches), results)
    text = kept.committed["state"][0]
    with pytest.raises(InvalidFile, match="state of a cell is damaged: the checksum does not match"):
        CellState.from_json(text.replace("watermark", "Watermark"))


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SwoopError)]
)
def test_errors_of_cells_come_to_the_driver_as_they_are(kind: type[SwoopError]) -> None:
    error = kind("a pair is lost")
    found = error_from_json(error_to_json(error))
    assert (type(found), str(found)) == (type(error), str(error))


def lasting_records() -> Run:
    """Three records for a long time, and then two."""
    rows = [Row(n, n, (n % 3, 7, 8)) for n in range(60)] + [Row(n, n, (20 + n // 3 % 2, 8)) for n in range(60, 120)]
    return Run([rows[n : n + 7] for n in range(0, 120, 7)], frozenset({4}), with_join(SPEC, copies="once"))


def test_records_that_outlive_their_first_sets(folder: Path) -> None:
    """They are called after them, in all cells and after all deaths; the names of those that are gone are not kept."""
    case = lasting_records()
    cluster = Cluster(case, 2, random.Random(3))
    live = run_on(cluster, fresh(folder), case, dies=0.3)
    check(folder, case, live)
    changes = read(folder, "changes")
    assert max(row["newer_last_seen"] - row["newer_first_seen"] for row in changes) > 40
    assert max(row["newer_copies"] for row in changes) >= 4
    for kept in cluster.kept:
        state = CellState.from_json(kept.committed["state"][0])
        assert len(kept.committed) == 1 + len(state.chunks) + len(state.names)
        assert sum(chunk.rows for chunk in state.names) < 40
    (pair,) = live.topk
    assert live.explain(pair).shared == {8}
    with pytest.raises(NotInWindow, match="no longer in the top-k"):
        live.explain(replace(pair, arrivals=None))


CRAFTS = (tampering.change_value, tampering.change_type, tampering.change_rows, tampering.change_columns)


def on_both_sides(case: Run) -> Run:
    """Every other set is on the right."""
    return replace(case, batches=[[replace(r, stream=("left", "right")[r.id % 2]) for r in rows] for rows in case.batches])


@pytest.mark.no_cover
@pytest.mark.parametrize("finds", ["pairs", "two streams", "records", "families"])
def test_crafted_unions(folder: Path, finds: str) -> None:
    """What the driver knew is refused when the stream starts, or nothing that comes later stumbles over it."""
    case = lasting_records() if finds == "records" else scenario(two_streams=finds == "two streams")
    case = replace(case, spec=live_cases.families(case.spec, 0.3)) if finds == "families" else case
    case = on_both_sides(case) if finds == "two streams" else replace(case, spec=replace(case.spec, keep=live_cases.KEEP))
    cluster = Cluster(case, 2, random.Random(3))
    live = start(fresh(folder), cluster)
    for batch, rows in enumerate(case.batches[:5]):
        live.process(batch, cluster.run(table(rows, case.spec), None, "run"))
    state = live._state
    union, now = live._steps._union(), state.watermark - 1
    told = read_results(cluster.run(table(case.batches[5], case.spec), None, "run"))[0]["events"]
    assert union.num_rows
    assert told.num_rows
    outcomes: Counter[str] = Counter()
    for seed in range(400):
        rng = random.Random(seed)
        try:
            changed = rng.choice(CRAFTS)(rng, union)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
        with patch.object(live._checkpoint, "read", lambda *_, changed=changed: [changed]):
            try:
                live._steps.restore(state, case.spec.k)
            except InvalidFile as error:
                outcomes["refused"] += bool(re.search("damaged: what cells had found by states/0.*Restore it", str(error)))
                continue
        try:
            live._steps._union()
            with live._steps._blaming(state, ValueError):
                list(live._steps._apply(told, now + 4))
            live._steps._union()
            list(live._steps.snapshot(state).result.families() if finds == "families" else live._steps.snapshot(state).result)
            outcomes["went on"] += 1
        except (InvalidFile, InternalError) as error:
            outcomes[type(error).__name__] += 1
    assert outcomes["refused"] > 100, outcomes
    assert outcomes["went on"] > 20, outcomes


def test_a_union_with_columns_of_gigabytes(folder: Path) -> None:
    """Only those columns have 64-bit offsets, which may be that of the newer sets alone."""
    case = on_both_sides(scenario(two_streams=True))
    live = start(fresh(folder), cluster := Cluster(case, 2, random.Random(3)))
    for batch, rows in enumerate(case.batches[:5]):
        live.process(batch, cluster.run(table(rows, case.spec), None, "run"))
    union, found = live._steps._union(), list(live.topk)
    place = union.column_names.index("newer_stream")
    large = union.set_column(place, "newer_stream", union["newer_stream"].cast(pa.large_string()))
    with patch.object(live._checkpoint, "read", lambda *_: [large]):
        live._steps.restore(live._state, case.spec.k)
    assert found
    assert list(live._steps.snapshot(live._state).result) == found


def test_crafted_names(folder: Path) -> None:
    """A name must be that of a set that came before."""
    case = lasting_records()
    case = replace(case, spec=replace(case.spec, keep=live_cases.KEEP))
    cluster = Cluster(case, 2, random.Random(3))
    run_on(cluster, fresh(folder), case)
    store = cells_module.SparkStore(cluster.kept[1], Value(cluster.kept[1]))
    state = CellState.from_json(cluster.kept[1].committed["state"][0])
    names = concatenated(list(chunks.read_chunks(store, state.names)))
    for column, value in (("first_number", 10**6), ("first_number", -1), ("first_time", 10**6), ("first_time", -(2**62))):
        place = names.column_names.index(column)
        crafted = names.set_column(place, column, pa.array([value] * len(names), pa.int64()))
        chunk = chunks.write_chunk(store, "crafted", 0, crafted)
        with pytest.raises(InvalidFile, match="the state of cell 1 is damaged: chunk names: the first set of a record is not"):
            make_cell(cluster.spec, cluster.layout.grid, 1, replace(state, names=(chunk,)), store)
    place = names.column_names.index("first_record")
    for crafted, why in (
        (names.drop_columns("first_record"), "sets have no records"),
        (names.set_column(place, "first_record", names["first_id"]), "the records of sets are not as they should be"),
    ):
        chunk = chunks.write_chunk(store, "crafted", 0, crafted)
        with pytest.raises(InvalidFile, match=f"the state of cell 1 is damaged: chunk names: {why}"):
            make_cell(cluster.spec, cluster.layout.grid, 1, replace(state, names=(chunk,)), store)
    chunk = chunks.write_chunk(store, "crafted", 0, names.drop_columns("first_id"))
    with pytest.raises(InvalidFile, match="chunk crafted: there is no column 'first_id'"):
        make_cell(cluster.spec, cluster.layout.grid, 1, replace(state, names=(chunk,)), store)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 12), max_size=6), min_size=1, max_size=12), st.integers(2, 4), st.randoms())
def test_equal_sets_are_in_one_group(sets: list[list[int]], groups: int, rng: random.Random) -> None:
    """Whatever the order of their tokens, of whichever type, and whoever asks."""
    others = [one[::-1] + (rng.choices(one, k=3) if one else []) for one in sets]
    grid = Grid(groups)
    for make in (int, str, lambda token: str(token).encode()):
        rows, again = (pa.table({"tokens": pa.array([[make(t) for t in one] for one in given])}) for given in (sets, others))
        if rows["tokens"].type == pa.list_(pa.null()):
            continue
        found = grid.groups_of(rows, "tokens").to_pylist()
        assert grid.groups_of(again.slice(0), "tokens").to_pylist() == found
        assert [grid.groups_of(rows.slice(n, 1), "tokens")[0].as_py() for n in range(len(sets))] == found
        assert set(found) <= set(range(groups))


def test_groups_of_texts_are_those_of_their_words() -> None:
    texts = ["One two", "TWO, one!", "two one two", "", "ΑΣ", "ας"] + [f"{n} words" for n in range(3000)]
    found = Grid(3).groups_of(pa.table({"text": texts}), words("text")).to_pylist()
    assert len({*found[:3]}) == len({*found[4:6]}) == 1
    assert min(found.count(group) for group in range(3)) > 800
    tokens = pa.array([words("text")(text) for text in texts])
    assert Grid(3).groups_of(pa.table({"text": tokens}), "text").to_pylist() == found
    numbers = pa.table({"tokens": [[n, 1] for n in range(3000)]})
    found = Grid(4).groups_of(numbers, "tokens").to_pylist()
    assert min(found.count(group) for group in range(4)) > 600
    assert found[:8] == Grid(4).groups_of(numbers.slice(0, 8), "tokens").to_pylist()


def test_a_worker_forgets_what_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = make_cell(replace(SPEC, cells=3), Grid(2), 0, CellState(batches=5), None)  # type: ignore[arg-type]
    now = [1000.0]
    monkeypatch.setattr(cells_module.time, "monotonic", lambda: now[0])
    cached = {("a", 0): (990.0, cell), ("a", 1): (990.0, cell), ("b", 0): (300.0, cell), ("c", 0): (500.0, cell)}
    monkeypatch.setattr(cells_module, "_cell_cache", cached)
    cells_module._forget_others("a", 6)
    assert set(cached) == {("a", 0), ("a", 1), ("c", 0)}
    cells_module._forget_others("a", 7)
    assert set(cached) == {("c", 0)}


@pytest.mark.parametrize("cells", [0, -1, 2, 4, 5, 7, True, 3.0, "many"])
def test_numbers_of_cells(cells: Any) -> None:
    with pytest.raises(InvalidArgument, match="cells must be"):
        Grid.of(cells)


def test_every_pair_meets_in_one_cell() -> None:
    for groups in (1, 2, 3, 4):
        grid = Grid(groups)
        assert Grid.of(len(grid.cells)) == grid
        rows = pa.table({"group": [n % groups for n in range(8)], "id": range(8)})
        found = [set(grid.rows_of(cell, rows)["id"].to_pylist()) for cell in range(len(grid.cells))]
        for x in range(8):
            assert sum(x in ids for ids in found) == groups
            homes = [ids for number, ids in enumerate(found) if grid.is_home(number) and x in ids]
            assert len(homes) == 1
