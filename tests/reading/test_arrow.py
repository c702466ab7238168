"""Rows as sets in process: what is usable, what is not, and why; line items as one set."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swoop.reading.arrow import Sets, read_sets
from swoop.reading.columns import Columns
from swoop.reading.files import find_files
from swoop.reading.sets import ReadingOptions, decide, find_tokenizer
from swoop.reading.tables import read_sample
from swoop.times import find_window


def sets_of(path: Path, window: Any = "1 day", columns: Columns | None = None, **options: Any) -> Sets:
    files = find_files([str(path)])
    sample = read_sample(files)
    reading = decide(ReadingOptions(columns or Columns(), **options), sample, find_window(window))
    return read_sets(files, reading, sample.schema)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_every_rejected_row_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swoop.reading.tables.SAMPLE", 8)
    rows: list[Any] = [{"id": n, "time": f"2024-05-0{n}", "text": "a b"} for n in range(1, 9)]
    rows += [
        {"id": 10, "time": "12/01/2010 08:26", "text": "x"},
        {"id": 11, "time": None, "text": "x"},
        {"id": None, "time": "2024-05-01", "text": "x"},
        {"id": 12, "time": "2024-05-01", "text": None},
        {"id": "x", "time": "2024-05-01", "text": "x"},
        {"id": 13, "time": "13/01/2010 08:26", "text": "x"},
        "not JSON at all",
    ]
    found = sets_of(write(tmp_path / "a.jsonl", rows))
    assert found.rows == 15
    assert found.table.column("id").to_pylist() == list(range(1, 9))
    assert found.rejected.counts == {
        "time: cannot read": 2,
        "the time is null": 1,
        "the id is null": 1,
        "the text is null": 1,
        "id: cannot read as an integer": 1,
        "row: not JSON": 1,
    }
    assert found.rejected.lines()[0] == '2: time: cannot read "12/01/2010 08:26"'
    assert found.rejected_rows["number"].to_pylist() == list(range(8, 15))
    assert found.rejected_rows["reason"][0].as_py() == 'time: cannot read "12/01/2010 08:26"'


def test_line_items_are_one_set(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "InvoiceNo,StockCode,InvoiceDate\n536365,A,12/1/2010 8:26\nC1,B,12/13/2010 9:00\n536365,B,12/1/2010 8:27\n"
        "536365,A,12/1/2010 8:26\n,A,12/1/2010 8:26\n536366,,12/1/2010 8:26\n,,12/1/2010 8:26\n536367,,\n"
    )
    found = sets_of(tmp_path / "a.csv", columns=Columns(group_by="InvoiceNo", tokens="StockCode"))
    rows = {row["id"]: row for row in found.table.to_pylist()}
    assert {name: sorted(row["tokens"]) for name, row in rows.items()} == {"536365": ["A", "B"], "C1": ["B"]}
    assert rows["536365"]["time"] == dt.datetime(2010, 12, 1, 8, 27, tzinfo=dt.UTC)
    assert found.rejected.counts == {"the id is null": 2, "the time is null": 1, "the item is null": 1}  # as on Spark
    assert found.rows == 8
    small = sets_of(tmp_path / "a.csv", columns=Columns(group_by="InvoiceNo", tokens="StockCode"), min_tokens=3)
    assert small.rejected.counts["fewer than 3 tokens"] == 4  # rows, not sets
    assert small.rejected.rows == small.rows


def test_small_sets_are_rejected_if_asked(tmp_path: Path) -> None:
    rows = [{"id": n, "time": "2024-05-01", "text": text} for n, text in enumerate(["a b", "a a A", "", "c d e"])]
    found = sets_of(write(tmp_path / "a.jsonl", rows), min_tokens=2)
    assert found.table.column("id").to_pylist() == [0, 3]
    assert found.rejected.counts == {"fewer than 2 tokens": 2}
    lists = [{"id": 1, "time": "2024-05-01", "tokens": ["a", "a"]}, {"id": 2, "time": "2024-05-01", "tokens": ["a", "b"]}]
    assert sets_of(write(tmp_path / "b.jsonl", lists), min_tokens=2).table.column("id").to_pylist() == [2]
    pairs = sets_of(write(tmp_path / "a.jsonl", rows), min_tokens=2, tokenizer=find_tokenizer("2-words"))
    assert pairs.table.column("id").to_pylist() == [3]


def test_ids(tmp_path: Path) -> None:
    times = [dt.datetime(2024, 5, 1)] * 3
    for ids, expected, wrong in (
        (pa.array([1.0, None, 2.5]), [1], {"the id is null": 1, "id: not a whole number": 1}),
        (pa.array([True, None, False]), ["true", "false"], {"the id is null": 1}),
        (pa.array([b"\xff", b"", None]), [b"\xff", b""], {"the id is null": 1}),
        (pa.array(["a", "a", "b"]).dictionary_encode(), ["a", "a", "b"], {}),
    ):
        pq.write_table(pa.table({"id": ids, "time": times, "text": ["a"] * 3}), tmp_path / "a.parquet")
        found = sets_of(tmp_path / "a.parquet", columns=Columns(id="id"))
        assert found.table.column("id").to_pylist() == expected
        assert found.rejected.counts == wrong


def test_times(tmp_path: Path) -> None:
    """Nanoseconds are cut off, days begin at midnight, integers may be texts."""
    ticks = pa.array([-1, 1999, None], pa.timestamp("ns"))
    pq.write_table(pa.table({"id": [1, 2, 3], "time": ticks, "text": ["a"] * 3}), tmp_path / "a.parquet")
    assert sets_of(tmp_path / "a.parquet").table.column("time").cast(pa.int64()).to_pylist() == [-1, 1]
    pq.write_table(pa.table({"id": [1], "day": [dt.date(2024, 5, 1)], "text": ["a"]}), tmp_path / "b.parquet")
    assert sets_of(tmp_path / "b.parquet").table.column("time").to_pylist() == [dt.datetime(2024, 5, 1, tzinfo=dt.UTC)]
    (tmp_path / "c.csv").write_text(
        "id,time,text\n1,7,a\n2, -8 ,b\n" + "".join(f"{n},{n},c\n" for n in range(9, 300)) + "3,x,c\n"
    )
    found = sets_of(tmp_path / "c.csv", window=10)
    assert found.table.column("time").to_pylist()[:3] == [7, -8, 9]
    assert found.rejected.examples == {"time: cannot read": 'time: cannot read "x"'}


def test_times_of_the_type_int96_are_in_utc(tmp_path: Path) -> None:
    """As Spark reads them."""
    times = pa.array([-1, 1999, 10**18], pa.timestamp("ns"))
    rows = pa.table({"id": [1, 2, 3], "meta": pa.StructArray.from_arrays([times], ["time"]), "text": ["a"] * 3})
    rows = rows.append_column("time", times)
    pq.write_table(rows, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    for name in ("time", "meta.time"):
        found = sets_of(tmp_path / "a.parquet", columns=Columns(time=name)).table.column("time")
        assert found.type == pa.timestamp("us", "UTC")
        assert found.cast(pa.int64()).to_pylist() == [-1, 1, 10**15]


def test_times_beyond_all_calendars(tmp_path: Path) -> None:
    far = pa.array([2**62, 0, -(2**62)], pa.timestamp("ms"))
    pq.write_table(pa.table({"id": [1, 2, 3], "time": far, "text": ["a"] * 3}), tmp_path / "a.parquet")
    found = sets_of(tmp_path / "a.parquet")
    assert found.table.column("id").to_pylist() == [2]
    assert found.rejected.examples == {"time: out of range": 'time: out of range "4611686018427387904"'}
    pq.write_table(
        pa.table({"id": [1, 2], "time": pa.array([2**63, 1], pa.uint64()), "text": ["a"] * 2}), tmp_path / "b.parquet"
    )
    assert sets_of(tmp_path / "b.parquet", window=5).table.column("id").to_pylist() == [2]
    (tmp_path / "c.csv").write_text("id,time,text\n1,+9,a\n2, 8 ,b\n")
    assert sets_of(tmp_path / "c.csv", window=5).table.column("time").to_pylist() == [9, 8]


def test_bytes_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,time,text\n1,2024-05-01,caf\xe9\n2,2024-05-\xe9,b\n3,2024-05-01,c\n")
    found = sets_of(tmp_path / "a.csv")
    assert found.table.column("id").to_pylist() == ["3"]
    assert found.rejected.lines() == [
        "1: the text is not UTF-8",
        '1: time: cannot read "2024-05-\ufffd"',
    ]


def test_rows_without_ids_are_numbered(tmp_path: Path) -> None:
    rows: list[Any] = [{"time": "2024-05-01", "text": "a"}, {"time": None, "text": "b"}, {"time": "2024-05-02", "text": "c"}]
    assert sets_of(write(tmp_path / "a.jsonl", rows)).table.column("id").to_pylist() == [0, 2]


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,time,text\n")
    found = sets_of(tmp_path / "a.csv")
    assert (found.rows, found.table.num_rows) == (0, 0)
