"""Local files as tables: every format gives the same rows, and what cannot be read costs one row, not the file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.reading.files import find_files
from swoop.reading.tables import column_of, read_batches, read_sample, schema_for

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": 'he said "hi", and\nleft', "meta": {"lang": "en"}},
    {"id": "2", "text": "caf\u00e9; \U0001f600", "meta": {"lang": "fr"}},
    {"id": "3", "text": None, "meta": None},
]


def write_csv(path: Path, encoding: str = "utf-8", separator: str = ",", order: tuple[str, ...] = ("id", "text")) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(order)
    writer.writerows([row[name] for name in order] for row in ROWS)
    path.write_bytes(out.getvalue().encode(encoding, "replace"))


def rows_of(*inputs: object, columns: tuple[str, ...] = ("id", "text"), **options: Any) -> list[tuple[Any, ...]]:
    files = find_files([str(name) for name in inputs], **options)
    found = []
    for batch in read_batches(files, schema_for(columns, read_sample(files).schema)):
        assert batch.reasons.null_count == len(batch.reasons)
        found += zip(*(column_of(batch.rows, name).to_pylist() for name in columns), strict=True)
    return found


EXPECTED = [(row["id"], row["text"]) for row in ROWS]


def test_all_formats_agree(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv")
    write_csv(tmp_path / "b.csv", "utf-16", ";")
    write_csv(tmp_path / "b2.csv", "utf-16-be")
    write_csv(tmp_path / "b3.csv", "utf-32")
    write_csv(tmp_path / "c.tsv", "utf-8-sig", "\t")
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "e.json").write_text(json.dumps(ROWS, indent=1))
    (tmp_path / "f.jsonl").write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode("utf-16"))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "g.parquet")
    with gzip.open(tmp_path / "h.csv.gz", "wb") as file:
        file.write((tmp_path / "a.csv").read_bytes())
    for path in sorted(tmp_path.iterdir()):
        assert rows_of(path) == EXPECTED, path.name


def test_fields_of_columns(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "g.parquet")
    for name in ("d.jsonl", "g.parquet"):
        assert rows_of(tmp_path / name, columns=("meta.lang", "id")) == [("en", "1"), ("fr", "2"), (None, "3")]


def test_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,text\n1,caf\u00e9\n2,na\u00efve\n".encode("cp1252"))
    assert rows_of(tmp_path / "a.csv", encoding="cp1252") == [("1", "caf\u00e9"), ("2", "na\u00efve")]


def test_bytes_that_the_encoding_does_not_have_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,a\x81b\n")  # not in cp1252
    files = find_files([str(tmp_path / "a.csv")], encoding="cp1252")
    (batch,) = read_batches(files, read_sample(files).schema)
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        batch.rows.validate(full=True)


def test_files_with_other_orders_of_columns(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv")
    write_csv(tmp_path / "b.csv", order=("text", "id"))
    (tmp_path / "c.csv").write_text("id,other\n9,x\n")
    assert rows_of(tmp_path / "*.csv") == [*EXPECTED, *EXPECTED, ("9", None)]


def test_parquet_files_with_other_types(tmp_path: Path) -> None:
    for name, ids in (("a", pa.array([1], pa.int64())), ("b", pa.array([2], pa.int32())), ("c", pa.array(["x"]))):
        pq.write_table(pa.table({"id": ids, "text": [name]}), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"id": [3]}), tmp_path / "d.parquet")
    assert rows_of(tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "d.parquet") == [(1, "a"), (2, "b"), (3, None)]
    with pytest.raises(InvalidData, match="column 'id' has type string in .*c.parquet, but int64 in the first file"):
        rows_of(tmp_path / "a.parquet", tmp_path / "c.parquet")


def test_rows_of_the_wrong_length(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,a\n2,b,c\n3\n4,d\n")
    files = find_files([str(tmp_path / "a.csv")])
    batches = list(read_batches(files, read_sample(files).schema))
    assert [row["id"] for batch in batches for row in batch.rows.to_pylist()] == ["1", "4", None, None]
    assert batches[-1].reasons.to_pylist() == ['row: 3 values instead of 2 "2,b,c"', 'row: 1 value instead of 2 "3"']


def test_damaged_files(tmp_path: Path) -> None:
    whole = gzip.compress(b"id,text\n1,a\n" * 1000)
    for name, data in (
        ("a.csv.gz", whole[:-9]),
        ("b.csv.gz", b"id,text\n1,a\n"),
        ("c.csv.gz", whole[:20] + b"?" * 20 + whole[40:]),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidFile, match=f"{name} is damaged, or not compressed as its name says"):
            rows_of(tmp_path / name)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "d.csv")
    with pytest.raises(InvalidFile, match="d.csv is a Parquet file"):
        rows_of(tmp_path / "d.csv")
    (tmp_path / "e.csv").write_bytes(b"id,text\n1,a\n")
    with pytest.raises(InvalidFile, match="e.csv cannot be read: UTF-16 stream"):
        rows_of(tmp_path / "e.csv", encoding="utf-16")


def test_long_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,text\n1,{'x' * 6_000_000}\n2,b\n")
    (tmp_path / "a.jsonl").write_text(f'{{"id": "1", "text": "{"x" * 6_000_000}"}}\n{{"id": "2", "text": "b"}}\n')
    for name in ("a.csv", "a.jsonl"):
        assert [(number, len(text)) for number, text in rows_of(tmp_path / name)] == [("1", 6_000_000), ("2", 1)]


def test_columns_of_the_same_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    with pytest.raises(InvalidArgument, match="there is more than one column 'id'"):
        schema_for(["id"], table.schema)


def test_ends_of_lines(tmp_path: Path) -> None:
    for name, end in (("a", "\n"), ("b", "\r\n"), ("c", "\r")):
        (tmp_path / f"{name}.csv").write_bytes(end.join(["id,text", "1,a", "2,b", ""]).encode())
        assert rows_of(tmp_path / f"{name}.csv") == [("1", "a"), ("2", "b")]


def test_bytes_of_another_encoding_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,caf\xe9\n2,b\n")
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "1", "text": "caf\xe9"}\n{"id": "2", "text": "b"}\n')
    for name in ("a.csv", "a.jsonl"):
        files = find_files([str(tmp_path / name)])
        assert "--encoding cp1252" in files.notes[0]
        sample = read_sample(files)
        assert sample.column("text").to_pylist() == ["caf\ufffd", "b"]
        assert sum(batch.rows.num_rows for batch in read_batches(files, sample.schema)) == 2


def test_the_first_file_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("id;text\n1;a\n")
    (tmp_path / "README.txt").write_text("what this is")
    assert rows_of(tmp_path) == [("1", "a")]
    assert find_files([str(tmp_path)]).notes[0].startswith("leaving out ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.parquet", b"this is no Parquet", "cannot be read as Parquet"),
        ("bad.json", b"[{", "begins like a JSON array, but is none"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidFile, match=message):
        rows_of(tmp_path / name)


def test_empty_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n")
    (tmp_path / "b.csv").write_text("")
    assert rows_of(tmp_path / "a.csv") == []
    assert read_sample(find_files([str(tmp_path / "b.csv")])).num_columns == 0
    with pytest.raises(InvalidArgument, match="there is no column 'text'"):
        rows_of(tmp_path / "b.csv", columns=("text",))


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.text(max_size=5), st.text(max_size=12)), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], separator: str
) -> None:
    """What Python's writer of CSV writes, with every value in quotes."""
    keep = [(a.replace("\0", ""), b.replace("\0", "")) for a, b in rows]
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerow(["id", "text"])
        writer.writerows(keep)
    assert rows_of(path, separator=separator) == [(a or None, b or None) for a, b in keep]
