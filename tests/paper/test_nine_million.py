"""The worked example finds what brute force finds, on posts that are the same in every run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import swoop
from swoop import oracle
from swoop.paper import nine_million
from tests.support.judge import judge


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few posts, in several windows and batches."""
    monkeypatch.setattr(nine_million, "BATCH", 200)
    monkeypatch.setattr(nine_million, "WAVES", 2)
    monkeypatch.setattr(nine_million, "IN_WAVES", 0.2)
    monkeypatch.setattr(nine_million, "COPIES", 0.1)
    monkeypatch.setattr(nine_million, "WINDOW", "2 seconds")  # 300 posts


@pytest.mark.usefixtures("small")
def test_it_finds_what_brute_force_finds() -> None:
    table = pa.concat_tables(nine_million.posts(700))
    words = swoop.words("text")
    records = [oracle.Record(words(row["text"]) or [], row["time"], row["id"]) for row in table.to_pylist()]
    judged = judge(records, None, nine_million.WINDOW, min_similarity=nine_million.LEAST, copies="once")
    entered = sum(change.kind == "enter" for change in judged.changes)
    born = sum(change.kind == "born" for change in oracle.family_changes(records, nine_million.LEAST, nine_million.WINDOW))
    assert entered > 500
    assert born > 20
    assert nine_million.pairs(nine_million.posts(700)).found == entered
    assert nine_million.families(nine_million.posts(700)).found == born


@pytest.mark.usefixtures("small")
def test_posts_are_the_same_in_every_run() -> None:
    few, many = (pa.concat_tables(nine_million.posts(count)) for count in (300, 500))
    assert few.equals(many.slice(0, 300))
    assert few.num_rows == 300


@pytest.mark.usefixtures("small")
def test_the_table_goes_into_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- measurements -->\n<!-- end of measurements -->\n")
    nine_million.main(["--docs", str(page), "--posts", "300"])
    assert "300 posts in 0.0 hours" in page.read_text()
    nine_million.main(["--posts", "300"])
    assert "| families |" in capsys.readouterr().out
    own = tmp_path / "posts.jsonl"
    own.write_text(
        "".join(f'{{"when": "2024-05-01 12:0{n}:00", "body": "win a free {word} now"}}\n' for n, word in enumerate("aab"))
    )
    nine_million.main(["--posts", str(own)])
    said = capsys.readouterr().out
    assert "3 posts of posts.jsonl in 0:02:00, a window of" in said
    assert "| families | 0 |" in said  # so small a window
