"""The page to keep shows texts as texts, waves once, and what differs in them.

Tests of swoop.demo.waves.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import swoop
from swoop.demo.report import write_report
from swoop.demo.waves import Texts, Waves
from swoop.look import COLOURS
from tests.support.posts import Posts
from tests.support.waves import SAME
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
    assert "20 posts, the same text, from 12:00:00 to 12:00:57 UTC" in page
    assert "20 posts, 2 different texts" in page
    assert "<mark>tonight</mark>" in page
    assert "win a <mark>phone</mark></bdi> <small>2 copies</small>" in page
    assert page.count("<svg") == 2


def test_charts_name_texts_and_zones_and_follow_the_colours_of_the_page(tmp_path: Path) -> None:
    source, posts, texts = Source("1 min"), Posts(k=5), Texts()
    posts.rows = 1000  # so that no number is of two texts
    for _ in range(60):
        source.post()
        posts.post()
        texts.look(posts, source)
    write_report(tmp_path / "page.html", "A summary.", [], [], posts.changes(), source.changes(), texts.of)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    families, pairs = re.findall("<figure>(.*?)</figure>", page, re.DOTALL)
    shown = [re.findall(r">([^<>]+)</text>", chart) for chart in (families, pairs)]
    assert SAME[:43] + "…" in shown[0]
    assert all("UTC" in labels for labels in shown)
    labels = [label for label in shown[1] if " ~ " in label]
    assert labels
    assert not any(re.fullmatch(r"\d+ ~ \d+", label) for label in labels)
    beginnings = {text if len(text) <= 22 else text[:21] + "…" for text in posts.said.values()}
    assert all(part.strip() in {text.strip() for text in beginnings} for label in labels for part in label.split(" ~ "))
    for chart in (families, pairs):
        width = float(re.search(r'<svg[^>]* width="([\d.]+)"', chart)[1])  # type: ignore[index]
        assert width > 700  # of which the bars take 460
        used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', chart))
        followed = {light for light, _ in COLOURS.values()}
        assert used - followed <= {"#c07a1c"}  # amber, which is seen on both grounds
    for name, (light, _) in COLOURS.items():
        assert f'svg [fill="{light}"] {{ fill: var(--{name}); }}' in page
