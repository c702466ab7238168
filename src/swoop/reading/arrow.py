"""Rows as sets, in process: batches of Arrow are read by a description, and rows that cannot be used are set apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.unusable import why_unusable
from swoop.readable import readable
from swoop.reading.date_columns import read_times
from swoop.reading.files import Files
from swoop.reading.sets import INTEGER, Reading
from swoop.reading.tables import Batch, column_of, read_batches, schema_for
from swoop.reasons import SHOWN, TIME_UNREADABLE, Reasons
from swoop.text.columns import join_texts, make_tokens
from swoop.times import LAST_DATETIME

REJECTED = pa.schema({"reason": pa.string(), "number": pa.int64()})


@dataclass
class Sets:
    """What is in files: sets that can be used, and what cannot.

    Attributes
    ----------
    table
        The sets.
    rows
        How many rows there are.
    rejected
        Why rows cannot be used.
    rejected_rows
        The ``reason`` of each such row, and its ``number``, from 0.
    rejected_groups
        Sets of several rows that cannot be used, with their ``reason``; None where each row is a set.
    """

    table: pa.Table
    rows: int
    rejected: Reasons
    rejected_rows: pa.Table
    rejected_groups: pa.Table | None = None


def read_sets(files: Files, reading: Reading, sample: pa.Schema, done: Callable[[int], None] = lambda rows: None) -> Sets:
    """All sets of files. ``done`` is told how many rows have been read."""
    rejected, apart, parts, rows = Reasons(), [REJECTED.empty_table()], list[pa.Table](), 0
    for batch in read_batches(files, schema_for(reading.used, sample)):
        sets, reasons = prepare(batch, reading, rows)
        bad = reasons.is_valid()
        if pc.any(bad).as_py():
            found = reasons.filter(bad)
            rejected.add(found.to_pylist())
            apart.append(pa.table([found, rows + np.flatnonzero(bad.to_numpy(zero_copy_only=False))], REJECTED))
            sets = sets.filter(pc.invert(bad))
        rows += len(reasons)
        done(rows)
        parts.append(sets)
    if not parts:
        parts = [prepare(Batch.of(schema_for(reading.used, sample).empty_table()), reading, 0)[0]]
    table, groups = pa.concat_tables(parts, promote_options="permissive"), None
    if reading.columns.group_by is not None:
        table = group(table)
        reasons = _why_unusable(table, reading)
        bad = reasons.is_valid()
        if pc.any(bad).as_py():
            counted = (column.filter(bad).to_pylist() for column in (reasons, table.column("items")))
            for reason, items in zip(*counted, strict=True):
                rejected.count(reason, items)
            groups = table.filter(bad).append_column("reason", reasons.filter(bad))
            table = table.filter(pc.invert(bad))
    return Sets(table, rows, rejected, pa.concat_tables(apart), groups)


def prepare(batch: Batch, reading: Reading, first: int) -> tuple[pa.Table, pa.Array]:
    """Rows as sets, and why each cannot be used; null if it can."""
    rows, columns = batch.rows, reading.columns
    wrong = [batch.reasons]
    found: dict[str, Any] = {}
    if columns.id is None:
        found["id"] = pa.array(np.arange(first, first + len(rows)))
    else:
        found["id"] = _id(column_of(rows, columns.id), wrong)
    found["time"] = _time(column_of(rows, str(columns.time)), reading, wrong)
    if columns.text:
        found["text"] = _one(join_texts([_text(column_of(rows, name)) for name in columns.text]))
    if columns.tokens is not None:
        tokens = column_of(rows, columns.tokens)
        found["tokens"] = _text(tokens) if columns.group_by is not None else _one(tokens)
    if columns.stream is not None:
        found["stream"] = _text(column_of(rows, columns.stream))
    found |= {name: _one(column_of(rows, name)) for name in columns.keep if name not in found}
    table = pa.table(found)
    if columns.group_by is None:
        wrong.append(_why_unusable(table, reading))
    else:
        words = {"id": "id", "time": "time", "tokens": "item"}
        wrong += (_where(table.column(name).is_null(), f"the {word} is null") for name, word in words.items())
    return table, pc.coalesce(*wrong)


def _why_unusable(table: pa.Table, reading: Reading) -> pa.Array:
    """Why sets cannot be used; null where they can."""
    reasons = why_unusable(table, tokens=reading.tokens, stream=reading.stream)
    return pc.coalesce(reasons, _too_few(table, reading, reasons.is_null())) if reading.min_tokens > 1 else reasons


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _text(column: pa.ChunkedArray) -> pa.Array:
    array = _one(column)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return array
    return array.cast(pa.large_string())


def _where(mask: pa.Array | pa.ChunkedArray, reason: str) -> pa.Array:
    return pc.if_else(_one(mask), pa.scalar(reason), pa.scalar(None, pa.string()))


def _reason_where(mask: pa.Array, what: str, values: pa.Array) -> pa.Array:
    """A reason with the value of each row, where it is wrong."""
    if not pc.any(mask).as_py():
        return pa.nulls(len(mask), pa.string())
    shown = iter(readable(pa.table({"value": values.filter(mask).cast(pa.string())})).column(0).to_pylist())
    return pa.array([f'{what} "{next(shown)[:SHOWN]}"' if bad else None for bad in mask.to_pylist()], pa.string())


def _id(column: pa.ChunkedArray, wrong: list[pa.Array]) -> pa.Array:
    """Integers, texts and bytes as they are; whole numbers as integers, all else as text."""
    array = _one(column)
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array
    if not pa.types.is_floating(kind):
        return _text(column)
    is_whole = pc.and_kleene(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**53))
    wrong.append(
        _reason_where(pc.and_(array.is_valid(), pc.invert(is_whole)).fill_null(False), "id: not a whole number", array)
    )
    return pc.if_else(is_whole, array, pa.scalar(None, kind)).cast(pa.int64(), safe=False)


def _time(column: pa.ChunkedArray, reading: Reading, wrong: list[pa.Array]) -> pa.Array:
    array = _one(column)
    if reading.integers:
        if pa.types.is_integer(array.type):
            return _within(array, 2**63 - 1, wrong).cast(pa.int64()) if array.type == pa.uint64() else array.cast(pa.int64())
        text = _text(column)
        is_number = pc.match_substring_regex(text, INTEGER)
        digits = pc.replace_substring_regex(pc.if_else(is_number, text, pa.scalar(None, text.type)), r"[\s+]", "")
        time = digits.cast(pa.int64())
    elif reading.time is not None:
        time = _one(read_times(array, reading.time))
    else:
        return _microseconds(array, wrong)
    wrong.append(_reason_where(pc.and_(time.is_null(), array.is_valid()), TIME_UNREADABLE, _text(column)))
    return time


def _within(array: pa.Array, most: int, wrong: list[pa.Array]) -> pa.Array:
    """Numbers that are not too large either way; null in the place of those that are."""
    beyond = pc.greater(array, pa.scalar(most, array.type))
    if not pa.types.is_unsigned_integer(array.type):
        beyond = pc.or_(beyond, pc.less(array, pa.scalar(-most, array.type)))
    wrong.append(_reason_where(beyond.fill_null(False), "time: out of range", array))
    return pc.if_else(beyond, pa.scalar(None, array.type), array)


def _microseconds(array: pa.Array, wrong: list[pa.Array]) -> pa.Array:
    """Timestamps in microseconds, rounded down, in UTC if they have a zone; days begin at midnight in UTC."""
    kind = array.type
    zone = "UTC" if pa.types.is_timestamp(kind) and kind.tz else None
    if pa.types.is_date(kind):
        return array.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        ticks = array.cast(pa.int64())
        whole = pa.array(
            np.floor_divide(ticks.fill_null(0).to_numpy(), 1000), mask=ticks.is_null().to_numpy(zero_copy_only=False)
        )
        return whole.cast(pa.timestamp("us", zone))
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        most = LAST_DATETIME // (1_000_000 if kind.unit == "s" else 1000)
        array = _within(array.view(pa.int64()), most, wrong).view(kind)
    return array.cast(pa.timestamp("us", zone)) if pa.types.is_timestamp(kind) else array


def group(rows: pa.Table) -> pa.Table:
    """Rows of items as sets: those with the same id are one, at the time of the last; ``items`` says how many they were."""
    more = [("stream", "max")] if "stream" in rows.column_names else []
    found = [("time", "max"), ("tokens", "distinct"), *more]
    sets = rows.group_by("id").aggregate([*found, ("tokens", "count")])
    return sets.rename_columns({f"{name}_{how}": name for name, how in found} | {"tokens_count": "items"})


def _too_few(table: pa.Table, reading: Reading, usable: pa.Array) -> pa.Array:
    """Where usable rows have too few different tokens."""
    sizes = np.zeros(len(table), np.int64)
    places = np.flatnonzero(usable.to_numpy(zero_copy_only=False))
    for rows, tokens in _tokens(table.filter(usable), reading):
        pairs = pa.table({"row": rows, "token": tokens}).group_by(["row", "token"]).aggregate([])
        np.add.at(sizes, places[pairs.column("row").to_numpy()], 1)
    few = pa.array((sizes < reading.min_tokens) & usable.to_numpy(zero_copy_only=False))
    return _where(few, f"fewer than {reading.min_tokens} tokens")


def _tokens(table: pa.Table, reading: Reading) -> Iterator[tuple[np.ndarray, pa.Array]]:
    """Numbers of rows, and their tokens."""
    if reading.function is None:
        lists = _one(table.column("tokens"))
        yield pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists)
        return
    for block in make_tokens([_one(table.column("text"))], reading.function):
        texts = block.tokens.strings
        assert texts is not None
        buffers = [None, pa.py_buffer(texts.ends), pa.py_buffer(texts.data)]
        tokens = pa.Array.from_buffers(pa.large_string(), len(texts.ends) - 1, buffers)
        yield np.repeat(np.arange(block.first, block.first + block.rows), np.diff(block.offsets)), tokens
