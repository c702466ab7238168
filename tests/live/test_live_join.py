"""Live joins without Spark: equal to brute force whatever the batches and the disorder, and whenever the process dies.

Tests of swoop.join.origins, swoop.live.chunks, swoop.live.live_stream, swoop.live.one_engine, swoop.live.resumable,
swoop.live.row_order, swoop.live.single_engine, swoop.live.stream_spec, swoop.live.watermark.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live import chunks, folders
from swoop.live.checkpoint import State
from swoop.live.files import Folder
from tests.support.live_cases import SPEC, Row, Run, families, runs, scenario, small_batches, table, with_join
from tests.support.live_judge import check, read, results
from tests.support.live_runs import Killed, claimed, files_written, fresh, limits, run, run_again, small, start

pytestmark = pytest.mark.usefixtures("few_agree")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs())
def test_equal_to_brute_force(folder: Path, case: Run) -> None:
    check(folder, case, run(fresh(folder), case))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(idle=True), st.randoms(use_true_random=False), limits)
def test_a_process_that_dies_before_the_commit(folder: Path, case: Run, rng: random.Random, limit: int | None) -> None:
    """Everything is written, but Spark does not know: the batch comes again. The window is restored piece by piece."""
    with small(limit):
        run_again(fresh(folder), case, lambda batch: rng.random() < 0.6, rng)
        check(folder, case, start(folder, case.spec))


@pytest.mark.no_cover  # hundreds of times the same lines
@pytest.mark.parametrize(("how", "what"), [("before", "copies"), ("half", "families"), ("after", "sets")])
def test_killed_at_any_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str, what: str, request: pytest.FixtureRequest
) -> None:
    """Die at the first, the second, ... change of a file: before it, with half a file written, or after it.

    The process after it dies too, in the same batch and a little later; and rows come in another order each time. Before a
    change is after the one before it, so every second change will do; with ``--kills``, it is every change.
    """
    step = 2 if request.config.getoption("--kills") == 1 else 1
    monkeypatch.setattr(chunks, "MERGED", 3)
    monkeypatch.setattr(folders, "MERGED", 2)
    monkeypatch.setattr(folders, "GRACE", 0.0)
    if how != "after":  # final files are enough once; tests/live/test_folders.py has the rest
        monkeypatch.setattr(folders, "YOUNG", 1e9)
    case = scenario(idle=True, copies="once" if what == "copies" else "each")
    if what == "families":
        case = replace(case, spec=families(case.spec, 0.4))
    undisturbed = results(folder, run(fresh(folder), case))
    check(folder, case, start(folder, case.spec))
    real_write, real_delete = Folder.write, Folder.delete
    left = [0]

    def killing(real: Callable[..., None]) -> Callable[..., None]:
        def change(self: Folder, name: str, *data: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                if how == "half" and data:
                    Path(self.path).mkdir(parents=True, exist_ok=True)
                    Path(self.path, f".{name}.part").write_bytes(bytes(data[0])[: len(data[0]) // 2])
                elif how == "after":
                    real(self, name, *data)
                raise Killed
            real(self, name, *data)

        return change

    monkeypatch.setattr(Folder, "write", killing(real_write))
    monkeypatch.setattr(Folder, "delete", killing(real_delete))
    moment, died = 0, True
    while died:
        moment += step
        left[0] = moment
        fresh(folder)
        rng = random.Random(moment)
        try:
            run(folder, case, rng=rng)
            died = False
        except Killed:
            left[0] = 1 + moment // step % 4
            live = run_again(folder, case, lambda batch: True, rng)
            assert results(folder, live) == undisturbed, f"killed at change {moment}"
            named = live._state.names
            left[0] = 0
            live._checkpoint.collect(live._state)
            assert {file.name for file in (folder / "swoop" / "chunks").iterdir()} == named
    assert moment > 50


@pytest.mark.no_cover
def test_small_chunks_are_merged_and_old_ones_go(folder: Path) -> None:
    spec = replace(with_join(SPEC, window=200), lateness=0)
    live = start(folder, spec)
    most = 0
    for batch in range(1000):
        live.process(batch, table([Row(batch, batch, (batch % 7, batch % 5))]))
        most = max(most, len(list((folder / "swoop" / "chunks").iterdir())))
    assert most < 64
    kept = sum(chunk.rows for chunk in live._state.chunks)
    assert 200 <= kept < 500
    assert len(list((folder / "swoop" / "states").iterdir())) == 2
    assert list(start(folder, spec).topk) == list(live.topk)


def test_other_parameters_are_refused_by_name(folder: Path) -> None:
    start(folder, SPEC)
    with pytest.raises(InvalidArgument, match="window was '12' and now is '13'"):
        start(folder, with_join(SPEC, window=13))
    with pytest.raises(
        InvalidArgument, match="similarity was 'jaccard' and now is 'dice'; min_similarity was None and now is 0.5"
    ):
        start(folder, with_join(SPEC, similarity="dice", min_similarity=0.5))
    start(folder, replace(SPEC, lateness=1))


def test_k_may_be_lowered(folder: Path) -> None:
    """What no longer fits leaves the top-k, so the feed still adds up to it."""
    case = scenario()
    live = start(folder, case.spec)
    for batch, rows in enumerate(case.batches[:4]):
        live.process(batch, table(rows))
    before = list(live.topk)
    assert len(before) == 3
    lower = with_join(case.spec, k=2)
    live = start(folder, lower)
    assert list(live.topk) == before[:2]
    for batch, rows in enumerate(case.batches[4:], 4):
        live.process(batch, table(rows))
    live.finish()
    current: set[Any] = set()
    for row in read(folder, "changes"):
        pair = (row["newer"], row["older"])
        (current.add if row["kind"] == "enter" else current.remove)(pair)
        assert len(current) <= 3
    assert current == {(pair.newer, pair.older) for pair in live.topk}
    with pytest.raises(InvalidArgument, match="k=2, and k may be lowered but not raised to 3"):
        start(folder, case.spec)


@pytest.mark.parametrize("k", [3, None])
def test_a_record_keeps_its_name_when_its_first_set_is_gone(folder: Path, k: int | None) -> None:
    """The run is resumed when the window has none of the sets that the records are called after."""
    spec = replace(with_join(SPEC, k=k, copies="once", min_similarity=0.1, window=10), lateness=0)
    sets = [(1, 2, 3), (1, 2, 4), (1, 2, 5)]
    rows = [Row(100 + n, 3 * n, sets[n % 3]) for n in range(12)]
    case = Run([[row] for row in rows], frozenset(), spec)
    undisturbed = run(folder / "whole", case)
    for batch in range(12):
        live = start(folder / "resumed", spec)  # a new process for each batch
        live.process(batch, table([rows[batch]]))
    live.finish()
    assert list(live.topk) == list(undisturbed.topk)
    assert {pair.older for pair in live.topk} | {pair.newer for pair in live.topk} == {100, 101, 102}
    assert min(pair.older_first_seen for pair in live.topk) == 0
    check(folder / "resumed", case, start(folder / "resumed", spec))
    told = sum(chunk.rows for chunk in live._state.origins)
    assert 0 < told <= 4  # one for each record, and not many that have expired


def test_lowered_k_where_copies_count_once(folder: Path) -> None:
    case = scenario(copies="once")
    live = start(folder, case.spec)
    for batch, rows in enumerate(case.batches[:5]):
        live.process(batch, table(rows))
    before = list(live.topk)
    assert len(before) == 3
    live = start(folder, with_join(case.spec, k=1))
    assert list(live.topk) == before[:1]
    live.process(5, table(case.batches[5]))
    left = [row for row in read(folder, "changes") if row["batch"] == 5][:2]
    assert [(row["kind"], row["newer"], row["older_copies"]) for row in left] == [
        ("outranked", pair.newer, pair.older_copies) for pair in before[1:]
    ]


def test_texts_of_records_are_those_of_their_newest_sets(folder: Path) -> None:
    spec = replace(with_join(SPEC, copies="once"), lateness=0)
    live = start(folder, spec)
    rows = table([Row(n, n, (1, 2, 3 + n % 2)) for n in range(5)])
    live.process(0, rows.append_column("text", [[f"text {n}" for n in range(5)]]))
    live.finish()
    assert live.topk[0].newer == 1
    assert live.texts(live.topk[0]) == ("text 3", "text 4")
    assert start(folder, spec).texts(live.topk[0]) == ("text 3", "text 4")


def test_a_batch_that_comes_again_has_the_k_it_had(folder: Path) -> None:
    case = scenario()
    live = start(folder, case.spec)
    for batch, rows in enumerate(case.batches[:3]):
        live.process(batch, table(rows))
    before = read(folder, "changes")
    live = start(folder, with_join(case.spec, k=1))
    live.process(2, table(case.batches[2]))
    assert read(folder, "changes") == before
    live.process(3, table(case.batches[3]))
    assert len(live.topk) == 1


@pytest.mark.parametrize("kind", ["each", "once", "all", "families"])
def test_a_batch_writes_at_most_four_small_files(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Rows, state, changes and their manifest: the first batch of a run, where chunks or files are merged, and with origins."""
    join = {"k": None, "min_similarity": 0.5, "max_pairs": 100} if kind == "all" else {}
    spec = with_join(SPEC, copies="once" if kind == "once" else "each", **join)
    spec = families(spec, 0.5) if kind == "families" else spec
    written, batches, origins = files_written(monkeypatch), small_batches(), set()
    for begin, end in ((0, 23), (23, 40)):
        live = claimed(start(folder, spec))
        for batch in range(begin, end):
            written.clear()
            live.process(batch, table(batches[batch]))
            assert len(written) <= 4
            origins.add(len(live._state.origins))
    assert (max(origins) > 0) == (kind in ("once", "families"))
    assert live.stats.changes > 100


