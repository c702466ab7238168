"""Rows piece by piece: the same rows in the same order as all at once, and no piece larger than it may be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from swoop.join import columns
from swoop.join.topk_join import TopKJoin
from swoop.live import pieces
from swoop.live.pieces import in_pieces
from swoop.live.row_order import sort_rows
from swoop.live.watermark import split_all_at_watermark, split_at_watermark

KINDS = {
    "id": [pa.int64(), pa.string(), pa.binary()],
    "tokens": [pa.list_(pa.int64()), pa.list_(pa.string()), pa.list_(pa.binary())],
}
SOME = st.sampled_from(["", "a", "b", "a rather long one " * 5])


def value(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_list(kind):
        return st.lists(value(kind.value_type), max_size=4)
    return st.integers(0, 3) if pa.types.is_integer(kind) else SOME if pa.types.is_string(kind) else SOME.map(str.encode)


@st.composite
def tables(draw: st.DrawFn) -> list[pa.Table]:
    kinds = {name: draw(st.sampled_from(found)) for name, found in KINDS.items()}
    schema = pa.schema([("time", pa.int64()), *kinds.items(), ("stream", pa.string())])
    row = st.fixed_dictionaries(
        {
            "time": st.integers(0, draw(st.sampled_from([0, 3, 30]))),
            **{name: value(kind) for name, kind in kinds.items()},
            "stream": st.just("left"),
        }
    )
    batches = draw(st.lists(st.lists(row, max_size=8), max_size=6))
    return [pa.Table.from_pylist(rows, schema) for rows in batches]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from([1, 50, 300, 2000]), st.integers(0, 30))
def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch, rows: list[pa.Table], limit: int, watermark: int) -> None:
    before, after = split_all_at_watermark(rows, watermark)
    assert sum(part.num_rows for part in before) + (after.num_rows if rows else 0) == sum(part.num_rows for part in rows)
    whole = [part for table in rows for part in split_at_watermark(table, watermark)[0].to_batches()]
    expected = sort_rows(pa.Table.from_batches(whole)).to_pylist() if whole else []
    monkeypatch.setattr(pieces, "LIMIT", limit)
    monkeypatch.setattr(columns, "SMALL", 2 * limit)
    found: list[pa.Table] = list(in_pieces(before))
    assert [row for piece in found for row in sort_rows(piece).to_pylist()] == expected
    large = 0
    for piece in found:
        is_large = pa.types.is_large_list(piece.schema.field("tokens").type)
        assert is_large or piece.nbytes <= 2 * limit
        large += is_large
    event(f"pieces: {min(len(found), 3)}, large: {large > 0}")
    join = TopKJoin(3, None)
    other = TopKJoin(3, None)
    for piece in found:
        join.insert_many(sort_rows(piece), id="id")
    for row in expected:
        other.insert(row["tokens"], row["time"], row["id"])
    assert join.topk() == other.topk()


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.string()), pa.list_(pa.binary()), pa.list_(pa.int64()), pa.large_list(pa.string())]
)
def test_columns_with_more_than_offsets_of_32_bits_can_tell(monkeypatch: pytest.MonkeyPatch, kind: pa.DataType) -> None:
    """A batch of many chunks, of which each is small enough."""
    tokens: list[Any] = [["a", "b"], [], ["b", "c"], ["a", "b", "c"]]
    if pa.types.is_integer(kind.value_type):
        tokens = [[ord(token) for token in found] for found in tokens]
    data = {
        "tokens": pa.chunked_array([[found] for found in tokens], kind),
        "id": pa.chunked_array([["w"], ["x"], ["y"], ["z"]]),
        "side": pa.chunked_array([["left"], ["right"], ["right"], ["left"]]),
        "time": pa.chunked_array([[1], [2], [3], [4]]),
    }
    results = []
    for small in (columns.SMALL, 3):
        monkeypatch.setattr(columns, "SMALL", small)
        join = TopKJoin(3, 10, two_streams=True)
        join.insert_many(data, id="id", stream="side")
        results.append(join.topk())
    assert results[0] == results[1]
    assert [(pair.newer, pair.older) for pair in results[0]] == [("z", "y"), ("y", "w")]
