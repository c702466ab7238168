"""Columns that are kept of the sets of the window, so that results show the records that people have, and not only their ids.

They are Arrow columns by arrival number, of the sets of the window and of first sets that valid records are called after.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.columns import Columns, as_chunks, check_lengths, find_column, is_text
from swoop.join.feed import no_records
from swoop.join.mixtures import refuse_mixture
from swoop.join.payloads import RecordPayloads
from swoop.readable import readable

TAKEN = ("copies", "first_seen", "last_seen")
"""What results have of sets themselves, as ``newer_copies`` and so on."""

WAITING = 32  # records that come one by one before they become a table

Record = dict[str, Any]

_NESTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_struct, pa.types.is_map)


def check_keep(keep: object) -> tuple[str, ...]:
    """The names of columns that are to be kept: one, or several in a list.

    >>> check_keep("text"), check_keep(["text", "author"])
    (('text',), ('text', 'author'))
    """
    names = (keep,) if isinstance(keep, str) else keep
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidType(f"keep must be the name of a column or a list of names, such as ['text', 'author'], not {keep!r:.60}")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidArgument(f"keep names the column {name!r} twice")
        if name.lower() in TAKEN:
            raise InvalidArgument(
                f"the column {name!r} cannot be kept: results have a column newer_{name.lower()} already; rename it first"
            )
    return tuple(names)


def read_kept(columns: Columns, names: Mapping[str, str], lengths: dict[str, int]) -> pa.Table:
    """The columns of a batch that are to be kept, under the names that they are kept by; notes how long they are."""
    found = {name: _copied(as_kept(find_column(columns, column, "keep"), name)) for name, column in names.items()}
    lengths |= {column: len(found[name]) for name, column in names.items()}
    check_lengths(lengths)
    return pa.table(found)


def _copied(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """In memory of its own: a caller may write to the array behind it, and a slice would hold on to all of its batch."""
    chunks = [chunk.take(pa.array(np.arange(len(chunk)))) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type)


def as_kept(column: Any, name: str) -> pa.ChunkedArray:
    """A column as it is kept: texts that are not UTF-8 are made readable, and what could not be saved is refused."""
    found = as_chunks(column, name, "values that can be kept")
    if not is_keepable(found.type):
        raise InvalidData(f"column {name!r} has type {found.type}, which cannot be kept; cast it first, for example to strings")
    return readable(pa.table({name: found})).column(0)


def is_keepable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be kept and saved: values that are there as such, also in lists and structs."""
    if any(is_nested(kind) for is_nested in _NESTED):
        return all(is_keepable(kind.field(place).type) for place in range(kind.num_fields))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _is_zone(kind.tz)
    is_other: bool = (
        isinstance(kind, pa.BaseExtensionType)
        or pa.types.is_nested(kind)
        or pa.types.is_dictionary(kind)
        or pa.types.is_run_end_encoded(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary_view(kind)
    )
    return not is_other


def _is_zone(name: str) -> bool:
    """Whether times can be told in a zone: what has another one could not be shown."""
    try:
        pa.lib.string_to_tzinfo(name)
    except (pa.ArrowException, ValueError, LookupError, OSError):
        return False
    return True


def read_records(records: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Records that are one value each, as columns. Raises ValueError if they are not what they should be."""
    try:
        return pa.table(records.cast(pa.struct(list(schema))).flatten(), schema)
    except pa.ArrowException as error:
        raise ValueError(f"the records of sets are not as they should be: {error}") from error


def read_record(record: object, known: pa.Schema | None) -> pa.Table:
    """What is to be kept of one set, a mapping from names to values, as a row."""
    if not isinstance(record, Mapping):
        raise InvalidType(f"a record is a dict of values by name, such as {{'text': 'Win a phone'}}, not {record!r:.60}")
    found = {}
    for name in check_keep(list(record)):
        kind = known.field(name).type if known is not None and name in known.names else None
        try:
            values = _as_known(record[name], kind)
            if values is None:
                values = pa.array([record[name]])  # of a type that may go with that of the others
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InvalidData(f"the value {record[name]!r:.60} of {name!r} cannot be kept: {error}") from error
        refuse_mixture([record[name]], values.type, name)
        found[name] = as_kept(values, name)
    return pa.table(found)


def _is_plain_text(value: object) -> bool:
    return type(value) is str and (value.isascii() or not _SURROGATES.search(value))


def _is_plain_integer(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


_SURROGATES = re.compile("[\ud800-\udfff]")  # which are no UTF-8
_PLAIN: dict[pa.DataType, Callable[[Any], bool]] = {
    pa.string(): _is_plain_text,
    pa.int64(): _is_plain_integer,
    pa.float64(): _is_of(float),
    pa.bool_(): _is_of(bool),
    pa.binary(): _is_of(bytes),
    pa.timestamp("us"): lambda value: type(value) is dt.datetime and value.tzinfo is None,
    pa.timestamp("us", "UTC"): lambda value: type(value) is dt.datetime and value.tzinfo is dt.UTC,
}
"""Types of columns, with what tells values that Arrow takes as they are."""


def _as_known(value: Any, kind: pa.DataType | None) -> pa.Array | None:
    """A value with the type of the others, if it is the same there: Arrow makes an integer of 12.99, and a date of a time."""
    if kind is None:
        return None
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        values = pa.array([value], kind)
        found = values[0].as_py()
        if found == value and isinstance(found, bool) == isinstance(value, bool):
            return values
    return None


class KeptColumns:
    """Kept columns of the sets of the window. Sets of which nothing was given have nulls.

    Attributes
    ----------
    schema
        Names and types of all columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._sets = RecordPayloads()
        self._is_plain = {field.name: _PLAIN.get(field.type) for field in schema}
        self._begin, self._waiting = 0, list[Record]()  # records that came one by one, and the number of the first of them

    def check(self, rows: pa.Table) -> None:
        """Refuse rows that do not go together with those that are kept: their types, or a value that another type has not."""
        self._settle()
        schema = unified(self.schema, rows.schema)
        known = [] if schema == self.schema else self._sets.tables()
        for table in (rows, *known):
            for field in table.schema:
                kind = schema.field(field.name).type
                try:
                    table[field.name].cast(kind)
                except pa.ArrowException as error:
                    raise InvalidData(
                        f"column {field.name!r} is kept with type {kind} now, which does not have all of its values: {error}; "
                        "cast it first"
                    ) from None

    def are_plain(self, record: object) -> bool:
        """Whether a record has the values of the columns as they are, so that it can be kept without another look."""
        tests = self._is_plain
        return type(record) is dict and all(
            name in tests and (value is None or ((test := tests[name]) is not None and test(value)))
            for name, value in record.items()
        )

    def widened(self, schema: pa.Schema) -> KeptColumns:
        """The same with these columns, too: itself, if it has them."""
        schema = unified(self.schema, schema)
        if schema == self.schema:
            return self
        found = KeptColumns(schema)
        found._sets = self.frozen()._sets
        return found

    def add(self, arrivals: int, rows: pa.Table | None, count: int) -> None:
        """Take what is kept of the next ``count`` sets after so many arrivals."""
        if not count:
            return
        self._settle()
        if rows is None:
            rows = pa.table([pa.nulls(count, field.type) for field in self.schema], self.schema)
        self._sets.add(arrivals, rows)

    def add_plain(self, arrivals: int, record: Record) -> None:
        """The same of one set, of which the record is plain. It waits, for Arrow likes many rows better than one."""
        if len(self._waiting) >= WAITING:
            self._settle()
        if not self._waiting:
            self._begin = arrivals
        self._waiting.append(record)

    def _settle(self) -> None:
        """Put what waits to the others. Interrupted at any line, it can be done again."""
        if self._waiting:
            rows = pa.Table.from_pylist(self._waiting, self.schema)
            self._sets.cut(self._begin)
            self._sets.add(self._begin, rows)
            self._waiting = []

    def cut(self, arrivals: int) -> None:
        """Forget the rows of sets that did not arrive."""
        del self._waiting[max(0, arrivals - self._begin) :]
        self._sets.cut(arrivals)

    def forget(self, oldest: int, identities: Callable[[], np.ndarray] | None) -> None:
        """Rows of sets before ``oldest`` are no longer needed, but for those that name valid records, if there are any."""
        if identities is None:
            self._sets.forget(oldest)
        else:
            self._sets.forget_unnamed(oldest, identities)

    def name(self, identities: np.ndarray, rows: pa.Table) -> None:
        """Keep the rows of these first sets, in order, when they have left, and of no others."""
        self._sets.keep(identities, rows)

    def frozen(self) -> KeptColumns:
        """The same as it is now, for others to read while more sets arrive."""
        self._settle()
        found = KeptColumns(self.schema)
        found._sets = self._sets.frozen()
        return found

    def take(self, arrivals: np.ndarray) -> pa.Table:
        """The rows of some sets, in the order given, with all columns; nulls where nothing is known."""
        self._settle()
        is_known = self._sets.knows(arrivals)
        if not is_known.any():
            return whole(no_records(len(arrivals)), self.schema)
        rows = whole(self._sets.take(arrivals[is_known]), self.schema)
        return rows if is_known.all() else rows.take(pa.array(np.cumsum(is_known) - 1, pa.int64(), mask=~is_known))


def whole(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with all columns of a schema, in few pieces; nulls where there is none."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema).combine_chunks()


def unified(known: pa.Schema, more: pa.Schema) -> pa.Schema:
    """Columns that are kept already and others, all together. Refuses types that do not go together."""
    if more == known:
        return known
    for field in more:
        if field.name in known.names:
            both = known.field(field.name), field
            try:
                found = pa.unify_schemas([pa.schema([one]) for one in both], promote_options="permissive").types[0]
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                found = None
            if found is None or not all(_stays(one.type, found) for one in both):
                raise InvalidData(
                    f"column {field.name!r} has type {field.type}, but it was kept with type {known.field(field.name).type} "
                    "before, and the two do not go together; cast it first"
                )
    return pa.unify_schemas([known, more], promote_options="permissive")


def _stays(kind: pa.DataType, among: pa.DataType) -> bool:
    """Whether values of a type are the same among others: Arrow would make bytes of texts, and floats of decimals."""
    if pa.types.is_struct(kind):
        return all(_stays(field.type, among.field(field.name).type) for field in kind)
    if kind.num_fields:
        return all(_stays(kind.field(place).type, among.field(place).type) for place in range(kind.num_fields))
    return not any(is_one(kind) and not is_one(among) for is_one in (is_text, pa.types.is_decimal))
