"""What stores must do, in a process whose Spark knows them."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live import lease as leases
from swoop.live.files import Folder
from swoop.live.lease import Lease
from swoop.spark import hadoop


def check_files(folder: Folder) -> int:
    """What a folder promises, with small files and large ones, and with odd names. Gives how many files were read."""
    assert folder.names() == []
    sizes = (0, 1, hadoop.SMALL, hadoop.SMALL + 1, 3, 3 * hadoop.SMALL)
    for size in sizes:  # replaced: whoever reads gets the last one
        for name in ("a b#c?%20", "ü"):
            data = os.urandom(size)
            folder.write(name, data)
            assert folder.read(name).to_pybytes() == data
    assert folder.create("c", b"1")
    assert not folder.create("c", b"2")
    assert folder.read("c").to_pybytes() == b"1"
    folder.inner("inner").write("x", b"")
    assert folder.names() == ["a b#c?%20", "c", "ü"]
    with suppress(FileNotFoundError):
        folder.read("d")
        raise AssertionError
    for _ in range(2):
        folder.delete("c")
    assert folder.names() == ["a b#c?%20", "ü"]
    folder.remove()
    assert folder.names() == folder.inner("inner").names() == []
    return 2 * len(sizes)


def check_drivers(folder: Folder) -> None:
    """Two start at once, and one goes on; while it holds the lease, renewed again and again, others are refused."""
    held, _ = started_at_once(folder, "here", "here")
    (lease,) = held
    with suppress(InvalidArgument):
        Lease(folder)
        raise AssertionError
    lease.check()
    lease.release()
    Lease(folder).release()


def check_machines(folder: Folder) -> None:
    """Drivers on other machines see that one lives. When it is silent one takes over, and it ends if it comes back."""
    (first,), _ = started_at_once(folder, "a")
    over, looks = threading.Event(), [0]

    def watch() -> None:
        while not over.is_set():
            found = first._latest()
            assert found is not None
            assert found.owner["lease"] == first._lease
            looks[0] += 1

    with ThreadPoolExecutor() as pool:
        watching, begun = pool.submit(watch), first._last
        held, refused = started_at_once(folder, "b", "c")
        assert not held
        assert all("in use by" in text for text in refused), refused
        end = time.monotonic() + 60
        while first._last < begun + 3:
            assert time.monotonic() < end
            time.sleep(0.05)
        over.set()
        watching.result()
    assert looks[0] > 3
    first.check()
    first._over.set()  # it is suspended
    first._keeper.join()
    held, _ = started_at_once(folder, "b", "c")
    assert not first._claim(first._last + 1, first._owner)
    holders = [lease for lease in (first, *held) if holds(lease)]
    assert holders
    assert len(holders) == 1
    assert holders[0] in held
    holders[0].release()


def holds(lease: Lease) -> bool:
    try:
        lease.check()
    except InvalidFile:
        return False
    return True


def started_at_once(folder: Folder, *machines: str) -> tuple[list[Lease], list[str]]:
    """Drivers, each on its machine: the leases of those that go on, and what the others are told."""
    barrier = threading.Barrier(len(machines))

    def start(machine: str) -> Lease | str:
        here.machine = machine
        barrier.wait()
        try:
            return Lease(folder)
        except InvalidArgument as error:
            return str(error)

    with ThreadPoolExecutor(len(machines)) as pool:
        found = list(pool.map(start, machines))
    return [one for one in found if isinstance(one, Lease)], [one for one in found if isinstance(one, str)]


here = threading.local()  # on which machine a thread is


def check_store(spark: SparkSession, root: str) -> str:
    """Check a folder, and say what was checked."""
    folder = hadoop.open_folder(spark, root)
    scheme, _, _ = folder.path.partition(":")
    files = check_files(folder.inner("files"))
    ways = [hadoop.CONDITIONAL, "nothing"] if scheme == "s3a" else [hadoop.CONDITIONAL]
    for way in ways:
        if scheme == "s3a":
            hadoop.CONDITIONAL = way
        check_drivers(folder.inner(f"drivers {way}"))
        check_machines(folder.inner(f"machines {way}"))
    return f"{scheme}: drivers in {len(ways)} ways, {files} files"


def check_stores(spark: SparkSession, *roots: str) -> None:
    """Check folders, and print what was checked. Leases beat quickly from here on, and threads are on machines."""
    leases.BEAT, leases.FRESH, leases.PATIENCE = 0.3, 0.0, 3.0
    leases._machine = lambda: getattr(here, "machine", "here")
    with ThreadPoolExecutor(len(roots)) as pool:
        for found in pool.map(lambda root: check_store(spark, root), roots):
            print(found)
