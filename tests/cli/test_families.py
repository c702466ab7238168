"""``swoop run --families``, in process and on Spark: the same groups, in a file and for people.

Tests of swoop.cli.family_render.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.support.command_line import Swoop, history, posts, run, write_lines


def test_records_of_families_come_along(tmp_path: Path, swoop: Swoop) -> None:
    lines = write_lines(tmp_path / "posts.jsonl", [{**row, "author": f"author {row['id']}"} for row in posts(history())])
    done = swoop("run", lines, "-w", "20s", "--families", 0.6, "--keep", "author", "--out", tmp_path / "out.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert found
    assert all(row["representative_author"] == f"author {row['representative']}" for row in found)


def test_families(tmp_path: Path, swoop: Swoop) -> None:
    rows = [{"id": f"p{n}", "time": f"2024-05-01 12:00:{n:02}", "text": f"Win a phone now {'!' * (n % 3)}"} for n in range(30)]
    rows += [{"id": f"q{n}", "time": f"2024-05-01 12:01:{n:02}", "text": f"win a phone, {word}"} for n, word in enumerate("ab")]
    rows.append({"id": "single", "time": "2024-05-01 12:02:00", "text": "Lovely morning"})
    path, out = write_lines(tmp_path / "posts.jsonl", rows), tmp_path / "families.csv"
    done = swoop("run", path, "--families", 0.6, "-w", "20s", "--out", out)
    assert done.exit_code == 0, done.output
    assert "30 records, 3 different texts, from 1 May 2024 12:00:00 to 12:00:29 UTC, first p0" in " ".join(done.stdout.split())
    assert "10 × Win a phone now !!" in " ".join(done.stdout.split())
    assert "33 rows, 2 families from jaccard 0.6 on of a window of 20s" in done.stderr
    assert out.read_text().splitlines()[0] == '"id","total","first_seen","last_seen","representative"'
    told = json.loads(swoop("run", path, "--families", 0.6, "-w", "20s", "--json").stdout)
    assert told["rejected"] == []
    assert [(family["id"], family["total"]) for family in told["largest"]] == [("p0", 30), ("q0", 2)]
    assert told["largest"][0]["contents"][0] == {"count": 10, "text": "Win a phone now "}


def test_families_whose_ids_repeat(tmp_path: Path) -> None:
    """Single sets that are called like a family are not of it."""
    rows = [{"id": n % 3, "time": f"2024-05-01 12:00:{n:02}", "text": f"win a phone {n // 15}"} for n in range(30)]
    rows += [{"id": 0, "time": f"2024-05-01 12:01:{n:02}", "text": f"a{n} b{n}"} for n in range(5)]
    path = write_lines(tmp_path / "posts.jsonl", rows)  # type: ignore[arg-type]
    told = json.loads(run("run", path, "--families", 0.9, "-w", "1 min", "--json").stdout)
    found = [(family["id"], family["total"], sum(c["count"] for c in family["contents"])) for family in told["largest"]]
    assert found == [(0, 15, 15), (0, 15, 15)]


def test_both_ways_find_the_same_families(tmp_path: Path, spark: SparkSession) -> None:
    """In a file as on the screen: texts, line items, rows that cannot be used, and none at all."""
    rows = [*posts(history()), {"id": None, "time": "2024-05-01", "text": "x"}]
    texts = write_lines(tmp_path / "posts.jsonl", rows)
    items = tmp_path / "items.csv"
    items.write_text("no,at,item\n" + "".join(f"{r.id},{r.time},{t}\n" for r in history() for t in r.tokens))
    bad = write_lines(tmp_path / "bad.jsonl", [{"id": 1, "time": "2024-05-01", "text": None}])
    for path, options in ((texts, ()), (items, ("--group-by", "no", "--tokens", "item", "--time", "at")), (bad, ())):
        found = []
        for where in ((), ("--spark",)):
            out = tmp_path / "out.csv"
            done = run("run", path, "--families", 0.5, "-w", "20s", "--out", out, "--show", 5, *options, *where)
            assert isinstance(done.exception, SystemExit | None), done.exception
            found.append((done.exit_code, "rows cannot be used" in done.stderr, done.stdout, out.read_text()))
        assert found[0] == found[1]
        assert path == bad or len(found[0][3].splitlines()) > 5
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().isEmpty()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--families", "1.5"), "--families: min_similarity must be from 0 to 1 for jaccard, not 1.5"),
        (("--families", "0.5", "--min-similarity", "0.5"), "leave out --min-similarity"),
        (("--families", "0.5", "-k", "all"), "finds groups from this similarity on, not pairs; leave out -k"),
        (("--families", "0.5", "--no-equal"), "leave out --no-equal"),
        (("--families", "0.5", "--copies", "each"), "leave out --copies"),
        (("--window", "0"), "a window must be longer than 0: give another --window than 0"),
        (("--families", "0.5", "--stream", "id"), "families are of one stream; leave out --stream"),
        (("--copies", "twice"), "copies must be 'each'"),
    ],
)
def test_wrong_families_and_copies(lines: Path, options: tuple[str, ...], message: str) -> None:
    done = run("run", lines, *options)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
