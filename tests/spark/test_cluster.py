"""Cells on a cluster of processes that die: the results are those of one cell in one process without faults.

Tests of swoop.paper.standalone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.files import LocalFileSystem
from swoop.live.manifest import result_files
from swoop.paper.standalone import end_with_parent
from swoop.spark.java import find_java
from tests.conftest import QUICK_JAVA
from tests.support import cluster_driver, cluster_history
from tests.support.faulty_cluster import FaultyCluster
from tests.support.streams import posts, read_rows, write_files

ROOT = Path(__file__).parents[2]
BATCHES = 10
OUTPUTS = ("changes", "late", "rejected")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyCluster]:
    found = FaultyCluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


@pytest.fixture
def cluster(processes: FaultyCluster) -> FaultyCluster:
    """The cluster, with all its workers."""
    processes.mend()
    return processes


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one cell leaves in one process without faults."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_input(folder)
    handle = cluster_driver.start(spark, folder, 1)
    assert handle.await_termination(120)
    (folder / "topk").write_text(repr(list(handle.topk())))
    assert len(read_rows(spark, folder, "changes")) > 100
    return folder


def write_input(folder: Path, batches: int = BATCHES) -> None:
    """The same rows, whatever the number of batches: none of them is late, so results are the same too."""
    rows = posts(50 * BATCHES, seed=7, disorder=5)
    rows[150]["time"] = "soon"
    write_files(folder / "in", rows, batches)


class Driver:
    """A driver in a process of its own."""

    def __init__(self, cluster: FaultyCluster, folder: Path, *command: str) -> None:
        self.folder, self.log = folder, folder / f"driver{len(list(folder.glob('driver*')))}.log"
        command = command or (sys.executable, "-m", "tests.support.cluster_driver", cluster.master, str(folder), "3")
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "JAVA_HOME": find_java(), "SPARK_LOCAL_IP": "127.0.0.1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, preexec_fn=end_with_parent
            )

    @property
    def committed(self) -> int:
        """The last batch that Spark knows to be done."""
        commits = self.folder / "checkpoint/commits"
        return max((int(file.name) for file in commits.glob("[0-9]*")), default=-1)

    def reach(self, batch: int, seconds: float = 300) -> None:
        """Wait until the stream has come so far."""
        wait(lambda: self.committed >= batch or self.process.poll() is not None, seconds)
        assert self.committed >= batch, self.said()

    def end(self, seconds: float = 300) -> str:
        """Wait for its end; what it printed."""
        try:
            printed, _ = self.process.communicate(timeout=seconds)
        finally:
            self.process.kill()
        return printed.decode()

    def said(self) -> str:
        """What it logged."""
        return self.log.read_text(errors="replace")


def wait(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.05)


def results(folder: Path, batch: int) -> dict[str, list[Any]]:
    """What is out of the batches up to one."""
    found = {}
    for name in OUTPUTS:
        rows = (row for file in result_files(folder / name) for row in pq.read_table(file).to_pylist())
        found[name] = [row for row in rows if row["batch"] <= batch]
    return found


def test_faults(spark: SparkSession, cluster: FaultyCluster, undisturbed: Path, tmp_path: Path) -> None:
    """One stream, and one fault after the other. After each, all that is out is what an undisturbed run gives."""
    write_input(tmp_path)
    expected = without_batches(results(undisturbed, BATCHES))

    def goes_on(driver: Driver) -> None:
        """A batch that Spark had not fixed when the driver died is made anew, so batches may be others; results are not."""
        driver.reach(to := min(driver.committed + 2, BATCHES - 1))
        found = without_batches(results(tmp_path, to))
        assert len(found["changes"]) > 0
        assert found == {name: rows[: len(found[name])] for name, rows in expected.items()}

    driver = Driver(cluster, tmp_path)
    try:
        driver.reach(0)
        cluster.kill_executor(0)
        with pytest.raises(InvalidArgument) as refused:  # another process
            cluster_driver.start(spark, tmp_path, 3)
        in_use = f"the checkpoint '{tmp_path}/checkpoint/swoop' is in use by process {driver.process.pid} on"
        assert str(refused.value).startswith(in_use)
        goes_on(driver)
        assert "were rebuilt from their state" in driver.said()
        cluster.kill_worker(1)
        cluster.bring_back(1)
        goes_on(driver)
        driver.process.kill()
        driver.process.wait()
        driver = Driver(cluster, tmp_path)
        cluster.stop_worker(0)
        goes_on(driver)
        assert "from a dead owner" in driver.said()
        assert "resuming after batch" in driver.said()
        cluster.bring_back(0)
        topk = driver.end().splitlines()[0]
    finally:
        driver.process.kill()
    assert topk == (undisturbed / "topk").read_text()
    assert without_batches(results(tmp_path, BATCHES)) == expected


def test_a_full_disk_and_a_damaged_chunk(
    spark: SparkSession, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each ends the stream with a line that says why; when it is mended, the stream goes on as if nothing had been."""
    write_input(tmp_path, batches=6)
    checkpoint, is_full, write_part = tmp_path / "checkpoint", threading.Event(), LocalFileSystem._write_part

    def write_while_there_is_room(system: LocalFileSystem, path: str, data: Any) -> str:
        if is_full.is_set() and path.startswith(str(checkpoint)):
            with open("/dev/full", "wb") as file:  # to this device, every byte is one too many
                file.write(data)
        return write_part(system, path, data)

    monkeypatch.setattr(LocalFileSystem, "_write_part", write_while_there_is_room)
    handle = cluster_driver.start(spark, tmp_path, 3)
    wait(lambda: handle.stats.batch >= 2 or not handle.is_active, 120)
    is_full.set()
    with pytest.raises(OSError, match="No space left on device"):
        handle.await_termination(120)
    assert not handle.is_active
    assert "the stream has failed: " in caplog.text
    assert "No space left on device" in caplog.text
    is_full.clear()

    chunks = {file: file.read_bytes() for file in (checkpoint / "swoop/chunks").glob("*.arrow")}
    assert chunks
    for file, data in chunks.items():
        file.write_bytes(data[:200] + b"?" + data[201:])
    with pytest.raises(InvalidFile, match=f"the checkpoint '{checkpoint}/swoop' is damaged: chunks/"):
        cluster_driver.start(spark, tmp_path, 3)
    for file, data in chunks.items():
        file.write_bytes(data)

    handle = cluster_driver.start(spark, tmp_path, 3)
    assert handle.await_termination(120)
    assert repr(list(handle.topk())) == (undisturbed / "topk").read_text()
    # the batch that found no room is made anew, with what has come since: results are the same, their batches may not be
    assert without_batches(results(tmp_path, BATCHES)) == without_batches(results(undisturbed, BATCHES))


