"""Which files are meant, and how they are read; where results can go."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from swoop.cli.guard import WrongUsage
from swoop.cli.inputs import find_files, format_of
from swoop.cli.output import check_out
from swoop.cli.sets import Tokenizer
from swoop.cli.sources import FolderSource, TopicSource, settings_for


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl", "c.csv", "in/x.parquet", "in/_SUCCESS", "mixed/a.json", "mixed/b.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("id;text\n" if name == "c.csv" else "{}\n")
    Path("empty").mkdir()
    with gzip.open("d.json.gz", "wt") as file:
        file.write('[\n{"id": 1},\n{"id": 2}]')


def test_found() -> None:
    assert find_files(["*.jsonl"]).paths == ("a.jsonl", "b.jsonl")
    assert find_files(["in"]).format == "parquet"
    assert find_files(["d.json.gz"]).options == {"multiLine": True}
    assert find_files(["c.csv"]).options["sep"] == ";"
    assert find_files(["c.csv"], "json").format == "json"
    assert find_files(["s3a://bucket/posts.json"]).paths == ("s3a://bucket/posts.json",)
    assert format_of("A.PARQUET") == "parquet"


@pytest.mark.parametrize(
    ("inputs", "format", "message"),
    [
        (["none.json"], None, "there is no file or folder 'none.json'"),
        (["*.none"], None, "no file matches"),
        (["empty"], None, "is empty"),
        (["mixed"], None, "must be of one format"),
        (["in/_SUCCESS"], None, "cannot infer the format"),
        (["a.jsonl"], "xml", "unknown format 'xml'"),
    ],
)
def test_refused(inputs: list[str], format: str | None, message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        find_files(inputs, format)


@pytest.mark.parametrize("out", ["results.txt", "none/results.csv", "s3://b/r.parquet", "in/", "in"])
def test_out_refused(out: str) -> None:
    with pytest.raises(WrongUsage):
        check_out(out)


@pytest.mark.parametrize("out", [None, "r.csv", "r.PARQUET", "in/r.jsonl", "new/", "empty/", "s3://b/r/"])
def test_out(out: str | None) -> None:
    check_out(out)


@pytest.mark.parametrize("text", ["chars", "word-2", "0-words", "", "sentences"])
def test_no_tokenizer(text: str) -> None:
    with pytest.raises(WrongUsage, match="unknown tokenizer"):
        Tokenizer.read(text)


def test_sources() -> None:
    assert FolderSource.find("in", None, None).first == "in/x.parquet"
    assert FolderSource.find("empty", "json", "id long").first is None
    assert TopicSource.find("kafka://host:1/posts", "latest") == TopicSource("host:1", "posts", "latest")
    assert list(settings_for(["in", "kafka://h:1/t"], None)) == ["spark_jars_packages"]
    assert settings_for(["kafka://h:1/t"], "a.jar") == {"spark_jars": "a.jar"}
    assert settings_for(["in", None], None) == {}
    for call in (
        lambda: FolderSource.find("none", None, None),
        lambda: FolderSource.find("empty", None, None),
        lambda: TopicSource.find("kafka://host", "latest"),
        lambda: TopicSource.find("kafka://host/t", "middle"),
    ):
        with pytest.raises(WrongUsage):
            call()
