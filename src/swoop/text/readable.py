"""Texts that can be read, whatever bytes there are."""

from __future__ import annotations

import pyarrow as pa


def readable(table: pa.Table, errors: str = "replace") -> pa.Table:
    """A table whose texts can be read: bytes that are not UTF-8 become a sign, or what ``errors`` says."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            try:
                table.column(place).validate(full=True)
            except pa.ArrowInvalid:
                given = table.column(place).cast(pa.large_binary()).to_pylist()
                texts = [None if text is None else text.decode("utf-8", errors) for text in given]
                table = table.set_column(place, field, pa.array(texts, field.type))
    return table