def without_batches(found: dict[str, list[Any]]) -> Any:
    return {name: [{**row, "batch": None} for row in rows] for name, rows in found.items()}


def test_a_history_whose_executor_dies(spark: SparkSession, cluster: FaultyCluster, tmp_path: Path) -> None:
    write_files(tmp_path / "in", posts(3000, seed=3), 4)
    submit = (str(Path(pyspark.__file__).parent / "bin/spark-submit"), "--master", cluster.master)
    size = ("--executor-memory", "700m", "--executor-cores", "1", "--conf", "spark.sql.adaptive.enabled=false")
    java = ("--conf", f"spark.executor.extraJavaOptions={QUICK_JAVA}")
    driver = Driver(cluster, tmp_path, *submit, *size, *java, cluster_history.__file__, str(tmp_path))
    try:
        wait(lambda: (tmp_path / "running").exists() or driver.process.poll() is not None, 300)
        assert (tmp_path / "running").exists(), driver.said()
        cluster.kill_executor(0)
        driver.end()
    finally:
        driver.process.kill()
    assert driver.process.returncode == 0, driver.said()
    assert (tmp_path / "master").read_text() == cluster.master
    expected = sorted(map(str, cluster_history.stays(spark, tmp_path).collect()))
    found = spark.read.parquet(str(tmp_path / "stays")).collect()
    assert sorted(map(str, found)) == expected
    assert len(expected) > 100
