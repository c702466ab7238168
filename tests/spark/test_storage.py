"""Live streams on stores that Spark knows: addresses mean what they mean to Spark, and HDFS and S3 are real.

Tests of swoop.spark.hadoop.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.live import files
from swoop.spark import result_files, topk_stream
from swoop.spark.hadoop import HadoopFileSystem, _os_errors, _settings, check_new, open_folder, qualified
from tests.support import killed_driver, storage
from tests.support.processes import drive
from tests.support.setup import lacking
from tests.support.streams import posts, read_stream, rows_of, write_files

STORAGE = Path(__file__).parents[2] / "docs" / "storage.md"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/tmp/a b", "/tmp/a b"),
        ("file:/tmp/a b", "/tmp/a b"),
        ("file:///tmp/a#b?c", "/tmp/a#b?c"),
        ("/tmp/a%20b", "/tmp/a%20b"),
        ("/tmp/ü{1}*[x]/", "/tmp/ü{1}*[x]"),
        ("x/../y", f"{os.getcwd()}/y"),
    ],
)
def test_addresses_of_this_machine(spark: SparkSession, given: str, path: str) -> None:
    folder = open_folder(spark, given)
    assert (folder.path, folder.address("n")) == (path, f"{path}/n")
    assert qualified(spark, given) == f"file:{path}"


def test_a_file_that_is_gone_when_it_is_waited_for(spark: SparkSession) -> None:
    """HDFS says so behind another exception."""
    jvm: Any = spark._jvm
    inner = jvm.java.io.FileNotFoundException("gone")
    error = Py4JJavaError("", jvm.java.util.concurrent.ExecutionException(inner))
    with pytest.raises(FileNotFoundError), _os_errors("path"):
        raise error


@pytest.mark.parametrize("given", ["dbfs:/x", "nothing://host/x", "a:b"])
def test_addresses_that_spark_does_not_know(spark: SparkSession, tmp_path: Path, given: str) -> None:
    """No folder of this machine is made of them."""
    (tmp_path / "in").mkdir()
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 1, "1 h")
    calls: list[Any] = [
        lambda: stream.start(given),
        lambda: stream.start(tmp_path / "c", changes=given),
        lambda: result_files(given),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument, match=f"Spark cannot use the address '{given}'"):
            call()
    assert not [name for name in os.listdir() if name in (given, given.partition(":")[0])]


def test_folders_that_are_new(spark: SparkSession, tmp_path: Path) -> None:
    check_new(spark, f"file:{tmp_path}/a b/")
    for wrong, said in ((f"file:{tmp_path}/", "already exists"), ("dbfs:/x/", "Spark cannot use the address")):
        with pytest.raises(InvalidArgument, match=said):
            check_new(spark, wrong)


def test_paths_mean_the_same_everywhere(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths without a scheme lie on the default file system, all of them. Only Spark's reader takes some for globs."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "in", posts(100), 2)
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 3, "1 minute")
    handle = stream.start("a state [1]", changes=["changes of it", "the {same} [1]*?"], available_now=True)
    assert handle.await_termination(120)
    assert (tmp_path / "a state [1]/swoop/parameters.json").exists()
    assert len(rows_of(tmp_path / "changes of it")) == handle.stats.changes > 0
    files = result_files("changes of it")
    assert sum(pq.read_metadata(file).num_rows for file in files) == handle.stats.changes
    assert spark.read.parquet(*files).count() == handle.stats.changes
    assert result_files(f"file://{tmp_path}/changes of it") == files
    globs = result_files("the {same} [1]*?")
    assert sum(pq.read_metadata(file).num_rows for file in globs) == handle.stats.changes
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        spark.read.parquet(*globs)
    (escaped,) = re.findall(r"parquet\(\*\((.*) for file in ", STORAGE.read_text(encoding="utf-8"))
    assert spark.read.parquet(*(eval(escaped, {"re": re, "file": file}) for file in globs)).count() == handle.stats.changes


def test_cells_on_addresses_that_are_escaped(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When cells end, Spark's state is read back, also from where its reader would not look."""
    write_files(tmp_path / "in", posts(100), 2)
    one = topk_stream(read_stream(spark, tmp_path / "in"), 3, "1 minute").start(tmp_path / "one", available_now=True)
    assert one.await_termination(120)
    stream = topk_stream(read_stream(spark, tmp_path / "in"), 3, "1 minute", cells=3)
    cells = stream.start(tmp_path / "a state%20 #1 ü [1]{2}*?", available_now=True)
    assert cells.await_termination(120)
    assert cells.topk() == one.topk()
    assert cells.stats.changes == one.stats.changes > 0
    monkeypatch.setattr(spark.sparkContext, "master", "spark://elsewhere:7077")  # whose machines do not see a link of this one
    with pytest.raises(InvalidArgument, match="must not have spaces .* this is 'file:/.*a b'. Use another checkpoint"):
        stream.start(tmp_path / "a b")


@pytest.fixture(params=["with a context", "without one"])
def in_two_steps(spark: SparkSession, request: pytest.FixtureRequest) -> HadoopFileSystem:
    """Java's own way to the files of this machine, where a rename replaces what it meets."""
    jvm: Any = spark._jvm
    system = HadoopFileSystem(spark, jvm.org.apache.hadoop.fs.FileSystem.getLocal(_settings(spark)))
    if request.param == "without one":
        system._context = None
    return system


