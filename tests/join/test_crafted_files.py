"""Files that somebody has changed and made the checksums right: each is refused as such, or gives a join that works.

Tests of swoop.engine.contents, swoop.join.ipc, swoop.join.restoring.
"""

from __future__ import annotations

import datetime as dt
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import swoop
from swoop.engine.contents import checked_sets
from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidData, InvalidFile
from swoop.times import FIRST_DATETIME, LAST_DATETIME
from tests.support.crafted import FILES, try_out
from tests.support.saved_files import Members, members_of, put, read, valid_files, with_column, with_settings, written


def test_crafted_at_random() -> None:
    """In a process of its own, whose arrays end where memory ends, and which does not get much memory."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.crafted", "--files", str(FILES)],
        capture_output=True,
        text=True,
        timeout=600 + FILES,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert "loaded" in done.stdout
    assert "refused" in done.stdout


def test_what_is_not_changed_is_loaded(tmp_path: Path) -> None:
    assert all(try_out(put(tmp_path / "join", members)) for members in valid_files())


def a_join(**options: Any) -> Members:
    join = swoop.TopKJoin(**{"k": 2, "window": 10, "track_changes": True, "two_streams": True, **options})
    for time in range(6):
        join.insert(["a", 7, str(time % 3)], time, id=f"set {time}", stream=("left", "right")[time % 2])
    return members_of(join)


def records() -> Members:
    """Where copies count once: sets 4, 5, ..., 8, of which the first two renew records that were first seen at 0 and 1."""
    join = swoop.TopKJoin(5, 5, copies="once")
    for time in range(9):
        join.insert([7, time % 4 if time < 6 else time], time)
    return members_of(join)


def in_window(name: str, values: Callable[[list[Any]], list[Any]], kind: Any = None) -> Callable[[Members], None]:
    return with_column("window.arrow", name, values, kind)


def in_changes(name: str, values: Callable[[list[Any]], list[Any]], kind: Any = None) -> Callable[[Members], None]:
    return with_column("changes.arrow", name, values, kind)


def compressed(members: Members) -> None:
    members["window.arrow"] = written(read(members["window.arrow"]), "zstd")


def without_times(members: Members) -> None:
    members["window.arrow"] = written(read(members["window.arrow"]).drop_columns("time"))


def same(values: list[Any]) -> list[Any]:
    return values


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_settings(k=0), "k must be at least 1"),
        (with_settings(k=True), "k in settings.json is True, but should be int"),
        (with_settings(two_streams=1), "two_streams in settings.json is 1, but should be bool"),
        (with_settings(version=0), "no format version 0"),
        (with_settings(version="1"), "version in settings.json is '1'"),
        (with_settings(similarity="cosin"), "no similarity 'cosin'"),
        (with_settings(algorithm="quick"), "no algorithm 'quick'"),
        (with_settings(min_similarity=7), "from 0 to 1"),
        (with_settings(window={"kind": "integer", "length": 2**62}), "length of the window is 4611686018427387904"),
        (with_settings(window={"kind": "long", "length": 1}), "no window of the kind 'long'"),
        (with_settings(first=-1), "arrival numbers begin with -1"),
        (with_settings(first=2**63), "arrival numbers begin with 9223372036854775808"),
        (with_settings(now=4, index_time=4), "index time is 4, but there is a set with time 5"),
        (with_settings(now=10, index_time=10), "a set with time 0 is not in a window of 10 at 10"),
        (with_settings(now=7), "the time is 7, but the index time is 5"),
        (with_settings(time_kind="aware"), "times must be integers"),
        (with_settings(time_kind=None, now=None), "no time was given"),
        (with_settings(counters={"pre_candidates": -1}), "the counter pre_candidates is -1"),
        (with_settings(track_changes=False), "they are not to be tracked"),
        (compressed, "compressed in a way"),
        (without_times, "the columns are side, "),
        (in_window("time", same, pa.int32()), "column 'time' has type int32, but should have int64"),
        (in_window("time", lambda values: values[::-1]), "index time is 5|fall from"),
        (in_window("time", lambda values: [0, 3, 2, 3, 4, 5]), "times fall from 3 to 2"),
        (in_window("time", lambda values: [None, *values[1:]]), "column 'time' has nulls"),
        (in_window("side", lambda values: [2, *values[1:]]), "sides must be 0 or 1, but they are from 0 to 2"),
        (in_window("integers", lambda values: [None, *values[1:]]), "nulls instead of large_list<item: int64>"),
        (in_window("integers", lambda values: [[None], *values[1:]]), "nulls instead of large_list<item: int64>"),
        (in_window("strings", lambda values: [[b"\xff"], *values[1:]]), "can't decode byte 0xff"),
        (in_window("id_integer", lambda values: [b"1_0", *values[1:]]), "a set has several ids"),
        (in_changes("kind", lambda values: [3, *values[1:]]), "kind of a change is not from 0 to 2"),
        (in_changes("newer", lambda values: [6, *values[1:]]), "newer of a change is not from 1 to 5"),
        (in_changes("key", lambda values: [float("nan"), *values[1:]]), "key of a change is not from 0"),
        (in_changes("newer_side", lambda values: [2, *values[1:]]), "newer_side of a change is not from 0 to 1"),
        (in_changes("time", lambda values: values[::-1]), "times of changes fall"),
        (in_changes("kind", lambda values: [1 - kind if kind < 2 else 0 for kind in values]), "do not lead to the top-k"),
        (in_changes("newer_id_string", lambda values: [None] * len(values)), "a set of a change has no id"),
    ],
)
def test_refused(tmp_path: Path, change: Callable[[Members], None], why: str) -> None:
    members = a_join()
    change(members)
    with pytest.raises(InvalidFile, match=f"(?s)damaged: .*{why}.*Use a copy of it, or save the join again"):
        swoop.TopKJoin.load(put(tmp_path / "join", members))


@pytest.mark.parametrize("family", [False, True])
@pytest.mark.parametrize("beyond", ["now", "window.arrow", "changes.arrow"])
def test_times_that_are_no_dates(tmp_path: Path, beyond: str, family: bool) -> None:
    """Datetimes end with the year 9999, and what is beyond could be loaded but not shown."""
    given: dict[str, Any] = {"window": "9999 days", "track_changes": True}
    made: Any = swoop.Families(0.5, **given) if family else swoop.TopKJoin(k=2, copies="once", **given)
    for second in range(4):
        made.insert(["a", "b", str(second)], dt.datetime(1, 1, 2, 0, 0, second))
    members = members_of(made)
    early, late = FIRST_DATETIME - 1, LAST_DATETIME + 1
    if beyond == "now":
        with_settings(now=late, index_time=late, window={"kind": "duration", "length": 2**61})(members)
    else:
        with_column(beyond, "time", lambda values: [early, *values[1:]])(members)
    if beyond == "window.arrow":
        where = "families.arrow" if family else beyond
        with_column(where, "first_seen", lambda values: [early, *values[1:]])(members)
    with pytest.raises(InvalidFile, match="(?s)damaged: .*(no date|time of a change)"):
        type(made).load(put(tmp_path / "saved", members))


def test_valid_records(tmp_path: Path) -> None:
    window = read(records()["window.arrow"])
    assert (window["identity"].to_pylist(), window["first_seen"].to_pylist()) == ([0, 1, 6, 7, 8], [0, 1, 6, 7, 8])
    assert try_out(put(tmp_path / "join", records()))


@pytest.mark.parametrize(
    ("identities", "first_seen", "why"),
    [
        ([1, 1, 6, 7, 8], [1, 1, 6, 7, 8], "records are not called as they should be"),
        ([0, 1, 6, 7, 7], [0, 1, 6, 7, 7], "records are not called as they should be"),
        ([0, 1, 6, 0, 7], [0, 1, 6, 0, 7], "a record is called after a set of another one"),
        ([1, 0, 6, 7, 8], [0, 1, 6, 7, 8], "a record was not first seen when its first set arrived"),
        ([0, 1, 9, 7, 8], [0, 1, 6, 7, 8], "an identity is not that of an earlier set"),
    ],
)
def test_records_of_other_names(tmp_path: Path, identities: list[int], first_seen: list[int], why: str) -> None:
    members = records()
    in_window("identity", lambda _: identities)(members)
    in_window("first_seen", lambda _: first_seen)(members)
    with pytest.raises(InvalidFile, match=f"(?s)damaged: .*{why}"):
        swoop.TopKJoin.load(put(tmp_path / "join", members))


def test_copies_of_other_names(tmp_path: Path) -> None:
    """All copies of a record are called the same."""
    join = swoop.TopKJoin(5, 5, copies="once")
    for time, token in enumerate([1, 2, 1, 1, 3, 1, 1]):
        join.insert([7, token], time)
    members = members_of(join)
    assert read(members["window.arrow"])["identity"].to_pylist() == [0, 0, 4, 0, 0]
    in_window("identity", lambda _: [0, 1, 4, 0, 0])(members)
    in_window("first_seen", lambda _: [0, 1, 4, 0, 0])(members)
    with pytest.raises(InvalidFile, match="(?s)damaged: .*records are not called as they should be"):
        swoop.TopKJoin.load(put(tmp_path / "join", members))


@pytest.mark.parametrize("value", [-1, 1, 2**40, -(2**63)])
def test_offsets_in_the_bytes(tmp_path: Path, value: int) -> None:
    members = a_join()
    data = bytearray(members["window.arrow"])
    offsets = read(bytes(data)).column("strings").chunk(0).buffers()[1].to_pybytes()
    struct.pack_into("<q", data, data.find(offsets) + 8, value)
    members["window.arrow"] = bytes(data)
    path = put(tmp_path / "join", members)
    if value == 1:  # the first set has one token less, the second one more
        assert len(swoop.TopKJoin.load(path)._engine.tokens_of(0)) == 2
    else:
        with pytest.raises(InvalidFile, match="damaged"):
            swoop.TopKJoin.load(path)


@pytest.mark.parametrize("field", [20, 24])
def test_sizes_that_cannot_be(tmp_path: Path, field: int) -> None:
    """The directory says that the window takes 2 GiB, packed or unpacked: nobody asks for so much memory."""
    path = put(tmp_path / "join", a_join())
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02", 0, data.find(b"window.arrow", data.rfind(b"PK\x01\x02") - 200) + 1)
    assert data[entry + 46 : entry + 58] == b"window.arrow"
    struct.pack_into("<I", data, entry + field, 2**31 - 1)
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=r"window.arrow has \d+ bytes, and \d+ when unpacked, which is too much"):
            swoop.TopKJoin.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_methods_that_save_does_not_use(tmp_path: Path) -> None:
    path = tmp_path / "join"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in a_join().items():
            archive.writestr(name, data)
    with pytest.raises(InvalidFile, match="settings.json is compressed by method 14"):
        swoop.TopKJoin.load(path)


def test_settings_of_any_size(tmp_path: Path) -> None:
    members = a_join()
    members["settings.json"] += b" " * (1 << 20)
    with pytest.raises(InvalidFile, match=r"settings.json has \d+ bytes, and \d+ when unpacked, which is too much"):
        swoop.TopKJoin.load(put(tmp_path / "join", members))
    members["settings.json"] = b"[" * 100_000
    with pytest.raises(InvalidFile, match="damaged"):
        swoop.TopKJoin.load(put(tmp_path / "join", members))


def test_repetitive_windows(tmp_path: Path) -> None:
    """They become a small part of their size, and are loaded."""
    join = swoop.TopKJoin(k=1, window=None)
    join.insert_many({"tokens": [["long " * 2000]] * 300}, time=None)
    join.save(tmp_path / "join")
    with zipfile.ZipFile(tmp_path / "join") as archive:
        member = archive.getinfo("window.arrow")
    assert member.file_size > 150 * member.compress_size
    assert swoop.TopKJoin.load(tmp_path / "join").topk() == join.topk()


TIMES, OFFSETS, NO_SIDES = np.array([1, 1, 2]), np.array([0, 2, 2, 3]), np.empty(0, np.int8)
TOKENS = Tokens(integers=np.array([1, 2, 3]))


@pytest.mark.parametrize(
    ("columns", "side_count", "why"),
    [
        ((TIMES.astype(float), OFFSETS, TOKENS, NO_SIDES), 1, "times must be a flat array of int64, not 1-dimensional float64"),
        ((TIMES.astype(">i8"), OFFSETS, TOKENS, NO_SIDES), 1, "times must be a flat array of int64"),
        ((TIMES.reshape(1, 3), OFFSETS, TOKENS, NO_SIDES), 1, "not 2-dimensional int64"),
        (([1, 1, 2], OFFSETS, TOKENS, NO_SIDES), 1, "not list"),
        ((TIMES[::-1], OFFSETS, TOKENS, NO_SIDES), 1, "times fall from 2 to 1, at 1 of 3"),
        (
            (TIMES + 2**62, OFFSETS, TOKENS, NO_SIDES),
            1,
            "times must be below 2..62 in size, but they are from 4611686018427387905",
        ),
        ((TIMES, OFFSETS[:-1], TOKENS, NO_SIDES), 1, "3 sets need 4 offsets, not 3"),
        ((TIMES, OFFSETS + 1, TOKENS, NO_SIDES), 1, "there are 3 tokens, but offsets are from 1 to 4"),
        ((TIMES, np.array([0, 3, 2, 3]), TOKENS, NO_SIDES), 1, "offsets fall from 3 to 2"),
        ((TIMES, OFFSETS, TOKENS, NO_SIDES), 2, "3 sets have 0 sides, in a join that has 2"),
        ((TIMES, OFFSETS, TOKENS, np.array([0, 1, -1], np.int8)), 2, "sides must be 0 or 1"),
        ((TIMES, OFFSETS, TOKENS, np.zeros(3, np.int8)), 1, "3 sets have 3 sides, in a join that has 1"),
        (
            (TIMES, OFFSETS, Tokens(np.arange(3), kinds=np.array([0, 0, 1], np.int8)), NO_SIDES),
            1,
            r"\[3, 0, 0\].*has \[2, 1, 0\]",
        ),
        (
            (TIMES, OFFSETS, Tokens(np.arange(3), kinds=np.array([0, 0, 9], np.int8)), NO_SIDES),
            1,
            r"but their order has \[2, 0, 0, 0\]",
        ),
        ((TIMES, OFFSETS, Tokens(np.arange(2), Texts.of([b"a"])), NO_SIDES), 1, "several kinds, but no order"),
        (
            (TIMES, OFFSETS, Tokens(strings=Texts(np.zeros(4, np.uint8), np.array([0, 3, 1, 4]))), NO_SIDES),
            1,
            "ends of tokens fall",
        ),
        (
            (TIMES, OFFSETS, Tokens(strings=Texts(np.zeros(3, np.uint8), np.array([0, 1, 2, 4]))), NO_SIDES),
            1,
            "there are 3 bytes of tokens, but ends of tokens are from 0 to 4",
        ),
        ((TIMES[:1], np.array([0, 2**25]), Tokens(integers=np.arange(2**25)), NO_SIDES), 1, "a set has 33554432 tokens"),
    ],
)
def test_arrays_that_kernels_cannot_use(columns: Any, side_count: int, why: str) -> None:
    with pytest.raises(InvalidData, match=why):
        checked_sets(*columns, side_count)


def test_arrays_become_what_kernels_take() -> None:
    """Contiguous and aligned; those that are so already are not copied."""
    odd = np.frombuffer(b"\0" + TIMES.tobytes(), np.uint8)[1:].view(np.int64)
    assert not odd.flags.aligned
    times, offsets, tokens, _ = checked_sets(odd, np.repeat(OFFSETS, 2)[::2], TOKENS, NO_SIDES, 1)
    assert times.flags.aligned
    assert offsets.flags.c_contiguous
    assert (times.tolist(), offsets.tolist()) == (TIMES.tolist(), OFFSETS.tolist())
    assert tokens.integers is TOKENS.integers
