"""Columns that are kept of the sets of the window, so that results show the records that people have, and not only their ids.

They are Arrow columns by arrival number, of the sets of the window and of first sets that valid records are called after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.columns import Columns, as_chunks, check_lengths, find_column
from swoop.join.payloads import TablePayloads
from swoop.readable import readable

TAKEN = ("copies", "first_seen", "last_seen")
"""What results have of sets themselves, as ``newer_copies`` and so on."""

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
        found[name] = as_kept(values, name)
    return pa.table(found)


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


class Kept:
    """Kept columns of the sets of the window. Sets of which nothing was given have nulls.

    Attributes
    ----------
    schema
        Names and types of all columns so far.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._sets = TablePayloads()
        self._named: tuple[np.ndarray, pa.Table] = np.empty(0, np.int64), schema.empty_table()  # first sets that have left

    def check(self, rows: pa.Table) -> None:
        """Refuse rows that do not go together with those that are kept: their types, or a value that another type has not."""
        schema = self._widened(rows)
        known = [] if schema == self.schema else [self._named[1], *self._sets.tables()]
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

    def _widened(self, rows: pa.Table) -> pa.Schema:
        """The schema when there are these rows, too; refuses what does not go together."""
        return self.schema if rows.schema == self.schema else unified(self.schema, rows.schema)

    def add(self, arrivals: int, rows: pa.Table | None, count: int) -> None:
        """Take what is kept of the next ``count`` sets after so many arrivals."""
        if not count:
            return
        if rows is None:
            rows = pa.table([pa.nulls(count, field.type) for field in self.schema], self.schema)
        self.schema = self._widened(rows)
        self._sets.add(arrivals, rows)

    def cut(self, arrivals: int) -> None:
        """Forget the rows of sets that did not arrive."""
        self._sets.cut(arrivals)

    def forget(self, oldest: int, identities: Callable[[], np.ndarray] | None) -> None:
        """Rows of sets before ``oldest`` are no longer needed, but for those that name valid records, if there are any.

        To ask for these takes its time, so it is done when there is as much to forget as was kept.
        """
        if identities is not None:
            old = self._sets.to_forget(oldest)
            if len(old) <= len(self._named[0]):
                return
            named = identities()
            self.name(named[named < old.stop])
        self._sets.forget(oldest)

    def name(self, identities: np.ndarray, rows: pa.Table | None = None) -> None:
        """Keep the rows of these first sets, in order, when they have left, and of no others."""
        self._named = identities, self.take(identities) if rows is None else rows

    def frozen(self) -> Kept:
        """The same as it is now, for others to read while more sets arrive."""
        found = Kept(self.schema)
        found._sets, found._named = self._sets.frozen(), self._named
        return found

    def take(self, arrivals: np.ndarray) -> pa.Table:
        """The rows of some sets, in the order given, with all columns; nulls where nothing is known."""
        is_known = self._sets.knows(arrivals)
        if len(arrivals) and is_known.all():
            return whole(self._sets.take(arrivals), self.schema)
        identities, rows = self._named
        left = arrivals[~is_known]
        places = np.searchsorted(identities, left)
        is_named = np.append(identities, -1)[places] == left
        parts = [rows.take(pa.array(places, pa.int64(), mask=~is_named))]
        if is_known.any():
            parts.append(self._sets.take(arrivals[is_known]))
        order = np.argsort(np.argsort(is_known, kind="stable"), kind="stable")
        return whole(pa.concat_tables(parts, promote_options="permissive").take(order), self.schema)


def whole(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with all columns of a schema, in few pieces; nulls where there is none."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema).combine_chunks()


def unified(known: pa.Schema, more: pa.Schema) -> pa.Schema:
    """Columns that are kept already and others, all together. Refuses types that do not go together."""
    for field in more:
        if field.name in known.names:
            try:
                pa.unify_schemas([pa.schema([known.field(field.name)]), pa.schema([field])], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise InvalidData(
                    f"column {field.name!r} has type {field.type}, but it was kept with type {known.field(field.name).type} "
                    "before, and the two do not go together; cast it first"
                ) from None
    return pa.unify_schemas([known, more], promote_options="permissive")
