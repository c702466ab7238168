"""Files on Spark, read by the same description as in process: the same sets, and the same reasons.

``swoop run`` and ``swoop stream`` are compared with brute force in tests/cli.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.reading.arrow import read_sets
from swoop.reading.columns import Columns
from swoop.reading.files import Files, find_files
from swoop.reading.sets import Reading, ReadingOptions, decide, find_tokenizer
from swoop.reading.tables import read_sample
from swoop.reasons import Reasons
from swoop.spark import rejected
from swoop.spark.reading import count_readable, group, look, prepare, read_files, read_rows
from swoop.times import find_window

DAY = find_window("1 day")


def on_spark(spark: SparkSession, files: Files, reading: Reading, sample: pa.Schema) -> tuple[list[dict[str, Any]], Reasons]:
    rows = read_rows(spark, files, sample, numbered=reading.columns.id is None)
    lines = prepare(rows, reading)
    sets = lines if reading.columns.group_by is None else group(lines, reading)
    bad = rejected(sets, tokens=reading.tokens, reason="reason").select("reason").toArrow().column(0).to_pylist()
    if lines is not sets:
        bad += lines.filter("reason is not null").select("reason").toArrow().column(0).to_pylist()
    reasons = Reasons()
    reasons.add(bad)
    ids = {row["id"] for row in rejected(sets, tokens=reading.tokens, reason="reason").toArrow().to_pylist()}
    return [row for row in sets.drop("reason").toArrow().to_pylist() if row["id"] not in ids], reasons


def both(spark: SparkSession, path: Path, options: ReadingOptions | None = None, **how: Any) -> tuple[Any, Any]:
    files = find_files([str(path)], **how)
    assert files.why_spark is None
    sample = read_sample(files)
    reading = decide(options or ReadingOptions(), sample, DAY)
    here = read_sets(files, reading, sample.schema)
    there, reasons = on_spark(spark, files, reading, sample.schema)
    names = [name for name in ("id", "time", "text", "tokens") if name in here.table.column_names]

    def plain(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(repr([sorted(row[name]) if name == "tokens" else row[name] for name in names]) for row in rows)

    def zoned(table: pa.Table) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = table.to_pylist()
        return [{**row, "time": None if row["time"] is None else row["time"].isoformat()} for row in rows]

    found = [{**row, "time": None if row["time"] is None else row["time"].isoformat()} for row in there]
    assert plain(zoned(here.table)) == plain(found)
    return here.rejected, reasons


ROWS: list[Any] = [
    {"id": 1, "time": "2024-05-01T10:00:00+02:00", "text": "caf\u00e9 \U0001f600"},
    {"id": 2, "time": "2024-05-02 11:00", "text": None},
    {"id": 3, "time": "soon", "text": "a"},
    {"id": 4, "time": None, "text": "a"},
    {"id": None, "time": "2024-05-02", "text": "b"},
    {"id": 5, "time": "2024-05-03", "text": 'b "c", d'},
]


def test_json(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "not JSON\n")
    here, there = both(spark, path)
    assert Counter(here.counts.values()) == Counter(there.counts.values())
    assert here.examples["time: cannot read"] == there.examples["time: cannot read"] == 'time: cannot read "soon"'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32", "utf-32-be", "cp1252"])
def test_csv(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    lines = [
        "id;time;text",
        '007;1/5/2024 8:26;"na\u00efve; ""x"""',
        "8;13/5/2024 9:00;b",
        "9;31/2/2024;c",
        ";1/5/2024;d",
        "10;2/5/2024",
    ]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    here, there = both(spark, path, encoding=None if encoding.startswith("utf") else encoding)
    assert here.rows == there.rows == 3
    assert here.examples["time: cannot read"] == there.examples["time: cannot read"] == 'time: cannot read "31/2/2024"'


def test_groups_and_small_sets(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [
        "InvoiceNo,StockCode,InvoiceDate",
        "1,A,2024-05-01",
        "1,B,2024-05-02",
        "2,A,2024-05-01",
        ",A,2024-05-01",
        "3,,2024-05-01",
        ",,2024-05-01",
        "4,,",
    ]
    path.write_text("\n".join(lines))
    options = ReadingOptions(Columns(group_by="InvoiceNo", tokens="StockCode"), min_tokens=2)
    here, there = both(spark, path, options)
    assert here.counts == there.counts
    assert here.counts == {"fewer than 2 tokens": 1, "the id is null": 2, "the time is null": 1, "the item is null": 1}
    write = [{"id": n, "time": "2024-05-01", "text": text} for n, text in enumerate(["a b", "a a", "", "c d e"])]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in write))
    here, there = both(spark, tmp_path / "b.jsonl", ReadingOptions(min_tokens=2))
    assert here.counts == there.counts == {"fewer than 2 tokens": 2}


