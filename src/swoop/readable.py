"""Values for people, whatever a column contains: bytes that are not text, times that Python does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas

_UNREADABLE = (pa.ArrowException, ArithmeticError, ValueError, LookupError)


def readable(table: pa.Table, errors: str = "replace") -> pa.Table:
    """A table with valid texts: bytes that are not UTF-8 are replaced, or handled as ``errors`` says."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            try:
                table.column(place).validate(full=True)
            except pa.ArrowInvalid:
                given = table.column(place).cast(pa.large_binary()).to_pylist()
                texts = [None if text is None else text.decode("utf-8", errors) for text in given]
                table = table.set_column(place, field, pa.array(texts, field.type))
    return table


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column. One that Python does not have, such as a time in the year 200,000, becomes a text.

    >>> values_of(pa.array([0, 2**60], pa.timestamp("us")))
    [datetime.datetime(1970, 1, 1, 0, 0), '<value out of range: 1152921504606846976>']
    """
    try:
        values: list[Any] = column.to_pylist()
        return values
    except _UNREADABLE:
        return [value_at(column, place) for place in range(len(column))]


def rows_of(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a table with such values."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def value_at(column: pa.Array | pa.ChunkedArray, place: int) -> Any:
    """One value of a column, or a text in its place."""
    return _value(column[place])


def _value(scalar: pa.Scalar) -> Any:
    """A value; within lists and structs, only those that Python does not have become texts."""
    try:
        return scalar.as_py()
    except _UNREADABLE:
        if isinstance(scalar, pa.MapScalar):
            return [tuple(entry.values()) for entry in values_of(scalar.values)]
        if isinstance(scalar, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
            return values_of(scalar.values)
        if isinstance(scalar, pa.StructScalar):
            return {field.name: _value(scalar[place]) for place, field in enumerate(scalar.type)}
        text: str = pa.repeat(scalar, 1).to_string(skip_new_lines=True)
        return text.strip("[]")


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """A table as a data frame. A column that pandas cannot represent has the values of :func:`values_of`."""
    try:
        frame: pandas.DataFrame = table.to_pandas()
    except _UNREADABLE:
        import pandas as pd

        frame = pd.DataFrame({name: _series(column) for name, column in zip(table.column_names, table.columns, strict=True)})
    return frame


def _series(column: pa.ChunkedArray) -> pandas.Series:
    import pandas as pd

    try:
        series: pandas.Series = column.to_pandas()
    except _UNREADABLE:
        series = pd.Series(values_of(column), dtype=object)
    return series
