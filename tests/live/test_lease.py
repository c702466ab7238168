"""One driver at a time on a checkpoint, on disks and on object stores."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live import files
from swoop.live import lease as leases
from swoop.live.files import Folder
from swoop.live.lease import Lease
from tests.support.storage_checks import holds
from tests.support.stores import ObjectStore


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.1)
    monkeypatch.setattr(leases, "PATIENCE", 0.5)
    monkeypatch.setattr(files, "PATIENCE", 5.0)


@pytest.fixture(params=["disk", "object store", "object store without conditional puts"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    if request.param == "disk":
        return Folder(tmp_path / "swoop")
    return Folder("store://bucket/swoop", ObjectStore(is_conditional=request.param == "object store", slow=0.002))


def claims(folder: Folder) -> list[str]:
    return [name for name in folder.names() if name.startswith("owner")]


def latest(folder: Folder) -> dict[str, Any]:
    """What the last claim says, while nobody makes another."""
    return dict(json.loads(folder.read(claims(folder)[-1]).to_pybytes()))


def owner(folder: Folder, ahead: int = 10**6, **others: Any) -> None:
    """Another driver has the last claim."""
    known = {"lease": "other", "machine": "elsewhere/1", "pid": 7, "started": "1", "beat": time.time(), **others}
    number = max([int(name[6:18]) for name in claims(folder) if len(name) == 23], default=0) + ahead
    assert folder.create(f"owner-{number:012}.json", json.dumps(known).encode())


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_held_and_released(folder: Folder) -> None:
    lease = Lease(folder)
    lease.check()
    with pytest.raises(InvalidArgument, match=f"is in use by process {os.getpid()} on"):
        Lease(folder)
    lease.check()
    first = lease.number
    until(lambda: claims(folder)[-1] > leases._name(first))  # it lives
    lease.release()
    (last,) = claims(folder)
    assert last > leases._name(first + 1)
    assert latest(folder)["released"]
    lease._checked = 0.0
    with pytest.raises(InvalidFile, match="no longer held"):
        lease.check()
    again = Lease(folder)
    assert again.number > int(last[6:18])  # numbers never come again
    again.release()


def test_forgotten(folder: Folder) -> None:
    """Of a stream that was not started after all, nothing is left."""
    Lease(folder).release(forget=True)
    assert folder.names() == []


def test_there_is_a_claim_at_any_moment(folder: Folder) -> None:
    """While it is renewed many times, whoever looks sees who holds it."""
    lease, seen = Lease(folder), set()
    end = time.monotonic() + 60
    while len(seen) < 10:
        assert time.monotonic() < end
        found = lease._latest()
        assert found is not None
        assert found.owner["lease"] == lease._lease
        seen.add(found.number)
    assert claims(folder)[-1] > leases._name(lease.number)
    lease.release()


def test_a_process_of_this_machine_that_is_gone(folder: Folder) -> None:
    for pid, started in ((2**22 + 1, "5"), (os.getppid(), "5"), (os.getpid(), "5")):
        owner(folder, machine=leases._machine(), pid=pid, started=started)
        lease = Lease(folder)
        lease.check()
        lease.release()


def test_a_process_of_this_machine_that_lives(folder: Folder) -> None:
    owner(folder, machine=leases._machine(), pid=os.getppid(), started=leases._started(os.getppid()))
    with pytest.raises(InvalidArgument, match=f"process {os.getppid()} on"):
        Lease(folder)


def test_a_driver_elsewhere(folder: Folder) -> None:
    """It is alive if its heart beats while it is watched."""
    owner(folder)
    over = threading.Event()

    def beat() -> None:
        while not over.wait(0.05):
            owner(folder, 1)

    alive = threading.Thread(target=beat)
    alive.start()
    try:
        with pytest.raises(InvalidArgument, match="in use by process 7 on elsewhere"):
            Lease(folder)
    finally:
        over.set()
        alive.join()
    lease = Lease(folder)  # now it is silent
    owner(folder)  # but not dead
    with pytest.raises(InvalidFile, match="no longer held by this process, but by process 7 on elsewhere"):
        lease.check()
    until(lambda: lease.lost)
    lease.release()
    assert latest(folder)["lease"] == "other"
    for name in claims(folder):
        folder.delete(name)
    with pytest.raises(InvalidFile, match="but by nobody"):
        lease.check()
    after = Lease(folder)  # somebody has deleted the claims by hand, and still numbers go up
    assert after.number > 10**9
    after.release()


def test_a_driver_elsewhere_that_ends_while_it_is_watched(folder: Folder) -> None:
    owner(folder)
    threading.Timer(0.1, owner, (folder, 1), {"released": True}).start()
    Lease(folder).release()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_cannot_be_read_is_somebody(folder: Folder, text: str) -> None:
    """Who does nothing more, so the lease is free after a while."""
    folder.write("owner-000000000007.json", text.encode())
    Lease(folder).release()


def test_a_lease_of_an_earlier_release(folder: Folder) -> None:
    """It was one file that was replaced. While its driver lives it counts, and a driver that finds it gone ends."""
    mine = {"lease": "x", "machine": leases._machine(), "pid": os.getppid(), "started": leases._started(os.getppid())}
    folder.write("owner.json", json.dumps(mine).encode())
    with pytest.raises(InvalidArgument, match="in use"):
        Lease(folder)
    folder.write("owner.json", json.dumps({**mine, "started": "5"}).encode())
    lease = Lease(folder)
    assert "owner.json" not in folder.names()
    lease.release()


def test_a_full_disk_does_not_end_it(folder: Folder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    lease = Lease(folder)

    def full(*arguments: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(Folder, "create", full)
    until(lambda: "the heartbeat failed" in caplog.text)
    monkeypatch.undo()
    lease.check()
    lease.release()


def test_a_heartbeat_that_fails_says_so(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the error is: the heart goes on beating."""
    lease = Lease(folder)

    def broken(self: Folder) -> list[str]:
        raise RuntimeError("no route to the store")

    monkeypatch.setattr(Folder, "names", broken)
    until(lambda: "no route to the store" in caplog.text)
    monkeypatch.undo()
    assert "nothing could be written" in caplog.text
    before = claims(folder)[-1]
    until(lambda: claims(folder)[-1] > before)
    lease.release()


