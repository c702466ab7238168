"""``swoop run`` and ``swoop explain`` on files: the results of brute force, and clear words when something is wrong.

Tests of swoop.cli.explain, swoop.cli.output, swoop.cli.progress, swoop.cli.records, swoop.cli.session, swoop.cli.sets.
"""

from __future__ import annotations

import datetime as dt
import json
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
from tests.cli.conftest import BEGIN, history, posts, write_lines
from tests.spark.test_slices import stays_of

pytestmark = pytest.mark.usefixtures("spark")


def swoop(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [str(argument) for argument in arguments])


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value

    return sorted((tuple(map(plain, row.values())) for row in table.to_pylist()), key=repr)


EXPECTED = {"k": 3, "window": "20 s", "similarity": "jaccard"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "posts.jsonl", posts(history()))


def test_json_lines_to_parquet(tmp_path: Path, lines: Path, spark: SparkSession) -> None:
    out = tmp_path / "out.parquet"
    done = swoop("run", lines, "--window", "20s", "-k", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert rows_of(pq.read_table(out)) == stays_of(history(), **EXPECTED)
    assert "using 'id' as id; using 'time' as time; using 'text' as text\nparsing the text in 'time' as times" in done.stderr
    assert f"60 rows, {len(stays_of(history(), **EXPECTED))} stays" in done.stderr
    assert done.stdout.startswith(" 1  jaccard 1.000")
    assert "\x1b" not in done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert spark.range(3).count() == 3  # still there


def test_csv_to_csv(tmp_path: Path) -> None:
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


def test_parquet_to_json(tmp_path: Path) -> None:
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
    assert "nanoseconds since 1970" in done.stderr


def test_integer_times_to_a_folder(tmp_path: Path) -> None:
    rows = [{"id": r.id, "n": int((r.time - BEGIN).total_seconds()), "tokens": list(r.tokens)} for r in history()]  # type: ignore[operator]
    path = write_lines(tmp_path / "sets.ndjson", rows)
    out = f"{tmp_path}/out/"
    done = swoop("run", path, "--time", "n", "-w", 20, "-k", 3, "-s", "cosine", "--out", out, "--no-equal")
    assert done.exit_code == 0, done.output
    records = [type(r)(r.tokens, row["n"], r.id) for r, row in zip(history(), rows, strict=True)]
    assert rows_of(pq.read_table(out)) == stays_of(records, k=3, window=20, similarity="cosine")
    assert "cosine 1.000" not in done.stdout


def test_epochs_and_rejected_rows(tmp_path: Path) -> None:
    rows = [{"id": r.id, "ts": int(r.time.timestamp() * 1000), "text": " ".join(map(str, r.tokens))} for r in history()]  # type: ignore[union-attr]
    path = write_lines(tmp_path / "posts.json", [*rows, {"id": 99, "text": "no time"}])
    done = swoop("run", path, "-w", "20s", "-k", 3, "--tokenizer", "2-words", "--json")
    assert done.exit_code == 0, done.output
    assert "reading the numbers in 'ts' as milliseconds since 1970" in done.stderr
    assert "1 of 61 rows are unusable (1: the time is null)" in done.stderr
    assert json.loads(done.stdout)["rejected"] == {"the time is null": 1}


def test_no_row_can_be_used(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "posts.json", [{"id": 1, "time": "soon", "text": "a"}])
    done = swoop("run", path, "-w", "20s")
    assert done.exit_code == 1
    assert "all rows are unusable" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "tine"), "there is no column 'tine' for --time; columns: 'id', 'text', 'time'. Did you mean 'time'?"),
        (("--window", "1x"), "unknown unit 'x' in the window '1x'"),
        (("--window", "20"), "the window is the number 20, but the times in column 'time' are not integers"),
        (("--window", "0"), "a window must be longer than 0"),
        (("-k", "0"), "-k must be at least 1"),
        (("--similarity", "jacard"), "did you mean 'jaccard'?"),
        (("--min-similarity", "2"), "min_similarity must be from 0 to 1"),
        (("--tokenizer", "verbs"), "unknown tokenizer 'verbs'"),
        (("--out", "results.txt"), "must end with .parquet"),
        (("--show", "-1"), "--show must be from 0"),
        (("--time-unit", "h"), "unknown time unit 'h'"),
        (("--time-unit", "s", "--time-format", "yyyy"), "not both"),
        (("--format", "xml"), "unknown format 'xml'"),
        (("none.json",), "there is no file or folder 'none.json'"),
        (("--no-equal", "-s", "overlap"), "--no-equal is not available for overlap"),
    ],
)
def test_wrong_usage(lines: Path, arguments: tuple[str, ...], message: str) -> None:
    done = swoop("run", lines, *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""


def test_spark_says_no(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("this is no Parquet")
    done = swoop("run", tmp_path / "bad.parquet")
    assert done.exit_code == 1
    assert "Spark says" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("content", "message"), [("", "it is empty"), ("this is no JSON\n", "it contains no JSON object")])
def test_no_columns(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "posts.jsonl").write_text(content)
    done = swoop("run", tmp_path / "posts.jsonl")
    assert done.exit_code == 2
    assert message in done.stderr


def test_explain(tmp_path: Path) -> None:
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


def test_explain_as_it_was_said(tmp_path: Path) -> None:
    """Of two records of the same time, the one that was named first is the newer one; bytes are named by their digits."""
    table = pa.table({"id": [b"\x01\xff", b"\x02"], "time": [7, 7], "tokens": [["a", "b"], ["a"]]})
    pq.write_table(table, tmp_path / "sets.parquet")
    for newer, older in (("01ff", "02"), ("02", "01ff")):
        found = json.loads(swoop("explain", newer, older, tmp_path / "sets.parquet", "--id", "id", "--json").stdout)
        assert (found["newer"]["id"], found["older"]["id"]) == (newer, older)
    done = swoop("run", tmp_path / "sets.parquet", "--id", "id", "--window", 10, "--json")
    assert [pair["newer"]["tokens"] for pair in json.loads(done.stdout)["pairs"]] == [["a"]]
