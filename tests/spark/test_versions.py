"""What versions of Spark lack: what replaces it does the same, on the version at hand as well."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument
from swoop.spark import slicing, topk_history, versions
from swoop.spark.versions import check_stateful, hash_of, is_supported, repartition_by_hash, repartition_by_id
from tests.support.frames import collected, frame, history
from tests.support.slices import stays_of


def test_this_version_is_one_of_those_that_are_supported() -> None:
    assert is_supported(pyspark.__version__)


def test_checkpoints_on_local_disks_are_renamed_by_a_class_that_is_there(spark: SparkSession) -> None:
    java: Any = spark._jvm
    manager = java.java.lang.Thread.currentThread().getContextClassLoader().loadClass(versions.renaming_class())
    assert manager.getSimpleName() == "FileSystemBasedCheckpointFileManager"


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    numbers = [*range(300), -1, -(2**31), 2**31 - 1]
    rows = spark.createDataFrame([(number,) for number in numbers], "number int")
    assert [hash_of(number) for number in numbers] == [row[0] for row in rows.select(F.hash("number")).collect()]


@pytest.mark.parametrize("repartition", [repartition_by_id, repartition_by_hash])
@pytest.mark.parametrize("partitions", [1, 2, 13])
def test_rows_are_in_the_partitions_that_are_wanted(spark: SparkSession, repartition: object, partitions: int) -> None:
    assert callable(repartition)
    rows = spark.range(50, numPartitions=3).withColumn("place", (F.col("id") % partitions).cast("int"))
    found = repartition(rows, partitions, F.col("place")).select("place", F.spark_partition_id()).collect()
    assert len(found) == 50
    assert all(place == partition for place, partition in found)


def test_a_history_without_what_is_new(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    records = history(100, 3)
    used = []

    def replaced(*arguments: object) -> object:
        used.append(arguments)
        return versions.repartition_by_hash(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(slicing, "repartition_by_id", replaced)
    assert collected(topk_history(frame(spark, records), 4, 9, slices=5)) == stays_of(records, k=4, window=9)
    assert len(used) == 1


def test_without_stateful_operators_that_is_said_at_once() -> None:
    """As over Spark Connect with 4.0."""
    frame: Any = SimpleNamespace(groupBy=lambda: SimpleNamespace())
    with pytest.raises(InvalidArgument, match=r"over Spark Connect, topk_changes needs Spark 4.1 or newer, and this is \d"):
        check_stateful(frame, "topk_changes")


def test_it_is_imported_where_there_is_only_the_thin_client() -> None:
    """As with pyspark-client, which has neither Java nor what speaks to it."""
    lacking = "import sys; sys.modules |= {'py4j': None, 'pyspark.core': None}"
    checked = "from pyspark.util import is_remote_only; assert is_remote_only()"
    code = f"{lacking}; {checked}; import swoop.spark, swoop.spark.sql, swoop.spark.reading"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
