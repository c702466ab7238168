"""Live families without Spark: equal to brute force whatever the batches and the disorder, and whenever the process dies.

Tests of swoop.join.family_origins, swoop.live.live_families, swoop.live.one_family_engine.
"""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidArgument, InvalidType, NotInWindow
from swoop.join import payloads
from swoop.live.metrics import Metrics
from swoop.live.outputs import CallbackOutput
from swoop.results import FamilyChange
from tests.support.live_cases import SPEC, Row, Run, families, runs, scenario, table, with_join
from tests.support.live_judge import check, found, read
from tests.support.live_runs import fresh, limits, run, run_again, small, start

pytestmark = pytest.mark.usefixtures("few_agree")

WAVES = families(replace(SPEC, lateness=0), 0.5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(finds="families"))
def test_equal_to_brute_force(folder: Path, case: Run) -> None:
    check(folder, case, run(fresh(folder), case))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs(idle=True, finds="families"), st.randoms(use_true_random=False), limits)
def test_a_process_that_dies_before_the_commit(folder: Path, case: Run, rng: random.Random, limit: int | None) -> None:
    with small(limit):
        run_again(fresh(folder), case, lambda batch: rng.random() < 0.6, rng)
        check(folder, case, start(folder, case.spec))


def test_a_family_goes_on_in_a_new_process(folder: Path) -> None:
    """It keeps its name, its age and its total, and two parts of it that nothing in the window connects stay one family."""
    sets = [(1, 2, 3), (1, 2, 3, 4), (3, 4), (1, 2), (3, 4), (1, 2), (9,), (3, 4), (1, 2)]
    spec = families(replace(with_join(SPEC, window=10), lateness=0), 0.5)
    rows = [Row(100 + n, 3 * n, tokens) for n, tokens in enumerate(sets)]
    for batch, row in enumerate(rows):
        live = start(folder, spec)  # a new process for each batch
        live.process(batch, table([row]))
    live.finish()
    case = Run([[row] for row in rows], frozenset(), spec)
    check(folder, case, live)
    check(folder, case, start(folder, spec))
    (family,) = live.result.families()
    assert (family.id, family.total, family.first_seen) == (100, 8, 0)
    assert live.result.named(live.result.arrivals(100)) == [105, 107, 108]
    assert live.stats.families == 1
    assert sum(chunk.rows for chunk in live._state.origins) <= 5  # what has expired is dropped


def test_little_is_written_where_there_is_little_to_tell(folder: Path) -> None:
    """A row for each set that is in a family, once; nothing for the others."""
    spec = families(replace(with_join(SPEC, window=1000), lateness=0), 0.5)
    live = start(folder, spec)
    for batch in range(30):
        live.process(batch, table([Row(2 * batch, batch, (1, 2, 3)), Row(2 * batch + 1, batch, (1000 + batch,))]))
    assert (
        sum(chunk.rows for chunk in live._state.origins) == 29 - 1
    )  # the last waits; the first is what others are called after
    assert sum(chunk.rows for chunk in live._state.chunks) == 60


