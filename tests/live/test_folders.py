"""Output folders: each row once to every reader, whatever becomes of the stream, and in few files."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidFile
from swoop.live import folders
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.manifest import Manifest, folder
from tests.support.live_runs import Killed, files_of
from tests.support.result_folders import Clock, listed, of, read_all, rows, step


def test_what_was_replaced_goes_also_where_runs_are_short(tmp_path: Path, clock: Clock) -> None:
    """No run lives as long as somebody may be reading."""
    for run in range(5):
        mine = of(tmp_path)
        mine.claim(-1)
        for batch in range(3 * run, 3 * run + 3):
            mine.put(step(batch), rows(batch))
        mine.commit(step(batch), True)
        clock.now += 2 * folders.GRACE
    assert read_all(tmp_path) == listed(tmp_path) == list(range(15))
    assert len(list((tmp_path / "_open").iterdir())) <= 3


def test_a_copy_of_a_checkpoint_that_knows_an_older_driver(tmp_path: Path) -> None:
    """The folder was written by a driver with a higher number: what counts goes on counting, and so does what comes."""
    for batch, fence in enumerate((200, 100, 150)):
        mine = ResultFolder(folder(tmp_path), Folder(tmp_path), Manifest("mine", "changes", "/c", 0.0), lambda: None, fence)
        mine.claim(-1)
        mine.put(step(batch), rows(batch))
    assert read_all(tmp_path) == [0, 1, 2]


def test_readers_while_a_stream_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches come, are run again, and become final, while others read."""
    monkeypatch.setattr(folders, "MERGED", 3)
    path = tmp_path / "out"
    over, settled, wrong, looks = threading.Event(), [0], [], [0, 0]

    def by_name() -> None:
        while not over.is_set():
            least = settled[0]
            found = read_all(path)
            looks[0] += 1
            if found != list(range(len(found))) or len(found) < least:
                wrong.append((least, found))

    def by_listing() -> None:
        while not over.is_set():
            with suppress(FileNotFoundError):  # the folder itself
                found = listed(path)
                looks[1] += 1
                if len(set(found)) != len(found):
                    wrong.append(("listed", found))

    output = of(path, target_size=3000)
    readers = [threading.Thread(target=work) for work in (by_name, by_listing)]
    for reader in readers:
        reader.start()
    try:
        for batch in range(250):
            first = settled[0]
            for size in (batch % 4 + 1, batch % 3)[: 1 + (batch % 5 == 0)]:  # some batches are run again, with other results
                output.put(step(batch), rows(*range(first, first + size)))
            settled[0] += size
            if batch % 7 == 0:
                output.commit(step(batch), force=batch % 2 == 0)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong
    assert min(looks) > 0
    output.commit(step(250), force=True)
    assert listed(path) == read_all(path) == list(range(settled[0]))


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Batches with so many results each, kills or failures at the so many-th change of a file, pauses, committed batches,
    all or all but the last.
    """
    action = st.one_of(
        st.tuples(st.just("batch"), st.integers(0, 3), st.none() | st.integers(1, 7), st.booleans()),
        st.tuples(st.sampled_from(["settle", "settle before"]), st.booleans(), st.none() | st.integers(1, 5), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from([1, 30, 700])),
    )
    return draw(st.lists(action, max_size=25))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=histories(),
    merged=st.integers(2, 4),
    size=st.sampled_from([600, 3000, 10**9]),
    after=st.sampled_from([None, "0 s", "1 minute", "1 day"]),
)
@example(
    actions=[("batch", 1, None, True), ("batch", 0, 2, True), ("wait", 700), ("batch", 0, None, True)],
    merged=2,
    size=600,
    after="0 s",
)
def test_killed_at_any_moment(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, actions: list[tuple[Any, ...]], merged: int, size: int, after: str | None
) -> None:
    monkeypatch.setattr(folders, "MERGED", merged)
    path = Path(tempfile.mkdtemp()) / "out"
    left: list[int | None] = [None]

    def killing(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(self: Folder, name: str, *data: Any) -> Any:
            if left[0] is not None:
                left[0] -= 1
                if left[0] <= 0:
                    raise Killed
            return real(self, name, *data)

        return change

    with monkeypatch.context() as patch:
        for name in ("write", "delete", "create"):
            patch.setattr(Folder, name, killing(getattr(Folder, name)))

        def start() -> Any:
            left[0] = None
            found = of(path, target_size=size, final_after=after)
            found.claim(-1)
            return found

        output, batch, known, last, numbers = start(), 0, [], 0, iter(range(10**6))
        for what, amount, *kill in actions:
            if what == "wait":
                clock.now += amount
                continue
            left[0], failed = kill[0], False
            seen = listed(path)
            try:
                if what == "settle":
                    output.commit(step(batch - 1, True), amount)
                elif what == "settle before":
                    output.commit(step(batch - 2, True), amount)
                else:
                    new = [next(numbers) for _ in range(amount)]
                    output.put(step(batch), rows(*new))
            except Killed:
                left[0], failed = None, True
                if kill[1]:  # a new process; else it was only a failure
                    output = start()
                assert [row for row in read_all(path) if row in known] == known  # nothing that was there is lost
                if what == "batch":  # it is run again, and what it had written is replaced
                    new = [next(numbers) for _ in range(amount)]
                    output.put(step(batch), rows(*new))
            left[0] = None
            if what == "batch":
                known, batch, last = known + new, batch + 1, len(new)
            elif what == "settle before" and last and len(listed(path)) <= len(known) - last:  # the last one is run again
                known[-last:] = new = [next(numbers) for _ in range(last)]
                output.put(step(batch - 1), rows(*new))
            assert read_all(path) == known
            assert listed(path) == known[: len(listed(path))]
            assert set(seen) <= set(listed(path))  # what is final stays
            if what == "settle before" and amount and not failed:
                assert len(listed(path)) >= len(known) - last
        output.commit(step(batch), True)
        assert listed(path) == known
        assert not output.is_due()
    shutil.rmtree(path.parent)


def test_files_stay_few(tmp_path: Path, clock: Clock) -> None:
    """A batch in ten seconds for some hours: at first results are final at once, later more and more together."""
    path = tmp_path / "out"
    output = of(path)
    most = 0
    for batch in range(1500):
        output.put(step(batch), rows(batch) if batch % 3 else None)
        clock.now += 10
        if batch == 60:
            assert len(listed(path)) >= 33
        manifest = Manifest.read(Folder(path))
        most = max(most, len(manifest.parts) if manifest else 0)
    assert most < 40
    assert len(list((path / "_open").iterdir())) < 100  # those that were replaced stay for ten minutes
    assert len(list(path.glob("*.parquet"))) < 100
    assert read_all(path) == [batch for batch in range(1500) if batch % 3]
    clock.now += 10_000
    output.put(step(1500), rows(0))
    output.put(step(1501), None)
    assert len(list((path / "_open").iterdir())) < 40
    assert listed(path)[-1] == 1499


def test_target_size(tmp_path: Path, clock: Clock) -> None:
    output = of(tmp_path, target_size="8 kB", final_after="100 days")
    for batch in range(50):
        output.put(step(batch), rows(*range(100 * batch, 100 * batch + 100)))
    sizes = [file.stat().st_size for file in tmp_path.glob("*.parquet")]
    assert 3 < len(sizes) < 20
    assert read_all(tmp_path) == list(range(5000))


def test_retention(tmp_path: Path, clock: Clock) -> None:
    pq.write_table(rows(99), tmp_path / "000000000000.parquet")  # of an earlier release
    output = of(tmp_path, retention="2 days", final_after="0 s")
    output.claim(0)
    for day in range(6):
        output.put(step(day + 1), rows(day))
        assert (99 in listed(tmp_path)) == (day <= 2)
        clock.now += 86_400
    assert listed(tmp_path) == [2, 3, 4]  # the files of the days 0 and 1, written a day later, are gone
    assert read_all(tmp_path) == [2, 3, 4, 5]


def test_retention_while_nothing_comes(tmp_path: Path, clock: Clock) -> None:
    """Also where the run before wrote what is too old now."""
    options = {"retention": "2 days", "final_after": "0 s"}
    output = of(tmp_path, **options)
    for day in range(3):
        output.put(step(day), rows(day))
        output.commit(step(day), False)
        clock.now += 86_400
        assert output.is_due() == (day == 2)
    again = of(tmp_path, **options)
    again.claim(-1)
    for found in (again, output):
        assert found.is_due()
        found.commit(step(2), False)
        assert not found.is_due()
        assert listed(tmp_path) == [1, 2]


def test_a_clock_that_is_set_back(tmp_path: Path, clock: Clock) -> None:
    """Results do not wait until it is as late as it was."""
    output = of(tmp_path, final_after="10 minutes")
    output.put(step(0), rows(0))
    clock.now -= 86_400
    output.put(step(1), rows(1))
    assert listed(tmp_path) == [0]
    output.put(step(2), rows(2))
    assert listed(tmp_path) == [0]
    clock.now += 600
    output.commit(step(2), False)
    assert listed(tmp_path) == read_all(tmp_path) == [0, 1, 2]


def test_the_end_of_a_stream_that_is_done_again(tmp_path: Path) -> None:
    output = of(tmp_path)
    output.put(step(0), rows(0))
    output.put(step(0, True), rows(1, 2))
    output.commit(step(0, True), force=True)
    again = of(tmp_path)
    again.claim(-1)
    again.put(step(0, True), rows(1, 2))
    assert listed(tmp_path) == read_all(tmp_path) == [0, 1, 2]
    again.put(step(1), rows(3))
    assert read_all(tmp_path) == [0, 1, 2, 3]


def test_without_the_lease_nothing_is_changed(tmp_path: Path, clock: Clock) -> None:
    lost = [False]

    def guard() -> None:
        if lost[0]:
            raise InvalidFile("no longer held")

    output = of(tmp_path, guard=guard, retention="1 s", final_after="0 s")
    for batch in range(3):
        output.put(step(batch), rows(batch))
    clock.now += 1000
    before = {name: data for name, data in files_of(tmp_path).items() if "_open" not in name}
    lost[0] = True
    with pytest.raises(InvalidFile):
        output.put(step(3), rows(3))
    with pytest.raises(InvalidFile):
        output.commit(step(3), force=True)
    after = files_of(tmp_path)
    assert before.items() <= after.items()
    assert len([name for name in after if "_open" not in name]) == len(before)
