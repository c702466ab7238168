"""``swoop explain``: what two records share, and what only one of them has."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.command_line import Swoop, write_lines


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
