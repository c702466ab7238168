"""Tables for CSV files, as people and spreadsheets read them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from swoop.messages import to_json
from swoop.readable import values_of

_NUMBER = r"^[+\-]?[0-9]+([.,][0-9]+)?([eE][+\-]?[0-9]+)?$"


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """A table as people and spreadsheets read it: times in UTC without a zone, with no more digits than needed; lists in JSON.

    Texts that a spreadsheet would take for a formula begin with an apostrophe, which is how spreadsheets mark texts.
    """
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_timestamp(field.type):
            column = _written(column)
        elif pa.types.is_nested(field.type):
            values = (None if value is None else to_json(value) for value in values_of(column))
            column = pa.array(values, pa.string())
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            column = pa.array((None if value is None else value.hex() for value in column.to_pylist()), pa.string())
        elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = _no_formulas(column)
        else:
            continue
        table = table.set_column(place, field.name, column)
    return table


def _written(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times such as 2024-05-01 12:00:00, with as many digits of seconds as any of them needs."""
    plain = times.cast(pa.timestamp(times.type.unit))
    for unit in ("s", "ms", "us"):
        try:
            return plain.cast(pa.timestamp(unit)).cast(pa.string())
        except pa.ArrowInvalid:  # some are finer
            continue
    return plain.cast(pa.string())


def _no_formulas(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts, none of which is a formula; signed numbers are none."""
    is_formula = pc.and_not(pc.match_substring_regex(texts, r"^[=+\-@\t\r]"), pc.match_substring_regex(texts, _NUMBER))
    return pc.if_else(
        is_formula, pc.binary_join_element_wise(pa.scalar("'", texts.type), texts, pa.scalar("", texts.type)), texts
    )
