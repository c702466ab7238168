"""Kept columns in saved joins and families: members of the archive that are there from version 3 on. See docs/file-format.md.

Files in which no columns are kept have the version before that, and earlier releases read them.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pyarrow as pa

from swoop.join.kept import KeptColumns, check_keep, is_keepable
from swoop.join.restoring import demand

if TYPE_CHECKING:
    from swoop.join.storage import Format

_SINCE = 3  # the version of files that have them

SETS, FIRST_SETS = "kept.arrow", "kept_first.arrow"
"""What is kept of the sets of the window, and of the first sets of their records."""


def read_kept(archive: zipfile.ZipFile, form: Format, version: int, rows: dict[str, int]) -> dict[str, pa.Table] | None:
    """The members with these names, which have so many rows; None if the file has no kept columns."""
    from swoop.join.storage import read_member

    if version < _SINCE:
        return None
    tables = {name: read_member(archive, name, form, None) for name in rows}
    schema = tables[SETS].schema
    check_keep(schema.names)
    for field in schema:
        demand(is_keepable(field.type), f"column {field.name!r} has type {field.type}, which is never kept")
    for name, table in tables.items():
        demand(table.schema.equals(schema), f"{name} has other columns than {SETS}")
        demand(table.num_rows == rows[name], f"{name} has {table.num_rows} rows instead of {rows[name]}")
    return tables


def restored(first: int, sets: pa.Table) -> KeptColumns:
    """What is kept of the sets of a window, from the first of them on."""
    kept = KeptColumns(sets.schema.remove_metadata())
    kept.add(first, sets, sets.num_rows)
    return kept
