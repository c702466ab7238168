"""What a time is, in plain Python."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.errors import InvalidArgument
from swoop.reading.dates import EPOCHS, ISO, MAIL, TWITTER, TimeFormat, find_time_format, read_time, written_as


def read(value: Any, format: TimeFormat | str) -> str | None:
    time = read_time(value, written_as(format) if isinstance(format, str) else format)
    return None if time is None else time.isoformat(" ").removesuffix("+00:00")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-05-01", "2024-05-01 00:00:00"),
        (" 2024-5-1\t", "2024-05-01 00:00:00"),
        ("2024-05-01 12:30", "2024-05-01 12:30:00"),
        ("2024-05-01T12:30:00.25Z", "2024-05-01 12:30:00.250000"),
        ("2024-05-01T12:30:00,25", "2024-05-01 12:30:00.250000"),
        ("2024-05-01 12:30:00.123456789", "2024-05-01 12:30:00.123456"),
        ("1969-12-31T23:59:59.9999999Z", "1969-12-31 23:59:59.999999"),
        ("2024-05-01T12:30:00+02:00", "2024-05-01 10:30:00"),
        ("2024-05-01 12:30:00 -0130", "2024-05-01 14:00:00"),
        ("2024-05-01 12:30:00 UTC", "2024-05-01 12:30:00"),
        ("2024-05", "2024-05-01 00:00:00"),
        ("2024", "2024-01-01 00:00:00"),
        ("0001-01-01", "0001-01-01 00:00:00"),
        ("9999-12-31T23:59:59.999999", "9999-12-31 23:59:59.999999"),
        *[(text, None) for text in ("2023-02-29", "2024-05-01T25:00", "2024-05-01 23:59:60", "12:30", "T12:30", "", "soon")],
        *[(text, None) for text in ("0000-01-01", "10000-01-01", "0001-01-01T00:00+02:00", "9999-12-31T23:59-02:00", "202401")],
        *[(text, None) for text in ("2024-05-01T12:30+24:00", "2024-05-01T12:30+02:60", "2024-13-01", "٢٠٢٤-05-01")],
        *[(text, None) for text in ("2024-05-01Z", "1704067200")],
    ],
)  # fmt: skip
def test_iso(text: str, time: str | None) -> None:
    assert read(text, ISO) == time


@given(st.datetimes(timezones=st.just(dt.UTC)))
def test_what_python_writes(time: dt.datetime) -> None:
    assert read_time(time.isoformat(), ISO) == time
    whole = time.replace(microsecond=0)
    if time.year >= 1000:
        assert read_time(format_datetime(whole), MAIL) == whole
        assert read_time(whole.strftime("%a %b %d %H:%M:%S %z %Y"), TWITTER) == whole
        pattern = "%d.%m.%Y, %I:%M:%S %p"
        assert read(whole.strftime(pattern), pattern) == whole.isoformat(" ").removesuffix("+00:00")
    assert read_time((time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1), EPOCHS["us"]) == time


@pytest.mark.parametrize(
    ("text", "format", "time"),
    [
        ("Mon, 01 Jan 2024 10:00:00 +0100", "rfc2822", "2024-01-01 09:00:00"),
        ("1 Jan 2024 10:00 GMT", "rfc2822", "2024-01-01 10:00:00"),
        ("Mon, 14 May 2001 16:39:00 -0700 (PDT)", "RFC2822", "2001-05-14 23:39:00"),
        ("Wed Aug 27 13:08:45 +0000 2008", "twitter", "2008-08-27 13:08:45"),
        ("12/1/2010 8:26", "MM/dd/yyyy", "2010-12-01 08:26:00"),
        ("12/1/2010 8:26", "dd/MM/yyyy", "2010-01-12 08:26:00"),
        ("12/1/10, 12:26 AM", "dd/MM/yy", "2010-01-12 00:26:00"),
        ("12/1/69 12:26:30pm", "dd/MM/yy", "1969-01-12 12:26:30"),
        ("12/1/10 13:26 PM", "dd/MM/yy", None),
        ("12/1/10 0:26 AM", "dd/MM/yy", None),
        ("31/02/2024", "dd/MM/yyyy", None),
        ("2024/05/01", "yyyy/MM/dd", "2024-05-01 00:00:00"),
        ("20240501", "yyyyMMdd", "2024-05-01 00:00:00"),
        ("20240501T123000Z", "yyyyMMdd", "2024-05-01 12:30:00"),
        ("20240501123000", "yyyyMMdd", "2024-05-01 12:30:00"),
        ("202405", "yyyy", None),
        ("202405", "yyyyMM", "2024-05-01 00:00:00"),
        ("20240101T120000+0200", "yyyyMMdd'T'HHmmssZ", "2024-01-01 10:00:00"),
        ("20240101T120000", "yyyyMMdd'T'HHmmssZ", None),
        ("20240101120000123", "yyyyMMddHHmmssSSS", "2024-01-01 12:00:00.123000"),
        ("31/12/2024 23:59", "dd/MM/yyyy HH:mm", "2024-12-31 23:59:00"),
        ("2024-01-01", "dd/MM/yyyy HH:mm", None),
        ("sept 1, 2024", "MMM d, yyyy", None),
        ("SEPTEMBER 1, 2024", "MMM d, yyyy", "2024-09-01 00:00:00"),
        ("at 5 o'clock, 1/5/2024", "'at' H 'o''clock,' d/M/yyyy", "2024-05-01 05:00:00"),
        ("1/5/2024 5:07", "d/M/yyyy[ H:mm[:ss]]", "2024-05-01 05:07:00"),
        ("01/May/2024:10:00:00 +0200", "%d/%b/%Y:%H:%M:%S %z", "2024-05-01 08:00:00"),
        ("5/1/24 07:08", "%D %R", "2024-05-01 07:08:00"),
        ("100%2024-05-01", "100%%%F", "2024-05-01 00:00:00"),
    ],
)  # fmt: skip
def test_formats(text: str, format: str, time: str | None) -> None:
    assert read(text, format) == time


@pytest.mark.parametrize(
    ("value", "unit", "time"),
    [
        (1704067200, "s", "2024-01-01 00:00:00"),
        ("1704067200123", "ms", "2024-01-01 00:00:00.123000"),
        (1704067200.123456, "s", "2024-01-01 00:00:00.123456"),
        (Decimal("1704067200.1234569999"), "s", "2024-01-01 00:00:00.123456"),
        (1704067200123456789, "ns", "2024-01-01 00:00:00.123456"),
        (-1, "ns", "1969-12-31 23:59:59.999999"),
        (" -0.0000001 ", "s", "1969-12-31 23:59:59.999999"),
        ("1.7040672e9", "s", "2024-01-01 00:00:00"),
        (".5", "s", "1970-01-01 00:00:00.500000"),
        ("+1", "s", "1970-01-01 00:00:01"),
        (-62135596800, "s", "0001-01-01 00:00:00"),
        *[(value, "s", None) for value in (-62135596801, 253402300800, float("nan"), float("inf"), 1e300, "", "x", "0x10")],
        *[(value, "s", None) for value in ("12 5", "1e", "e5", ".", "--1", "2024-01-01", "1e999999999", "1d", "9" * 400, None)],
    ],
)  # fmt: skip
def test_counts(value: Any, unit: str, time: str | None) -> None:
    assert read(value, EPOCHS[unit]) == time


def test_numbers_as_dates() -> None:
    assert (
        read(20240501, "yyyyMMdd")
        == read(20240501.0, "yyyyMMdd")
        == read(Decimal("20240501.00"), "yyyyMMdd")
        == "2024-05-01 00:00:00"
    )
    assert read(20240501.5, "yyyyMMdd") is read(Decimal("20240501.5"), "yyyyMMdd") is read(float("nan"), "yyyyMMdd") is None
    assert read(-20240501, "yyyyMMdd") is None


def test_names() -> None:
    written = ["iso", "dd/MM/yyyy", "M-d-yy", "dd/MM/yyyy HH:mm"]
    assert [str(written_as(pattern)) for pattern in written] == ["ISO 8601", "day/month/year", "month-day-year", written[3]]
    for known in (ISO, MAIL, TWITTER, written_as("dd/MM/yyyy"), written_as("yyyy'T'")):
        assert find_time_format(known.written) == known
    assert find_time_format(unit="ms") == EPOCHS["ms"]
    assert find_time_format() is None


@pytest.mark.parametrize(
    ("format", "unit", "message"),
    [
        ("yyyy-MM-dd Q", None, r"'yyyy-MM-dd Q' has the letter 'Q', which is not known; known are y \(year\), M \(month\)"),
        ("%Y-%q", None, "'%Y-%q' has '%q', which is not known; known are %Y, %y"),
        ("%Y-%", None, "has '%', which is not known"),
        ("%s", None, "give the unit s instead"),
        ("HH:mm", None, "has no year.*MM is the month and mm the minute"),
        ("", None, "has no year"),
        ("dd/mm/yyyy", None, "a day but no month; MM is the month"),
        ("yyyy yy", None, "has the year twice"),
        ("yyyy MM MMM", None, "has the month twice"),
        ("yyyy a a", None, "has the AM or PM twice"),
        ("dd/MM/yyyy hh:mm", None, "no AM or PM; use HH or %H"),
        ("%d/%m/%Y %I:%M", None, "no AM or PM"),
        ("yyyy'T", None, "a ' without a second one"),
        ("[yyyy", None, "without its other half"),
        ("yyyy]", None, "without its other half"),
        (None, "minutes", "unit must be one of 's', 'ms', 'us', 'ns', not 'minutes'"),
        ("iso", "s", "not both"),
    ],
)  # fmt: skip
def test_refused(format: str | None, unit: str | None, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        find_time_format(format, unit)


@given(st.text("yMdHhmsSaEXZ'[]/.-: %TQ", max_size=12))
def test_any_pattern_is_understood_or_refused(pattern: str) -> None:
    try:
        known = written_as(pattern)
    except InvalidArgument:
        return
    assert read(None, known) is None
    assert read("x", known) is None
