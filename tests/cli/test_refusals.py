"""What ``swoop run`` refuses: clear words and the right exit code, no traceback, and nothing is overwritten."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path

import pytest

from tests.support.command_line import history, posts, run, write_lines


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
        ("a.csv", b"id,time,text\n1,2024-05-01,x\n", ("--encoding", "utf-16"), "utf-16-le or utf-16-be"),
        ("a.csv", b"text,time,text\na,2024-05-01,x\n", (), "there is more than one column 'text'; rename one"),
    ],
)
def test_no_traceback(tmp_path: Path, name: str, data: bytes, options: tuple[str, ...], message: str) -> None:
    (tmp_path / name).write_bytes(data)
    done = run("run", tmp_path / name, *options, "--rejected", tmp_path / "rejected.jsonl")
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert message in " ".join(done.stderr.split())


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
