"""Checkpoints that are not what they seem, or that another driver has taken over."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live import lease as leases
from swoop.live.checkpoint import Checkpoint
from swoop.live.live_stream import LiveStream
from swoop.live.one_engine import OneEngine
from swoop.live.outputs import CallbackOutput, FolderOutput, Outputs, Owner
from tests.support.live_cases import SPEC, Row, table
from tests.support.live_runs import files_of

GIVEN = {"window": "1", "cells": 1}


def spark_writes(folder: Path, query: str, *batches: int) -> None:
    """What Spark puts beside our folder."""
    (folder / "metadata").write_text(json.dumps({"id": query}))
    for name in ("offsets", "commits"):
        (folder / name).mkdir(exist_ok=True)
        for batch in batches:
            (folder / name / str(batch)).write_text("v1")
            (folder / name / f".{batch}.crc").write_text("")


def used(folder: Path) -> Checkpoint:
    """A checkpoint of a stream that has done two batches."""
    kept = Checkpoint(folder, SPEC.lasting())
    live = LiveStream(
        SPEC, kept, OneEngine(SPEC, kept), *(FolderOutput(folder / "swoop" / name) for name in ("changes", "late", "rejected"))
    )
    spark_writes(folder, "the query", 0, 1)
    kept.note_query("the query")
    for batch in range(2):
        live.process(batch, table([Row(batch, 10 * batch, (1, 2))]))
    return kept


def test_of_one_run(tmp_path: Path) -> None:
    kept = used(tmp_path)
    again = Checkpoint(tmp_path, SPEC.lasting())
    assert again.run == kept.run
    assert again.committed() == 1
    assert (again.unmarked, Checkpoint(tmp_path / "other", GIVEN).committed()) == (-1, -1)
    (tmp_path / "swoop/query.json").unlink()
    assert again.unmarked == 1


@pytest.mark.parametrize("left", ["states", "chunks"])
def test_parameters_that_are_gone(tmp_path: Path, left: str) -> None:
    used(tmp_path)
    (tmp_path / "swoop/parameters.json").unlink()
    for name in {"states", "chunks", "late", "rejected"} - {left}:
        shutil.rmtree(tmp_path / "swoop" / name, ignore_errors=True)
    before = files_of(tmp_path)
    with pytest.raises(InvalidFile, match=f"parameters.json is missing.*{left}/.*copy, or begin with a new checkpoint"):
        Checkpoint(tmp_path, SPEC.lasting())
    assert files_of(tmp_path) == before


def test_the_checkpoint_of_another_query(tmp_path: Path) -> None:
    spark_writes(tmp_path, "somebody's", 0, 1, 2)
    before = files_of(tmp_path)
    with pytest.raises(InvalidArgument, match="another query of Spark's.*folder of its own"):
        Checkpoint(tmp_path, GIVEN)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("what", ["gone", "another query"])
def test_a_part_that_was_replaced(tmp_path: Path, what: str) -> None:
    used(tmp_path)
    if what == "gone":
        (tmp_path / "metadata").unlink()
    else:
        spark_writes(tmp_path, "somebody's")
    with pytest.raises(InvalidFile, match=f"is .*{what}.* belongs to the query the query.*new checkpoint"):
        Checkpoint(tmp_path, SPEC.lasting())


def test_a_first_start_that_was_killed(tmp_path: Path) -> None:
    """After the parameters were written, after Spark wrote its own, after its query was noted."""
    run = Checkpoint(tmp_path, GIVEN).run
    assert Checkpoint(tmp_path, GIVEN).run == run
    spark_writes(tmp_path, "the query")
    kept = Checkpoint(tmp_path, GIVEN)
    assert kept.run == run
    kept.note_query("the query")
    assert Checkpoint(tmp_path, GIVEN).run == run


def test_abandoned(tmp_path: Path) -> None:
    """What was made for a stream that was not started is no checkpoint; what was there stays."""
    for path, lasts in ((tmp_path / "new", False), (tmp_path / "used", True)):
        if lasts:
            used(path)
        kept = Checkpoint(path, SPEC.lasting())
        kept.abandon()  # not held: somebody else may have it
        assert (path / "swoop/parameters.json").exists()
        kept.hold()
        kept.abandon()
        kept.release()
        assert (path / "swoop/parameters.json").exists() == lasts


def test_damaged_files_that_say_whose_it_is(tmp_path: Path) -> None:
    used(tmp_path)
    (tmp_path / "swoop/query.json").write_text("{")
    with pytest.raises(InvalidFile, match="damaged: query.json"):
        Checkpoint(tmp_path, SPEC.lasting())


def test_a_driver_that_has_lost_its_lease_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither with the next batch nor in the middle of one, just before it deletes or writes."""
    monkeypatch.setattr(leases, "FRESH", 0.0)
    monkeypatch.setattr(leases, "BEAT", 1.0)
    kept = Checkpoint(tmp_path, SPEC.lasting())
    kept.hold()
    changes, late, rejected = (
        FolderOutput(tmp_path / name, Owner("", name, guard=kept.check)) for name in ("changes", "late", "rejected")
    )
    called: list[int] = []
    live = LiveStream(
        SPEC,
        kept,
        OneEngine(SPEC, kept),
        Outputs([CallbackOutput(lambda _, batch: called.append(batch)), changes]),
        late,
        rejected,
    )
    for batch in range(3):
        live.process(batch, table([Row(batch, 10 * batch, (1, 2)), Row(9, 10 * batch, (1, 2))]))

    def files() -> dict[str, bytes]:
        return {name: data for name, data in files_of(tmp_path).items() if "/owner-" not in name}

    def taken() -> None:
        (tmp_path / "swoop/owner-999999999999.json").write_text(
            json.dumps({"lease": "other", "machine": "elsewhere", "pid": 7})
        )

    taken()
    before = files()
    with pytest.raises(InvalidFile, match="no longer held by this process, but by process 7 on elsewhere"):
        live.process(3, table([Row(3, 30, (1, 2))]))
    assert files() == before
    (tmp_path / "swoop/owner-999999999999.json").unlink()
    kept.check()

    def after(name: str, there: Any) -> None:
        real = getattr(there, name)

        def then(*arguments: Any) -> Any:
            found = real(*arguments)
            taken()
            return found

        monkeypatch.setattr(there, name, then)

    after("write", kept)  # before the results
    with pytest.raises(InvalidFile, match="no longer held"):
        live.process(3, table([Row(3, 30, (1, 2)), Row(4, 30, (1, 2)), Row(5, 99, (1, 2))]))
    outputs = {name: data for name, data in before.items() if "/swoop/" not in name}
    assert {name: data for name, data in files().items() if "/swoop/" not in name} == outputs
    assert called == [1, 2]
    until = time.monotonic() + 30
    while not kept.lost:
        assert time.monotonic() < until
        time.sleep(0.05)
    kept.release()


