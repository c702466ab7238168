"""Histories in one process: equal to brute force and to a join that runs in one go, whatever brings the rows and cuts the time.

Tests of swoop.join.parallel.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop.errors import CapacityExceeded, InvalidTime
from swoop.join import history as module
from swoop.join import parallel
from swoop.join import rows as rows_module
from swoop.oracle import Record
from tests.support.histories import SIMILARITIES, reachable, records
from tests.support.history_cases import FORMS, cases, hours, in_one_go, plain_row, run
from tests.support.judge import judge
from tests.support.slices import stays_of


@settings(max_examples=300)
@given(data=st.data())
def test_equal_to_brute_force_and_to_one_go(data: st.DataObject) -> None:
    case = data.draw(cases())
    form = data.draw(st.sampled_from(list(FORMS)))
    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 1, 2, 3]))
    size = data.draw(st.integers(1, 10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BATCH_ROWS", data.draw(st.sampled_from([1, 3, 100])))
        patch.setattr(rows_module, "CHUNK_ROWS", data.draw(st.sampled_from([0, 0, 3])))
        found = run(case, FORMS[form](case.table, size), slices=slices, threads=threads)
    rows = found.to_arrow()
    assert rows.column_names == ["newer", "older", "similarity", "overlap", "enter", "leave"]
    plain = [plain_row(row) for row in rows.to_pylist()]
    two_streams = case.stream is not None
    assert sorted(plain, key=repr) == stays_of(case.records, **case.options, two_streams=two_streams)

    expected = {(stay.pair.arrivals, stay.enter): stay for stay in in_one_go(case)}
    assert len(expected) == len(found)
    places = []
    for stay, row in zip(found, plain, strict=True):
        pair = stay.pair
        single = expected[pair.arrivals, hours(stay.enter)]
        assert (pair.newer, pair.older, pair.similarity, pair.overlap, hours(stay.enter), hours(stay.leave)) == row
        assert (*row[:4], *row[4:], stay.how) == (
            single.pair.newer,
            single.pair.older,
            single.pair.similarity,
            single.pair.overlap,
            single.enter,
            single.leave,
            single.how,
        )
        assert (hours(pair.start), hours(pair.end)) == (single.pair.start, single.pair.end)
        assert pair.newer_stream == single.pair.newer_stream
        places.append((hours(stay.enter), -pair.similarity, *pair.arrivals))
    assert places == sorted(places)
    is_timed = pa.types.is_timestamp(case.table["at"].type)
    zone = "UTC" if is_timed and case.table["at"].type.tz else None
    expected_type = pa.timestamp("us", zone) if is_timed else pa.int64()
    if len(case.table):
        assert rows.schema.field("enter").type == rows.schema.field("leave").type == expected_type
    assert rows.schema.field("overlap").type == pa.int64()


POSTS = {
    "id": ["a", "b", "c", "d"],
    "time": [1, 4, 9, 9],
    "text": ["Win a phone", "win a PHONE!", "Lovely morning", "lovely <b>"],
}


def test_results_are_a_sequence_and_a_data_frame() -> None:
    found = swoop.history(POSTS, 2, 6, tokens=swoop.words("text"))
    assert len(found) == 2
    assert found[0] == next(iter(found)) == found[:1][0]
    assert found[0].pair == swoop.Pair(1.0, "b", "a", 3, 4, 7)
    assert (found[0].enter, found[0].leave, found[0].how) == (4, 7, "expired")
    assert (found[1].enter, found[1].leave, found[1].how) == (9, None, None)
    assert repr(found).startswith("History([Stay(pair=Pair(similarity=1.0, newer='b'")
    assert found.to_pandas()["newer"].tolist() == found.to_polars()["newer"].to_list() == ["b", "d"]
    assert "<td>b</td><td>a</td><td>1</td>" in found._repr_html_()


def test_a_user_defined_similarity_on_threads() -> None:
    share = swoop.Similarity(lambda r, s, o: o / max(r, s), name="share")
    rng = np.random.default_rng(5)
    records = [Record([int(t) for t in rng.integers(0, 9, 4)], n // 3, n) for n in range(200)]
    rows = {"id": range(200), "time": [r.time for r in records], "tokens": [list(r.tokens) for r in records]}
    found = swoop.history(rows, 3, 8, share, slices=7, threads=3).to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in found), key=repr) == stays_of(records, k=3, window=8, similarity=share)


@settings(max_examples=300)
@given(data=st.data())
def test_copies_that_count_once_in_slices(data: st.DataObject) -> None:
    """What a record is called, and so how ties are broken, depends on sets that left the window long before a slice begins."""
    size, tokens = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    times = sorted(data.draw(st.lists(st.integers(0, 40), min_size=size, max_size=size)))
    sets = data.draw(st.lists(st.sets(st.integers(0, tokens), max_size=3), min_size=size, max_size=size))
    found = [Record(sorted(own), time, number) for number, (own, time) in enumerate(zip(sets, times, strict=True))]
    rows = pa.table(
        {"id": range(size), "time": times, "tokens": pa.array([list(record.tokens) for record in found], pa.list_(pa.int64()))}
    )
    k = data.draw(st.sampled_from([None, 1, 2, 5]))
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    least = data.draw(reachable(similarity)) if k is None else None
    options = {"k": k, "window": data.draw(st.integers(1, 12)), "similarity": similarity, "min_similarity": least}
    expected = swoop.history(rows, **options, copies="once", slices=1)
    assert sorted((tuple(row.values()) for row in expected.to_arrow().to_pylist()), key=repr) == stays_of(
        found, **options, copies="once"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BATCH_ROWS", data.draw(st.sampled_from([1, 3, 100])))
        sliced = swoop.history(
            rows, **options, copies="once", slices=data.draw(st.integers(2, 12)), threads=data.draw(st.sampled_from([1, 2]))
        )
    assert list(sliced) == list(expected)


@settings(max_examples=80)
@given(data=st.data())
def test_too_many_pairs_are_too_many_in_any_slices(data: st.DataObject) -> None:
    """Where there are more than ``max_pairs`` at a time, by brute force, and only there."""
    found = [Record(r.tokens, r.time, number) for number, r in enumerate(data.draw(records(False)))]
    tokens = [[str(token) for token in record.tokens] for record in found]
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    options = {
        "k": None,
        "window": data.draw(st.integers(1, 12)),
        "similarity": similarity,
        "min_similarity": data.draw(reachable(similarity)),
        "copies": data.draw(st.sampled_from(["each", "once"])),
    }
    judged = judge([Record(own, r.time, r.id) for own, r in zip(tokens, found, strict=True)], **options)
    pairs = [*accumulate(1 if change.kind == "enter" else -1 for change in judged.changes)]
    most, allowed = max(pairs, default=0), data.draw(st.integers(1, 12))
    rows = {"id": [r.id for r in found], "time": [r.time for r in found], "tokens": pa.array(tokens, pa.list_(pa.string()))}
    slices = data.draw(st.integers(1, 8))
    with pytest.raises(CapacityExceeded, match=f"max_pairs={allowed}") if most > allowed else nullcontext():
        swoop.history(rows, **options, max_pairs=allowed, slices=slices, threads=1)


def test_an_error_in_a_slice_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), []
    replayed = module.replay

    def replay(batches: Iterator[Any], *arguments: Any) -> Iterator[Any]:
        if arguments[2] == 0:  # the first slice
            assert begun.wait(60)
            raise InvalidTime("nothing works today")
        for number, _ in enumerate(batches):
            begun.set()
            if number == 0:
                assert stopped.wait(60)
        ended.append(number)
        yield from replayed([], *arguments)

    stopped = threading.Event()
    shut_down = parallel.ThreadPoolExecutor.shutdown

    def shutdown(*arguments: Any, **named: Any) -> None:
        stopped.set()
        shut_down(*arguments, **named)

    monkeypatch.setattr(module, "replay", replay)
    monkeypatch.setattr(rows_module, "BATCH_ROWS", 1)
    monkeypatch.setattr(parallel.ThreadPoolExecutor, "shutdown", shutdown)
    rows = {"id": range(100), "time": range(100), "tokens": [["a"]] * 100}
    with pytest.raises(InvalidTime, match="nothing works today"):
        swoop.history(rows, 1, 5, slices=2, threads=2)
    assert ended == [0]  # after its first batch


MEMORY = """
import sys
import pyarrow as pa
import pyarrow.dataset as ds
import swoop

