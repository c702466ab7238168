"""Local files as Arrow tables: the columns that are wanted, batch by batch, and the rows that cannot be read."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.readable import readable
from swoop.reading import json_lines
from swoop.reading.columns import path_of
from swoop.reading.date_columns import read_times
from swoop.reading.dates import TimeFormat
from swoop.reading.files import Dialect, Files, beginning, damaged, find_dialect, open_file
from swoop.reading.quotes import READ, WholeRows

SAMPLE = 10_000  # rows from which is guessed which column is which
ROWS = 1 << 16  # of a batch
CSV_BLOCK = 16 << 20  # bytes that are read at once: no row may be longer


class Batch(NamedTuple):
    """Rows as they stand in a file, what is wrong with each, and the lines of those that are no rows; null if nothing is."""

    rows: pa.Table
    reasons: pa.Array
    lines: pa.Array

    @classmethod
    def of(cls, rows: pa.Table) -> Batch:
        return cls(rows, *(pa.nulls(rows.num_rows, pa.string()) for _ in range(2)))


def read_sample(files: Files) -> pa.Table:
    """The first rows of the first file that has any, with all columns."""
    found = pa.table({})
    for path in files.paths:
        with damaged(path):
            sample = _sample_of(path, files)
        found = sample if sample.num_columns else found
        if found.num_rows:
            break
    return readable(found.slice(0, SAMPLE))


def _sample_of(path: str, files: Files) -> pa.Table:
    if files.format == "parquet":
        file = open_parquet(path)
        schema = _in_utc(file.schema_arrow, file)
        return pa.Table.from_batches(list(islice(rows_of_parquet(path, file, batch_size=SAMPLE), 1)), schema)
    if files.format == "csv":
        first = next(csv_batches(path, files, files.dialect.names), None)
        return first.rows if first is not None else pa.table({name: pa.array([], pa.string()) for name in files.dialect.names})
    values = _json_sample(path, files)
    schema = json_lines.schema_of(values)
    return json_lines.read_values([value for value in values if isinstance(value, dict)], schema)[0]


def _json_sample(path: str, files: Files) -> list[Any]:
    with open_utf8(path, files) as file:
        if files.dialect.is_array:
            return elements_of(path, file.read())[:SAMPLE]
        lines = next(json_lines.blocks(file), b"").split(b"\n")
        return list(json_lines.parse(lines[: SAMPLE + 1], "replace"))


def elements_of(path: str, data: bytes) -> list[Any]:
    """The elements of a file that is one array."""
    try:
        return json_lines.elements(data)
    except ValueError as error:
        raise InvalidFile(f"{path} begins like a JSON array, but is none: {error}") from None


def read_batches(files: Files, schema: pa.Schema) -> Iterator[Batch]:
    """The columns of a schema, which may be a part of the sample's, from all files in their order."""
    for path in files.paths:
        with damaged(path):
            if files.format == "parquet":
                yield from _parquet_batches(path, schema)
            elif files.format == "csv":
                yield from csv_batches(path, files, schema.names)
            else:
                yield from _json_batches(path, files, schema)


def count_readable(files: Files, schema: pa.Schema, name: str, format: TimeFormat) -> int:
    """How many values of a column can be read as times of a format."""
    batches = read_batches(files, schema_for([name], schema))
    return sum(len(batch.rows) - read_times(column_of(batch.rows, name), format).null_count for batch in batches)


def open_parquet(path: str) -> pq.ParquetFile:
    """A file of Parquet, whose metadata can be read."""
    with _damaged_parquet(path):
        return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


@contextmanager
def _damaged_parquet(path: str) -> Iterator[None]:
    """Name the file that Arrow cannot read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InvalidFile(
            f"{path} cannot be read as Parquet: {why}; it is damaged, or something else: get it again, or leave it out"
        ) from None


def rows_of_parquet(path: str, file: pq.ParquetFile, **options: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a file."""
    batches = file.iter_batches(**options)
    while True:
        with _damaged_parquet(path):
            batch = next(batches, None)
        if batch is None:
            return
        schema = _in_utc(batch.schema, file)
        yield batch if schema is batch.schema else batch.cast(schema)


def _in_utc(schema: pa.Schema, file: pq.ParquetFile) -> pa.Schema:
    """A schema whose times of the type INT96 are in UTC, as Spark reads them; Arrow says nothing of their zone."""
    leaves = (file.schema.column(place) for place in range(len(file.schema.names)))
    paths = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    return pa.schema([_zoned(field, field.name, paths) for field in schema]) if paths else schema


def _zoned(field: pa.Field, path: str, paths: set[str]) -> pa.Field:
    if path in paths:
        return field.with_type(pa.timestamp("us", "UTC"))
    if not pa.types.is_struct(field.type):
        return field
    return field.with_type(pa.struct([_zoned(inner, f"{path}.{inner.name}", paths) for inner in field.type]))