def test_a_driver_that_comes_back_late_deletes_nothing_of_the_next(tmp_path: Path) -> None:
    """It looked at its lease just before it was suspended."""
    kept = used(tmp_path)
    last = kept.state(kept.known()[-1])
    chunks = tmp_path / "swoop/chunks"
    mine, of_the_next = {path.name for path in chunks.iterdir()}, "000000000002~999999999999-0123456789ab.arrow"
    state = tmp_path / "swoop/states/000000000000~999999999999.json"
    for path in (chunks / of_the_next, state):
        path.write_bytes(last.to_json())
    kept.collect(last)
    assert {path.name for path in chunks.iterdir()} - mine == {of_the_next}
    assert state.exists()


def test_parameters_are_there_once_the_lease_is_held(tmp_path: Path) -> None:
    """Whoever made the checkpoint may have given it up meanwhile; and an earlier release cannot go on with it."""
    file = tmp_path / "swoop/parameters.json"
    kept = Checkpoint(tmp_path, GIVEN)
    known = json.loads(file.read_text())
    file.unlink()
    kept.hold()
    assert json.loads(file.read_text()) == known
    kept.release()
    file.write_text(json.dumps({**known, "version": 1}))
    kept = Checkpoint(tmp_path, GIVEN)
    kept.hold()
    assert json.loads(file.read_text()) == known
    kept.release()


def test_what_is_left_of_a_start_that_failed(tmp_path: Path) -> None:
    """A file that was never complete is nothing of a stream."""
    (tmp_path / "swoop/late").mkdir(parents=True)
    (tmp_path / "swoop/late/.left.part").write_text("")
    assert Checkpoint(tmp_path, GIVEN).run
