"""One driver at a time on a checkpoint."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.spark import lease as leases
from swoop.spark.files import Folder
from swoop.spark.lease import Lease


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
    """It is alive if it gives signs of life while it is watched."""
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
    assert "no sign of life could be written" in caplog.text
    lease.check()
    lease.release()
