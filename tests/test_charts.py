"""Tables and charts of results: what they show, that text stays text, and that they do without altair until it is needed."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
from typing import Any

import pytest

import swoop
from swoop import charts
from swoop.errors import InvalidArgument

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u202egnorw\x1b"


def small_join(times: str = "integers", similarity: str = "jaccard", k: int = 3, **options: Any) -> swoop.TopKJoin:
    """Six sets, one per hour or per number."""
    zone = dt.UTC if times == "aware" else None
    window: Any = 4 if times == "integers" else "4 hours"
    join = swoop.TopKJoin(k=k, window=window, similarity=similarity, track_changes=True, **options)
    for number, text in enumerate(["ab", "abc", "ab", "bcd", "abd", "cd"]):
        join.insert(
            list(text), number if times == "integers" else dt.datetime(2024, 5, 1, number, tzinfo=zone), id=f"set {number}"
        )
    return join


def rows_of(chart: Any, field: str) -> list[dict[str, Any]]:
    """The rows of the part of a chart that has the field."""
    spec = chart.to_dict()
    for values in spec.get("datasets", {}).values():
        if values and field in values[0]:
            return list(values)
    for layer in [spec, *spec.get("layer", [])]:
        values = layer.get("data", {}).get("values")
        if values and field in values[0]:
            return list(values)
    raise AssertionError(f"no data with {field}")


def drawn(chart: Any) -> str:
    """The chart as SVG, which shows that it can be drawn at all."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def test_importing_swoop_does_not_import_altair() -> None:
    program = (
        "import sys, swoop; join = swoop.TopKJoin(k=1, window=None); join.insert(['a']); join.insert(['a'])\n"
        "assert '<td>1</td>' in join.topk()._repr_html_(); assert 'altair' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_altair_tables_work_and_charts_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    join = small_join()
    assert "<table>" in join.topk()._repr_html_()
    assert "<table>" in join.changes()._repr_html_()
    assert "<table>" in join.explain(join.topk()[0])._repr_html_()
    for chart in (join.topk().chart, join.explain(join.topk()[0]).chart, lambda: charts.skyband(join)):
        with pytest.raises(ImportError, match=r"altair: pip install .*\[notebook\]"):
            chart()


@pytest.mark.parametrize("times", ["integers", "naive", "aware"])
@pytest.mark.parametrize("similarity", ["jaccard", "cosine", "overlap", "hamming"])
def test_all_charts_can_be_drawn(times: str, similarity: str) -> None:
    join = small_join(times, similarity)
    for chart in (join.topk().chart(), join.explain(join.topk()[0]).chart(), charts.skyband(join), join.changes().chart()):
        assert "NaN" not in drawn(chart)


def test_bars_are_the_pairs() -> None:
    top = small_join().topk()
    rows = rows_of(top.chart(), "place")
    assert [(row["place"], row["similarity"], row["newer"], row["older"]) for row in rows] == [
        (place, pair.similarity, pair.newer, pair.older) for place, pair in enumerate(top, 1)
    ]
    assert len(rows_of(top.chart(most=2), "place")) == 2
    assert "the first 2 of 3 pairs" in json.dumps(top.chart(most=2).to_dict())


def test_the_timeline_has_one_bar_per_stay() -> None:
    join = swoop.TopKJoin(k=1, window=4, track_changes=True)
    for time, text in enumerate(["ab", "abc", "ab"]):
        join.insert(list(text), time)
    changes = join.changes()
    assert [(c.time, c.kind, c.pair.newer, c.pair.older) for c in changes] == [
        (1, "enter", 1, 0),
        (2, "outranked", 1, 0),
        (2, "enter", 2, 0),
    ]
    assert stays_of(changes) == [(1, 0, 1, 2, "outranked"), (2, 0, 2, 2, "still there")]
    join.advance(100)
    later = join.changes()
    assert [(c.time, c.kind, c.pair.newer, c.pair.older) for c in later] == [
        (4, "expired", 2, 0),  # it entered before these changes
        (4, "enter", 2, 1),
        (5, "expired", 2, 1),
    ]
    assert stays_of(later) == [(2, 0, 4, 4, "expired"), (2, 1, 4, 5, "expired")]


def stays_of(changes: swoop.Changes) -> list[tuple[Any, ...]]:
    rows = rows_of(changes.chart(), "outcome")
    return [(row["newer"], row["older"], row["enter"], row["leave"], row["outcome"]) for row in rows]


def test_the_timeline_of_many_pairs_shows_those_that_stayed_longest() -> None:
    row = {"newer": 0, "older": 0, "similarity": 0.5, "overlap": 1, "enter": 0}
    stays = [{**row, "newer": n, "leave": n} for n in range(1, 10)]
    chart = charts.timeline(stays, most=2)
    assert [found["newer"] for found in rows_of(chart, "outcome")] == [8, 9]
    assert "2 of 9 pairs" in json.dumps(chart.to_dict())
    with pytest.raises(InvalidArgument, match="most must be at least 1"):
        charts.timeline(stays, most=0)


def test_a_pair_that_comes_back_has_one_row_and_equal_ids_have_two() -> None:
    row = {"newer": "b", "older": "a", "similarity": 0.5, "overlap": 1}
    back = charts.timeline([{**row, "enter": 0, "leave": 1}, {**row, "enter": 5, "leave": None}])
    assert {found["row"] for found in rows_of(back, "outcome")} == {0}
    join = swoop.TopKJoin(k=5, window=10, track_changes=True)
    for time in range(3):
        join.insert(["x"], time, id="the same")
    assert {found["row"] for found in rows_of(join.changes().chart(), "outcome")} == {0, 1, 2}


def test_dates_are_shown_as_they_were_given() -> None:
    for times in ("naive", "aware"):
        row = rows_of(small_join(times, k=1).changes().chart(), "outcome")[0]
        assert row["entered"].startswith("2024-05-01 01:00:00")
        assert row["enter"] == dt.datetime(2024, 5, 1, 1, tzinfo=dt.UTC).timestamp() * 1000


def test_explanations_have_a_row_per_token() -> None:
    join = swoop.TopKJoin(k=1, window=None)
    join.insert(["a", "b", 1, "1", b"1"], id="old")
    join.insert(["a", "1", 1, b"1", "c"], id="new")
    found = join.explain(join.topk()[0])
    cells = rows_of(found.chart(), "kind")
    assert len({cell["row"] for cell in cells}) == 6
    assert sorted((cell["token"], cell["set"]) for cell in cells if cell["kind"] != "shared") == [
        ("b", "older: old"),
        ("c", "newer: new"),
    ]
    assert "2 of 6 tokens" in json.dumps(found.chart(most=2).to_dict())


def test_sets_with_equal_ids_are_explained_too() -> None:
    join = swoop.TopKJoin(k=1, window=None)
    join.insert(["a", "b"], id="x")
    join.insert(["a", "c"], id="x")
    assert len({cell["set"] for cell in rows_of(join.explain(join.topk()[0]).chart(), "kind")}) == 2


def test_the_skyband_is_stairs_down_to_nothing() -> None:
    join = small_join(k=1)
    steps = join.skyband()
    corners = rows_of(charts.skyband(join, now=5), "low")
    assert corners[0]["time"] == 5
    assert [corner["similarity"] for corner in corners[1::2]] == [step.similarity for step in steps]
    assert [corner["time"] for corner in corners[1::2]] == [step.until for step in steps]
    assert corners[-1]["similarity"] == 0
    heights = [corner["similarity"] for corner in corners]
    assert heights == sorted(heights, reverse=True)
    for pair in join.topk():
        assert all(pair.similarity >= step.similarity for step in steps if pair.end == step.until)
    unbounded = swoop.TopKJoin(k=1, window=None)
    unbounded.insert(["a"])
    unbounded.insert(["a"])
    with pytest.raises(InvalidArgument, match="never end"):
        charts.skyband(unbounded)


def test_nothing_can_be_drawn_as_well() -> None:
    join = swoop.TopKJoin(k=3, window=10, track_changes=True)
    for chart in (join.topk().chart(), join.changes().chart(), charts.skyband(join), charts.timeline([])):
        assert drawn(chart).startswith("<svg")
    assert "<table>" in join.topk()._repr_html_()


def test_charts_can_be_put_together() -> None:
    join = small_join()
    both = join.topk().chart() | charts.skyband(join)
    assert len(both.to_dict()["hconcat"]) == 2


def test_text_does_no_harm() -> None:
    join = swoop.TopKJoin(k=2, window=10, track_changes=True)
    for time in (1, 2):
        join.insert([HOSTILE, "datum.x", "'", '"', f"t{time}"], time, id=f"{HOSTILE} {time}")
    found = join.explain(join.topk()[0])
    for table in (join.topk()._repr_html_(), found._repr_html_()):
        assert set(re.findall(r"<([a-z]+)", table)) <= {"table", "thead", "tbody", "tr", "th", "td", "div", "bdi"}
        assert "&lt;/script&gt;" in table
        assert "&lt;U+202E&gt;gnorw&lt;U+001B&gt;" in table
    for chart in (join.topk().chart(), found.chart(), charts.skyband(join), join.changes().chart()):
        assert "alert(1)" in json.dumps(chart.to_dict())  # it is there, as data
        assert "\\u202e" not in json.dumps(chart.to_dict())
        page = chart.to_html()
        assert "<script>alert" not in page
        assert "<img" not in page


def test_tables_stay_small() -> None:
    join = swoop.TopKJoin(k=1, window=None)
    for _ in range(2):
        join.insert([*range(1000), "x" * 10_000], id="y" * 10_000)
    found = join.explain(join.topk()[0])._repr_html_()
    assert "... 801 more" in found
    assert len(join.topk()._repr_html_()) < 2000
    assert len(found) < 50_000


def test_long_tokens_that_differ_look_different() -> None:
    join = swoop.TopKJoin(k=1, window=None)
    for letter in "ab":
        token = "x" * 500 + letter + "y" * 500
        join.insert(["shared", token], id=token)
    found = join.explain(join.topk()[0])
    for table in (found._repr_html_(), join.topk()._repr_html_()):
        assert "xay" in table
        assert "xby" in table
    assert len({row["label"] for row in rows_of(found.chart(), "label")}) == 3


def test_tables_have_bars_where_similarities_are_shares() -> None:
    assert "width:80px" in small_join().topk()._repr_html_()
    assert "width:80px" in small_join().changes()._repr_html_()
    assert "width:80px" not in small_join(similarity="hamming").topk()._repr_html_()


def small_waves(times: str = "integers") -> swoop.Families:
    """Two families of which one becomes a part of the other, and a third that is left alone."""
    zone = dt.UTC if times == "aware" else None
    waves = swoop.Families(0.5, 6 if times == "integers" else "6 hours")
    for number, text in enumerate(["abc", "abc", "xyz", "xyz", "abcxyz", "pq", "pq"]):
        time = number if times == "integers" else dt.datetime(2024, 5, 1, number, tzinfo=zone)
        waves.insert(list(text), time, id=f"{text} {number}")
    return waves


@pytest.mark.parametrize("times", ["integers", "naive", "aware"])
def test_the_lives_of_families(times: str) -> None:
    waves = small_waves(times)
    changes = waves.changes()
    rows = rows_of(changes.chart(), "outcome")
    assert [(row["family"], row["records"], row["outcome"]) for row in rows] == [
        ("abc 0", 5, "still there"),
        ("xyz 2", 2, "merged"),
        ("pq 5", 2, "still there"),
    ]
    assert [row["family"] for row in rows_of(changes.chart(most=1), "outcome")] == ["abc 0"]
    assert "1 of 3 families" in json.dumps(changes.chart(most=1).to_dict())
    assert "NaN" not in drawn(changes.chart())
    if times == "integers":
        assert [(row["enter"], row["leave"]) for row in rows] == [(1, 6), (3, 4), (6, 6)]
        waves.advance(100)
        later = rows_of(waves.changes().chart(), "outcome")  # they were there before these changes
        assert [(row["family"], row["enter"], row["leave"], row["outcome"]) for row in later] == [
            ("abc 0", 10, 10, "ended"),
            ("pq 5", 10, 12, "ended"),
        ]


def test_the_families_of_a_history() -> None:
    found = swoop.families_history({"id": [HOSTILE, "b", "c"], "time": [1, 4, 9], "tokens": [["a"], ["a"], ["b"]]}, 0.5, 5)
    rows = rows_of(found.chart(), "outcome")
    assert [(row["enter"], row["leave"], row["records"]) for row in rows] == [(1, 4, 2)]
    assert "<" not in json.dumps(found.chart().to_dict())
    assert "<script>" not in found._repr_html_()
    waves = small_waves()
    assert [row["records"] for row in rows_of(waves.families().chart(), "outcome")] == [5, 2]
    assert "width:80px;height" in waves.families()._repr_html_()  # the largest has the longest bar
    assert "width:40px" in waves.families()._repr_html_()
    assert "merged" in waves.changes()._repr_html_()
    assert "NaN" not in drawn(waves.changes().chart())  # of none
    with pytest.raises(InvalidArgument, match="most must be at least 1"):
        found.chart(most=0)
