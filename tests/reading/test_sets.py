"""What is found out about rows from a sample: columns, times, tokens."""

from __future__ import annotations

import datetime as dt
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.reading.columns import Columns
from swoop.reading.dates import ISO, TWITTER
from swoop.reading.files import find_files
from swoop.reading.sets import ReadingOptions, decide, find_kinds, find_tokenizer
from swoop.reading.tables import read_sample
from swoop.times import find_window

DAY, NUMBER = find_window("1 day"), find_window(10)


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def test_posts() -> None:
    sample = table(created_at=["Wed Aug 27 13:08:45 +0000 2008"], id=[1], full_text=["a b"], lang=["en"])
    reading = decide(ReadingOptions(), sample, DAY)
    assert (reading.columns.id, reading.columns.time, reading.columns.text) == ("id", "created_at", ("full_text",))
    assert reading.time == TWITTER
    assert reading.used == ["id", "created_at", "full_text"]
    assert reading.tokens == find_tokenizer("words")
    read = "(Wed Aug 27 13:08:45 +0000 2008 is 2008-08-27 13:08:45)"
    assert f"reading the text in 'created_at' as Twitter's created_at; UTC where no time zone is given {read}" in reading.notes


def test_times_as_they_are() -> None:
    sample = table(id=[1], ts=[dt.datetime(2024, 5, 1)], tokens=[["a"]])
    reading = decide(ReadingOptions(), sample, DAY)
    assert reading.time is None
    assert reading.function is None
    assert reading.tokens == "tokens"


def test_integers() -> None:
    for times in ([1, 2], ["1", "2"]):
        reading = decide(ReadingOptions(), table(id=[1, 2], time=times, text=["a", "b"]), NUMBER)
        assert reading.integers
        assert reading.time is None
    with pytest.raises(InvalidArgument, match="the window is the number 10, but the times in column 'time' are not integers"):
        decide(ReadingOptions(), table(id=[1], time=["x"], text=["a"]), NUMBER)


def test_day_and_month_are_decided_by_all_rows() -> None:
    sample = table(id=[1], date=["1/2/2024"], text=["a"])

    def count(name: str, format: Any) -> int:
        assert name == "date"
        return 9 if format.name == "month/day/year" else 7

    reading = decide(ReadingOptions(), sample, DAY, count)
    assert str(reading.time) == "month/day/year"
    with pytest.raises(InvalidArgument, match="--time-format"):
        decide(ReadingOptions(), sample, DAY, lambda *_: 7)
    with pytest.raises(InvalidArgument, match="--time-format"):
        decide(ReadingOptions(), sample, DAY)


def test_what_columns_look_like() -> None:
    kinds = find_kinds(
        table(a=["1", "2"], b=["2024-05-01", None], c=["some text", "2024"], d=["x" * 50, "1"], e=[None, None], f=["1.5", "2"])
    )
    assert kinds["a"] == "integer"
    assert kinds["b"] == "timestamp"
    assert kinds["c"] == kinds["d"] == "string"


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (table(id=[1], time=["soon"], text=["a"]), 'cannot read the times in column .time., such as "soon"'),
        (table(id=[1], time=pa.array([None], pa.string()), text=["a"]), "has no times in its first rows"),
    ],
)
def test_refused(sample: pa.Table, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        decide(ReadingOptions(), sample, DAY)


def test_columns_of_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for header, name in (("id,time,text, text ", "text"), ("id,time,text,id", "id"), ("id,time,text,time", "time")):
        path.write_text(f"{header}\n1,2,some words,3\n")
        files = find_files([str(path)])
        with pytest.raises(InvalidArgument, match=f"there is more than one column '{name}'; rename one"):
            decide(ReadingOptions(), read_sample(files), NUMBER, files=files)
    path.write_text("id,time,text,note,note,note\n1,2,some words,4,5,6\n")
    files = find_files([str(path)])
    for keep, is_refused in ((), False), (("note",), True), (("note (2)",), False):
        with pytest.raises(InvalidArgument, match="more than one column 'note'") if is_refused else nullcontext():
            decide(ReadingOptions(Columns(keep=keep)), read_sample(files), NUMBER, files=files)


def test_columns_of_the_same_name_in_a_later_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,time,text\n1,2,some words\n")
    (tmp_path / "b.csv").write_text("text,id,time,text\nx,1,2,some words\n")
    files = find_files([str(tmp_path)])
    with pytest.raises(InvalidArgument, match="there is more than one column 'text'; rename one"):
        decide(ReadingOptions(), read_sample(files), NUMBER, files=files)


def test_columns_of_the_same_name_in_a_table() -> None:
    sample = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array(["a"])], names=["id", "time", "text"])
    with pytest.raises(InvalidArgument, match="there is more than one column 'text'; rename one"):
        decide(ReadingOptions(), sample.append_column("text", pa.array(["b"])), NUMBER)


def test_nothing() -> None:
    with pytest.raises(InvalidFile, match="the input has no columns"):
        decide(ReadingOptions(), pa.table({}), DAY)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv has no columns, because it is empty$"),
        ("a.csv", "\n\n", "a.csv has no columns, because it is empty$"),
        ("a.jsonl", "", "a.jsonl has no columns, because it is empty$"),
        ("a.jsonl", "no JSON\n", "a.jsonl has no columns: it is empty, or has no JSON object"),
    ],
)
def test_files_without_columns(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    files = find_files([str(tmp_path / name)])
    with pytest.raises(InvalidFile, match=message):
        decide(ReadingOptions(), read_sample(files), DAY, files=files)


def test_ids_that_repeat_are_told() -> None:
    sample = table(InvoiceNo=["1"] * 8 + ["2"] * 8, time=["2024-05-01"] * 16, text=["a"] * 16)
    (note,) = (note for note in decide(ReadingOptions(), sample, DAY).notes if "repeats" in note)
    assert (
        note
        == "'InvoiceNo' repeats (2 different ids in 16 rows); if such rows are one set, use --group-by InvoiceNo and --tokens"
    )


def test_before_there_are_rows() -> None:
    sample = pa.schema({"id": pa.int64(), "time": pa.string(), "text": pa.string()}).empty_table()
    assert decide(ReadingOptions(), sample, DAY).time == ISO


def test_options() -> None:
    options = ReadingOptions.find(Columns(), "3-chars", None, "%d.%m.%Y", 2)
    assert options.tokenizer.n == 3
    assert options.time_format is not None
    for tokenizer in ("chars", "word-2", "0-words", "", "sentences"):
        with pytest.raises(InvalidArgument, match="unknown tokenizer"):
            find_tokenizer(tokenizer)
    with pytest.raises(InvalidArgument, match="at least 0"):
        ReadingOptions.find(Columns(), "words", None, None, -1)


@pytest.mark.parametrize(
    ("encoding", "hint"), [("utf-16-le", "Columns: .n\xfamero"), ("latin-1", "--encoding cp1252"), ("utf-8", "Columns: [^-]*$")]
)
def test_columns_that_are_not_found_may_be_of_another_encoding(tmp_path: Path, encoding: str, hint: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("n\xfamero,\xe9poca\n1,caf\xe9\n2,th\xe9\n".encode(encoding))
    files = find_files([str(path)])
    with pytest.raises(InvalidArgument, match=hint):
        decide(ReadingOptions(), read_sample(files), None)


def test_zero_bytes_may_be_of_another_encoding() -> None:
    with pytest.raises(InvalidArgument, match="--encoding utf-16-le or utf-16-be"):
        decide(ReadingOptions(), table(**{"\x04\x38\0": ["x"]}), None)