def test_examples_are_the_newest_with_different_texts(folder: Path) -> None:
    live = start(folder, WAVES)
    rows = table([Row(n, n, (1, 2, 3)) for n in range(7)])
    live.process(0, rows.append_column("text", [["a", "b", "b", "c", "c", "c", None]]))
    live.finish()
    for stream in (live, start(folder, WAVES)):
        assert stream.examples(0, 3) == [(6, 6, None), (5, 5, "c"), (2, 2, "b")]
        assert stream.examples(stream.result.families()[0], 9)[3:] == [(0, 0, "a"), (4, 4, "c"), (3, 3, "c"), (1, 1, "b")]
    with pytest.raises(NotInWindow, match="no family 3"):
        live.examples(3, 1)
    with pytest.raises(InvalidArgument, match="at least 1, not 0"):
        live.examples(0, 0)
    with pytest.raises(InvalidType, match="an integer, not '1'"):
        live.examples(0, "1")


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_texts_of_families_that_begin_and_end_in_a_batch(folder: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """They are there as long as the batch is the last one; then, as long as they are small together."""
    monkeypatch.setattr(payloads, "LINGERING", most)
    monkeypatch.setattr(payloads, "LIMIT", 1)
    told: list[FamilyChange] = []
    live = start(folder, families(replace(with_join(SPEC, window=3), lateness=0), 0.5))
    live._changes = CallbackOutput(lambda changes, batch: told.extend(changes))
    names = iter("abcdefghijklmnop")
    for batch, begin in enumerate((0, 100)):
        rows = [Row(begin + n, begin + n, (1, 2, 3)) for n in range(4)] + [Row(begin + 50, begin + 50, (9,))]
        live.process(batch, table(rows).append_column("text", [[next(names) for _ in rows]]))
        found = [(change.kind, change.total, live.texts(change)) for change in told[4 * batch :]]
        texts = "abcd" if batch == 0 else "fghi"
        assert found == [
            ("born", 2, (texts[0], texts[1])),
            ("grew", 3, (texts[0], texts[2])),
            ("grew", 4, (texts[0], texts[3])),
            ("ended", 4, (texts[0], texts[3])),
        ]
    assert live.texts(told[0]) == ((None, None) if most == 0 else ("a", "b"))
    assert live.texts(FamilyChange(1, "born", 0)) == (None, None)


def test_other_threads_see_whole_steps(folder: Path) -> None:
    """Whoever asks while batches are processed sees families as they were after one of them."""
    live = start(folder, WAVES)
    seen: list[Any] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.002):  # a thread that never waits holds the others up
            result = live.result
            seen.extend((family.size, len(result.arrivals(family))) for family in result.families(order="growing"))

    thread = threading.Thread(target=look)
    thread.start()
    for batch in range(60):
        live.process(batch, table([Row(n, batch, (1, 2, n % 2)) for n in range(5 * batch, 5 * batch + 5)]))
    over.set()
    thread.join()
    assert seen
    assert all(size == count and size % 5 == 0 for size, count in seen)


def test_metrics_are_called_after_families(folder: Path) -> None:
    live = start(folder, WAVES)
    live.process(0, table([Row(n, n, (1, 2)) for n in range(4)]))
    live.finish()
    text = Metrics(lambda: live.stats, lambda: True).text()
    assert "swoop_families 1.0" in text
    assert "stock" not in text
    assert len(live.no_changes) == 0
    names = ["time", "kind", "family", "into", "size", "total", "first_seen", "representative"]
    assert live.no_changes.to_arrow().column_names == names


def test_a_checkpoint_is_for_pairs_or_for_families(folder: Path) -> None:
    """The message says what is different, and nothing that only one of them has."""
    case = scenario(min_similarity=0.5, copies="once")
    start(folder, case.spec).process(0, table(case.batches[0]))
    for spec, why in [
        (families(case.spec, 0.5), "finds was 'pairs' and now is 'families'"),
        (with_join(case.spec, k=None), "k was a number and now is 'all'"),
        (replace(case.spec, cells=3), "cells was 1 and now is 3"),
    ]:
        with pytest.raises(InvalidArgument, match=f"other parameters: {why}. Use the same"):
            start(folder, spec)


def test_changes_of_batches_that_come_again_are_replaced(folder: Path) -> None:
    case = replace(scenario(idle=True), spec=families(SPEC, 0.4))
    whole = run(folder / "whole", case)
    died: set[int] = set()

    def commits(batch: int) -> bool:
        is_again = batch in died
        died.add(batch)
        return is_again

    again = run_again(fresh(folder / "again"), case, commits, random.Random(1))
    assert read(folder / "again", "changes") == read(folder / "whole", "changes")
    assert found(again) == found(whole)
