"""The keys of rows: one independent result for each, as if the rows of no other key were there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.columns import as_array, take_rows
from swoop.join.kept import as_kept
from swoop.readable import readable

_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_decimal,
    pa.types.is_null,
)


def find_by(by: str | Sequence[str] | None, taken: Iterable[str]) -> tuple[str, ...]:
    """The columns that make a key, under names that no column of the result has.

    >>> find_by("tenant", ["newer"]), find_by(None, ["newer"])
    (('tenant',), ())
    """
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not names or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidType(f"by is the name of a column, or a list of names, not {by!r}")
    if len({name.lower() for name in names}) < len(names):
        raise InvalidArgument(f"by names a column twice: {', '.join(map(repr, names))}")
    for name in names:
        if name.lower() in taken:
            raise InvalidArgument(f"by={name!r} has the name of another column of the result; rename it first")
    return tuple(names)


def as_key(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column as it makes keys: values that can be compared, byte by byte if they are texts."""
    plain = pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if plain.type in (pa.string_view(), pa.binary_view()):
        plain = pc.cast(plain, pa.large_string() if plain.type == pa.string_view() else pa.large_binary())
    if not any(is_key(plain.type) for is_key in _TYPES):
        raise InvalidData(f"column {name!r} has type {column.type}; keys are strings, bytes, integers, dates or the like")
    as_kept(plain.slice(0, 0), name)  # refuses what could not be shown
    return plain


def split(columns: Mapping[str, pa.ChunkedArray], places: np.ndarray) -> tuple[pa.Table, list[np.ndarray]]:
    """The different keys of the rows that lie at some places, in order, and which of these rows each has.

    A null is a key like others, and the last. Keys that are told are readable, whatever bytes there are.

    >>> keys, rows = split({"tenant": pa.chunked_array([["b", "a", None, "b"]])}, np.arange(4))
    >>> keys["tenant"].to_pylist(), [found.tolist() for found in rows]
    (['a', 'b', None], [[1], [0, 3], [2]])
    """
    codes = np.zeros(len(places), np.int64)
    for name, column in columns.items():
        values: Any = pc.dictionary_encode(as_array(take_rows(column, places), name, name), null_encoding="encode")
        codes = np.unique(codes * (len(values.dictionary) + 1) + values.indices.to_numpy(), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1])[: len(order)])
    keys = pa.table({name: take_rows(column, places[order[begins]]) for name, column in columns.items()})
    in_order = pc.sort_indices(keys, [(name, "ascending") for name in columns]).to_numpy()
    rows = np.split(order, begins[1:]) if len(order) else []
    return readable(keys.take(pa.array(in_order))), [rows[place] for place in in_order]
