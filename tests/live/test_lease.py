"""One driver at a time on a checkpoint."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live import lease as leases
from swoop.live.files import Folder
from swoop.live.lease import Lease


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.1)
    monkeypatch.setattr(leases, "PATIENCE", 0.5)


def owner(folder: Path, **others: Any) -> None:
    """Another driver has written that it runs."""
    known = {"lease": "other", "machine": "elsewhere/1", "pid": 7, "started": "1", "beat": time.time(), **others}
    (folder / "owner.json").write_text(json.dumps(known))


def test_held_and_released(tmp_path: Path) -> None:
    lease = Lease(Folder(tmp_path))
    lease.check()
    with pytest.raises(InvalidArgument, match=f"is in use by process {os.getpid()} on"):
        Lease(Folder(tmp_path))
    lease.check()
    first = (tmp_path / "owner.json").read_text()
    time.sleep(0.4)
    assert (tmp_path / "owner.json").read_text() != first  # it lives
    lease.release()
    assert not (tmp_path / "owner.json").exists()
    Lease(Folder(tmp_path)).release()


def test_a_process_of_this_machine_that_is_gone(tmp_path: Path) -> None:
    for pid, started in ((2**22 + 1, "5"), (os.getppid(), "5"), (os.getpid(), "5")):
        owner(tmp_path, machine=leases._machine(), pid=pid, started=started)
        lease = Lease(Folder(tmp_path))
        lease.check()
        lease.release()


def test_a_process_of_this_machine_that_lives(tmp_path: Path) -> None:
    owner(tmp_path, machine=leases._machine(), pid=os.getppid(), started=leases._started(os.getppid()))
    with pytest.raises(InvalidArgument, match=f"process {os.getppid()} on"):
        Lease(Folder(tmp_path))


def test_a_driver_elsewhere(tmp_path: Path) -> None:
    """It is alive if its heart beats while it is watched."""
    owner(tmp_path)
    over = threading.Event()

    def beat() -> None:
        while not over.wait(0.05):
            owner(tmp_path)

    alive = threading.Thread(target=beat)
    alive.start()
    try:
        with pytest.raises(InvalidArgument, match="in use by process 7 on elsewhere"):
            Lease(Folder(tmp_path))
    finally:
        over.set()
        alive.join()
    lease = Lease(Folder(tmp_path))  # now it is silent
    owner(tmp_path)  # but not dead
    with pytest.raises(InvalidFile, match="no longer held by this process, but by process 7 on elsewhere"):
        lease.check()
    time.sleep(0.3)
    lease.release()
    assert json.loads((tmp_path / "owner.json").read_text())["lease"] == "other"
    (tmp_path / "owner.json").unlink()
    with pytest.raises(InvalidFile, match="but by nobody"):
        lease.check()


def test_a_file_that_cannot_be_read_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text("{")
    Lease(Folder(tmp_path)).release()


def test_a_full_disk_does_not_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    lease = Lease(Folder(tmp_path))

    def full(*arguments: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(Folder, "write", full)
    time.sleep(0.3)
    monkeypatch.undo()
    assert "the heartbeat failed" in caplog.text
    lease.check()
    lease.release()


def test_a_heartbeat_that_fails_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the error is: the heart goes on beating."""
    lease = Lease(Folder(tmp_path))

    def broken(self: Folder) -> list[str]:
        raise RuntimeError("no route to the store")

    monkeypatch.setattr(Folder, "names", broken)
    time.sleep(0.3)
    monkeypatch.undo()
    assert "nothing could be written" in caplog.text
    assert "no route to the store" in caplog.text
    before = (tmp_path / "owner.json").read_text()
    until = time.monotonic() + 10
    while (tmp_path / "owner.json").read_text() == before:
        assert time.monotonic() < until
        time.sleep(0.02)
    lease.release()


@pytest.mark.parametrize("by", ["process 7 on elsewhere", "nobody"])
def test_a_lease_that_is_lost_stays_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture, by: str) -> None:
    lease = Lease(Folder(tmp_path))
    lease.check()
    mine = (tmp_path / "owner.json").read_text()
    until = time.monotonic() + 10
    while not lease.lost:
        assert time.monotonic() < until
        owner(tmp_path) if by != "nobody" else (tmp_path / "owner.json").unlink(missing_ok=True)
        time.sleep(0.02)
    assert "was taken away from this stream" in caplog.text
    assert by in caplog.text
    (tmp_path / "owner.json").write_text(mine)
    with pytest.raises(InvalidFile, match="nothing more is written or deleted"):
        lease.check()
    lease.release()


def test_of_drivers_that_start_at_once_one_goes_on(tmp_path: Path) -> None:
    for number in range(10):
        folder = Folder(tmp_path / str(number))
        held: list[Lease] = []
        barrier = threading.Barrier(4)

        def start(folder: Folder = folder, barrier: Any = barrier, held: list[Lease] = held) -> None:
            barrier.wait()
            with suppress(InvalidArgument):
                held.append(Lease(folder))

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(held) == 1
        held[0].release()
