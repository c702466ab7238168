"""Columns of Spark are read as the definition of times says."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.reading.dates import EPOCHS, ISO, TimeFormat, read_time, written_as
from swoop.spark.dates import read_times
from tests.support.dates import FORMATS, own_texts, texts

TOGETHER = 6  # formats in one job


def differences(spark: SparkSession, values: pa.Array, formats: list[TimeFormat]) -> list[Any]:
    """Values that Spark does not read as the definition does."""
    rows = spark.createDataFrame(pa.table({"n": pa.array(range(len(values))), "a": values}))
    read = [read_times(F.col("a"), known).alias(f"t{place}") for place, known in enumerate(formats)]
    found = rows.select("n", *read).toArrow().sort_by("n")
    wrong = []
    for place, known in enumerate(formats):
        expected = pa.array([read_time(value, known) for value in values.to_pylist()], pa.timestamp("us", "UTC"))
        made = found[f"t{place}"].combine_chunks()
        assert made.type == expected.type
        several = zip(values.to_pylist(), made.to_pylist(), expected.to_pylist(), strict=True)
        wrong += [(known.name, *row) for row in several if row[1] != row[2]]
    return wrong


@pytest.mark.no_cover
@pytest.mark.parametrize("first", range(0, len(FORMATS), TOGETHER))
def test_texts(spark: SparkSession, first: int) -> None:
    formats = FORMATS[first : first + TOGETHER]
    values = texts(5, 4000) + [text for known in formats for text in own_texts(known, 6, 100)]
    assert differences(spark, pa.array(values), formats) == []


COUNTS = [*EPOCHS.values(), written_as("yyyyMMdd")]


@pytest.mark.no_cover
def test_numbers(spark: SparkSession) -> None:
    rng = random.Random(7)
    sizes = [1.0, 1e3, 2e9, 3e11, 2e12, 3e14, 2e15, 3e17, 2e18, 9e18]
    numbers = [rng.uniform(-size, size) for size in sizes for _ in range(100)] + [20240501.0, 20240501.5, 20240230.0]
    integers = [None, *map(int, numbers), 2**63 - 1, -(2**63), 253402300799, 253402300800, -62135596800, -62135596801]
    doubles = [None, *numbers, float("nan"), float("inf"), -float("inf"), 1e300, 5e-324, 0.1, -0.0]
    exact: list[Any] = [None, *(Decimal(f"{n:.15f}") for n in numbers), Decimal("-1E-15"), Decimal(20240501)]
    assert differences(spark, pa.array(integers, pa.int64()), COUNTS) == []
    assert differences(spark, pa.array([20240501, None, -1], pa.int32()), COUNTS) == []
    assert differences(spark, pa.array(doubles), COUNTS) == []
    assert differences(spark, pa.array(numbers, pa.float32()), COUNTS) == []
    assert differences(spark, pa.array(exact, pa.decimal128(38, 15)), COUNTS) == []


def test_the_zone_of_the_session_does_not_matter(spark: SparkSession) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        rows = spark.createDataFrame([("2024-03-31 02:30",), ("2024-10-27T02:30:00+01:00",)], "a string")
        read = rows.select(F.unix_seconds(read_times(F.col("a"), ISO)).alias("s"))
        assert [row.s for row in read.collect()] == [1711852200, 1729992600]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
