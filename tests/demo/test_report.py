"""The page to keep shows texts as texts, waves once, and what differs in them.

Tests of swoop.demo.waves.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import swoop
from swoop.demo.report import write_report
from swoop.demo.waves import Waves
from tests.support.waves import Waves as Source


def test_hostile_texts(tmp_path: Path) -> None:
    join = swoop.TopKJoin(1, 10, track_changes=True)
    for time in range(3):
        join.insert(["a", "b"], time, id="<script>alert(1)</script>")
    pairs = [(pair, "<script>alert(1)</script> a & b \u202egnorw", None) for pair in join.topk()]
    families = swoop.Families(0.5, 10)
    for time in range(3):
        families.insert(["a", "b"], time, id="<script>alert(1)</script>")
    write_report(tmp_path / "page.html", "A <b>summary</b>.", [], pairs, join.changes(), families.changes())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;U+202E&gt;gnorw" in page
    assert "A &lt;b&gt;summary&lt;/b&gt;." in page
    assert "<svg" in page


def test_a_wave_is_remembered_as_it_was_when_it_was_largest(tmp_path: Path) -> None:
    source, waves = Source("1 min"), Waves()
    for _ in range(60):
        source.post()
        waves.look(source)
    family = waves.largest(1)[0].family
    assert (family.id, family.size) == (0, 20)
    changes = source.changes()
    source.families_of.advance(source.time + dt.timedelta(seconds=55))
    waves.look(source)
    assert [wave.family.size for wave in waves.largest()] == [20, 20]
    join = swoop.TopKJoin(1, 10, copies="once", track_changes=True)
    for time, text in enumerate(["win a phone", "win a phone", "win a car"]):
        join.insert(text.split(), time, id=text)
    pairs = [(pair, str(pair.newer), str(pair.older)) for pair in join.topk()]
    write_report(tmp_path / "page.html", "A summary.", waves.largest(), pairs, join.changes(), changes)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "20 posts, the same text, from 12:00:00 to 12:00:57" in page
    assert "20 posts, 2 different texts" in page
    assert "<mark>tonight</mark>" in page
    assert "win a <mark>phone</mark></bdi> <small>2 copies</small>" in page
    assert page.count("<svg") == 2
