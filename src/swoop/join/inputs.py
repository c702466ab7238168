"""All rows of a history, whatever brings them: of each column only those that are used, in the chunks in which they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from swoop.errors import InvalidData, InvalidType
from swoop.join.columns import as_chunks, how_to_name, read_table

Named = Sequence[tuple[str, str]]
"""What arguments name: pairs of an argument and the name of a column."""


def read_columns(data: Any, named: Named) -> dict[str, pa.ChunkedArray]:
    """The columns that arguments name, from a table, a data frame, a dict of columns, a data set, or batches of these."""
    names = list(dict.fromkeys(name for _, name in named))
    if _is_data_set(data):
        import pyarrow.dataset as ds

        _check(data.schema.names, named)
        table = data.to_table(columns={name: ds.field(name) for name in names})
        return {name: as_chunks(table.column(name), name, name) for name in names}
    if isinstance(data, pa.Table | pa.RecordBatch):
        _check(data.schema.names, named)
        return {name: as_chunks(data.column(name), name, name) for name in names}
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # a LazyFrame of Polars
        _check(data.collect_schema().names(), named)
        return read_columns(data.select(names).collect(), named)
    if isinstance(data, Sequence) and data and all(_is_row(row, named) for row in data):
        there = dict.fromkeys(name for row in data for name in row)
        return read_columns({name: [row.get(name) for row in data] for name in there}, named)
    if isinstance(data, Mapping):
        _check(list(data), named)
        return {name: as_chunks(data[name], name, _READ_AS[argument]) for argument, name in named}
    if hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__"):  # a data frame
        _check(list(data.columns), named)
        found = read_table(data[names])
        return {name: as_chunks(found[name], name, name) for name in names}
    if isinstance(data, pa.RecordBatchReader):
        _check(data.schema.names, named)
        kept = (batch.select(names) for batch in data)
        table = pa.Table.from_batches(kept, pa.schema([data.schema.field(name) for name in names]))
        return read_columns(table, named)
    if hasattr(data, "__arrow_c_stream__"):
        return read_columns(pa.RecordBatchReader.from_stream(data), named)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _together([pa.table(read_columns(batch, named)) for batch in data], names)
    raise InvalidType(
        "a history is read from an Arrow table, a pandas or Polars data frame, a dict of columns, a list of rows as dicts, "
        "a pyarrow.dataset.Dataset, "
        f"a RecordBatchReader or an iterator of batches, not {type(data).__name__}"
    )


_READ_AS = {
    "id": "ids",
    "time": "times",
    "tokens": "lists of tokens",
    "stream": "streams",
    "keep": "values that can be kept",
    "by": "keys",
}


def _is_row(data: Any, named: Named) -> bool:
    """Whether something is a row, and not a batch: it has one time, and not a column of them."""
    return isinstance(data, Mapping) and not any(
        hasattr(data.get(name), "__len__") for argument, name in named if argument == "time"
    )


def _is_data_set(data: Any) -> bool:
    return hasattr(data, "to_table") and hasattr(data, "get_fragments")  # without an import that takes its time


def _check(there: Sequence[Any], named: Named) -> None:
    for argument, name in named:
        if there.count(name) != 1:
            wrong = "there is more than one column" if name in there else "there is no column"
            shown = ", ".join(map(repr, there)) or "none"
            raise InvalidData(f"{wrong} {name!r} for {argument}; columns: {shown}. {how_to_name(argument)}")


def _together(tables: list[pa.Table], names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    if not tables:
        return {name: pa.chunked_array([], pa.null()) for name in names}
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidData(f"the batches do not go together: {error}") from error
    return {name: table.column(name) for name in names}
