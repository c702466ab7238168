"""Columns of Arrow as times, as :mod:`swoop.reading.dates` defines them, without a loop over rows."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidType
from swoop.reading.dates import ISO, MONTH_NUMBERS, POWERS, SCIENTIFIC, WHOLE, TimeFormat, plain_expression
from swoop.times import FIRST_DATETIME, LAST_DATETIME

TIMES = pa.timestamp("us", "UTC")
_BLOCK = 1 << 14  # rows; one unusual text makes only its block slow
_TRIED = 8  # texts that say whether Arrow's own reader knows such texts; each refusal takes it long


def read_times(values: Any, format: TimeFormat) -> Any:
    """A column of strings or numbers (Array or ChunkedArray) as timestamps in UTC; null where it cannot be read.

    >>> read_times(pa.array(["2024-05-01", "soon", None]), ISO).cast(pa.string()).to_pylist()
    ['2024-05-01 00:00:00.000000Z', None, None]
    """
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([read_times(chunk, format) for chunk in values.chunks], TIMES)
    if pa.types.is_dictionary(values.type):
        return read_times(values.dictionary, format).take(values.indices)
    blocks = [_read(values.slice(start, _BLOCK), format) for start in range(0, len(values), _BLOCK)]
    return pa.concat_arrays(blocks) if blocks else pa.array([], TIMES)


def count_readable(values: Any, format: TimeFormat) -> int:
    """How many values the format reads."""
    times = read_times(values, format)
    return len(times) - int(times.null_count)


def _read(values: Any, format: TimeFormat) -> Any:
    kind = values.type
    if pa.types.is_null(kind):
        return pa.nulls(len(values), TIMES)
    if pa.types.is_string_view(kind):
        values = values.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return _read_numbers(values, format)
    if format.unit is not None:
        return _read_counts(values, format.unit)
    quick = _read_iso(values) if format == ISO else None
    return quick if quick is not None else _each_once(values, format)


def _read_numbers(values: Any, format: TimeFormat) -> Any:
    kind = values.type
    if pa.types.is_integer(kind):
        if format.unit is None or pa.types.is_uint64(kind):
            return _read(values.cast(pa.string()), format)
        return _from_integers(values.cast(pa.int64()), format.unit)
    if pa.types.is_floating(kind):
        return _read_doubles(values.cast(pa.float64()), format)
    if pa.types.is_decimal(kind):
        written = values.cast(pa.string())
        return _read(written if format.unit is not None else _without_zeros(written), format)
    raise InvalidType(f"times are read from strings and numbers, not from {kind}")


def _without_zeros(decimals: Any) -> Any:
    """Decimals that are integers without their fraction; all others stay what no date looks like."""
    return pc.replace_substring_regex(decimals, r"\.0*$", "")


def _read_doubles(values: Any, format: TimeFormat) -> Any:
    numbers, present = _numbers(values)
    whole = present & (np.abs(numbers) < WHOLE) & (np.floor(numbers) == numbers)
    integers = pa.array(np.where(whole, numbers, 0).astype(np.int64), mask=~whole)
    read = _read_numbers(integers, format)
    if format.unit is None or whole.sum() == present.sum():
        return read
    parts = pa.array(numbers, mask=whole | ~present | ~(np.abs(numbers) < WHOLE))
    return pc.coalesce(read, _read_counts(parts.cast(pa.string()), format.unit))


def _from_integers(values: Any, unit: str) -> Any:
    numbers, present = _numbers(values)
    power = POWERS[unit]
    if power < 0:
        return _times(numbers // 10**-power, present)
    most = LAST_DATETIME // 10**power  # the first time is less far from 1970 than the last
    fits = (numbers >= -most) & (numbers <= most)
    return _times(np.where(fits, numbers, 0) * 10**power, present & fits)


def _numbers(values: Any) -> tuple[Any, Any]:
    """The numbers of a column, 0 where there is none, and where there is one."""
    present = values.is_valid().to_numpy(zero_copy_only=False)
    return (pc.fill_null(values, 0) if values.null_count else values).to_numpy(zero_copy_only=False), present


def _times(ticks: Any, valid: Any) -> Any:
    valid = valid & (ticks >= FIRST_DATETIME) & (ticks <= LAST_DATETIME)
    return pa.array(ticks, pa.int64(), mask=~valid).cast(TIMES)


def _read_iso(values: Any) -> Any | None:
    """Texts in ISO 8601 by Arrow's own reader; None if there is one that it does not know."""
    tried = values.drop_null().slice(0, _TRIED)
    for kind in (pa.timestamp("us"), TIMES, pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        try:
            tried.cast(kind)
            found = values.cast(kind)
        except pa.ArrowInvalid:
            continue
        ticks, present = _numbers(found.cast(pa.int64()))
        return _times(ticks if kind.unit == "us" else ticks // 1000, present)
    return None


def _each_once(values: Any, format: TimeFormat) -> Any:
    encoded = values.dictionary_encode()
    return _read_dates(encoded.dictionary, format).take(encoded.indices)


@lru_cache(maxsize=64)
def _fields(expression: str) -> dict[str, int]:
    return dict(re.compile(expression).groupindex)


def _read_dates(values: Any, format: TimeFormat) -> Any:
    """Dates from their parts, which are numbers of Arrow's texts."""
    found = pc.extract_regex(values, f"^(?:{format.expression})\\z")
    fields = _fields(format.expression)
    valid = found.is_valid().to_numpy(zero_copy_only=False)

    def text(name: str) -> Any:
        return pc.fill_null(found.field(fields[name] - 1), "")

    def number(name: str, missing: int = 0) -> Any:
        if name not in fields:
            return np.full(len(values), missing)
        part = text(name)
        digits = pc.if_else(pc.equal(part, ""), str(missing), part)
        return digits.cast(pa.int64()).to_numpy(zero_copy_only=False)

    def is_any(name: str, *letters: str) -> Any:
        if name not in fields:
            return np.zeros(len(values), bool)
        return pc.is_in(text(name), pa.array(letters, found.field(0).type)).to_numpy(zero_copy_only=False)

    if "month_name" in fields:
        names = pc.ascii_lower(pc.binary_slice(text("month_name").cast(pa.binary()), 0, 3).cast(pa.string()))
        month = pc.fill_null(pc.index_in(names, pa.array(list(MONTH_NUMBERS))), 0).to_numpy(zero_copy_only=False) + 1
    else:
        month = number("month", 1)
    year = number("year")
    if "short_year" in fields:
        short = number("short_year")
        year = short + np.where(short < 69, 2000, 1900)
    day, hour, minute, second = number("day", 1), number("hour"), number("minute"), number("second")
    if "half" in fields:
        halved, afternoon = is_any("half", "A", "a", "P", "p"), is_any("half", "P", "p")
        valid &= ~halved | ((hour >= 1) & (hour <= 12))
        hour = np.where(halved, hour % 12 + 12 * afternoon, hour)
    offset_minutes = number("offset_minutes")
    offset = number("offset_hours") * 60 + offset_minutes
    valid &= (offset < 24 * 60) & (offset_minutes < 60)
    valid &= (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    first = ((year - 1970) * 12 + np.where(valid, month, 1) - 1).astype("datetime64[M]")
    first_day, next_month = first.astype("datetime64[D]").astype(np.int64), (first + 1).astype("datetime64[D]").astype(np.int64)
    valid &= (day >= 1) & (day <= next_month - first_day)
    minutes = ((first_day + day - 1) * 24 + hour) * 60 + minute - np.where(is_any("sign", "-"), -offset, offset)
    micros = np.zeros(len(values), np.int64)
    if "fraction" in fields:
        micros = pc.ascii_rpad(text("fraction"), 6, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    return _times((minutes * 60 + second) * 1_000_000 + micros, valid)


_PLACES = np.power(10, np.arange(19, dtype=np.int64))


def _read_counts(values: Any, unit: str) -> Any:
    """Counts since 1970 that are written down. Most are plain integers; the others are taken apart."""
    plain = pc.and_(pc.ascii_is_decimal(values), pc.less_equal(pc.binary_length(values), 18))
    integers = pc.if_else(plain, values, None).cast(pa.int64())
    read = _from_integers(integers, unit)
    if pc.all(pc.fill_null(plain, True)).as_py():
        return read
    return pc.coalesce(read, _plain_counts(values, unit), _scientific_counts(values, unit))


def _named(expression: str) -> str:
    names = iter("abcd")
    return re.sub(r"\((?!\?)", lambda _: f"(?P<{next(names)}>", expression)


def _integers(texts: Any) -> Any:
    return pc.if_else(pc.equal(texts, ""), "0", texts).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _plain_counts(values: Any, unit: str) -> Any:
    found = pc.extract_regex(values, f"^(?:{_named(plain_expression(unit))})\\z")
    valid = pc.and_(found.is_valid(), pc.match_substring_regex(values, "[0-9]"))
    sign, whole, rest, cut = (pc.fill_null(part, "") for part in found.flatten())
    power = max(POWERS[unit], 0)
    ticks = _integers(whole) * 10**power + _integers(pc.ascii_rpad(rest, power, "0"))
    below = pc.match_substring_regex(cut, "[1-9]").to_numpy(zero_copy_only=False)
    return _signed(ticks, below, sign, pc.fill_null(valid, False))


def _scientific_counts(values: Any, unit: str) -> Any:
    found = pc.extract_regex(values, f"^(?:{_named(SCIENTIFIC)})\\z")
    sign, first, rest, exponent = (pc.fill_null(part, "") for part in found.flatten())
    digits = _integers(first) * 10**17 + _integers(pc.ascii_rpad(rest, 17, "0"))
    exponent = pc.replace_substring_regex(exponent, r"^\+", "")
    shift = np.clip(_integers(exponent) + POWERS[unit] - 17, -18, 18)
    up, down = _PLACES[np.maximum(shift, 0)], _PLACES[np.maximum(-shift, 0)]
    fits = digits <= 10**18 // up
    ticks = np.where(fits, digits, 0) * up // down
    return _signed(ticks, fits & (digits % down > 0), sign, pc.and_(found.is_valid(), pa.array(fits)))


def _signed(ticks: Any, below: Any, sign: Any, valid: Any) -> Any:
    """Ticks with their sign, rounded down."""
    negative = pc.equal(sign, "-").to_numpy(zero_copy_only=False)
    return _times(np.where(negative, -ticks - below, ticks), valid.to_numpy(zero_copy_only=False))
