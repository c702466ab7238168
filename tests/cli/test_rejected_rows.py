"""Rows that ``swoop run`` cannot use: how many there are is told, and they are written with all that stands in their files.

Tests of swoop.reading.whole.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from swoop.cli.on_spark import _Input, describe
from swoop.reading.columns import Columns
from swoop.reading.files import Files, find_files
from swoop.reading.sets import ReadingOptions
from swoop.spark.reading import group, prepare
from swoop.times import find_window
from tests.support.command_line import Swoop, history, posts, run, write_lines


def test_epochs_and_rejected_rows(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{"id": r.id, "ts": int(r.time.timestamp() * 1000), "text": " ".join(map(str, r.tokens))} for r in history()]  # type: ignore[union-attr]
    path = write_lines(tmp_path / "posts.json", [*rows, {"id": 99, "text": "no time"}])
    done = swoop("run", path, "-w", "20s", "-k", 3, "--tokenizer", "2-words", "--json")
    assert done.exit_code == 0, done.output
    assert "reading the numbers in 'ts' as milliseconds since 1970" in done.stderr
    assert "1 of 61 rows cannot be used; --rejected FILE writes them:\n  1: the time is null" in done.stderr
    assert json.loads(done.stdout)["rejected"] == [{"reason": "the time is null", "rows": 1, "example": None}]


def test_no_row_can_be_used(tmp_path: Path, swoop: Swoop) -> None:
    path = write_lines(tmp_path / "posts.json", [{"id": 1, "time": "2024-05-01", "text": None}])
    done = swoop("run", path, "--text", "text", "-w", "20s")
    assert done.exit_code == 1
    assert "no row can be used" in done.stderr


@pytest.mark.parametrize(("bad", "is_told"), [(2, False), (3, True)])
def test_most_rows_cannot_be_used(tmp_path: Path, bad: int, is_told: bool) -> None:
    """The others' results are right, so it is no failure, but nobody must overlook it."""
    lines = [b"id,time,text", b"1,2024-05-01,a b", b"2,2024-05-01,a b c", *[b"3,2024-05-01,caf\xe9"] * bad]
    (tmp_path / "a.csv").write_bytes(b"\n".join(lines))
    done = run("run", tmp_path / "a.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rejected"] == [{"reason": "the text is not UTF-8", "rows": bad, "example": None}]
    assert f"{bad}: the text is not UTF-8 (try --encoding cp1252)" in done.stderr
    assert ("swoop: most rows cannot be used, so the results are those of 2 of 5;" in done.stderr) == is_told


def test_times_that_nobody_can_read(tmp_path: Path, swoop: Swoop) -> None:
    path = write_lines(tmp_path / "posts.json", [{"id": 1, "time": "soon", "text": "a"}])
    done = swoop("run", path, "-w", "20s")
    assert done.exit_code == 2
    assert "cannot read the times in column 'time', such as \"soon\"" in done.stderr


def test_rejected_rows_are_written_with_their_values(tmp_path: Path, swoop: Swoop) -> None:
    rows = [*posts(history()), {"id": 98, "time": "12/01/2010 08:26", "text": "x"}, {"id": 99, "time": None, "text": "x"}]
    path = write_lines(tmp_path / "posts.jsonl", rows)
    path.write_text(path.read_text() + "not JSON\n")
    out = tmp_path / "rejected.jsonl"
    done = swoop("run", path, "-w", "20s", "--rejected", out)
    assert done.exit_code == 0, done.output
    assert '  1: time: cannot read "12/01/2010 08:26" (try --time-format or --time-unit)' in done.stderr
    found = {row["reason"]: row["row"] for row in map(json.loads, out.read_text().splitlines())}
    (broken,) = (reason for reason in found if reason.startswith("row: "))
    assert '"not JSON"' in broken
    assert {'time: cannot read "12/01/2010 08:26"', "the time is null", broken} == set(found)
    assert json.loads(found["the time is null"])["id"] == 99


