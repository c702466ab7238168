"""Output folders: each row once to every reader, whatever becomes of the stream; and each folder has one owner.

Tests of swoop.live.files, swoop.live.manifest, swoop.live.outputs.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidArgument, InvalidFile, InvalidType
from swoop.live import files, folders
from swoop.live.checkpoint import State
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.manifest import FolderSettings, Manifest, find_size, folder, result_files
from swoop.live.outputs import FolderOutput, Outputs, Owner, claim, numbered, unclaim
from swoop.spark.topics import KafkaOutput, keyed
from tests.support.live_runs import files_of


class Killed(BaseException):
    pass


class Clock:
    """What ``folders`` takes for the time."""

    now = 1e9

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(folders, "time", found)
    return found


def of(path: Path, run: str = "mine", holds: str = "changes", guard: Callable[[], None] = lambda: None, **options: Any) -> Any:
    return ResultFolder(folder(path, **options), Folder(path), Manifest(run, holds, f"/checkpoints/{run}", 0.0), guard)


def rows(*numbers: int) -> pa.Table | None:
    return pa.table({"sequence": pa.array(numbers, pa.int64())}) if numbers else None


def step(batch: int, ended: bool = False) -> str:
    return State(batch, 1, ended).step


def read_all(path: Path) -> list[int]:
    return [row for file in result_files(path) for row in pq.read_table(file)["sequence"].to_pylist()]


def listed(path: Path) -> list[int]:
    """What a reader sees that knows nothing of us."""
    return sorted(pq.read_table(path)["sequence"].to_pylist()) if list(path.glob("*.parquet")) else []


# files


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A full disk would otherwise be filled by what is left of each attempt."""
    where = Folder(tmp_path / "folder")
    where.write("before", b"1")
    for change in (where.write, where.create):
        with pytest.raises(TypeError):
            change("name", None)  # type: ignore[arg-type]
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["before"]


