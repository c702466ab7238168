"""Kept columns in files: values survive saving, and a file that cannot be right is refused when it is loaded."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import swoop
from swoop.errors import InvalidFile
from swoop.join.storage import EARLIER


def test_values_of_many_types_survive_saving(tmp_path: Path) -> None:
    values = {
        "when": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        "day": dt.date(2024, 5, 1),
        "price": 1.5,
        "paid": True,
        "tags": ["a", None],
        "from": {"city": "Graz", "zip": 8010},
        "raw": b"\xff",
        "nothing": None,
    }
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1, record=values)
    join.insert(["a"], 2, record={**values, "nothing": "something"})
    join.save(tmp_path / "join")
    for one in (join, swoop.TopKJoin.load(tmp_path / "join")):
        (pair,) = one.topk()
        assert pair.older_record == values
        assert pair.newer_record == {**values, "nothing": "something"}


def test_files_without_kept_columns_are_as_before(tmp_path: Path) -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1)
    join.save(tmp_path / "join")
    with zipfile.ZipFile(tmp_path / "join") as archive:
        assert json.loads(archive.read("settings.json"))["version"] == EARLIER
        assert archive.namelist() == ["settings.json", "window.arrow", "changes.arrow"]


def stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (None, "kept.arrow"),
        (pa.table({"text": ["x"]}), "1 rows instead of 2"),
        (pa.table({"copies": ["x", "y"]}), "'copies' cannot be kept"),
        (pa.table({"other": ["x", "y"]}), "kept_newer.arrow has other columns than kept.arrow"),
        (pa.table({"text": pa.array(["x", "y"]).dictionary_encode()}), "message 1 is a dictionary"),
        (pa.table({"text": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])}), "never kept"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(tmp_path: Path, rows: pa.Table | None, match: str) -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert_many({"tokens": [["a"], ["a"]], "time": [1, 2], "text": ["x", "y"]}, keep=["text"])
    join.save(tmp_path / "join")
    change_kept(tmp_path / "join", {"kept.arrow": rows})
    with pytest.raises(InvalidFile, match=match):
        swoop.TopKJoin.load(tmp_path / "join")


def change_kept(path: Path, changed: dict[str, pa.Table | None]) -> None:
    """Replace some members of a saved join, or remove them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in changed}
    members |= {name: stream_of(rows) for name, rows in changed.items() if rows is not None}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "values",
    [
        *(
            pa.array([1, 2], pa.timestamp("us", zone))
            for zone in ("Mars/Olympus", "+99:00", "-01:99", "../../etc/passwd", "\N{BULLET}")
        ),
        pa.array([[1], [2]], pa.list_(pa.timestamp("s", "Mars/Olympus"))),
        pa.array([-1, 5], pa.int32()).view(pa.time32("s")),
        pa.array([5, 2**60]).view(pa.time64("us")),
    ],
    ids=lambda values: str(values.type),
)
def test_files_with_impossible_times_are_refused(tmp_path: Path, values: pa.Array) -> None:
    """When they are loaded, not when somebody reads the results."""
    data = {"tokens": [["a"], ["a"]], "time": [1, 2], "x": ["p", "q"]}
    for join in (swoop.TopKJoin(k=1, window=10), swoop.Families(0.5, window=10, track_changes=False)):
        join.insert_many(data, keep=["x"])
        join.save(tmp_path / "join")
        with zipfile.ZipFile(tmp_path / "join") as archive:
            kept = [name for name in archive.namelist() if name.startswith("kept")]
        change_kept(tmp_path / "join", {name: pa.table({"x": values[: 2 if name == "kept.arrow" else 0]}) for name in kept})
        with pytest.raises(InvalidFile, match="never kept|not within the acceptable range"):
            type(join).load(tmp_path / "join")