def test_rejected_rows_are_written_whole(tmp_path: Path, spark: SparkSession) -> None:
    """With columns that are not used and values that cannot be read, from several files, in both ways."""
    good = [f"{n},2024-05-01 10:00,a b,x" for n in range(9)]
    bad = ["10,soon,a b,first", ",2024-05-01 10:00,a b,second", "11,2024-05-01 10:00,,=third"]
    for name, lines in (("a.csv", good), ("b +%20b.csv", [*good, *bad[:1]]), ("c.csv", [*bad[1:], "5,6", *good])):
        (tmp_path / name).write_text("\n".join(["id,time,text,author", *lines]) + "\n")
    values = [[value or None for value in line.split(",")] for line in bad]
    rows = [dict(zip(("id", "time", "text", "author"), of, strict=True)) for of in values]
    expected = [(row, str(tmp_path / name)) for row, name in zip(rows, ("b +%20b.csv", "c.csv", "c.csv"), strict=True)]
    files, out = find_files([str(tmp_path)]), tmp_path / "out" / "rejected.parquet"
    out.parent.mkdir()
    items = ("--group-by", "id", "--tokens", "text", "--min-tokens", "2")
    for columns, options, groups in ((Columns(), (), 0), (Columns(group_by="id", tokens="text"), items, 9)):
        done = run("run", f"{tmp_path}/*.csv", "-w", "1 day", "--rejected", out, *options)
        assert done.exit_code == (groups > 0), done.output
        asked = ReadingOptions(columns, min_tokens=2 if groups else 0)
        on_spark = given_on_spark(spark, files, asked).whole_rejected().toArrow()
        for table in (pq.read_table(out), on_spark):
            told = [row for row in table.to_pylist() if not row["reason"].startswith("row: ")]
            found = [(json.loads(row["row"]), row["file"]) for row in told if row["file"] is not None]
            assert sorted(found, key=repr) == sorted(expected, key=repr)
            assert [json.loads(row["row"])["items"] for row in told if row["file"] is None] == [3] * groups


def given_on_spark(spark: SparkSession, files: Files, options: ReadingOptions) -> Any:
    """Rows and sets as a run on Spark has them that is asked for rejected rows."""
    rows, reading = describe(spark, files, options, find_window("1 day"), with_files=True)
    lines = prepare(rows, reading)
    return _Input(spark, rows, lines, lines if reading.columns.group_by is None else group(lines, reading), reading)


def test_rejected_rows_of_json_and_parquet(tmp_path: Path) -> None:
    """Values of other types than the column has are there, and half characters stop nothing."""
    rows: list[dict[str, Any]] = [{"id": n, "time": f"2024-05-01 10:0{n}", "text": "a b"} for n in range(9)]
    bad = [{"id": "x", "time": "soon", "more": [1, {"a": "\ud800"}]}, {"id": 7, "time": None, "text": "c"}]
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, *bad]) + "\nno JSON \ud83d\n".encode(errors="replace").decode()
    table = pa.table({"id": [*range(9), None], "time": ["2024-05-01"] * 10, "text": ["a"] * 10, "raw": [b"\xff"] * 10})
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.json").write_text(json.dumps([*rows, *bad, 12]))
    pq.write_table(table, tmp_path / "a.parquet")
    named = {"id": None, "time": None, "text": None, "more": None}
    for name, expected in (
        ("a.jsonl", [*({**named, **row} for row in bad), "no JSON ?"]),
        ("a.json", [*({**named, **row} for row in bad), 12]),
        ("a.parquet", [{"id": None, "time": "2024-05-01", "text": "a", "raw": "ff"}]),
    ):
        out = tmp_path / "rejected.jsonl"
        done = run("run", tmp_path / name, "-w", "1 day", "--rejected", out)
        assert done.exit_code == 0, done.output
        found = [json.loads(line)["row"] for line in out.read_text().splitlines()]
        assert [row if row.startswith("no") else json.loads(row) for row in found] == expected
