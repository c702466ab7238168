"""What comes out: pairs, changes, explanations, data frames and tables.

Tests of swoop.results, swoop.notebook.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from tests.support.histories import History, histories, insert


def example(**options: object) -> swoop.TopKJoin:
    join = swoop.TopKJoin(k=2, window=10, track_changes=True, **options)  # type: ignore[arg-type]
    join.insert(["a", "b", "<b>"], 1, id="one")
    join.insert(["a", "b", "c"], 2, id="two")
    join.insert(["a", "b", "c"], 3, id="three")
    return join


def test_topk_is_a_sequence() -> None:
    top = example().topk()
    assert len(top) == 2
    assert top[0] == top[-2] == next(iter(top)) == top[:1][0]
    assert top == list(top)
    assert top != list(top)[:1]
    assert repr(top).startswith("TopK([Pair(similarity=1.0, newer='three', older='two', overlap=3, start=3, end=12),")
    many = swoop.TopKJoin(k=20, window=None)
    many.insert_many({"tokens": [["a"]] * 8}, time=None)
    assert "... 10 more" in repr(many.topk())


def test_changes_are_given_once() -> None:
    join = example()
    assert [(c.time, c.kind, c.pair.newer, c.pair.older) for c in join.changes()] == [
        (2, "enter", "two", "one"),
        (3, "enter", "three", "two"),
    ]
    assert len(join.changes()) == 0
    join.insert(["a", "b", "c"], 4, id="four")
    join.advance(12)
    assert [(c.time, c.kind, c.pair.newer, c.pair.older) for c in join.changes()] == [
        (4, "outranked", "two", "one"),
        (4, "enter", "four", "three"),
        (12, "expired", "three", "two"),
    ]


def test_data_frames() -> None:
    join = example()
    top, changes = join.topk(), join.changes()
    columns = ["similarity", "newer", "older", "overlap", "start", "end"]
    assert top.to_arrow().column_names == columns
    assert changes.to_arrow().column_names == ["time", "kind", *columns]
    assert top.to_pandas()["newer"].tolist() == top.to_polars()["newer"].to_list() == ["three", "two"]
    assert changes.to_pandas().shape == changes.to_polars().shape == (len(changes), 8)
    empty = swoop.TopKJoin(k=1, window="1 day").topk()
    assert empty.to_arrow().num_rows == 0


def test_times_in_data_frames() -> None:
    join = swoop.TopKJoin(k=1, window="1 day")
    for hour in (1, 2):
        join.insert(["a"], dt.datetime(2024, 1, 1, hour, tzinfo=dt.UTC))
    assert str(join.topk().to_arrow().schema.field("end").type) == "timestamp[us, tz=UTC]"
    assert join.topk().to_arrow()["end"][0].as_py() == join.topk()[0].end


def test_ids_of_mixed_types_become_strings_in_a_data_frame() -> None:
    join = swoop.TopKJoin(k=3, window=None)
    for name in ("one", 2, b"\xff3"):
        join.insert(["a"], id=name)
    assert join.topk().to_arrow()["newer"].to_pylist() == ["2", "\\xff3", "\\xff3"]
    assert [p.newer for p in join.topk()] == [2, b"\xff3", b"\xff3"]


def test_notebook_rendering_escapes_text() -> None:
    join = example()
    explanation = join.explain(join.topk()[1])
    assert "&lt;b&gt;" in explanation._repr_html_()
    assert "<b>" not in explanation._repr_html_()
    join.insert(["a", "b", "c"], 4, id="<script>alert(1)</script>")
    assert "<script>" not in join.topk()._repr_html_()
    assert "&lt;script&gt;" in join.topk()._repr_html_()
    assert "<td>1</td>" in join.topk()._repr_html_()
    many = swoop.TopKJoin(k=200, window=None)
    many.insert_many({"tokens": [["a"]] * 20}, time=None)
    assert "... 90 more" in many.topk()._repr_html_()


def test_explanations() -> None:
    join = example()
    pair = next(p for p in join.topk() if p.older == "one")
    explanation = join.explain(pair)
    assert (explanation.shared, explanation.only_newer, explanation.only_older) == ({"a", "b"}, {"c"}, {"<b>"})


def test_two_streams_know_left_and_right() -> None:
    join = swoop.TopKJoin(k=5, window=10, two_streams=True)
    join.insert(["a"], 1, id="l", stream="left")
    join.insert(["a"], 2, id="r", stream="right")
    join.insert(["a"], 3, id="m", stream="left")
    assert [(p.left, p.right, p.newer) for p in join.topk()] == [("m", "r", "m"), ("l", "r", "r")]


def test_stats() -> None:
    stats = example().stats
    assert (stats.sets, stats.window_size, stats.vocabulary_size) == (3, 3, 4)
    assert stats.stock_size >= 2
    assert stats.pre_candidates >= stats.candidates > 0
    assert stats.memory_bytes > 0


@pytest.mark.parametrize("name", ["Pair", "Change", "TopK", "Stats"])
def test_public_names(name: str) -> None:
    assert getattr(swoop, name).__name__ == name
    assert name in dir(swoop)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = swoop.nonsense


@settings(max_examples=100)
@given(histories() | histories(all_pairs=True), st.integers(1, 50))
def test_families_of_the_top_are_connected_by_its_pairs(history: History, names: int) -> None:
    """Also where sets share their ids."""
    join = history.join()
    for number, record in enumerate(history.records):
        insert(join, [replace(record, id=f"set {number % names}")])
    families: list[set[Any]] = []
    for pair in join.topk():
        touched = [family for family in families if family & {*pair.arrivals}]  # type: ignore[misc]
        families = [family for family in families if family not in touched]
        families.append({*pair.arrivals}.union(*touched))  # type: ignore[misc]
    expected = sorted((sorted(family) for family in families), key=lambda family: (-len(family), family[0]))
    assert join.topk().families() == [[f"set {number % names}" for number in family] for family in expected]


def test_any_id_has_a_column() -> None:
    """Large integers, surrogates and mixtures become text; ids of families and what they merged into have one type."""
    join = swoop.TopKJoin(k=1, window=10)
    join.insert(["a"], 1, id=10**30)
    join.insert(["a"], 1, id="\ud800")
    assert join.topk().to_arrow()["newer"].to_pylist() == ["\\ud800"]
    assert join.topk().to_arrow()["older"].to_pylist() == [str(10**30)]
    waves = swoop.Families(0.5, 100)
    for tokens, name in (([1, 2], None), ([1, 2], "b"), ([7, 8], "x"), ([7, 8], None), ([1, 2, 7, 8], "m")):
        waves.insert(tokens, 1, name)
    changes = waves.changes().to_arrow()
    assert changes.schema.field("family").type == changes.schema.field("into").type


def test_results_of_several_parts_take_the_types_of_those_that_are_not_empty() -> None:
    """Of an empty part, nobody knows what ids are."""
    join = swoop.TopKJoin(1, 10, track_changes=True)
    nothing = join.changes()
    for name in ("a", "b"):
        join.insert(["x"], 1, name)
    some = join.changes()
    for parts in ([nothing, some], [some, nothing], [nothing, some, nothing]):
        assert type(some).joined(parts).to_arrow().equals(some.to_arrow())
    assert type(some).joined([nothing, nothing]).to_arrow().num_rows == 0


def test_stats_are_a_small_table() -> None:
    join = swoop.TopKJoin(k=1, window=10_000)
    for time in range(1234):
        join.insert([time], time)
    shown = join.stats._repr_html_()
    assert "<td>sets</td><td>1,234</td>" in shown
    assert "<td>window size</td><td>1,234</td>" in shown
    assert re.search(r"<td>memory</td><td>[0-9.]+ [kM]B</td>", shown)
    assert swoop.Families(0.5, 3).stats._repr_html_().startswith("<table><tbody><tr><td>sets</td><td>0</td></tr>")
