"""``swoop run`` on files, in process and on Spark: the results of brute force, whatever the files look like.

Tests of swoop.cli.history, swoop.cli.in_process, swoop.cli.on_spark, swoop.cli.progress, swoop.cli.session,
swoop.cli.standard_input, swoop.cli.where.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from swoop.cli.in_process import why_not
from swoop.reading.files import find_files
from tests.support.command_line import BEGIN, EXPECTED, Swoop, history, posts, rows_of, run, write_lines
from tests.support.slices import stays_of


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


def test_both_ways_write_and_show_the_same(tmp_path: Path, lines: Path, spark: SparkSession) -> None:
    """Also pairs that are as similar as others, of which those that share more come first, then the earlier ones."""
    written = []
    for where in ((), ("--spark",)):
        out = tmp_path / "out.csv"
        done = run("run", lines, "-w", "20s", "-k", 5, "--show", 40, "--out", out, *where)
        assert done.exit_code == 0, done.output
        written.append((out.read_text(), done.stdout))
    assert written[0] == written[1]


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


def test_what_does_not_fit_into_memory(lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(find_files([str(lines)])) is None
    monkeypatch.setattr("swoop.cli.in_process._memory", lambda: 1000)
    assert "of memory" in str(why_not(find_files([str(lines)])))


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
