"""Columns of Arrow are read as the definition says."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.errors import InvalidType
from swoop.reading.date_columns import count_readable, read_times
from swoop.reading.dates import EPOCHS, ISO, TimeFormat, read_time, written_as
from tests.support.dates import FORMATS, own_texts, texts

TIMES = pa.timestamp("us", "UTC")


def check(values: pa.Array, format: TimeFormat) -> int:
    """Compare with the definition; how many values are read."""
    found = read_times(values, format)
    assert found.type == TIMES
    given = values.to_pylist()
    expected = pa.array([read_time(value, format) for value in given], TIMES)
    differences = [
        (value, made, wanted)
        for value, made, wanted in zip(given, found.to_pylist(), expected.to_pylist(), strict=True)
        if made != wanted
    ]
    assert differences == []
    return len(found) - int(found.null_count)


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_texts(format: TimeFormat) -> None:
    assert check(pa.array(texts(1, 3000)), format) > 0
    check(pa.array(own_texts(format, 2, 300)), format)


@given(st.sampled_from(FORMATS), st.integers(0, 2**32))
def test_random_texts(format: TimeFormat, seed: int) -> None:
    check(pa.array(texts(seed, 200)), format)


@given(st.lists(st.one_of(st.none(), st.datetimes().map(str), st.datetimes().map(lambda time: time.isoformat() + "Z"))))
def test_plain_iso(values: list[str | None]) -> None:
    """All of them in one array, so that Arrow's own reader may be used."""
    assert check(pa.array(values, pa.string()), ISO) == len([value for value in values if value is not None])


@pytest.mark.parametrize(
    "text",
    [
        *("0000-01-01", "2024-05-01 12", "2024-05-01 12:30:00.", "2024-05-01T1230", "2024-05-01 12:30:00+02"),
        *("2024-05-01 12:30:00.1234567", "2262-05-01 12:30:00.1234567", "9999-12-31T23:59:59.999999999Z"),
        *("2024-05-01 23:59:60", "2024-05-01 24:00", "1969-12-31T23:59:59.9999999Z", "2024-05-01 12:30:00+24:00", "2023-02-29"),
        *("1600-01-01T00:00:00.1234567", "2024-05-01T12:30:00.1Z", "2024-05-01T12:30:00+02:60", "2024-05-01 ", "2024-05-01Z"),
        *("2024-05-01+02:00", "0001-01-01T00:00:00+00:01"),
    ],
)  # fmt: skip
def test_what_arrow_reads_in_its_own_way(text: str) -> None:
    check(pa.array([text]), ISO)
    check(pa.array(["2024-05-01T00:00:00.0000001"] * 9 + [text]), ISO)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("format", [ISO, EPOCHS["ms"]], ids=str)
def test_kinds_of_strings(kind: pa.DataType, format: TimeFormat) -> None:
    values = pa.array(texts(3, 500)).cast(kind)
    check(values, format)
    check(values.slice(100, 50), format)
    check(pa.chunked_array([values, values.slice(7), values.slice(0, 0)]), format)


def test_more_than_a_block() -> None:
    """A text that only regular expressions read is in one of them."""
    values = ["2024-05-01 12:30:00"] * 40_000
    values[20_000] = "2024-5-1"
    assert read_times(pa.array(values), ISO).null_count == 0


@pytest.mark.parametrize("format", [*EPOCHS.values(), written_as("yyyyMMdd")], ids=str)
def test_numbers(format: TimeFormat) -> None:
    rng = random.Random(4)
    sizes = [1.0, 1e3, 2e9, 3e11, 2e12, 3e14, 2e15, 3e17, 2e18, 9e18]
    numbers = [rng.uniform(-size, size) for size in sizes for _ in range(200)] + [20240501.0, 20240501.5, 20240230.0]
    integers = [None, *map(int, numbers), 2**63 - 1, -(2**63), 253402300799, 253402300800, -62135596800, -62135596801]
    check(pa.array(integers), format)
    check(pa.array([abs(n or 0) % 2**32 for n in integers], pa.uint32()), format)
    check(pa.array([2**64 - 1, 2**63, 20240501, None], pa.uint64()), format)
    check(pa.array([None, *numbers, np.nan, np.inf, -np.inf, 1e300, 5e-324, 0.1, -0.0]), format)
    check(pa.array(np.array(numbers, np.float32)), format)
    exact: list[Any] = [None, *(Decimal(f"{n:.15f}") for n in numbers), Decimal("-1E-15"), Decimal(20240501)]
    check(pa.array(exact, pa.decimal128(38, 15)), format)
    check(pa.array([None, Decimal(10) ** 30, Decimal(20240501), Decimal(-1)], pa.decimal256(60, 0)), format)


def test_nothing() -> None:
    assert read_times(pa.nulls(3), ISO).to_pylist() == [None] * 3
    assert read_times(pa.array([], pa.string()), ISO).type == TIMES
    assert read_times(pa.chunked_array([], pa.string()), ISO).type == TIMES
    assert count_readable(pa.array(["2024-05-01", "x", None]), ISO) == 1
    with pytest.raises(InvalidType, match="strings and numbers, not from bool"):
        read_times(pa.array([True]), ISO)