def test_ids_that_are_numbers(spark: SparkSession, tmp_path: Path) -> None:
    ids = [1.0, None, 2.5, 1e300, float("inf")]
    pq.write_table(pa.table({"id": ids, "time": ["2024-05-01"] * 5, "text": ["a"] * 5}), tmp_path / "a.parquet")
    here, there = both(spark, tmp_path / "a.parquet", ReadingOptions(Columns(id="id")))
    assert here.counts == there.counts == {"the id is null": 1, "id: not a whole number": 3}


def test_integer_times(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,time,text\n1,7,a\n2, -8 ,b\n3,x,c\n4,9,d\n")
    files = find_files([str(tmp_path / "a.csv")])
    sample = read_sample(files)
    reading = decide(ReadingOptions(tokenizer=find_tokenizer("words")), sample, find_window(10))
    here = read_sets(files, reading, sample.schema)
    there, reasons = on_spark(spark, files, reading, sample.schema)
    assert here.table.column("time").to_pylist() == [row["time"] for row in there] == [7, -8, 9]
    assert here.rejected.examples == reasons.examples


def test_files_with_other_orders_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,time,text\n1,2024-05-01,a\n")
    (tmp_path / "b.csv").write_text("text,time,id\nb,2024-05-01,2\n")
    (tmp_path / "c.csv").write_text("3,2024-05-01,c\n4,2024-05-01,d\n")
    here, there = both(spark, tmp_path)
    assert here.rows == there.rows == 0


def test_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    for zone in (None, "Europe/Berlin"):
        ticks = pa.array([-1, 1999, 10**18], pa.timestamp("ns", zone))
        pq.write_table(pa.table({"id": [1, 2, 3], "time": ticks, "text": ["a"] * 3}), tmp_path / "a.parquet")
        both(spark, tmp_path / "a.parquet")
        pq.write_table(pq.read_table(tmp_path / "a.parquet"), tmp_path / "b.parquet", use_deprecated_int96_timestamps=True)
        both(spark, tmp_path / "b.parquet")


def test_bytes_that_are_not_utf8(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"id": 1, "time": "2024-05-01", "text": "a"}\n{"id": 2, "time": "2024-05-01", "text": "caf\xe9"}\n'
    )
    here, there = both(spark, tmp_path / "a.jsonl")
    assert here.rows == there.rows == 1
    assert all(reason.isprintable() for reason in there.examples.values())


def test_files_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    """What only Spark can read is looked at through Spark."""
    (tmp_path / "a.csv").write_text("id;date;text\n1;1/2/2024;a\n2;2/13/2024;b\n")
    elsewhere = Files((f"file://{tmp_path}/a.csv",), (), "csv")
    files, sample = look(spark, elsewhere)
    assert files.dialect.separator == ";"
    given = replace(elsewhere, dialect=replace(elsewhere.dialect, encoding="cp1252", separator="|"))
    assert (look(spark, given)[0].dialect.encoding, look(spark, given)[0].dialect.separator) == ("cp1252", "|")
    assert sample.column("id").to_pylist() == ["1", "2"]
    rows = read_rows(spark, files, sample.schema)
    assert rows.count() == 2
    reading = decide(ReadingOptions(), sample.slice(0, 1), DAY, count_readable(rows))
    assert str(reading.time) == "month/day/year"
    pq.write_table(pa.table({"id": [1]}), tmp_path / "b.parquet")
    assert look(spark, replace(elsewhere, inputs=(f"file://{tmp_path}/b.parquet",), format="parquet"))[1].to_pylist() == [
        {"id": 1}
    ]


def test_streams_need_ids(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"time": "2024-05-01", "text": "a"}\n')
    files = find_files([str(tmp_path / "a.jsonl")])
    sample = read_sample(files)
    reading = decide(ReadingOptions(), sample, DAY)
    with pytest.raises(InvalidArgument, match="the rows of a stream need ids"):
        prepare(read_rows(spark, files, sample.schema), reading)


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_names_are_no_patterns(spark: SparkSession, tmp_path: Path, format: str) -> None:
    """Each file is read once, and no other."""
    names = [str(tmp_path / f"{name}.{format}") for name in ("a", "a[1]", "b{2,3}", "*", "d?", "e\\", "%20 #é", "p,q")]
    for number, name in enumerate(names):
        table = pa.table({"id": [f"{number}"]})
        if format == "parquet":
            pq.write_table(table, name)
        else:
            Path(name).write_text(f'{{"id": "{number}"}}\n' if format == "json" else f"id\n{number}\n")
    files = find_files([str(tmp_path)], format)
    rows = read_files(spark, files, read_sample(files).schema, [f"file:{name}" for name in names[1:]])
    assert sorted(int(row.id) for row in rows.collect()) == list(range(1, len(names)))
