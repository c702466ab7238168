"""Whose a folder of results is: each has one owner, and what somebody else has written stays as it is.

And what outputs can be asked for, and what their rows are called.

Tests of swoop.live.manifest.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swoop.errors import InvalidArgument, InvalidFile, InvalidType
from swoop.live.checkpoint import State
from swoop.live.files import Folder
from swoop.live.folders import ResultFolder
from swoop.live.manifest import FolderSettings, Manifest, find_size, folder, result_files
from swoop.live.outputs import FolderOutput, Outputs, Owner, claim, numbered, unclaim
from swoop.spark.topics import KafkaOutput, keyed
from tests.support.live_runs import files_of
from tests.support.result_folders import listed, of, read_all, rows, step


@pytest.mark.parametrize("is_final", [False, True])
def test_an_older_copy_of_the_checkpoint(tmp_path: Path, is_final: bool) -> None:
    """Spark may cut what came since into other batches, so some of it would be missing, and with it what was merged."""
    output = of(tmp_path / "out")
    for batch in range(20):
        output.put(step(batch), rows(batch))
    output.commit(step(batch), is_final)
    before = files_of(tmp_path)
    for last in ("", step(10), step(18, True)):
        goes = f"only to batch {int(last[:12])}" if last else "nowhere"
        with pytest.raises(
            InvalidArgument, match=f"has the changes up to batch 19, but the checkpoint goes {goes}: it is an older"
        ):
            claim([Outputs([FolderOutputOf(of(tmp_path / "out"))])], "/checkpoint", -1, last)
    assert files_of(tmp_path) == before
    for last in (step(19), step(19, True), step(30)):
        claim([Outputs([FolderOutputOf(of(tmp_path / "out"))])], "/checkpoint", -1, last)


class FolderOutputOf(FolderOutput):
    """The output that has this folder."""

    def __init__(self, files: ResultFolder) -> None:
        self.files = files


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"run": "other"},
            "belongs to another stream: it holds the changes of the one with the checkpoint '/checkpoints/mine'",
        ),
        ({"holds": "late"}, "holds the changes of this stream, so it cannot hold its late"),
    ],
)
def test_a_folder_of_somebody_else(tmp_path: Path, other: dict[str, str], message: str) -> None:
    mine = of(tmp_path / "out")
    mine.claim(-1)
    for written in (False, True):
        if written:
            mine.put(step(0), rows(1))
            mine.put(step(1), rows(2))
        before = files_of(tmp_path)
        for act in ("check", "claim"):
            with pytest.raises(InvalidArgument, match=message):
                getattr(of(tmp_path / "out", **other), act)(99)
        assert files_of(tmp_path) == before
    of(tmp_path / "out").claim(-1)


def test_of_streams_that_start_at_once_one_goes_on(tmp_path: Path) -> None:
    for number in range(20):
        path, winners = tmp_path / str(number), []
        barrier = threading.Barrier(4)

        def start(run: str, path: Path = path, barrier: Any = barrier, winners: list[str] = winners) -> None:
            output = of(path, run)
            barrier.wait()
            with suppress(InvalidArgument):
                output.claim(-1)
                winners.append(run)

        threads = [threading.Thread(target=start, args=(run,)) for run in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(winners) == 1
        found = Manifest.read(Folder(path))
        assert found is not None
        assert [found.run] == winners


def test_files_of_an_earlier_release(tmp_path: Path) -> None:
    """One file per batch, and no mark. They stay; that of a batch that is run again is replaced."""
    for name, number in (("000000000003", 0), ("000000000007", 1), ("000000000007-end", 2), ("000000000008", 3)):
        pq.write_table(rows(number), tmp_path / f"{name}.parquet")
    assert read_all(tmp_path) == [0, 1, 2, 3]
    for batch in (-1, 7):
        with pytest.raises(InvalidArgument, match="foreign files, such as '0000.*new folder"):
            of(tmp_path).claim(batch)
    output = of(tmp_path)
    output.claim(8)
    output.put(step(8), rows(30, 31))
    assert read_all(tmp_path) == [0, 1, 2, 30, 31]
    assert listed(tmp_path) == [0, 1, 2]
    again = of(tmp_path)
    again.claim(-1)
    again.put(step(9), rows(40))
    again.commit(step(9), force=True)
    assert read_all(tmp_path) == listed(tmp_path) == [0, 1, 2, 30, 31, 40]


@pytest.mark.parametrize("name", ["000000000003.json", "part-0.parquet", "posts.csv"])
def test_files_of_somebody_else(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidArgument, match=f"such as '{name}'"):
        of(tmp_path).claim(99)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_mark_that_cannot_be_read(tmp_path: Path) -> None:
    of(tmp_path).claim(-1)
    mark = tmp_path / "_swoop.json"
    known = json.loads(mark.read_text())
    mark.write_text(json.dumps({**known, "version": 99}))
    with pytest.raises(InvalidFile, match="version 99.*Upgrade"):
        of(tmp_path).claim(-1)
    for text in ("{", "[]", "{}", json.dumps({**known, "format": "other"})):
        mark.write_text(text)
        with pytest.raises(InvalidFile, match="_swoop.json.*cannot be read.*another folder"):
            result_files(tmp_path)


def test_places_of_the_outputs_of_one_stream(tmp_path: Path) -> None:
    def outputs(*paths: str) -> list[Outputs]:
        found = []
        for path, holds in zip(paths, ("changes", "late", "rejected"), strict=False):
            several = [FolderOutput(tmp_path / one, Owner("run", holds)) for one in path.split("+")]
            found.append(Outputs(several))
        return found

    checkpoint = str(tmp_path / "state")
    for paths in (("a", "b", "a"), ("a+a",), ("a", "a/b"), ("b/c", "b")):
        with pytest.raises(InvalidArgument, match="same folder or one into that of the other.*own"):
            claim(outputs(*paths), checkpoint, -1)
    for path in ("state", "."):
        with pytest.raises(InvalidArgument, match="has the checkpoint in it"):
            claim(outputs(path), checkpoint, -1)
    of(tmp_path / "taken", "other").claim(-1)
    with pytest.raises(InvalidArgument, match="taken' for late belongs to another stream"):
        claim(outputs("new", "taken"), checkpoint, -1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["taken"]
    free = outputs("new", "state/swoop/late")
    claim(free, checkpoint, -1)
    assert (tmp_path / "new/_swoop.json").exists()
    unclaim(free)
    assert not (tmp_path / "new/_swoop.json").exists()
    claim(free, checkpoint, -1)
    free[0].folders[0].put(step(0), rows(1))
    unclaim(free)
    assert (tmp_path / "new/_swoop.json").exists()  # it has got something
    topics: Any = [Outputs([KafkaOutput("kafka://host:1/t", None, "run")]) for _ in range(2)]  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="two outputs of this stream go to the topic 'host:1/t'"):
        claim(topics, checkpoint, -1)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (InvalidType, "a folder for results must be a path, not 5", lambda: folder(5)),  # type: ignore[arg-type]
        (InvalidArgument, "cannot parse the size 'big'", lambda: folder("a", target_size="big")),
        (InvalidArgument, "cannot parse the size 0", lambda: find_size(0)),
        (InvalidArgument, "cannot parse the size -3", lambda: find_size(-3)),
        (InvalidArgument, "cannot parse the final_after 'soon'", lambda: folder("a", final_after="soon")),
        (InvalidType, "retention must be a duration.*not 30", lambda: folder("a", retention=30)),  # type: ignore[arg-type]
    ],
)
def test_settings_that_make_no_sense(error: type[Exception], message: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        call()


def test_settings() -> None:
    assert folder(Path("out"), target_size="1 kB", final_after="2 min", retention="1 day") == FolderSettings(
        "out", 1024, 120.0, 86_400.0
    )


def test_numbers_and_keys() -> None:
    """A batch that is run again gives its results the numbers and keys that they had."""
    table = numbered(State(7, 1), pa.table({"kind": ["enter", "expired", "enter"]}), 100)
    assert table["sequence"].to_pylist() == [100, 101, 102]
    assert table["batch"].to_pylist() == [7] * 3
    sent = keyed(table, "run/7/", frozenset())
    again = keyed(table, "run/7/", {"run/7/000000", "run/7/000002", "other/7/000001"})
    assert sent["key"].to_pylist() == ["run/7/000000", "run/7/000001", "run/7/000002"]
    assert again.to_pylist() == [sent.to_pylist()[1]]
    assert keyed(table, "run/7/", set(sent["key"].to_pylist())).num_rows == 0
