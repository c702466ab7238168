"""What people take away from the page: the result of the moment and all changes, as CSV or Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from swoop.dashboard.change_log import LoggedChanges, table_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
IN_MEMORY = 1 << 20  # bytes of a download that are not on disk
PIECE = 1 << 16


def written(what: LoggedChanges | pa.Table, format: str) -> IO[bytes]:
    r"""A table, or all changes, as a file that is read from its beginning and gone when it is closed.

    >>> import pyarrow as pa
    >>> written(pa.table({"newer": ["a"], "similarity": [0.5]}), "csv").read()
    b'"newer","similarity"\n"a",0.5\n'
    """
    tables = what.parts if isinstance(what, LoggedChanges) else [what]
    file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="swoop-download-")  # noqa: SIM115
    try:
        (_write_csv if format == "csv" else _write_parquet)(file, what.schema, tables)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """A file piece by piece; it is closed at the end."""
    with file:
        while piece := file.read(PIECE):
            yield piece


def result_of(items: Sequence[Any], source: Any) -> pa.Table:
    """A result as a table, with the texts of pairs, where there are any."""
    table = table_of(items)
    if hasattr(source, "texts") and table.num_rows and "newer" in table.column_names:
        import pyarrow as pa

        texts = [source.texts(pair) for pair in items]
        for place, name in enumerate(("newer_text", "older_text")):
            if name in table.column_names:  # it is kept
                continue
            table = table.append_column(name, pa.array([_sound(both[place]) for both in texts], pa.string()))
    return table


def _sound(text: str | None) -> str | None:
    """Text that can be written as UTF-8."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _write_csv(file: Any, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    from swoop.spreadsheets import for_spreadsheets

    with csv.CSVWriter(pa.PythonFile(file, "w"), for_spreadsheets(schema.empty_table()).schema) as writer:
        for table in tables:
            writer.write_table(for_spreadsheets(table))


def _write_parquet(file: Any, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(pa.PythonFile(file, "w"), schema) as writer:
        for table in tables:
            writer.write_table(table)