def peak():  # of this program; that of getrusage begins with its parent's
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))

swoop.warmup()
swoop.history({"id": [2, 1], "time": [1, 1], "text": ["a", "b"]}, 1, 5, tokens=swoop.words("text"), threads=2)
before = peak()
found = swoop.history(ds.dataset(sys.argv[1]), 5, 1000, tokens=swoop.words("text"), threads=2)
assert len(found)
print(peak() - before, pa.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize("in_order", [True, False])
def test_memory(tmp_path: Path, in_order: bool) -> None:
    """At most twice the columns that are used; what is not used is not read. Arrow's reader of files takes more for itself."""
    rows = 100_000
    rng = np.random.default_rng(3)
    words = pa.array([f"word{n}" * 20 for n in range(5000)])
    texts = pa.array([" ".join(words.take(pa.array(rng.integers(0, 5000, 12))).to_pylist()) for _ in range(1000)])
    used = pa.table(
        {
            "id": pa.array(range(rows)),
            "time": pa.array(range(rows) if in_order else rng.permutation(rows)),
            "text": texts.take(pa.array(rng.integers(0, 1000, rows))),
        }
    )
    table = used.append_column("unused", pa.array(["x" * 1000]).take(pa.array(np.zeros(rows, int))))
    pq.write_table(table, tmp_path / "history.parquet", row_group_size=10_000)
    size = used.nbytes
    assert size > 120e6
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], check=True, capture_output=True, text=True, timeout=300
    )
    peak, in_arrow = map(int, done.stdout.split())
    assert in_arrow < 2 * size, f"{in_arrow / 1e6:.0f} MB in Arrow for {size / 1e6:.0f} MB in use"
    assert peak < 3 * size + 60e6, f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB in use"