@pytest.mark.parametrize("part", ["states", "chunks"])
@pytest.mark.parametrize("damage", ["flipped", "short", "gone"])
def test_damage_is_found(folder: Path, part: str, damage: str) -> None:
    case = scenario()
    live = start(folder, case.spec)
    for batch, rows in enumerate(case.batches[:3]):
        live.process(batch, table(rows))
    name = f"{live._state.step}.json" if part == "states" else live._state.chunks[-1].name
    file = folder / "swoop" / part / name
    data = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    else:
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data if damage == "flipped" else data[: len(data) // 2])
    if (part, damage) == ("states", "gone"):  # as if the last batch had not been
        start(folder, case.spec).process(2, table(case.batches[2]))
    else:
        with pytest.raises(InvalidFile, match=f"damaged: {part}/{name}.*new checkpoint"):
            start(folder, case.spec)


def test_damaged_parameters(folder: Path) -> None:
    start(folder, SPEC)
    file = folder / "swoop" / "parameters.json"
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "version": 99}))
    with pytest.raises(InvalidFile, match="version 99.*Upgrade"):
        start(folder, SPEC)
    file.write_text("[]")
    with pytest.raises(InvalidFile, match="damaged: parameters.json"):
        start(folder, SPEC)


def test_a_checkpoint_of_another_run(folder: Path) -> None:
    live = start(folder, SPEC)
    with pytest.raises(InvalidFile, match="resumes with batch 5.*after batch -1.*new checkpoint"):
        live.process(5, table([Row(1, 1, (1,))]))
    live.process(0, table([Row(1, 1, (1,))]))
    live.process(1, table([Row(2, 2, (1,))]))
    live.process(2, table([Row(3, 3, (1,))]))
    with pytest.raises(InvalidFile, match="resumes with batch 0"):
        start(folder, SPEC).process(0, table([Row(1, 1, (1,))]))


def test_checksums_of_states() -> None:
    state = State(4, 3)
    assert State.from_json(state.to_json()) == state
    outer = json.loads(state.to_json())
    assert outer["crc"] == zlib.crc32(outer["state"].encode())
