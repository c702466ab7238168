"""Live streams on object stores: whenever the process dies, and whatever the store does to it, results are the same.

States and manifests bear the number of a lease; files are created by listing where a store has nothing better.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from swoop.errors import InvalidArgument
from swoop.live import chunks, files, folders
from swoop.live.checkpoint import Checkpoint, State
from swoop.live.files import Folder, create_by_listing
from swoop.live.folders import ResultFolder
from swoop.live.manifest import Manifest, folder, result_files
from tests.support.live_cases import SPEC, scenario
from tests.support.live_judge import check, results
from tests.support.live_runs import Killed, on_store, run, run_again, start
from tests.support.stores import ObjectStore

pytestmark = pytest.mark.usefixtures("few_agree")


@pytest.mark.no_cover  # hundreds of times the same lines
@pytest.mark.parametrize("is_conditional", [True, False])
def test_killed_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_conditional: bool, request: pytest.FixtureRequest
) -> None:
    """Before or after some changes of files, and once more a little later; test_live_join.py has all changes, on disks."""
    monkeypatch.setattr(chunks, "MERGED", 3)
    monkeypatch.setattr(folders, "MERGED", 2)
    monkeypatch.setattr(files, "PATIENCE", 0.0)  # claims of those who died
    monkeypatch.setattr(folders, "GRACE", 0.0)
    case, left = scenario(idle=True), [0]
    step = 29 if request.config.getoption("--kills") == 1 else 3

    def kill(what: str, path: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    with on_store(ObjectStore(is_conditional)):
        undisturbed = results(tmp_path, run(tmp_path, case))
        check(tmp_path, case, start(tmp_path, case.spec))
    moment, died = 0, True
    while died:
        moment += step
        left[0] = moment
        store = ObjectStore(is_conditional, **{"before" if moment % 2 else "after": kill})  # type: ignore[arg-type]
        place = tmp_path / str(moment)
        place.mkdir()
        with on_store(store):
            try:
                live = run(place, case)
                died = False
            except Killed:
                left[0] = 1 + moment % 7
                live = run_again(place, case, lambda batch: True)
            left[0] = 0
            assert results(place, live) == undisturbed, f"killed at change {moment}"
            live._checkpoint.collect(live._state)
            assert set(Folder(f"{place}/swoop/chunks", store).names()) == live._state.names
    assert moment > 50


def test_a_store_that_is_slow_and_fails_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors come before or after a change has happened; the stream ends, is started again, and resumes."""
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    case, rng = scenario(), random.Random(3)
    failures = [0]

    def fail(what: str, path: str) -> None:
        if rng.random() < 0.03:
            failures[0] += 1
            raise Killed

    with on_store(ObjectStore()):
        undisturbed = results(tmp_path, run(tmp_path, case))
    for is_conditional in (True, False):
        place = tmp_path / str(is_conditional)
        place.mkdir()
        with on_store(ObjectStore(is_conditional, slow=0.0005, before=fail, after=fail)):
            live = run_again(place, case, lambda batch: True)
            assert results(place, live) == undisturbed
    assert failures[0] > 10


def test_creating_a_file_by_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(6):
        store, winners = ObjectStore(is_conditional=False, slow=0.002), list[int]()
        barrier = threading.Barrier(4)

        def create(number: int, store: Any = store, winners: list[int] = winners, barrier: Any = barrier) -> None:
            barrier.wait()
            if store.create("s://b/x/file", str(number).encode()):
                winners.append(number)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.files == {"s://b/x/file": str(winners[0]).encode()}
        assert len(winners) == 1
    monkeypatch.setattr(files, "PATIENCE", 0.3)
    store.files = {"s://b/x/.file.000000000000.claim": b""}  # somebody has died
    assert create_by_listing(store, "s://b/x/file", b"1")
    assert store.files == {"s://b/x/file": b"1"}


# drivers that have lost their lease and do not know it: the store was slow


def test_a_state_that_comes_too_late(tmp_path: Path) -> None:
    class Numbered(Checkpoint):
        fence = 0

    first, second = (Numbered(tmp_path, SPEC.lasting()) for _ in range(2))
    first.fence, second.fence = 7, 8
    rows = pa.table({"time": [1, 2]})
    for batch in (0, 1):
        first.write(first.add(State(batch, 3), rows, 0))
    mine = second.write(second.add(State(1, 3), rows, 0))
    first.write(first.add(State(1, 3), rows, 0))
    assert second.known() == [(0, 0, False), (1, 0, False)]
    assert second.state((1, 0, False)) == mine
    second.collect(mine)
    assert [file.name for file in sorted((tmp_path / "swoop/states").iterdir())] == [f"{1:012}~{8:012}.json"]
    assert list(second.read(mine.chunks))


def test_a_manifest_that_comes_too_late(tmp_path: Path) -> None:
    def of(fence: int) -> ResultFolder:
        settings, mine = folder(tmp_path, final_after="1 day"), Manifest("mine", "changes", "", 0.0)
        return ResultFolder(settings, Folder(tmp_path), mine, lambda: None, fence)

    def rows(number: int) -> pa.Table:
        return pa.table({"sequence": [number]})

    first, second = of(7), of(8)
    first.claim(-1)
    for batch in range(2):
        first.put(f"{batch:012}", rows(batch))
    second.claim(-1)
    second.put(f"{1:012}", rows(1))
    second.put(f"{2:012}", rows(2))
    expected = result_files(tmp_path)
    first.put(f"{1:012}", rows(1))
    assert result_files(tmp_path) == expected
    assert len(expected) == 3
    third = of(9)
    third.claim(-1)
    third.put(f"{3:012}", rows(3))
    assert result_files(tmp_path)[:3] == expected
    assert sorted(file.name for file in tmp_path.glob("_swoop*")) == [f"_swoop-{9:012}-{1:06}.json", "_swoop.json"]


def test_an_address_that_is_no_path_of_this_machine() -> None:
    for address in ("dbfs:/x", "s3a://bucket/x", "hdfs:///x"):
        with pytest.raises(InvalidArgument, match="no path of this machine.*Spark session"):
            Folder(address)
        with pytest.raises(InvalidArgument, match="no path of this machine"):
            result_files(address)
