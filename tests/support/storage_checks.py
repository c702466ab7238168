"""What stores must do, in a process whose Spark knows them."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
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
    held, barrier = list[Lease](), threading.Barrier(2)

    def start() -> None:
        barrier.wait()
        with suppress(InvalidArgument):
            held.append(Lease(folder))

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (lease,) = held
    number, end = lease.number, time.monotonic() + 60
    while number < lease.number + 2:
        assert time.monotonic() < end
        found = lease._latest()
        assert found is not None
        assert found.owner["lease"] == lease._lease
        number = found.number
    with suppress(InvalidArgument):
        Lease(folder)
        raise AssertionError
    lease.check()
    lease.release()
    Lease(folder).release()


def check_stores(spark: SparkSession, *roots: str) -> None:
    """Check folders, and print how many leases and files each had. Leases beat quickly from here on."""
    leases.BEAT = 0.3
    for root in roots:
        folder = hadoop.open_folder(spark, root)
        scheme, _, _ = folder.path.partition(":")
        files = check_files(folder.inner("files"))
        ways = [hadoop.CONDITIONAL, "nothing"] if scheme == "s3a" else [hadoop.CONDITIONAL]
        for way in ways:
            hadoop.CONDITIONAL = way
            check_drivers(folder.inner(f"drivers {way}"))
        print(f"{scheme}: {len(ways) + 1} leases, {files} files")
