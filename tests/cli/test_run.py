"""``swoop run`` and ``swoop explain`` on files, in process and on Spark: the results of brute force, and clear words.

Tests of swoop.cli.explain, swoop.cli.families, swoop.cli.family_render, swoop.cli.history, swoop.cli.in_process,
swoop.cli.on_spark, swoop.cli.output, swoop.cli.progress, swoop.cli.session, swoop.cli.standard_input, swoop.cli.where,
swoop.reading.whole.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from swoop.cli.app import app
from swoop.cli.in_process import why_not
from swoop.cli.on_spark import _Input, describe
from swoop.cli.output import write_file
from swoop.reading.columns import Columns
from swoop.reading.files import Files, find_files
from swoop.reading.sets import ReadingOptions
from swoop.spark.reading import group, prepare
from swoop.times import find_window
from tests.cli.conftest import BEGIN, history, posts, write_lines
from tests.support.slices import stays_of

Swoop = Callable[..., Result]


def run(*arguments: object, input: bytes | None = None) -> Result:
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    return runner.invoke(app, [str(argument) for argument in arguments], input=input)


@pytest.fixture(params=["in process", "on Spark"])
def swoop(request: pytest.FixtureRequest) -> Swoop:
    """A command, done in each of the ways. Names are of this machine, also where Spark would look elsewhere."""
    if request.param == "in process":
        return run
    request.getfixturevalue("default_elsewhere")
    return lambda *arguments, **options: run(*arguments, "--spark", **options)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value

    return sorted((tuple(map(plain, row.values())) for row in table.to_pylist()), key=repr)


EXPECTED = {"k": 3, "window": "20 s", "similarity": "jaccard", "copies": "once"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "posts.jsonl", posts(history()))


def test_json_lines_to_parquet(tmp_path: Path, lines: Path, swoop: Swoop) -> None:
    out = tmp_path / "out.parquet"
    done = swoop("run", lines, "--window", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert rows_of(pq.read_table(out)) == stays_of(history(), **EXPECTED)
    assert "using 'id' as id; using 'time' as time; using 'text' as text; reading the text in 'time' as ISO 8601" in done.stderr
    assert f"60 rows, {len(stays_of(history(), **EXPECTED))} stays" in done.stderr
    assert done.stdout.startswith(" 1  jaccard 0.800")
    each = swoop("run", lines, "--window", "20s", "-k", 3, "--copies", "each")
    assert each.stdout.startswith(" 1  jaccard 1.000")
    assert f"{len(stays_of(history(), **{**EXPECTED, 'copies': 'each'}))} stays" in each.stderr
    assert "\x1b" not in done.output
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_all_pairs(tmp_path: Path, lines: Path, swoop: Swoop, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.parquet"
    done = swoop("run", lines, "--window", "20s", "-k", "all", "--min-similarity", 0.3, "--out", out)
    assert done.exit_code == 0, done.output
    expected = stays_of(history(), **{**EXPECTED, "k": None}, min_similarity=0.3)
    assert rows_of(pq.read_table(out)) == expected
    assert f"60 rows, {len(expected)} stays in all pairs from jaccard 0.3 on" in done.stderr
    assert "shared, from" in done.stdout
    monkeypatch.setattr("swoop.spec.MAX_PAIRS", 3)
    for where in ((), ("--spark",), ("--spark", "--copies", "each")):
        done = run("run", lines, "--window", "20s", "-k", "all", "--min-similarity", 0.3, *where)
        assert done.exit_code == 1
        assert (
            "at some time there are more than 3 pairs from jaccard 0.3 on; use a higher --min-similarity, a shorter --window, "
            in (" ".join(done.stderr.split()))
        )
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().isEmpty()  # type: ignore[union-attr]


def test_csv_to_csv(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{**row, "text": f'"{row["text"]}",\nhe said'} for row in posts(history())]
    pd.DataFrame(rows).drop(columns="id").to_csv(tmp_path / "posts.csv", index=False)
    out = tmp_path / "out.csv"
    done = swoop("run", tmp_path / "posts.csv", "-w", "20s", "-k", 3, "--out", out, "--show", 0)
    assert done.exit_code == 0, done.output
    assert "using row numbers from 0 as ids" in done.stderr
    assert done.stdout == ""
    records = [type(r)([*r.tokens, "he", "said"], r.time, r.id) for r in history()]
    found = csv.read_csv(out)
    assert [row[:4] for row in rows_of(found)] == [row[:4] for row in stays_of(records, **EXPECTED)]


def test_parquet_to_json(tmp_path: Path, swoop: Swoop) -> None:
    """Tokens, and times in nanoseconds, as pandas writes them."""
    frame = pd.DataFrame([{"key": r.id, "at": r.time, "goods": list(r.tokens)} for r in history()])
    frame["at"] = frame["at"].astype("datetime64[ns]")
    frame.to_parquet(tmp_path / "baskets.parquet")
    done = swoop("run", tmp_path / "baskets.parquet", "--time", "at", "-w", "20s", "-k", 3, "--json", "--show", 1000)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["rows"] == 60
    assert {(pair["newer"]["id"], pair["older"]["id"], pair["similarity"]) for pair in found["pairs"]} == {
        stay[:3] for stay in stays_of(history(), **EXPECTED)
    }
    best = found["pairs"][0]
    assert best["similarity"] == max(stay[2] for stay in stays_of(history(), **EXPECTED))
    assert len(set(best["newer"]["tokens"]) & set(best["older"]["tokens"])) == best["overlap"]


def test_records_come_along(tmp_path: Path, swoop: Swoop) -> None:
    """To every kind of file, and to the terminal; also columns that are read as text and time, and fields of others."""
    rows = [{**row, "author": f"author {row['id']}", "meta": {"tags": ["x", row["id"]]}} for row in posts(history())]
    told = {row["id"]: row for row in rows}
    lines = write_lines(tmp_path / "posts.jsonl", rows)
    options = ("-w", "20s", "-k", 3, "--keep", "author,text", "--keep", "meta.tags")
    for ending in ("parquet", "csv", "jsonl"):
        done = swoop("run", lines, *options, "--out", tmp_path / f"out.{ending}")
        assert done.exit_code == 0, done.output
    assert "author: " in done.stdout  # beside the times, which leave little room
    table = pq.read_table(tmp_path / "out.parquet")
    for side in ("newer", "older"):
        for row in table.to_pylist():
            kept = [row[f"{side}_{name}"] for name in ("author", "text", "meta.tags")]
            given = told[row[side]]
            assert kept == [given["author"], given["text"], [str(tag) for tag in given["meta"]["tags"]]]
    in_lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["older_author"] for row in in_lines] == table["older_author"].to_pylist()
    header, *_ = (tmp_path / "out.csv").read_text().splitlines()
    assert header.startswith(
        '"newer","older","similarity","overlap","enter","leave","newer_author","newer_text","newer_meta.tags"'
    )
    frame = pd.read_csv(tmp_path / "out.csv")
    assert frame["enter"].tolist() == [f"{time:%Y-%m-%d %H:%M:%S}" for time in table["enter"].to_pylist()]
    assert json.loads(frame["newer_meta.tags"][0]) == table["newer_meta.tags"][0].as_py()
    shown = json.loads(swoop("run", lines, *options, "--json").stdout)["pairs"][0]["newer"]
    assert shown["record"]["author"] == f"author {shown['id']}"


def test_records_of_families_come_along(tmp_path: Path, swoop: Swoop) -> None:
    lines = write_lines(tmp_path / "posts.jsonl", [{**row, "author": f"author {row['id']}"} for row in posts(history())])
    done = swoop("run", lines, "-w", "20s", "--families", 0.6, "--keep", "author", "--out", tmp_path / "out.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert found
    assert all(row["representative_author"] == f"author {row['representative']}" for row in found)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--keep", "autor"), "there is no column 'autor' for --keep; columns: .*Did you mean 'author'"),
        (("--keep", "author,Author"), "there is no column 'Author' for --keep|--keep names the column 'Author' twice"),
        (("--keep", "author", "--keep", "author"), "--keep names the column 'author' twice"),
        (("--keep", "text", "--text", "author"), "the column 'text' cannot be kept, because sets have a column of this name"),
        (("--keep", "author", "--group-by", "id", "--tokens", "author"), "leave out --keep"),
    ],
)
def test_what_cannot_be_kept(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    lines = write_lines(tmp_path / "posts.jsonl", [{**row, "author": "ann"} for row in posts(history())])
    done = run("run", lines, *options)
    assert done.exit_code != 0
    assert re.search(why, " ".join(done.stderr.split())), done.stderr


def test_times_in_csv(tmp_path: Path) -> None:
    """As many digits as they need, the same with a zone and without one."""
    noon = dt.datetime(2024, 5, 1, 12)
    for times, kind, shown in (
        ([noon, None], pa.timestamp("us", "UTC"), "2024-05-01 12:00:00"),
        ([noon], pa.timestamp("us"), "2024-05-01 12:00:00"),
        ([noon, noon + dt.timedelta(milliseconds=5)], pa.timestamp("us", "UTC"), "2024-05-01 12:00:00.000"),
        ([noon, noon + dt.timedelta(microseconds=5)], pa.timestamp("us", "Europe/Vienna"), "2024-05-01 12:00:00.000000"),
    ):
        write_file(pa.table({"enter": pa.array(times, kind), "raw": [b"\xff"] * len(times)}), str(tmp_path / "out.csv"))
        assert (tmp_path / "out.csv").read_text().splitlines()[1] == f'"{shown}","ff"'


def test_integer_times_to_a_folder(tmp_path: Path, swoop: Swoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names have characters that mean something in addresses or globs, and are relative."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": r.id, "n": int((r.time - BEGIN).total_seconds()), "tokens": list(r.tokens)} for r in history()]  # type: ignore[operator]
    for name in ("in [1] {2}*", "in 1 2"):
        (tmp_path / name).mkdir()
    write_lines(tmp_path / "in [1] {2}*" / "sets?%20#.ndjson", rows)
    write_lines(tmp_path / "in 1 2" / "others.ndjson", rows[:1])
    out = "out %20#[1]?/"
    done = swoop("run", "in [1] {2}*", "--time", "n", "-w", 20, "-k", 3, "-s", "cosine", "--out", out, "--no-equal")
    assert done.exit_code == 0, done.output
    records = [type(r)(r.tokens, row["n"], r.id) for r, row in zip(history(), rows, strict=True)]
    (tmp_path / out).rename(tmp_path / "out")  # Arrow reads no names with escapes
    assert rows_of(pq.read_table("out")) == stays_of(records, k=3, window=20, similarity="cosine", copies="once")
    assert "cosine 1.000" not in done.stdout


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


def test_files_as_people_have_them(tmp_path: Path, swoop: Swoop) -> None:
    """Line items in a file of another encoding, with days before months, and no header."""
    records = history()
    lines = ["Rechnung;Artikel;Datum"]
    for record in records:
        lines += [f"R{record.id:02};{token}\u00e9;{record.time:%d.%m.%Y %H:%M:%S}" for token in record.tokens]  # type: ignore[str-bytes-safe]
    (tmp_path / "items.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    out = tmp_path / "out.parquet"
    options = ("--group-by", "Rechnung", "--tokens", "Artikel", "--time-format", "dd.MM.yyyy HH:mm:ss", "--encoding", "cp1252")
    done = swoop("run", tmp_path / "items.csv", *options, "-w", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert f"{len(lines) - 1} rows in {sum(bool(r.tokens) for r in records)} groups, " in done.stderr
    expected = [type(r)(r.tokens, r.time, f"R{r.id:02}") for r in records]
    assert rows_of(pq.read_table(out)) == stays_of(expected, **EXPECTED)
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(f"{r.id},{r.time},{' '.join(map(str, r.tokens))}\n" for r in records))
    done = swoop("run", bare, "--id", "column1", "-w", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert "there is no header: columns are called column1 to column3" in done.stderr
    # the ids of CSV are texts
    expected = [type(r)(r.tokens, r.time, str(r.id)) for r in records]
    assert {row[:4] for row in rows_of(pq.read_table(out))} <= {row[:4] for row in stays_of_texts(expected)}


def stays_of_texts(records: list[Any]) -> list[tuple[Any, ...]]:
    return stays_of(sorted(records, key=lambda record: (record.time, record.id)), **EXPECTED)


def test_nested_fields_and_small_sets(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{"meta": {"at": str(r.time), "no": r.id}, "body": {"text": " ".join(map(str, r.tokens))}} for r in history()]
    path = write_lines(tmp_path / "posts.jsonl", rows)  # type: ignore[arg-type]
    out = tmp_path / "out.parquet"
    columns = ("--id", "meta.no", "--time", "meta.at", "--text", "body.text", "--min-tokens", 3)
    done = swoop("run", path, *columns, "-w", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    large = [record for record in history() if len(set(record.tokens)) >= 3]
    assert rows_of(pq.read_table(out)) == stays_of(large, **EXPECTED)
    assert f"{60 - len(large)}: fewer than 3 tokens" in done.stderr


def test_nothing_is_overwritten(lines: Path) -> None:
    before = lines.read_text()
    for options in (
        ("--out", lines),
        ("--rejected", lines),
        ("--out", lines.parent / "a.csv", "--rejected", lines.parent / "a.csv"),
    ):
        done = run("run", lines, *options)
        assert done.exit_code == 2, done.output
        assert "would be replaced" in done.stderr or "are the same file" in done.stderr
    assert lines.read_text() == before


def test_both_ways_write_and_show_the_same(tmp_path: Path, lines: Path, spark: SparkSession) -> None:
    """Also pairs that are as similar as others, of which those that share more come first, then the earlier ones."""
    written = []
    for where in ((), ("--spark",)):
        out = tmp_path / "out.csv"
        done = run("run", lines, "-w", "20s", "-k", 5, "--show", 40, "--out", out, *where)
        assert done.exit_code == 0, done.output
        written.append((out.read_text(), done.stdout))
    assert written[0] == written[1]


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,time,text\n")
    done = run("run", tmp_path / "a.csv")
    assert done.exit_code == 1
    assert "there are no rows" in done.stderr


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("a.csv", b"id,time,text\n1,2024-05-01,caf\xe9\n2,2024-05-01,b\n", (), "the text is not UTF-8 (try --encoding cp1252)"),
        ("a.csv.gz", b"id,time", (), "a.csv.gz is damaged, or not compressed"),
        ("a.csv.bz2", b"id,time", (), "a.csv.bz2 is damaged, or not compressed"),
        ("a.csv.bz2", bz2.compress(b"id,time,text\n" * 9).replace(b"\x00", b"\x01"), (), "Invalid data stream; get it again"),
        (
            "a.jsonl",
            b'{"id": 1, "time": "2024-05-01", "user": {"name": "x"}}\n',
            ("--text", "user"),
            "name one of them with --text",
        ),
        ("a.csv", b"id,time,text\n1,2024-05-01,x\n", ("--encoding", "utf-16"), "cannot be read"),
    ],
)
def test_no_traceback(tmp_path: Path, name: str, data: bytes, options: tuple[str, ...], message: str) -> None:
    (tmp_path / name).write_bytes(data)
    done = run("run", tmp_path / name, *options, "--rejected", tmp_path / "rejected.jsonl")
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert message in " ".join(done.stderr.split())


def test_several_files_without_ids(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{name: row[name] for name in ("time", "text")} for row in posts(history())]
    for number, part in enumerate((rows[:7], rows[7:40], rows[40:])):
        write_lines(tmp_path / f"part-{number}.jsonl", part)
    out = tmp_path / "out.parquet"
    done = swoop("run", f"{tmp_path}/*.jsonl", "-w", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert rows_of(pq.read_table(out)) == stays_of(history(), **EXPECTED)


def test_standard_input(lines: Path, swoop: Swoop) -> None:
    done = swoop("run", "-", "-w", "20s", "-k", 3, "--json", input=lines.read_bytes())
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["stays"] == len(stays_of(history(), **EXPECTED))
    done = swoop("run", "-", "-w", "20s", "--json", input=b"id,time,text\n1,2024-05-01,a b\n2,2024-05-01,a b c\n")
    assert [pair["newer"]["id"] for pair in json.loads(done.stdout)["pairs"]] == ["2"]
    assert run("run", "-", lines, input=b"").exit_code == 2


@pytest.mark.usefixtures("spark")
def test_spark_is_used_where_it_must_be(tmp_path: Path) -> None:
    """Folders that hold columns, and what does not fit into memory; and it is told why."""
    folder = tmp_path / "posts" / "day=2024-05-01"
    folder.mkdir(parents=True)
    write_lines(folder / "a.jsonl", posts(history()))
    done = run("run", tmp_path / "posts", "-w", "20s", "-k", 3, "--json")
    assert done.exit_code == 0, done.output
    assert "using Spark, because folders hold columns" in done.stderr
    assert json.loads(done.stdout)["stays"] == len(stays_of(history(), **EXPECTED))


@pytest.mark.usefixtures("spark")
def test_results_on_other_file_systems(lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Spark can write there; nothing is written here, and what cannot be written is told before the work is done."""
    monkeypatch.chdir(lines.parent)
    before = sorted(lines.parent.iterdir())
    for options in (("--out", "dbfs:/x/"), ("--rejected", "none://host/x/"), ("--out", "dbfs:/x/", "--families", "0.5")):
        done = run("run", lines, "-w", "20s", *options)
        assert done.exit_code == 2, done.output
        assert f"using Spark, because {options[1]} is not on this machine" in done.stderr
        assert f"Spark cannot use the address '{options[1]}'" in " ".join(done.stderr.split())
    assert sorted(lines.parent.iterdir()) == before