def test_disks_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is created once, and whole."""

    def link(source: str, target: str) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.os, "link", link)
    where = Folder(tmp_path / "folder")
    assert [where.create("name", b"1"), where.create("name", b"2")] == [True, False]
    assert where.read("name").to_pybytes() == b"1"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["name"]


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


# each row once


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


@pytest.mark.parametrize("is_final", [False, True])
def test_an_older_copy_of_the_checkpoint(tmp_path: Path, is_final: bool) -> None:
    """Spark may cut what came since into other batches, so some of it would be missing, and with it what was merged."""
    output = of(tmp_path / "out")
    for batch in range(20):
        output.put(step(batch), rows(batch))
    output.commit(step(batch), is_final)
    before = files_of(tmp_path)
    for last in ("", step(10), step(18, True)):
        goes = f"only to batch {int(last[:12])}" if last else "nowhere"
        with pytest.raises(
            InvalidArgument, match=f"has the changes up to batch 19, but the checkpoint goes {goes}: it is an older"
        ):
            claim([Outputs([FolderOutputOf(of(tmp_path / "out"))])], "/checkpoint", -1, last)
    assert files_of(tmp_path) == before
    for last in (step(19), step(19, True), step(30)):
        claim([Outputs([FolderOutputOf(of(tmp_path / "out"))])], "/checkpoint", -1, last)


class FolderOutputOf(FolderOutput):
    """The output that has this folder."""

    def __init__(self, files: ResultFolder) -> None:
        self.files = files


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


# whose it is


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"run": "other"},
            "belongs to another stream: it holds the changes of the one with the checkpoint '/checkpoints/mine'",
        ),
        ({"holds": "late"}, "holds the changes of this stream, so it cannot hold its late"),
    ],
)
def test_a_folder_of_somebody_else(tmp_path: Path, other: dict[str, str], message: str) -> None:
    mine = of(tmp_path / "out")
    mine.claim(-1)
    for written in (False, True):
        if written:
            mine.put(step(0), rows(1))
            mine.put(step(1), rows(2))
        before = files_of(tmp_path)
        for act in ("check", "claim"):
            with pytest.raises(InvalidArgument, match=message):
                getattr(of(tmp_path / "out", **other), act)(99)
        assert files_of(tmp_path) == before
    of(tmp_path / "out").claim(-1)


def test_of_streams_that_start_at_once_one_goes_on(tmp_path: Path) -> None:
    for number in range(20):
        path, winners = tmp_path / str(number), []
        barrier = threading.Barrier(4)

        def start(run: str, path: Path = path, barrier: Any = barrier, winners: list[str] = winners) -> None:
            output = of(path, run)
            barrier.wait()
            with suppress(InvalidArgument):
                output.claim(-1)
                winners.append(run)

        threads = [threading.Thread(target=start, args=(run,)) for run in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(winners) == 1
        found = Manifest.read(Folder(path))
        assert found is not None
        assert [found.run] == winners


def test_exclusive_files_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*paths: str) -> None:
        raise PermissionError("this file system has no links")

    monkeypatch.setattr("os.link", no_links)
    assert Folder(tmp_path).create("a", b"1")
    assert not Folder(tmp_path).create("a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_files_of_an_earlier_release(tmp_path: Path) -> None:
    """One file per batch, and no mark. They stay; that of a batch that is run again is replaced."""
    for name, number in (("000000000003", 0), ("000000000007", 1), ("000000000007-end", 2), ("000000000008", 3)):
        pq.write_table(rows(number), tmp_path / f"{name}.parquet")
    assert read_all(tmp_path) == [0, 1, 2, 3]
    for batch in (-1, 7):
        with pytest.raises(InvalidArgument, match="foreign files, such as '0000.*new folder"):
            of(tmp_path).claim(batch)
    output = of(tmp_path)
    output.claim(8)
    output.put(step(8), rows(30, 31))
    assert read_all(tmp_path) == [0, 1, 2, 30, 31]
    assert listed(tmp_path) == [0, 1, 2]
    again = of(tmp_path)
    again.claim(-1)
    again.put(step(9), rows(40))
    again.commit(step(9), force=True)
    assert read_all(tmp_path) == listed(tmp_path) == [0, 1, 2, 30, 31, 40]


@pytest.mark.parametrize("name", ["000000000003.json", "part-0.parquet", "posts.csv"])
def test_files_of_somebody_else(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidArgument, match=f"such as '{name}'"):
        of(tmp_path).claim(99)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_mark_that_cannot_be_read(tmp_path: Path) -> None:
    of(tmp_path).claim(-1)
    mark = tmp_path / "_swoop.json"
    known = json.loads(mark.read_text())
    mark.write_text(json.dumps({**known, "version": 99}))
    with pytest.raises(InvalidFile, match="version 99.*Upgrade"):
        of(tmp_path).claim(-1)
    for text in ("{", "[]", "{}", json.dumps({**known, "format": "other"})):
        mark.write_text(text)
        with pytest.raises(InvalidFile, match="_swoop.json.*cannot be read.*another folder"):
            result_files(tmp_path)


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


def test_places_of_the_outputs_of_one_stream(tmp_path: Path) -> None:
    def outputs(*paths: str) -> list[Outputs]:
        found = []
        for path, holds in zip(paths, ("changes", "late", "rejected"), strict=False):
            several = [FolderOutput(tmp_path / one, Owner("run", holds)) for one in path.split("+")]
            found.append(Outputs(several))
        return found

    checkpoint = str(tmp_path / "state")
    for paths in (("a", "b", "a"), ("a+a",), ("a", "a/b"), ("b/c", "b")):
        with pytest.raises(InvalidArgument, match="same folder or one into that of the other.*own"):
            claim(outputs(*paths), checkpoint, -1)
    for path in ("state", "."):
        with pytest.raises(InvalidArgument, match="has the checkpoint in it"):
            claim(outputs(path), checkpoint, -1)
    of(tmp_path / "taken", "other").claim(-1)
    with pytest.raises(InvalidArgument, match="taken' for late belongs to another stream"):
        claim(outputs("new", "taken"), checkpoint, -1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["taken"]
    free = outputs("new", "state/swoop/late")
    claim(free, checkpoint, -1)
    assert (tmp_path / "new/_swoop.json").exists()
    unclaim(free)
    assert not (tmp_path / "new/_swoop.json").exists()
    claim(free, checkpoint, -1)
    free[0].folders[0].put(step(0), rows(1))
    unclaim(free)
    assert (tmp_path / "new/_swoop.json").exists()  # it has got something
    topics: Any = [Outputs([KafkaOutput("kafka://host:1/t", None, "run")]) for _ in range(2)]  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="two outputs of this stream go to the topic 'host:1/t'"):
        claim(topics, checkpoint, -1)


# settings, numbers, keys


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (InvalidType, "a folder for results must be a path, not 5", lambda: folder(5)),  # type: ignore[arg-type]
        (InvalidArgument, "cannot parse the size 'big'", lambda: folder("a", target_size="big")),
        (InvalidArgument, "cannot parse the size 0", lambda: find_size(0)),
        (InvalidArgument, "cannot parse the size -3", lambda: find_size(-3)),
        (InvalidArgument, "cannot parse the final_after 'soon'", lambda: folder("a", final_after="soon")),
        (InvalidType, "retention must be a duration.*not 30", lambda: folder("a", retention=30)),  # type: ignore[arg-type]
    ],
)
def test_settings_that_make_no_sense(error: type[Exception], message: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        call()


def test_settings() -> None:
    assert folder(Path("out"), target_size="1 kB", final_after="2 min", retention="1 day") == FolderSettings(
        "out", 1024, 120.0, 86_400.0
    )


def test_numbers_and_keys() -> None:
    """A batch that is run again gives its results the numbers and keys that they had."""
    table = numbered(State(7, 1), pa.table({"kind": ["enter", "expired", "enter"]}), 100)
    assert table["sequence"].to_pylist() == [100, 101, 102]
    assert table["batch"].to_pylist() == [7] * 3
    sent = keyed(table, "run/7/", frozenset())
    again = keyed(table, "run/7/", {"run/7/000000", "run/7/000002", "other/7/000001"})
    assert sent["key"].to_pylist() == ["run/7/000000", "run/7/000001", "run/7/000002"]
    assert again.to_pylist() == [sent.to_pylist()[1]]
    assert keyed(table, "run/7/", set(sent["key"].to_pylist())).num_rows == 0