def test_of_several_who_create_a_file_one_does(in_two_steps: HadoopFileSystem, tmp_path: Path) -> None:
    for number in range(3):
        path, created, barrier = f"{tmp_path}/{number}/file", list[bytes](), threading.Barrier(3)

        def create(data: bytes, path: str = path, created: list[bytes] = created, barrier: Any = barrier) -> None:
            barrier.wait()
            if in_two_steps.create(path, data):
                created.append(data)

        threads = [threading.Thread(target=create, args=(bytes([one]),)) for one in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert created == [in_two_steps.read(path).to_pybytes()]
        assert not in_two_steps.create(path, b"later")
        assert in_two_steps.names(f"{tmp_path}/{number}") == ["file"]


def test_who_was_overtaken_creates_nothing(
    in_two_steps: HadoopFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had found itself alone, and then was suspended for long: others have taken it for dead."""
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    path, real = f"{tmp_path}/file", in_two_steps._put_new

    def suspended(path: str, data: bytes) -> None:
        monkeypatch.setattr(in_two_steps, "_put_new", real)
        assert in_two_steps.create(path, b"other")
        real(path, data)

    monkeypatch.setattr(in_two_steps, "_put_new", suspended)
    assert not in_two_steps.create(path, b"mine")
    assert in_two_steps.read(path).to_pybytes() == b"other"
    assert in_two_steps.names(str(tmp_path)) == ["file"]


def test_a_rename_that_refuses_or_fails(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there is replaced at last, or stays as it is."""
    jvm: Any = spark._jvm
    system = HadoopFileSystem(spark, jvm.org.apache.hadoop.fs.FileSystem.getLocal(_settings(spark)))
    system._context, path, real, fails = None, f"{tmp_path}/file", system._moved, [False]

    def moved(source: Any, target: Any) -> bool:
        if fails[0]:
            raise OSError("no answer")
        return not system._system.exists(target) and real(source, target)

    monkeypatch.setattr(system, "_moved", moved)
    for data in (b"1", b"2"):
        system.write(path, data)
        assert system.read(path).to_pybytes() == data
    fails[0] = True
    with pytest.raises(OSError, match="no answer"):
        system.write(path, b"3")
    assert system.read(path).to_pybytes() == b"2"
    assert system.names(str(tmp_path)) == ["file"]


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, str]]:
    """Spark's settings with which it knows an HDFS, as its default file system, and an S3."""
    if storage.jars() is None:
        lacking(storage.MISSING)
    with storage.hdfs() as address, storage.s3() as found:
        yield {**found, "spark.hadoop.fs.defaultFS": address}


S3 = f"s3a://{storage.BUCKET}"


def test_on_hdfs_and_s3(settings: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Killed with signal 9 and resumed; in the end there is what a run on the disk of this machine leaves.

    Folders without a scheme are on HDFS, which is the default; on S3 there are also cells, and on HDFS changes as a DataFrame.
    With ``--kills``, at each of the moments, and everything on both. The process that resumes the streams then does what stores
    must bear: files of all sizes and names, and drivers that start at once, on one machine and on several.
    """
    rows = posts(150, seed=7, disorder=12)
    rows[50]["time"] = "soon"
    write_files(tmp_path / "in", rows, 4)

    def run(*folders: str) -> subprocess.CompletedProcess[str]:
        return drive("tests.support.storage_driver", json.dumps(settings), str(tmp_path / "in"), *folders, seconds=500)

    moments, is_whole = list(killed_driver.MOMENTS), request.config.getoption("--kills") > 1
    dying, stores = moments if is_whole else moments[2:3], ("", S3)
    streams = {f"{store}/a b/{moment}": moment for store in stores for moment in dying}
    streams |= {f"{store}/cells/state": moments[3] for store in (stores if is_whole else (S3,))}
    frames = {f"{store}/frames/a b": "whenever" for store in (stores if is_whole else ("",))}
    ended = run(*(f"{folder}={moment}=2" for folder, moment in (streams | frames).items()))
    assert ended.returncode == -9, ended.stderr[-3000:]
    ended = run(*streams, f"file:{tmp_path}/undisturbed", *frames, f"file:{tmp_path}/frames/undisturbed")
    assert ended.returncode == 0, ended.stderr[-3000:]
    *results, hdfs, s3 = ended.stdout.splitlines()
    found = [json.loads(result) for result in results]
    of_streams, of_frames = found[: len(streams) + 1], found[len(streams) + 1 :]
    assert [len(rows) > 0 for rows in of_streams[-1]] == [True] * 4
    assert of_streams == [of_streams[-1]] * (len(streams) + 1)
    assert of_frames == [of_frames[-1]] * (len(frames) + 1)
    assert len(of_frames[-1][0]) > 50
    assert [hdfs, s3] == ["hdfs: drivers in 1 ways, 12 files", "s3a: drivers in 2 ways, 12 files"]
    assert not [name for name in ("a b", "checks", "frames") if Path("/", name).exists()]
