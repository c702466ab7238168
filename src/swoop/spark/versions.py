"""What differs between versions of Spark, all of it: the rest of :mod:`swoop.spark` knows none.

| since | what | before |
|---|---|---|
| 4.1 | ``DataFrame.repartitionById`` | :func:`repartition_by_id` chooses keys whose hashes lie in the wanted partitions |
| 4.1 | a package for the classes of checkpoints | :func:`renaming_class` is in that of streaming itself |
| 4.1 | iterators in ``applyInArrow`` | :mod:`swoop.spark.groups` does the same with ``mapInArrow``, in every version |
| 4.1 | stateful operators over Spark Connect | :func:`check_stateful` says so |
| 4.1 | ``arrow_udf`` | in :func:`vectorized`, functions of rows, to whom bytes that are not UTF-8 are U+FFFD |
| 4.2 | runs on Java 23 and newer | :func:`newest_java` |
| 4.3 | the time zone of timestamps in Arrow is asked for | :func:`arrow_schema` has UTC, as it was before |
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from swoop.errors import InvalidArgument

OLDEST, NEWEST = (4, 0), (4, 3)
"""The minor versions that were tested, and all between them."""
_STREAMING = "org.apache.spark.sql.execution.streaming"
STORE, ROCKS_DB = "spark.sql.streaming.stateStore.providerClass", f"{_STREAMING}.state.RocksDBStateStoreProvider"


def minor_version(version: str = pyspark.__version__) -> tuple[int, int]:
    """A version without its patch level.

    >>> minor_version("4.0.1"), minor_version("4.1.0.dev2")
    ((4, 0), (4, 1))
    """
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def is_supported(version: str) -> bool:
    """Whether a version is one of those that were tested.

    >>> [is_supported(version) for version in ("3.5.9", "4.0.0", "4.3.7", "4.4.0")]
    [False, True, True, False]
    """
    return OLDEST <= minor_version(version) <= NEWEST


def newest_java(version: str = pyspark.__version__) -> int | None:
    """The newest Java that a version runs on, if there is a newer one: its Hadoop asks for what Java 23 no longer has.

    >>> newest_java("4.1.4"), newest_java("4.2.0")
    (22, None)
    """
    return 22 if minor_version(version) < (4, 2) else None


def renaming_class(version: str = pyspark.__version__) -> str:
    """What keeps a checkpoint's files by means of the file system alone.

    >>> renaming_class("4.0.1"), renaming_class("4.3.0")  # doctest: +ELLIPSIS
    ('...streaming.FileSystemBasedCheckpointFileManager', '...streaming.checkpointing.FileSystemBasedCheckpointFileManager')
    """
    package = f"{_STREAMING}.checkpointing" if minor_version(version) >= (4, 1) else _STREAMING
    return f"{package}.FileSystemBasedCheckpointFileManager"


def arrow_schema(schema: StructType) -> pa.Schema:
    """The types of columns in Arrow. Timestamps are in UTC.

    >>> arrow_schema(StructType().add("when", "timestamp")).field("when").type
    TimestampType(timestamp[us, tz=UTC])
    """
    zone: Any = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def check_stateful(frame: DataFrame, what: str) -> None:
    """Refuse where stateful operators of Python cannot run: over Spark Connect before 4.1, or with Spark's default store."""
    if not hasattr(frame.groupBy(), "transformWithStateInPandas"):
        raise InvalidArgument(
            f"over Spark Connect, {what} needs Spark 4.1 or newer, and this is {pyspark.__version__}; use it in the process of "
            "Spark's driver, or upgrade"
        )
    if str(frame.sparkSession.conf.get(STORE)).endswith(".HDFSBackedStateStoreProvider"):
        raise InvalidArgument(
            f"{what} needs a state store that Spark does not use by default; set {STORE} to {ROCKS_DB}, as "
            "swoop.spark.session() does"
        )


def vectorized(function: Callable[..., pa.Array], kind: str) -> Any:
    """A function of Arrow's columns as one of Spark."""
    return F.arrow_udf(function, kind) if hasattr(F, "arrow_udf") else F.udf(of_rows(function), kind, useArrow=False)


def of_rows(function: Callable[..., pa.Array]) -> Callable[..., Any]:
    """The same function for the values of a row. Through pandas, numbers beside a null would become fractions.

    >>> import pyarrow.compute as pc
    >>> of_rows(pc.list_value_length)(["a", "b"]), of_rows(pc.list_value_length)([]), of_rows(pc.list_value_length)(["a", None])
    (2, 0, None)
    """

    def of_row(*values: Any) -> Any:
        if any(value is None or (isinstance(value, list) and None in value) for value in values):
            return None
        columns = [pa.array([value], pa.list_(pa.string())) if value == [] else pa.array([value]) for value in values]
        return function(*columns).to_pylist()[0]

    return of_row


def repartition_by_id(frame: DataFrame, partitions: int, place: Column) -> DataFrame:
    """Rows in the partition that an integer column says: 0, 1, 2, ... below ``partitions``."""
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(partitions, place)
    return repartition_by_hash(frame, partitions, place)


def repartition_by_hash(frame: DataFrame, partitions: int, place: Column) -> DataFrame:
    """The same where Spark has only partitions by hash: of a key that is known to lie there."""
    keys = F.array(*(F.lit(key) for key in partition_keys(partitions)))
    return frame.repartition(partitions, F.element_at(keys, place.cast("int") + F.lit(1)))


def partition_keys(partitions: int) -> list[int]:
    """For each partition a small integer whose hash lies in it.

    >>> partition_keys(4)
    [12, 6, 2, 0]
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < partitions:
        found.setdefault(hash_of(key) % partitions, key)
        key += 1
    return [found[place] for place in range(partitions)]


def hash_of(number: int) -> int:
    """What Spark's ``hash`` makes of a 32-bit integer: Murmur3 with the seed 42, by which it chooses partitions."""
    mask = 0xFFFFFFFF
    mixed = number * 0xCC9E2D51 & mask
    mixed = (mixed << 15 | mixed >> 17) & mask
    found = 42 ^ (mixed * 0x1B873593 & mask)
    found = ((found << 13 | found >> 19) * 5 + 0xE6546B64) & mask
    found ^= 4
    found = (found ^ found >> 16) * 0x85EBCA6B & mask
    found = (found ^ found >> 13) * 0xC2B2AE35 & mask
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found