def _parquet_batches(path: str, schema: pa.Schema) -> Iterator[Batch]:
    file = open_parquet(path)
    there = [name for name in schema.names if name in file.schema_arrow.names]
    leaves = [leaf for name in there for leaf in _leaves(schema.field(name))]
    for batch in rows_of_parquet(path, file, batch_size=ROWS, columns=leaves):
        columns = []
        for field in schema:
            if field.name not in there:
                columns.append(pa.nulls(batch.num_rows, field.type))
                continue
            column = batch.column(field.name)
            try:
                columns.append(column if column.type == field.type else column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise InvalidData(
                    f"column {field.name!r} has type {column.type} in {path}, but {field.type} in the first file: {error}"
                ) from None
        yield Batch.of(pa.Table.from_arrays(columns, schema=schema))


def _leaves(field: pa.Field) -> list[str]:
    """The names by which Parquet knows a column, or the fields of one."""
    if not pa.types.is_struct(field.type):
        return [field.name]
    return [f"{field.name}.{leaf}" for inner in field.type for leaf in _leaves(inner)]


def csv_batches(path: str, files: Files, wanted: Sequence[str]) -> Iterator[Batch]:
    """All values are texts. Rows with more or fewer values than there are columns are rejected, and with open quotes."""
    dialect, wrong, lines = dialect_of(path, files), list[str](), list[str]()
    if not dialect.names:
        return

    def refuse(row: Any) -> str:
        values = "1 value" if row.actual_columns == 1 else f"{row.actual_columns} values"
        wrong.append(f'row: {values} instead of {row.expected_columns} "{row.text[: json_lines.SHOWN]}"')
        lines.append(row.text)
        return "skip"

    def refuse_line(line: str) -> None:
        wrong.append(f'row: a quote is not closed "{line[: json_lines.SHOWN]}"')
        lines.append(line)

    whole = WholeRows(open_utf8(path, files), dialect.separator, len(dialect.names), CSV_BLOCK, refuse_line)
    try:
        reader = pa.csv.open_csv(
            io.BufferedReader(whole, READ),
            pa.csv.ReadOptions(column_names=list(dialect.names), skip_rows=dialect.header_lines, block_size=CSV_BLOCK),
            pa.csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True, invalid_row_handler=refuse),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys((*dialect.names, *wanted), pa.string()),
                include_columns=list(wanted),
                include_missing_columns=True,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                check_utf8=False,
            ),
        )
        for batch in reader:
            yield Batch.of(pa.Table.from_batches([batch]))
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return
        hint = "; it is not UTF-8, and --encoding may say what it is" if "\ufffd" in str(error) else ""
        raise InvalidFile(f"{path} cannot be read as CSV: {error}{hint}") from None
    if wrong:
        nothing = pa.table({name: pa.nulls(len(wrong), pa.string()) for name in wanted})
        yield Batch(nothing, pa.array(wrong, pa.string()), pa.array(lines, pa.string()))


def dialect_of(path: str, files: Files) -> Dialect:
    """How a CSV file is written: like the first, but it may have its own order of columns."""
    if not files.dialect.header_lines:
        return files.dialect
    own, _ = find_dialect("csv", beginning(path), files.dialect.encoding, files.dialect.separator)
    return own if own.header_lines else replace(files.dialect, header_lines=0)


def repeated_names(files: Files) -> set[str]:
    """Names that several columns of a CSV file have."""
    found = set(files.dialect.repeated)
    for path in files.paths if files.format == "csv" and len(files.paths) > 1 else ():
        with damaged(path):
            found.update(dialect_of(path, files).repeated)
    return found


def _json_batches(path: str, files: Files, schema: pa.Schema) -> Iterator[Batch]:
    with open_utf8(path, files) as file:
        if files.dialect.is_array:
            yield Batch(*json_lines.read_values(elements_of(path, file.read()), schema))
            return
        for block in json_lines.blocks(file):
            yield Batch(*json_lines.read_block(block, schema))


def open_utf8(path: str, files: Files) -> IO[bytes]:
    """The bytes of a file in UTF-8, without a mark at the beginning."""
    file = open_file(path)
    if files.dialect.encoding != "utf-8":
        return io.BufferedReader(_Transcoded(file, files.dialect.encoding), 1 << 16)
    if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        file.seek(0)
    return file


class _Transcoded(io.RawIOBase):
    """Bytes of another encoding in UTF-8. What cannot be read becomes bytes that are not UTF-8, so that its row is rejected."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("half")
        self._rest = b""
        self._begins = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            data = self._file.read(len(buffer))
            text = self._decoder.decode(data, final=not data)
            if self._begins and text:
                text, self._begins = text.removeprefix("\ufeff"), False
            self._rest = text.encode("utf-8", "surrogatepass")
            if not data:
                break
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _half(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udc80" * (error.end - error.start), error.end


codecs.register_error("half", _half)


def column_of(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """A column by its name, or a field of one: ``meta.text``."""
    column, *inner = path_of(name, rows.column_names)
    found = rows.column(column)
    return pc.struct_field(found, inner) if inner else found


def schema_for(names: Sequence[str], schema: pa.Schema) -> pa.Schema:
    """The part of a schema that holds these columns and fields."""
    fields: dict[str, pa.Field] = {}
    for name in names:
        column, *inner = path_of(name, schema.names)
        if schema.names.count(column) > 1:
            raise more_than_one(column)
        if column not in schema.names:
            raise InvalidArgument(f"there is no column {name!r}; columns: {', '.join(map(repr, schema.names))}")
        part = _part(schema.field(column), inner)
        fields[column] = part if column not in fields else _both(fields[column], part)
    return pa.schema(list(fields.values()))


def more_than_one(column: str) -> InvalidArgument:
    return InvalidArgument(f"there is more than one column {column!r}; rename one")


def _part(field: pa.Field, path: Sequence[str]) -> pa.Field:
    """A column with nothing in it but the field at the end of a path."""
    if not path:
        return pa.field(field.name, field.type)
    if not pa.types.is_struct(field.type) or field.type.get_field_index(path[0]) < 0:
        raise InvalidArgument(f"column {field.name!r} has no field {path[0]!r}; its type is {field.type}")
    return pa.field(field.name, pa.struct([_part(field.type.field(path[0]), path[1:])]))


def _both(one: pa.Field, other: pa.Field) -> pa.Field:
    if not (pa.types.is_struct(one.type) and pa.types.is_struct(other.type)):
        return one
    inner = {field.name: field for field in one.type}
    for field in other.type:
        inner[field.name] = _both(inner[field.name], field) if field.name in inner else field
    return pa.field(one.name, pa.struct(list(inner.values())))
