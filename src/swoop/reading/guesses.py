"""How the times of a column are written, guessed from a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument
from swoop.reading.date_columns import count_readable, read_times
from swoop.reading.dates import EPOCHS, ISO, MAIL, TWITTER, TimeFormat, read_time, written_as
from swoop.reading.patterns import MONTHS

_SIZES = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))  # 1e9 seconds, 1e12 milliseconds and so on are in this century
_DAYS, _SECONDS = (19000101, 21001231), (19000101000000, 21001231235959)  # what compact dates look like as numbers


COMPACT = written_as("yyyyMMdd")
_ORDERS = tuple(
    (written_as(f"dd{mark}MM{mark}{year}"), written_as(f"MM{mark}dd{mark}{year}")) for year in ("yyyy", "yy") for mark in "/.-"
)
_PATTERNS: tuple[str, ...] = (
    "yyyy/MM/dd",
    "yyyy.MM.dd",
    "MMM d, yyyy",
    "MMM d yyyy",
    "d MMM yyyy",
    "d-MMM-yyyy",
    "d/MMM/yyyy",
    "d-MMM-yy",
)
_PATTERNS += ("dd/MMM/yyyy:HH:mm:ss Z", "EEE MMM d HH:mm:ss yyyy", "EEE MMM d yyyy HH:mm:ss Z", "EEE, MMM d, yyyy")
_FORMATS = (ISO, MAIL, TWITTER, COMPACT, *map(written_as, _PATTERNS), *(order for orders in _ORDERS for order in orders))


def is_time(text: str) -> bool:
    """Whether a text is a date in one of the notations that are guessed.

    >>> is_time("1/5/2024 8:26"), is_time("May")
    (True, False)
    """
    return any(read_time(text, known) is not None for known in _FORMATS)


@dataclass(frozen=True)
class Ambiguous:
    """Formats that read a sample equally well but differently; :func:`choose` decides by the whole column."""

    candidates: tuple[TimeFormat, ...]
    example: str


def guess_time_format(sample: Any) -> TimeFormat | Ambiguous | None:
    """The format that reads the most of some values, at least half of them; None if there is none.

    Parameters
    ----------
    sample
        Strings or numbers, as an Array or a ChunkedArray. Nulls and blanks do not count.

    >>> guess_time_format(pa.array(["31/12/2024 8:26", "1/2/2024 8:27"])).name
    'day/month/year'
    >>> guess_time_format(pa.array([1714566600000, 1714566601000])).name
    'milliseconds since 1970'
    """
    if pa.types.is_dictionary(sample.type):
        sample = sample.cast(sample.type.value_type)
    sample = sample.drop_null()
    kind = sample.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _guess_number(sample.cast(pa.float64(), safe=False))
    texts = pc.ascii_trim_whitespace(sample.cast(pa.large_string()))
    texts = texts.filter(pc.not_equal(texts, ""))
    read = {known: count_readable(texts, known) for known in _FORMATS}
    best = max(_FORMATS, key=read.__getitem__)
    numbers = texts.filter(read_times(texts, EPOCHS["ns"]).is_valid())
    if len(numbers) > read[best] or (best == COMPACT and len(numbers) == read[best]):
        return _guess_number(numbers.cast(pa.float64())) if 2 * len(numbers) >= len(texts) else None
    if read[best] == 0 or 2 * read[best] < len(texts):
        return None
    return next(
        (_ambiguous(orders, texts) for orders in _ORDERS if best in orders and read[orders[0]] == read[orders[1]]), best
    )


def _guess_number(numbers: Any) -> TimeFormat | None:
    """Compact dates if all numbers look like them, else a count since 1970 in the unit that fits their size."""
    found = numbers.filter(pc.is_finite(numbers)).to_numpy()
    if len(found) == 0:
        return None
    days = any(first <= found.min() and found.max() <= last for first, last in (_DAYS, _SECONDS))
    if days and count_readable(pa.array(found), COMPACT) == len(found):
        return COMPACT
    size = np.median(np.abs(found))
    return EPOCHS[next((unit for unit, least in _SIZES if size >= least), "s")]


def _ambiguous(candidates: tuple[TimeFormat, ...], texts: Any) -> Ambiguous:
    read = [text for text in texts.to_pylist() if any(read_time(text, candidate) for candidate in candidates)]
    telling = (text for text in read if len({read_time(text, candidate) for candidate in candidates}) > 1)
    return Ambiguous(candidates, next(telling, read[0]))


def choose(ambiguous: Ambiguous, counts: Sequence[int]) -> TimeFormat:
    """The candidate that reads the most values of the whole column. ``counts`` says for each how many it reads.

    >>> choose(guess_time_format(pa.array(["1/2/2024"])), [10, 17]).name
    'month/day/year'
    """
    if len({read_time(ambiguous.example, candidate) for candidate in ambiguous.candidates}) == 1 and len(set(counts)) == 1:
        return ambiguous.candidates[0]  # both mean the same
    most = max(counts)
    best = [candidate for candidate, count in zip(ambiguous.candidates, counts, strict=True) if count == most]
    if len(best) == 1 or "." in best[0].written:  # where dates have dots, the day comes first
        return best[0]
    readings = " or ".join(f"{_spoken_date(ambiguous.example, candidate)} ({candidate})" for candidate in best)
    ways = " or ".join(f"{candidate.written!r} ({candidate.option})" for candidate in best)
    raise InvalidArgument(
        f"{ambiguous.example!r} may be {readings}, and no other value decides it; give the time format {ways}"
    )


def _spoken_date(text: str, format: TimeFormat) -> str:
    time = read_time(text, format)
    return "no date" if time is None else f"{time.day} {MONTHS[time.month - 1].capitalize()} {time.year}"
