"""Rows as sets, on Spark: files are read by the same description as in process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.addresses import escaped, spark_pattern
from swoop.errors import InvalidArgument
from swoop.reading.columns import path_of
from swoop.reading.dates import TimeFormat
from swoop.reading.files import Files, find_dialect
from swoop.reading.sets import INTEGER, Reading, is_in_nanoseconds
from swoop.reading.tables import SAMPLE, dialect_of, read_sample
from swoop.reasons import SHOWN, TIME_UNREADABLE
from swoop.spark.dates import read_times
from swoop.spark.preparation import token_column
from swoop.spark.repeated import load_once
from swoop.spark.rows import GIVEN, join_texts, quoted

ANY_AGE = "36500d"
"""Spark would ignore a file, without a word, that is a week older than the newest one so far, also if it comes only now."""

CORRUPT = "_corrupt_record"  # where Spark puts lines that it cannot read
ROW, FILE = "__row", "__file"
_JAVA = {f"utf-{bits}-{end}": f"UTF-{bits}{end.upper()}" for bits in (16, 32) for end in ("le", "be")}
"""What Java calls encodings for which it does not know Python's names."""


def look(spark: SparkSession, files: Files) -> tuple[Files, pa.Table]:
    """The files with what is found out about them, and a sample of their rows."""
    if files.paths and files.format != "orc":
        return files, read_sample(files)
    if files.format in ("parquet", "orc"):
        return files, spark.read.format(files.format).load(_patterns(files)).limit(SAMPLE).toArrow()
    lines = spark.read.text(_patterns(files)).limit(SAMPLE).toArrow().column(0).to_pylist()
    return from_lines(files, lines)


def _patterns(files: Files) -> list[str]:
    """What was given, as Spark reads it."""
    return [spark_pattern(name) for name in files.inputs]


def from_lines(files: Files, lines: list[str]) -> tuple[Files, pa.Table]:
    """The files with what is found out from their first lines, and a sample of their rows. What was given stays."""
    data = "".join(f"{line}\n" for line in lines).encode()
    given = files.dialect
    dialect, notes = find_dialect(files.format, data, None, given.separator if given.separator != "," else None)
    with tempfile.TemporaryDirectory(prefix="swoop-sample-") as folder:
        path = Path(folder) / "sample"
        path.write_bytes(data)
        sample = read_sample(replace(files, inputs=(str(path),), paths=(str(path),), dialect=dialect))
    return replace(files, dialect=replace(dialect, encoding=given.encoding), notes=notes), sample


def read_rows(
    spark: SparkSession, files: Files, sample: pa.Schema, numbered: bool = False, with_files: bool = False
) -> DataFrame:
    """All rows, numbered in the order of the files and with the names of these, if asked for."""
    if files.format == "csv" and len(files.paths) > 1:  # each may have its own order of columns
        parts = [_one_file(spark, files, path, sample) for path in files.paths]
    elif numbered:  # a scan of several files mixes them
        parts = [_reader(spark, spark.read, files, sample).load(name) for name in _patterns(files)]
    else:
        parts = [_reader(spark, spark.read, files, sample).load(_patterns(files))]
    if with_files:
        parts = [part.select(*map(quoted, part.columns), _file(part).alias(FILE)) for part in parts]
    together: DataFrame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    return together.zipWithIndex(ROW) if numbered else together


