"""The page to keep shows texts as texts."""

from __future__ import annotations

from pathlib import Path

import swoop
from swoop.demo.report import write_report


def test_hostile_texts(tmp_path: Path) -> None:
    join = swoop.TopKJoin(1, 10, track_changes=True)
    for time in range(3):
        join.insert(["a", "b"], time, id="<script>alert(1)</script>")
    pairs = [(pair, "<script>alert(1)</script> a & b", None) for pair in join.topk()]
    write_report(tmp_path / "page.html", "A <b>summary</b>.", pairs, join.changes())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "A &lt;b&gt;summary&lt;/b&gt;." in page
    assert "<svg" in page