def test_an_answer_that_is_lost_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    """A store that has made a claim and could not say so: it is ours all the same."""
    lost: list[str] = []

    def lose(what: str, path: str) -> None:
        if what == "create" and len(lost) < 3:
            lost.append(path)
            raise OSError("timeout")

    store = ObjectStore()
    folder = Folder("store://bucket/swoop", store)
    lease = Lease(folder)
    store.after = lose
    until(lambda: len(lost) == 3)
    until(lambda: claims(folder)[-1] > lost[-1].rpartition("/")[2])
    lease.check()
    assert not lease.lost
    lease.release()


@pytest.mark.parametrize("by", ["process 7 on elsewhere", "nobody"])
def test_a_lease_that_is_lost_stays_lost(folder: Folder, caplog: pytest.LogCaptureFixture, by: str) -> None:
    lease = Lease(folder)
    lease.check()
    mine = json.dumps(latest(folder)).encode()

    def is_lost() -> bool:
        if by != "nobody":
            owner(folder)
        else:
            for name in claims(folder):
                folder.delete(name)
        return lease.lost

    until(is_lost)
    assert "was taken away from this stream" in caplog.text
    assert by in caplog.text
    folder.write("owner-999999999999.json", mine)
    with pytest.raises(InvalidFile, match="nothing more is written or deleted"):
        lease.check()
    lease.release()


def test_of_drivers_that_start_at_once_one_goes_on(folder: Folder) -> None:
    for number in range(5):
        one, held = folder.inner(str(number)), list[Lease]()
        barrier = threading.Barrier(4)

        def start(one: Folder = one, barrier: Any = barrier, held: list[Lease] = held) -> None:
            barrier.wait()
            with suppress(InvalidArgument):
                held.append(Lease(one))

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda held=held: sum(map(holds, held)) == 1)  # on a busy machine, one may have been taken for dead and overtaken
        for lease in held:
            lease.release()


def test_of_drivers_that_take_over_at_once_one_goes_on(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers of several machines see that one is silent, and this one wakes up as they take over."""
    monkeypatch.setattr(leases, "BEAT", 3600.0)  # nobody's heart beats by itself
    monkeypatch.setattr(leases, "FRESH", 0.0)
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(min(seconds, 0.1)))
    machine = threading.local()
    monkeypatch.setattr(leases, "_machine", lambda: machine.name)
    for number in range(4):
        machine.name = "first"
        one, held = folder.inner(str(number)), list[Lease]()
        first = Lease(one)

        def start(name: str, one: Folder = one, held: list[Lease] = held) -> None:
            machine.name = name
            with suppress(InvalidArgument):
                held.append(Lease(one))

        threads = [threading.Thread(target=start, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        time.sleep(0.1 * number)
        is_renewed = first._claim(first.number + 1, first._owner)
        for thread in threads:
            thread.join()
        holders = []
        for lease in (first, *held):
            with suppress(InvalidFile):
                lease.check()
                holders.append(lease)
        assert len(holders) == 1
        assert len(held) <= 1
        assert is_renewed or held == holders
        for lease in (first, *held):
            lease._over.set()


def test_a_start_that_fails_does_not_hold_the_lease(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt of the same process is not refused because of it."""
    with monkeypatch.context() as patch:
        patch.setattr(Lease, "_clean", lambda self: (_ for _ in ()).throw(OSError("the disk is full")))
        with pytest.raises(OSError, match="the disk is full"):
            Lease(folder)
    Lease(folder).release()


def test_numbers_rise_whatever_clocks_and_claims_say(folder: Folder) -> None:
    ahead = 10**11
    found = Lease(folder, above=ahead)
    assert found.number > ahead
    found.release()
