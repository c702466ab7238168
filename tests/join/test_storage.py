"""Saved joins go on as if nothing had happened; files that are not in order are refused."""

from __future__ import annotations

import json
import random
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import swoop
from swoop import oracle
from swoop.errors import InvalidFile, InvalidType
from swoop.join import ipc, storage
from swoop.oracle import Record
from tests.support.faults import Fault, interrupted_lines


def saved(tmp_path: Path, **options: Any) -> tuple[swoop.TopKJoin, Path]:
    join = swoop.TopKJoin(**{"k": 3, "window": 10, "track_changes": True, **options})
    for time in range(5):
        join.insert(["a", "b", str(time)], time, id=f"set {time}")
    path = tmp_path / "join.swoop"
    join.save(path)
    return join, path


def test_a_loaded_join_goes_on_exactly(tmp_path: Path) -> None:
    """With pending changes, mixed tokens and ids, and large integers as ids."""
    rng = random.Random(5)
    records = [
        Record(
            [rng.choice([t, str(t), str(t).encode()]) for t in rng.choices(range(7), k=4)],
            time // 3,
            rng.choice([None, time, f"id {time}", b"\xff%d" % time, 2**70 + time]),
        )
        for time in range(60)
    ]
    join = swoop.TopKJoin(k=4, window=9, track_changes=True)
    feed: list[Any] = []
    for arrived, record in enumerate(records, 1):
        join.insert(record.tokens, record.time, record.id)
        if arrived % 7 == 0:
            join.save(tmp_path / "join")
            join = swoop.TopKJoin.load(tmp_path / "join")
            assert list(join.topk()) == oracle.topk(records[:arrived], 4, 9)
        if arrived % 10 == 0:
            feed.extend(join.changes())
    feed.extend(join.changes())
    assert feed == oracle.changes(records, 4, 9)
    join._check()


def test_settings_survive(tmp_path: Path) -> None:
    join = swoop.TopKJoin(k=7, window="1 hour", similarity="cosine", two_streams=True, min_similarity=0.25)
    join.save(tmp_path / "empty")
    loaded = swoop.TopKJoin.load(tmp_path / "empty")
    for name in ("k", "window", "two_streams", "min_similarity", "track_changes", "algorithm"):
        assert getattr(loaded, name) == getattr(join, name)
    assert loaded.similarity is join.similarity


@pytest.mark.parametrize("window", [swoop.last(3), None])
def test_other_windows(tmp_path: Path, window: Any) -> None:
    join = swoop.TopKJoin(k=2, window=window)
    for token in "aabab":
        join.insert([token])
    join.save(tmp_path / "join")
    loaded = swoop.TopKJoin.load(tmp_path / "join")
    for one in (join, loaded):
        one.insert(["a"])
    assert loaded.topk() == join.topk()
    assert loaded.stats.sets == 6


def test_truncated_files(tmp_path: Path) -> None:
    _, path = saved(tmp_path)
    whole = path.read_bytes()
    for size in [0, 1, 10, *range(50, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidFile, match="join.swoop' is not a saved join, or it is damaged"):
            swoop.TopKJoin.load(path)


def test_damaged_files(tmp_path: Path) -> None:
    """A changed byte is noticed, or lies where nothing depends on it."""
    join, path = saved(tmp_path)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 41):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            loaded = swoop.TopKJoin.load(path)
        except InvalidFile:
            refused += 1
        else:
            assert loaded.topk() == join.topk()
    assert refused > len(whole) / 41 / 2


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(b"PNG nonsense")
    with pytest.raises(InvalidFile, match="is not a saved join"):
        swoop.TopKJoin.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("settings.json", json.dumps({"format": "something else"}))
    with pytest.raises(InvalidFile, match="is not a saved join"):
        swoop.TopKJoin.load(path)
    with pytest.raises(FileNotFoundError):
        swoop.TopKJoin.load(tmp_path / "missing")


def test_newer_files(tmp_path: Path) -> None:
    _, path = saved(tmp_path)
    with zipfile.ZipFile(path) as archive:
        settings = json.loads(archive.read("settings.json"))
    settings["version"] = 99
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("settings.json", json.dumps(settings))
    with pytest.raises(InvalidFile, match="format version 99 by a newer release; this one reads versions up to 3. Upgrade"):
        swoop.TopKJoin.load(path)


def test_user_defined_similarities_are_given_again(tmp_path: Path) -> None:
    share = swoop.Similarity(lambda r, s, o: o / max(r, s), name="share")
    other = swoop.Similarity(lambda r, s, o: o / (r + s), name="other")
    join, path = saved(tmp_path, similarity=share)
    assert swoop.TopKJoin.load(path, similarity=share).topk() == join.topk()
    with pytest.raises(InvalidType, match="load takes the swoop.Similarity .* not 'share'"):
        swoop.TopKJoin.load(path, "share")  # type: ignore[arg-type]
    with pytest.raises(InvalidFile, match="user-defined similarity 'share'; give it again"):
        swoop.TopKJoin.load(path)
    with pytest.raises(InvalidFile, match="saved with the similarity 'share', but 'other' was given"):
        swoop.TopKJoin.load(path, similarity=other)
    _, path = saved(tmp_path)
    with pytest.raises(InvalidFile, match="which need not be given"):
        swoop.TopKJoin.load(path, similarity=share)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join, path = saved(tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr("swoop.join.storage._changes_table", lambda join, pending: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        join.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_interrupted_at_any_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes as such, and leaves the old file or the new one, and nothing beside it."""
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)  # of archives that were interrupted while they were made
    join, path = saved(tmp_path)
    old = path.read_bytes()
    join.insert(["a", "b", "new"], 5)
    files = {storage.__file__, zipfile.__file__, ipc.__file__}
    occasions = Fault(0, KeyboardInterrupt)
    with interrupted_lines(occasions, files):
        join.save(path)
    assert occasions.seen > 200
    seen = set()
    for n in range(1, occasions.seen + 1, 3):
        path.write_bytes(old)
        with suppress(KeyboardInterrupt), interrupted_lines(Fault(n, KeyboardInterrupt), files):  # and no other error
            join.save(path)
        assert list(tmp_path.iterdir()) == [path]
        seen.add(swoop.TopKJoin.load(path).stats.sets)
    assert seen == {5, 6}


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join, path = saved(tmp_path)
    monkeypatch.setattr("pickle.loads", lambda *_: 1 / 0)
    monkeypatch.setattr("pickle.load", lambda *_: 1 / 0)
    assert swoop.TopKJoin.load(path).topk() == join.topk()
