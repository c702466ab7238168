"""Which files are meant, and how their bytes are written."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.reading.files import Dialect, find_dialect, find_files, format_of, format_of_bytes, unique


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "a.jsonl",
        "b.jsonl",
        "c.csv",
        "in/x.parquet",
        "in/_SUCCESS",
        "mixed/a.json",
        "mixed/b.csv",
        "d/day=1/x.json",
        "book.xlsx",
    ):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text("id;text\n1;a\n" if name == "c.csv" else "{}\n")
    Path("empty").mkdir()
    with gzip.open("d.json.gz", "wt") as file:
        file.write('[\n{"id": 1},\n{"id": 2}]')


def test_a_spreadsheet_by_another_name() -> None:
    Path("c.csv").write_bytes(b"PK\x03\x04\x14")
    with pytest.raises(InvalidFile, match=r"c\.csv is a spreadsheet or a zip file, whatever its name says; save it as CSV"):
        find_files(["c.csv"])


def test_found() -> None:
    assert find_files(["*.jsonl"]).paths == ("a.jsonl", "b.jsonl")
    assert find_files(["in"]).format == "parquet"
    assert find_files(["in"]).inputs == ("in",)
    assert find_files(["d.json.gz"]).dialect.is_array
    assert find_files(["c.csv"]).dialect == Dialect("utf-8", ";", ("id", "text"), 1)
    assert find_files(["c.csv"], "json").format == "json"
    assert find_files(["s3a://bucket/posts.json"]).inputs == ("s3a://bucket/posts.json",)
    assert format_of("A.PARQUET") == "parquet"


def test_names_that_look_like_addresses() -> None:
    """A file that is here is meant, even if its name begins like an address."""
    Path("posts:1.jsonl").write_text("{}\n")
    for inputs in (["posts:1.jsonl"], ["posts:*.jsonl"], ["*:1.jsonl"], [f"file:{Path.cwd()}/posts:1.jsonl"]):
        files = find_files(inputs)
        assert files.why_spark is None
        assert [Path(path).resolve() for path in files.paths] == [Path("posts:1.jsonl").resolve()]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (["a.jsonl"], None),
        (["in"], None),
        (["s3a://bucket/posts.json"], "s3a://bucket/posts.json is not on this machine"),
        (["a.jsonl", "dbfs:/posts.json"], "dbfs:/posts.json is not on this machine"),
        (["d"], "folders hold columns (d/day=1/x.json)"),
    ],
)
def test_what_only_spark_reads(inputs: list[str], why: str | None) -> None:
    assert find_files(inputs).why_spark == why


@pytest.mark.parametrize(
    ("inputs", "format", "message"),
    [
        (["none.json"], None, "there is no file or folder 'none.json'"),
        (["*.none"], None, "no file matches"),
        (["empty"], None, "is empty"),
        (["mixed"], None, "must be of one format"),
        (["in/_SUCCESS"], None, "cannot infer the format"),
        (["book.xlsx"], None, "is a spreadsheet; save it as CSV first"),
        (["a.jsonl"], "xml", "unknown format 'xml'"),
    ],
)
def test_refused(inputs: list[str], format: str | None, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        find_files(inputs, format)


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"PAR1..", "parquet"),
        (b' \n{"id": 1}', "json"),
        (b"[1]", "json"),
        (codecs.BOM_UTF8 + b"{}", "json"),
        (b"id,text", "csv"),
    ],
)
def test_formats_without_a_name(data: bytes, format: str) -> None:
    assert format_of_bytes(data) == format


@pytest.mark.parametrize(
    ("text", "separator", "names", "header_lines"),
    [
        ("id,text\n1,a;b;c\n2,d;e;f\n", ",", ("id", "text"), 1),
        ("id;text\n1;a, b\n", ";", ("id", "text"), 1),
        ("id\ttext\n1\ta\n", "\t", ("id", "text"), 1),
        ('"id|x"|text\n1|a\n', "|", ("id|x", "text"), 1),
        ('id,"two\nlines"\n1,a\n', ",", ("id", "two\nlines"), 2),
        ("1,2024-05-01,a\n2,2024-05-02,b\n", ",", ("column1", "column2", "column3"), 0),
        ("text\nhello\n", ",", ("text",), 1),
        ("", ",", (), 0),
    ],
)
def test_csv(text: str, separator: str, names: tuple[str, ...], header_lines: int) -> None:
    dialect, _ = find_dialect("csv", text.encode())
    assert dialect == Dialect("utf-8", separator, names, header_lines)


def test_a_missing_header_is_told() -> None:
    _, notes = find_dialect("csv", b"1,2024-05-01,a\n2,2024-05-02,b\n")
    assert notes == ("there is no header: columns are called column1 to column3",)


def test_encodings() -> None:
    text = "id,text\n1,caf\u00e9\n"
    assert find_dialect("csv", text.encode()) == (Dialect("utf-8", ",", ("id", "text"), 1), ())
    assert find_dialect("csv", codecs.BOM_UTF8 + text.encode())[0].names == ("id", "text")
    dialect, notes = find_dialect("csv", text.encode("utf-16"))
    assert (dialect.encoding, dialect.names, notes) == ("utf-16", ("id", "text"), ("reading the input as utf-16",))
    dialect, notes = find_dialect("csv", text.encode("cp1252"))
    assert dialect.encoding == "utf-8"
    assert "not UTF-8 (byte 0xe9 at 13)" in notes[0]
    assert "--encoding cp1252" in notes[0]
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32"):
        dialect, notes = find_dialect("csv", text.encode(encoding))
        assert (dialect.encoding, dialect.names, notes) == (encoding, ("id", "text"), (f"reading the input as {encoding}",))
        assert find_dialect("csv", text.encode(encoding), "utf-16")[0] == dialect
    assert find_dialect("csv", text.encode("utf-16"), "utf-16-le")[0].encoding == "utf-16-le"
    assert find_dialect("csv", b"\0\0\0\0")[0].encoding == "utf-8"
    assert find_dialect("csv", text.encode("cp1252"), "Windows-1252") == (Dialect("cp1252", ",", ("id", "text"), 1), ())


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("csv", {"encoding": "utf-9"}, "unknown encoding 'utf-9'"),
        ("csv", {"encoding": "base64"}, "unknown encoding 'base64'"),
        ("csv", {"separator": "\u00e9"}, "must be one ASCII character"),
        ("csv", {"separator": "::"}, "must be one ASCII character"),
        ("json", {"separator": ";"}, "is for CSV"),
        ("parquet", {"encoding": "utf-8"}, "is for CSV and JSON"),
    ],
)
def test_refused_dialects(format: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        find_dialect(format, b"", **options)


def test_names_are_unique() -> None:
    assert unique(["a", "a", " a ", "b"]) == ("a", "a (2)", "a (3)", "b")
    assert len(set(unique(["a (2)", "a", "a", "a", "a (2)", "", "column6"]))) == 7
    assert len(set(unique(["c"] * 10_000))) == 10_000