def _file(rows: DataFrame) -> Column:
    """The file of a row: its path, or its address if it is not on this machine."""
    address = rows.metadataColumn("_metadata")["file_path"]
    address = F.url_decode(F.replace(address, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(address, "^file:/+", "/")


def _one_file(spark: SparkSession, files: Files, path: str, sample: pa.Schema) -> DataFrame:
    dialect = dialect_of(path, files)
    own = pa.schema([pa.field(name, pa.string()) for name in dialect.names])
    rows: DataFrame = _reader(spark, spark.read, replace(files, dialect=dialect), own).load(spark_pattern(path))
    return rows.select(*(quoted(name) for name in rows.columns if name in (*sample.names, CORRUPT)))


def stream_rows(spark: SparkSession, files: Files, sample: pa.Schema, most: int, once: bool) -> DataFrame:
    """The rows of a folder, present and future ones, with files of at most so many bytes in a batch, but at least one file.

    With ``once``, Spark reads no file several times; see :mod:`swoop.spark.repeated`.
    """
    reader = _reader(spark, spark.readStream, files, sample).option("maxBytesPerTrigger", most)
    reader = reader.option("maxFileAge", ANY_AGE)
    if files.format in ("parquet", "orc"):
        reader = reader.schema(spark_schema(sample))
    rows: DataFrame = load_once(reader, files.inputs[0]) if once else reader.load(_patterns(files)[0])
    return rows


def read_files(spark: SparkSession, files: Files, sample: pa.Schema, names: list[str]) -> DataFrame:
    """The rows of some files of a stream, whose names are taken as they are."""
    reader = _reader(spark, spark.read, files, sample)
    if files.format in ("parquet", "orc"):
        reader = reader.schema(spark_schema(sample))
    rows: DataFrame = reader.load(list(map(escaped, names)))
    return rows


def _reader(spark: SparkSession, reader: Any, files: Files, sample: pa.Schema) -> Any:
    reader = reader.format(files.format)
    if files.format in ("parquet", "orc"):
        return reader
    dialect = files.dialect
    reader = reader.schema(spark_schema(sample).add(CORRUPT, "string")).option("columnNameOfCorruptRecord", CORRUPT)
    if dialect.encoding != "utf-8":
        spark.conf.set("spark.sql.legacy.javaCharsets", "true")  # Spark's own list is short
        reader = reader.option("encoding", _JAVA.get(dialect.encoding, dialect.encoding))
    if files.format == "json":
        reader = reader.option("allowSingleQuotes", False)
        return reader.option("multiLine", True) if dialect.is_array else reader.option("lineSep", "\n")
    options = {"header": dialect.header_lines > 0, "sep": dialect.separator, "escape": '"', "multiLine": True}
    return reader.options(**options)


def spark_schema(schema: pa.Schema) -> T.StructType:
    """The types of Spark for columns of Arrow."""
    from pyspark.sql.pandas.types import from_arrow_schema

    counted = [field.with_type(pa.int64()) if is_in_nanoseconds(field.type) else field for field in schema]
    return from_arrow_schema(pa.schema(counted))


def count_readable(rows: DataFrame) -> Callable[[str, TimeFormat], int]:
    """Counts how many values of a column can be read as times of a format."""

    def count(name: str, format: TimeFormat) -> int:
        found = rows.select(F.count(read_times(_column(rows, name).cast("string"), format))).first()
        assert found is not None
        return int(found[0])

    return count


def _column(rows: DataFrame, name: str) -> Column:
    """A column by its name, or a field of one: ``meta.text``."""
    column, *inner = path_of(name, rows.columns)
    return reduce(Column.getField, inner, quoted(column))


def _type(rows: DataFrame, name: str) -> T.DataType:
    return rows.select(_column(rows, name)).schema[0].dataType


def prepare(rows: DataFrame, reading: Reading, whole: bool = False) -> DataFrame:
    """Rows as sets: id, time, text or tokens, stream, and ``reason``: what is wrong with a row; null if nothing is, so far.

    With ``whole``, the rows come along with all of their columns, for those that are rejected, and so does the file of each.
    """
    columns = reading.columns
    if columns.id is None and ROW not in rows.columns:
        raise InvalidArgument("the rows of a stream need ids; name their column with --id")
    found = {
        "id": quoted(ROW) if columns.id is None else _id(rows, columns.id),
        "time": _time(rows, reading),
        "given_id": F.lit(None) if columns.id is None else _column(rows, columns.id),
        "given_time": _column(rows, str(columns.time)),
        "line": quoted(CORRUPT) if CORRUPT in rows.columns else F.lit(None),
    }
    if columns.text:
        found["text"] = join_texts([_column(rows, name) for name in columns.text])
    if columns.tokens is not None:
        tokens = _column(rows, columns.tokens)
        found["tokens"] = tokens.cast("string") if columns.group_by is not None else tokens
        if not columns.text and columns.group_by is None:
            found["text"] = _shown(tokens, _type(rows, columns.tokens))
    if columns.stream is not None:
        found["stream"] = _column(rows, columns.stream).cast("string")
    found |= {name: _column(rows, name) for name in columns.keep if name not in found}
    if whole:
        row = F.struct(*(quoted(name) for name in rows.columns if name not in (CORRUPT, ROW, FILE)))
        found[GIVEN] = F.struct(found["line"].cast("string").alias("line"), row.alias("row"))
        found[FILE] = quoted(FILE) if FILE in rows.columns else F.lit(None).cast("string")
    # in two steps, so that nothing is done twice
    sets = rows.select(*(column.alias(name) for name, column in found.items()))
    given = ("given_id", "given_time", "line")
    return sets.select(
        *(quoted(name) for name in found if name not in given), F.coalesce(*_wrong(sets, reading)).alias("reason")
    )


def _wrong(sets: DataFrame, reading: Reading) -> list[Column]:
    """What is wrong with rows, as far as the value that was given tells."""
    wrong = [
        _reason_where(F.col("line").isNotNull(), "row: cannot read", F.trim("line")),
        _reason_where(F.col("id").isNull() & F.col("given_id").isNotNull(), "id: not a whole number", F.col("given_id")),
        _reason_where(F.col("time").isNull() & F.col("given_time").isNotNull(), TIME_UNREADABLE, F.col("given_time")),
    ]
    if reading.columns.group_by is not None:
        words = {"id": "id", "time": "time", "tokens": "item"}
        return wrong + [F.when(F.col(name).isNull(), f"the {word} is null") for name, word in words.items()]
    if reading.min_tokens > 1:
        size = F.size(F.array_distinct(token_column(reading.function) if reading.function is not None else F.col("tokens")))
        wrong.append(F.when(size.between(0, reading.min_tokens - 1), f"fewer than {reading.min_tokens} tokens"))
    return wrong


def group(rows: DataFrame, reading: Reading) -> DataFrame:
    """Rows of items as sets: those with the same id are one, at the time of the last."""
    more = [F.max("stream").alias("stream")] if "stream" in rows.columns else []
    items = F.sort_array(F.collect_set("tokens"))
    usable = rows.filter(F.col("reason").isNull())
    sets = usable.groupBy("id").agg(F.max("time").alias("time"), items.alias("tokens"), F.count("*").alias("items"), *more)
    few = F.when(F.size("tokens") < reading.min_tokens, f"fewer than {reading.min_tokens} tokens")
    return sets.select("*", F.array_join("tokens", " ").alias("text"), few.alias("reason"))


def _reason_where(bad: Column, what: str, value: Column) -> Column:
    """A reason with the value of each row, where it is wrong."""
    shown = F.substring(F.make_valid_utf8(value.cast("string")), 1, SHOWN)
    return F.when(bad, F.concat(F.lit(f'{what} "'), shown, F.lit('"')))


def _id(rows: DataFrame, name: str) -> Column:
    """Integers, texts and bytes as they are; whole numbers as integers, all else as text."""
    given, kind = _column(rows, name), _type(rows, name)
    if isinstance(kind, T.IntegralType | T.StringType | T.BinaryType):
        return given
    if not isinstance(kind, T.FractionalType) or isinstance(kind, T.DecimalType):
        return given.cast("string")
    whole = F.when(F.abs(given) < 2.0**53, given)
    return F.when(F.floor(whole) == whole, whole.cast("bigint"))


def _time(rows: DataFrame, reading: Reading) -> Column:
    name = str(reading.columns.time)
    given, kind = _column(rows, name), _type(rows, name)
    if reading.integers:
        return given if isinstance(kind, T.IntegralType) else F.when(given.rlike(INTEGER), F.trim(given)).try_cast("bigint")
    if reading.time is not None:
        return read_times(given, reading.time)
    if isinstance(kind, T.IntegralType) and reading.nanoseconds is not None:
        time = F.timestamp_micros(F.floor(given / F.lit(1000).cast("decimal(20, 0)")).cast("bigint"))
        return time if reading.nanoseconds == "aware" else F.to_timestamp_ntz(time.cast("string"))
    return given.cast("timestamp") if isinstance(kind, T.DateType) else given


def _shown(tokens: Column, kind: T.DataType) -> Column:
    """Tokens as a text for people."""
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.BinaryType):
        return F.array_join(F.transform(tokens, lambda token: F.lower(F.hex(token))), " ")
    return F.array_join(tokens.cast("array<string>"), " ")
