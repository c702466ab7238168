"""Values that Python does not have stop nothing: results, files, rejected rows and saved joins tell them as texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import swoop
from swoop.cli.app import app
from swoop.errors import InvalidData
from swoop.live.ahead import rejected_rows
from swoop.readable import rows_of, to_pandas, values_of
from swoop.spreadsheets import for_spreadsheets

WILD = [
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.timestamp("us", "Europe/Vienna"),
    pa.duration("s"),
    pa.date64(),
]
"""Types with values that Python's datetime has not."""


@given(st.sampled_from(WILD), st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=5), st.booleans())
def test_every_value_is_there_or_told(kind: pa.DataType, numbers: list[int | None], nested: bool) -> None:
    days = 86_400_000 if pa.types.is_date64(kind) else 1
    column = pa.array([n if n is None else n // days * days for n in numbers], pa.int64()).cast(kind)
    if nested:
        column = pa.StructArray.from_arrays([column], ["inner"])
    table = pa.table({"x": column, "y": pa.nulls(len(column))})
    rows = rows_of(table)
    assert [row["x"] for row in rows] == values_of(column)
    assert len(rows) == len(numbers)
    for place, row in enumerate(rows):
        try:
            assert row == {"x": column[place].as_py(), "y": None}
        except (OverflowError, ValueError):
            told = row["x"]["inner"] if nested else row["x"]
            assert isinstance(told, str)
            assert told
    assert for_spreadsheets(table).num_rows == len(numbers)
    assert len(rejected_rows(table)) == len(numbers)


@pytest.mark.parametrize("kind", [*WILD[:2], pa.date32()])
def test_results_show_them(kind: pa.DataType, tmp_path: Path) -> None:
    wild: Any = pa.array([2**30, 1], pa.int32()).cast(kind) if kind == pa.date32() else pa.array([2**60, 1], kind)
    join = swoop.TopKJoin(k=1, window=10, track_changes=True)
    join.insert_many(pa.table({"tokens": [["a"], ["a"]], "time": [1, 2], "x": wild}), keep="x")
    join.save(tmp_path / "join.swoop")
    for one in (join, swoop.TopKJoin.load(tmp_path / "join.swoop")):
        (pair,) = one.topk()
        assert pair.older_record is not None
        assert "out of range" in pair.older_record["x"]
        assert "out of range" in one.topk()._repr_html_()
        assert len(one.topk().to_pandas()) == len(one.topk().to_polars()) == 1
        assert [change.pair.older_record for change in one.changes()] == [pair.older_record]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.date32(), pa.timestamp("us", "localtime")])
def test_data_frames_have_them_also_within_others(kind: pa.DataType) -> None:
    plain: Any = pa.array([2**30, 1], pa.int32()).cast(kind) if kind == pa.date32() else pa.array([2**60, 1], kind)
    rows = pa.StructArray.from_arrays([plain, pa.array(["a", "b"])], ["inner", "text"])
    lists = pa.ListArray.from_arrays([0, 1, 2], plain)
    maps = pa.MapArray.from_arrays([0, 1, 2], ["a", "b"], plain)
    table = pa.table({"number": [1, 2], "plain": plain, "row": rows, "list": lists, "map": maps})
    frame = to_pandas(table)
    wild, tame = values_of(plain)
    assert re.fullmatch("<value out of range: [0-9]+>", wild)
    assert frame["number"].dtype == "int64"
    assert frame["plain"][0] == wild or kind == pa.timestamp("us")  # which pandas has
    assert frame["row"].tolist() == [{"inner": wild, "text": "a"}, {"inner": tame, "text": "b"}]
    assert [list(row.values()) for row in rows_of(table)] == [
        [1, wild, {"inner": wild, "text": "a"}, [wild], [("a", wild)]],
        [2, tame, {"inner": tame, "text": "b"}, [tame], [("b", tame)]],
    ]


def test_unknown_zones_are_refused_before_anything_changes() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    times = pa.array([1, 2], pa.timestamp("s", "Mars/Olympus"))
    with pytest.raises(InvalidData, match="Mars/Olympus"):
        join.insert_many(pa.table({"tokens": [["a"], ["a"]], "time": [1, 2], "x": times}), keep="x")
    assert join.stats.sets == 0


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_files_with_them_are_read_and_written(ending: str, tmp_path: Path) -> None:
    times = pa.array([10**9, 2**50, 10**9 + 5, None], pa.timestamp("ms"))
    seen = pa.array([2**60, 2**60, 3, 2**60], pa.timestamp("us"))
    pq.write_table(
        pa.table({"id": [1, 2, 3, 4], "time": times, "text": ["a b", "a b", "a b c", "x"], "seen": seen}),
        tmp_path / "p.parquet",
    )
    out, rejected = tmp_path / f"out.{ending}", tmp_path / "rejected.jsonl"
    options = ["--window", "1d", "--keep", "seen", "--out", str(out), "--rejected", str(rejected)]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "p.parquet"), *options])
    assert done.exit_code == 0, done.output
    assert out.stat().st_size
    rows = [json.loads(line) for line in rejected.read_text().splitlines()]
    assert [row["reason"] for row in rows] == ['time: out of range "1125899906842624"', "the time is null"]
    assert "1152921504606846976" in rows[1]["row"]
