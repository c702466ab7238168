"""Guessing how times are written."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.errors import InvalidArgument
from swoop.reading.guesses import Ambiguous, choose, guess_time_format


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["2024-05-01T12:30:00Z", None, "", "  "], "ISO 8601"),
        (["2024-05-01", "soon"], "ISO 8601"),
        (["2024-05-01", "soon", "later"], None),
        (["2024", "2025"], "ISO 8601"),
        (["Mon, 01 Jan 2024 10:00:00 GMT"], "RFC 2822"),
        (["Wed Aug 27 13:08:45 +0000 2008"], "Twitter's created_at"),
        (["01/02/2024", "13/02/2024"], "day/month/year"),
        (["01/02/2024 8:26", "02/13/2024 8:26"], "month/day/year"),
        (["13.02.24"], "day.month.year"),
        (["2024/05/01 12:00"], "year/month/day"),
        (["20240501T123000Z"], "yyyyMMdd"),
        (["20240501", "20240502"], "yyyyMMdd"),
        ([20240501, 20240502], "yyyyMMdd"),
        ([20240501.0, None], "yyyyMMdd"),
        ([20240501123000], "yyyyMMdd"),
        ([20240501, 20240532], "seconds since 1970"),
        ([2024, 2025], "seconds since 1970"),
        ([12345678], "seconds since 1970"),
        (["1714566600", "x"], "seconds since 1970"),
        (["1714566600.25"], "seconds since 1970"),
        ([0, 1714566600000, 1714566600001], "milliseconds since 1970"),
        (["1714566600000"], "milliseconds since 1970"),
        ([1.7145666e15], "microseconds since 1970"),
        ([-1714566600000000000], "nanoseconds since 1970"),
        (["1714566600000000000"], "nanoseconds since 1970"),
        ([float("nan"), float("inf")], None),
        (["May 1, 2024 10:00 AM"], "MMM d, yyyy"),
        (["01/May/2024:10:00:00 +0000"], "dd/MMM/yyyy:HH:mm:ss Z"),
        (["Wed May 01 2024 10:00:00 GMT+0200"], "EEE MMM d yyyy HH:mm:ss Z"),
        (["a", "b"], None),
        ([""], None),
    ],
)  # fmt: skip
def test_guessed(values: list[Any], name: str | None) -> None:
    array = pa.array(values)
    for sample in (array, pa.chunked_array([array, array]), array.dictionary_encode()):
        found = guess_time_format(sample)
        assert (None if found is None else getattr(found, "name", found)) == name


@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1), st.sampled_from("/.-"))
def test_day_and_month(times: list[dt.datetime], mark: str) -> None:
    texts = [time.strftime(f"%d{mark}%m{mark}%Y %H:%M") for time in times]
    found = guess_time_format(pa.array(texts))
    if any(time.day > 12 for time in times):
        assert found is not None
        assert getattr(found, "written", None) == f"dd{mark}MM{mark}yyyy"
    else:
        assert isinstance(found, Ambiguous)
        assert [candidate.written for candidate in found.candidates] == [f"dd{mark}MM{mark}yyyy", f"MM{mark}dd{mark}yyyy"]
        assert found.example in texts


def test_choosing() -> None:
    found = guess_time_format(pa.array(["05/05/2024", "1/2/2024 8:26"]))
    assert isinstance(found, Ambiguous)
    assert choose(found, [10, 9]).written == "dd/MM/yyyy"
    dotted = guess_time_format(pa.array(["1.5.2024", "2.5.2024"]))
    assert isinstance(dotted, Ambiguous)
    assert [choose(dotted, counts).written for counts in ([2, 2], [1, 2])] == ["dd.MM.yyyy", "MM.dd.yyyy"]
    assert choose(found, [9, 10]).written == "MM/dd/yyyy"
    with pytest.raises(InvalidArgument) as error:
        choose(found, [2, 2])
    assert str(error.value) == (
        "'1/2/2024 8:26' may be 1 February 2024 (day/month/year) or 2 January 2024 (month/day/year), "
        "and no other value decides it; "
        "give the time format 'dd/MM/yyyy' (--time-format dd/MM/yyyy) or 'MM/dd/yyyy' (--time-format MM/dd/yyyy)"
    )


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.int64()])
def test_nothing(kind: pa.DataType) -> None:
    assert guess_time_format(pa.array([], kind)) is None
    assert guess_time_format(pa.nulls(2, kind)) is None