def test_what_does_not_fit_into_memory(lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(find_files([str(lines)])) is None
    monkeypatch.setattr("swoop.cli.in_process._memory", lambda: 1000)
    assert "of memory" in str(why_not(find_files([str(lines)])))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "tine"), "there is no column 'tine' for --time; columns: 'id', 'time', 'text'. Did you mean 'time'?"),
        (("--window", "1x"), "unknown unit 'x' in the window '1x'"),
        (("--window", "20"), "the window is the number 20, but the times in column 'time' are not integers"),
        (("--window", "0"), "a window must be longer than 0"),
        (("-k", "0"), "-k must be at least 1"),
        (("-k", "many"), "-k must be a number of pairs, or all, not 'many'"),
        (("-k", "all"), "-k all needs --min-similarity"),
        (("--similarity", "jacard"), "did you mean 'jaccard'?"),
        (("--min-similarity", "2"), "min_similarity must be from 0 to 1"),
        (("--min-similarity", "1e12", "-s", "overlap"), "at most 33,554,431 for overlap"),
        (("--tokenizer", "verbs"), "unknown tokenizer 'verbs'"),
        (("--out", "results.txt"), "must end with .parquet"),
        (("--show", "-1"), "--show must be from 0"),
        (("--time-unit", "h"), "unit must be one of 's', 'ms', 'us', 'ns', not 'h'"),
        (("--time-format", "dd/QQ"), "QQ"),
        (("--min-tokens", "-1"), "--min-tokens must be at least 0"),
        (("--separator", ";"), "--separator is for CSV"),
        (("--encoding", "klingon"), "unknown encoding 'klingon'"),
        (("--group-by", "id", "--text", "text"), "name it with --tokens"),
        (("--time-unit", "s", "--time-format", "yyyy"), "not both"),
        (("--format", "xml"), "unknown format 'xml'"),
        (("none.json",), "there is no file or folder 'none.json'"),
        (("--no-equal", "-s", "overlap"), "--no-equal is not available for overlap"),
    ],
)
def test_wrong_usage(lines: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("run", lines, *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""


def test_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("this is no Parquet")
    done = run("run", tmp_path / "bad.parquet")
    assert done.exit_code == 1
    assert "cannot be read as Parquet" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("spark")
def test_spark_says_no(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("this is no Parquet")
    done = run("run", tmp_path / "bad.parquet", "--spark")
    assert done.exit_code == 1
    assert "cannot be read as Parquet" in done.stderr
    good = gzip.compress(json.dumps({"id": 1, "time": "2024-05-01T12:00:00", "text": "a b"}).encode() + b"\n")
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "1.jsonl.gz").write_bytes(good)
    (tmp_path / "posts" / "2.jsonl.gz").write_bytes(good[:-12])
    for command in (("run", "--spark"), ("stream", "--once")):
        done = run(command[0], tmp_path / "posts", *command[1:])
        assert done.exit_code == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"swoop: {tmp_path}/posts/2.jsonl.gz cannot be read: ")
        assert last.endswith("get it again, or leave it out")
        assert "the stream has failed" not in done.stderr
    (tmp_path / "bad.orc").write_text("this is no ORC")
    done = run("run", tmp_path / "bad.orc")
    assert done.exit_code == 1
    assert f"swoop: {tmp_path}/bad.orc cannot be read: " in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("content", ["", "this is no JSON\n"])
def test_no_columns(tmp_path: Path, content: str) -> None:
    (tmp_path / "posts.jsonl").write_text(content)
    done = run("run", tmp_path / "posts.jsonl")
    assert done.exit_code == 1
    assert "has no columns" in done.stderr


def test_explain(tmp_path: Path, swoop: Swoop) -> None:
    rows: list[dict[str, object]] = [
        {"id": "post 1", "time": "2024-05-01 12:00", "text": "Win a free phone"},
        {"id": "post 2", "time": "2024-05-01 12:10", "text": "win a free big car"},
        {"id": "post 3", "time": "2024-05-01 12:20", "text": ""},
    ]
    path = write_lines(tmp_path / "posts.jsonl", rows)
    done = swoop("explain", "post 1", "post 2", path)
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert text.index("post 2") < text.index("post 1")  # the newer comes first, whatever was said
    assert "win a free [big car]" in text
    assert "shared      3  a free win" in text
    assert "jaccard 0.500   cosine 0.671   dice 0.667   overlap 3   hamming -3" in text
    found = json.loads(swoop("explain", "post 2", "post 1", path, "--json").stdout)
    assert found["only_newer"] == ["big", "car"]
    assert found["similarities"]["jaccard"] == 0.5
    assert json.loads(swoop("explain", "post 3", "post 1", path, "--json").stdout)["similarities"]["cosine"] == 0
    missing = swoop("explain", "post 1", "post 9", path)
    assert missing.exit_code == 1
    assert "no record with the id 'post 9'" in missing.stderr


def test_explain_as_it_was_said(tmp_path: Path, swoop: Swoop) -> None:
    """Of two records of the same time, the one that was named first is the newer one; bytes are named by their digits."""
    table = pa.table({"id": [b"\x01\xff", b"\x02"], "time": [7, 7], "tokens": [["a", "b"], ["a"]]})
    pq.write_table(table, tmp_path / "sets.parquet")
    for newer, older in (("01ff", "02"), ("02", "01ff")):
        found = json.loads(swoop("explain", newer, older, tmp_path / "sets.parquet", "--id", "id", "--json").stdout)
        assert (found["newer"]["id"], found["older"]["id"]) == (newer, older)
    done = swoop("run", tmp_path / "sets.parquet", "--id", "id", "--window", 10, "--json")
    assert [pair["newer"]["tokens"] for pair in json.loads(done.stdout)["pairs"]] == [["a"]]


def test_families(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{"id": f"p{n}", "time": f"2024-05-01 12:00:{n:02}", "text": f"Win a phone now {'!' * (n % 3)}"} for n in range(30)]
    rows += [{"id": f"q{n}", "time": f"2024-05-01 12:01:{n:02}", "text": f"win a phone, {word}"} for n, word in enumerate("ab")]
    rows.append({"id": "single", "time": "2024-05-01 12:02:00", "text": "Lovely morning"})
    path, out = write_lines(tmp_path / "posts.jsonl", rows), tmp_path / "families.csv"
    done = swoop("run", path, "--families", 0.6, "-w", "20s", "--out", out)
    assert done.exit_code == 0, done.output
    assert "30 records, 3 different texts, from 1 May 2024 12:00:00 to 12:00:29 UTC, first p0" in " ".join(done.stdout.split())
    assert "10 × Win a phone now !!" in " ".join(done.stdout.split())
    assert "33 rows, 2 families from jaccard 0.6 on of a window of 20s" in done.stderr
    assert out.read_text().splitlines()[0] == '"id","total","first_seen","last_seen","representative"'
    told = json.loads(swoop("run", path, "--families", 0.6, "-w", "20s", "--json").stdout)
    assert told["rejected"] == []
    assert [(family["id"], family["total"]) for family in told["largest"]] == [("p0", 30), ("q0", 2)]
    assert told["largest"][0]["contents"][0] == {"count": 10, "text": "Win a phone now "}


def test_what_counts_once_is_told(tmp_path: Path, swoop: Swoop) -> None:
    """Somebody who looks for double invoices must not think that there are none."""
    rows = [{"id": n, "time": f"2024-01-0{n}", "text": text} for n, text in enumerate(("a b", "a b", "c d", "a b"), 1)]
    path = write_lines(tmp_path / "invoices.jsonl", rows)
    told = "2 rows are copies of others in the window and not counted, one set 3 times; --copies each shows them as pairs"
    done = swoop("run", path, "-w", "30 days")
    assert told in done.stderr
    assert "in a window share a token: all that is similar is equal; use --copies each" in done.stderr
    assert "longer --window" not in done.stderr
    near = write_lines(tmp_path / "near.jsonl", [*rows, {"id": 9, "time": "2024-01-05", "text": "a b c"}])
    found = json.loads(swoop("run", near, "-w", "30 days", "--json").stdout)
    assert found["copies"] == {"rows": 2, "most": 3}
    (older,) = (pair["older"] for pair in found["pairs"] if pair["older"]["id"] == 1)
    assert (older["copies"], older["last_seen"][:10]) == (3, "2024-01-04")
    assert "copies of others" not in swoop("run", path, "-w", "30 days", "--copies", "each").stderr


def test_advice_is_of_use(tmp_path: Path) -> None:
    """A longer window is no help where only equal sets are as similar as asked for. Copies of groups are groups."""
    items = [(1, "a"), (1, "b"), (2, "b"), (2, "a"), (3, "c")]
    (tmp_path / "items.csv").write_text("no,at,item\n" + "".join(f"{no},2024-05-0{no},{item}\n" for no, item in items))
    columns = ("--group-by", "no", "--tokens", "item", "--time", "at")
    done = run("run", tmp_path / "items.csv", *columns, "-w", "30 days")
    assert "1 group is a copy of another in the window and not counted" in done.stderr
    done = run("run", tmp_path / "items.csv", *columns, "-w", "1 hour", "--min-similarity", 1)
    assert "reach --min-similarity 1, as only equal ones do; use --copies each" in done.stderr
    done = run("run", tmp_path / "items.csv", *columns, "-w", "1 hour")
    assert "try a longer --window or another --tokenizer" in done.stderr


def test_families_whose_ids_repeat(tmp_path: Path) -> None:
    """Single sets that are called like a family are not of it."""
    rows = [{"id": n % 3, "time": f"2024-05-01 12:00:{n:02}", "text": f"win a phone {n // 15}"} for n in range(30)]
    rows += [{"id": 0, "time": f"2024-05-01 12:01:{n:02}", "text": f"a{n} b{n}"} for n in range(5)]
    path = write_lines(tmp_path / "posts.jsonl", rows)  # type: ignore[arg-type]
    told = json.loads(run("run", path, "--families", 0.9, "-w", "1 min", "--json").stdout)
    found = [(family["id"], family["total"], sum(c["count"] for c in family["contents"])) for family in told["largest"]]
    assert found == [(0, 15, 15), (0, 15, 15)]


def test_both_ways_find_the_same_families(tmp_path: Path, spark: SparkSession) -> None:
    """In a file as on the screen: texts, line items, rows that cannot be used, and none at all."""
    rows = [*posts(history()), {"id": None, "time": "2024-05-01", "text": "x"}]
    texts = write_lines(tmp_path / "posts.jsonl", rows)
    items = tmp_path / "items.csv"
    items.write_text("no,at,item\n" + "".join(f"{r.id},{r.time},{t}\n" for r in history() for t in r.tokens))
    bad = write_lines(tmp_path / "bad.jsonl", [{"id": 1, "time": "2024-05-01", "text": None}])
    for path, options in ((texts, ()), (items, ("--group-by", "no", "--tokens", "item", "--time", "at")), (bad, ())):
        found = []
        for where in ((), ("--spark",)):
            out = tmp_path / "out.csv"
            done = run("run", path, "--families", 0.5, "-w", "20s", "--out", out, "--show", 5, *options, *where)
            assert isinstance(done.exception, SystemExit | None), done.exception
            found.append((done.exit_code, "rows cannot be used" in done.stderr, done.stdout, out.read_text()))
        assert found[0] == found[1]
        assert path == bad or len(found[0][3].splitlines()) > 5
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().isEmpty()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--families", "1.5"), "--families: min_similarity must be from 0 to 1 for jaccard, not 1.5"),
        (("--families", "0.5", "--min-similarity", "0.5"), "leave out --min-similarity"),
        (("--families", "0.5", "-k", "all"), "finds groups from this similarity on, not pairs; leave out -k"),
        (("--families", "0.5", "--no-equal"), "leave out --no-equal"),
        (("--families", "0.5", "--copies", "each"), "leave out --copies"),
        (("--window", "0"), "a window must be longer than 0: give another --window than 0"),
        (("--families", "0.5", "--stream", "id"), "families are of one stream; leave out --stream"),
        (("--copies", "twice"), "copies must be 'each'"),
    ],
)
def test_wrong_families_and_copies(lines: Path, options: tuple[str, ...], message: str) -> None:
    done = run("run", lines, *options)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
