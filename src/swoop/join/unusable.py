"""Which rows of a table cannot be used, and why. Spark's ways to run give the same reasons (``spark/rows.py``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop import reasons
from swoop.errors import InvalidData
from swoop.join.columns import LISTS, STRINGS, as_chunks, check_lengths, check_token_argument, find_column, read_table
from swoop.similarity import MAX_SET_SIZE
from swoop.text.functions import TokenFunction
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST, TimeKind, WindowSpec

_TICKS = {"s": 1_000_000, "ms": 1_000, "us": 1}  # of the units of a timestamp


def why_unusable(
    data: Any, *, id: str = "id", time: str = "time", tokens: str | TokenFunction = "tokens", stream: str | None = None
) -> pa.Array:
    """For each row of a table, a data frame or a dict of columns: why it cannot be used; null if it can.

    >>> why_unusable({"id": [1, None], "time": [1, 2], "tokens": [["a"], ["b"]]}).to_pylist()
    [None, 'the id is null']
    """
    check_token_argument(tokens)
    columns = read_table(data)

    def found(name: str, argument: str) -> pa.ChunkedArray:
        return as_chunks(find_column(columns, name, argument), name, argument)

    ids, times = found(id, "id"), found(time, "time")
    time_kind(times.type, time)
    lengths = {id: len(ids), time: len(times)}
    checks = [
        (reasons.NO_ID, _where(ids, pc.is_null)),
        (reasons.NO_TIME, _where(times, pc.is_null)),
        (reasons.TIME_OUT_OF_RANGE, _where(times, _out_of_range)),
        (reasons.ID_NOT_UTF8, _where(ids, _not_utf8)),
    ]
    if isinstance(tokens, TokenFunction):
        texts = [found(name, "tokens") for name in tokens.columns]
        for name, text in zip(tokens.columns, texts, strict=True):
            lengths[name] = len(text)
            if not any(is_string(text.type) for is_string in (*STRINGS, pa.types.is_null)):
                raise InvalidData(f"column {name!r} has type {text.type}; words are made from strings")
        check_lengths(lengths)
        checks += _checks_of_texts(texts)
    else:
        sets = found(tokens, "tokens")
        lengths[tokens] = len(sets)
        if not any(is_list(sets.type) for is_list in (*LISTS, pa.types.is_null)):
            raise InvalidData(f"column {tokens!r} has type {sets.type}; tokens must be lists of strings, bytes or integers")
        checks += [
            (reasons.NO_TOKENS, _where(sets, pc.is_null)),
            (reasons.too_many_tokens(MAX_SET_SIZE), _where(sets, _too_many)),
            (reasons.NO_TOKEN, _where(sets, lambda part: _of_tokens(part, pc.is_null))),
            (reasons.TOKEN_NOT_UTF8, _where(sets, lambda part: _of_tokens(part, _not_utf8))),
        ]
    if stream is not None:
        sides = found(stream, "stream")
        lengths[stream] = len(sides)
        if not any(is_string(sides.type) for is_string in (*STRINGS, pa.types.is_null)):
            raise InvalidData(f"column {stream!r} has type {sides.type}; the stream must be 'left' or 'right'")
        checks.append((reasons.NO_SIDE, _where(sides, _no_side)))
    return _first_reasons(check_lengths(lengths), checks)


def time_kind(found: pa.DataType, name: str, window: WindowSpec | None = None) -> TimeKind:
    """What the times of a column are, if they go with the window."""
    durations, integers = (window is None or window.kind == kind for kind in ("duration", "integer"))
    if pa.types.is_timestamp(found) and durations:
        return "aware" if found.tz else "naive"
    if pa.types.is_integer(found) and integers:
        return "integer"
    if pa.types.is_null(found):
        return "integer" if integers else "naive"
    wanted = " or ".join(["timestamps"] * durations + ["integers"] * integers)
    raise InvalidData(f"column {name!r} has type {found}, but times must be {wanted} here. Convert it first")


Places = Callable[[], np.ndarray]
"""The places of the rows that a check finds."""


def _first_reasons(rows: int, checks: Iterable[tuple[str, Places]]) -> pa.Array:
    checks = list(checks)
    numbers = np.full(rows, -1, np.int8)
    for number, (_, places) in reversed(list(enumerate(checks))):
        numbers[places()] = number
    if bool((numbers < 0).all()):
        return pa.nulls(rows, pa.string())
    return pa.array([reason for reason, _ in checks]).take(pa.array(numbers, mask=numbers < 0))


def _where(column: pa.ChunkedArray, is_wrong: Callable[[pa.Array], Any]) -> Places:
    """The places where a check of arrays says true."""

    def places() -> np.ndarray:
        first, found = 0, []
        for part in column.chunks:
            found.append(first + np.flatnonzero(_truth(is_wrong(part))))
            first += len(part)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    return places


def _truth(found: Any) -> np.ndarray:
    if isinstance(found, np.ndarray):
        return found
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False))


def _nowhere(part: pa.Array) -> np.ndarray:
    return np.zeros(len(part), bool)


def _out_of_range(times: pa.Array) -> Any:
    kind = times.type
    if pa.types.is_null(kind):
        return _nowhere(times)
    if pa.types.is_integer(kind):
        first, last = -LATEST + 1, LATEST - 1
        if kind.bit_width < 64:
            return _nowhere(times)
        if pa.types.is_unsigned_integer(kind):
            return pc.greater(times, pa.scalar(last, kind))
    elif kind.unit == "ns":
        return _nowhere(times)
    else:
        ticks = _TICKS[kind.unit]
        first, last = -(-FIRST_DATETIME // ticks), LAST_DATETIME // ticks
    numbers = times.view(pa.int64()) if pa.types.is_timestamp(kind) else times
    return pc.or_(pc.less(numbers, pa.scalar(first, pa.int64())), pc.greater(numbers, pa.scalar(last, pa.int64())))


def _not_utf8(texts: pa.Array) -> np.ndarray:
    """Which texts are not UTF-8. Where there are some, they are found by halving."""
    found = _nowhere(texts)
    if not any(is_string(texts.type) for is_string in STRINGS):
        return found
    waiting = [(0, len(texts))]
    while waiting:
        first, stop = waiting.pop()
        if _is_valid(texts.slice(first, stop - first)):
            continue
        if stop - first == 1:
            found[first] = True
        else:
            middle = (first + stop) // 2
            waiting += [(first, middle), (middle, stop)]
    return found


def _is_valid(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _checks_of_texts(texts: list[pa.ChunkedArray]) -> Iterator[tuple[str, Places]]:
    """Several columns count as one text."""

    def null() -> np.ndarray:
        return np.flatnonzero(reduce(np.logical_and, (_truth(pc.is_null(text)) for text in texts)))

    def not_utf8() -> np.ndarray:
        return np.concatenate([_where(text, _not_utf8)() for text in texts])

    def too_long() -> np.ndarray:
        sizes = sum(_sizes(text) for text in texts)
        there = sum(pc.is_valid(text).to_numpy().astype(np.int64) for text in texts)
        return np.flatnonzero(sizes + there - 1 > MAX_SET_SIZE)  # with a space between two

    yield reasons.NO_TEXT, null
    yield reasons.TEXT_NOT_UTF8, not_utf8
    yield reasons.text_too_long(MAX_SET_SIZE), too_long


def _sizes(texts: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_null(texts.type):
        return np.zeros(len(texts), np.int64)
    return np.asarray(pc.fill_null(pc.binary_length(texts), 0).to_numpy(), np.int64)


def _too_many(sets: pa.Array) -> Any:
    if pa.types.is_null(sets.type):
        return _nowhere(sets)
    return pc.greater(pc.list_value_length(sets), MAX_SET_SIZE)


def _of_tokens(sets: pa.Array, is_wrong: Callable[[pa.Array], Any]) -> np.ndarray:
    """Which sets have a token of which a check says true."""
    found = _nowhere(sets)
    if pa.types.is_null(sets.type):
        return found
    tokens = sets.flatten()
    if pa.types.is_dictionary(tokens.type):
        tokens = as_chunks(tokens, "tokens", "tokens").combine_chunks()
    places = np.flatnonzero(_truth(is_wrong(tokens)))
    if len(places):
        ends = np.cumsum(pc.fill_null(pc.list_value_length(sets), 0).to_numpy())
        found[np.searchsorted(ends, places, side="right")] = True
    return found


def _no_side(sides: pa.Array) -> np.ndarray:
    if pa.types.is_null(sides.type):
        return np.ones(len(sides), bool)
    known = pa.array(["left", "right"], sides.type)
    return ~_truth(pc.is_in(sides, known))
