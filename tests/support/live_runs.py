"""Live streams without Spark, run batch by batch: how they start, die and resume."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from swoop.join import columns, payloads
from swoop.live import checkpoint, chunks, folders, pieces
from swoop.live.alerts import AlertOutput, AlertSettings
from swoop.live.checkpoint import Checkpoint
from swoop.live.files import FileSystem, Folder
from swoop.live.live_families import LiveFamilies
from swoop.live.live_stream import LiveStream
from swoop.live.one_engine import OneEngine
from swoop.live.one_family_engine import OneFamilyEngine
from swoop.live.outputs import FolderOutput, Outputs, Owner
from swoop.live.stream_spec import StreamSpec
from swoop.spec import FamilySpec
from tests.support.live_cases import Run, any_way, table


def start(folder: Path, spec: StreamSpec) -> Any:
    """A live join, or live families."""
    outputs: list[Any] = [FolderOutput(str(folder / name), Owner(open=opened)) for name in ("changes", "late", "rejected")]
    kept = Checkpoint(opened(folder), spec.lasting())
    if _alerts:
        outputs[0] = Outputs([outputs[0], alerts_of(folder, spec, _alerts[-1])])
    if isinstance(spec.join, FamilySpec):
        return LiveFamilies(spec, kept, OneFamilyEngine(spec, kept), *outputs)
    return LiveStream(spec, kept, OneEngine(spec, kept), *outputs)


def opened(path: str | Path) -> Folder:
    """A folder on the disk, or on the store that :func:`on_store` has put in its place."""
    return Folder(str(path), _store[-1]) if _store else Folder(path)


def alerts_of(folder: Path, spec: StreamSpec, settings: AlertSettings) -> AlertOutput:
    """The alerts of a live join, or of live families."""
    return AlertOutput(settings, opened(folder).inner("swoop").inner("alerts"), "run", spec.join)


_store: list[FileSystem] = []
_alerts: list[AlertSettings] = []


def alerting(settings: AlertSettings) -> AbstractContextManager[None]:
    """Streams have alerts. Nobody delivers them by himself."""
    return _last_of(_alerts, settings)


def on_store(store: FileSystem) -> AbstractContextManager[None]:
    """Streams have their files on a store."""
    return _last_of(_store, store)


@contextmanager
def _last_of(many: list[Any], one: Any) -> Iterator[None]:
    many.append(one)
    try:
        yield
    finally:
        many.pop()


def idle(live: Any, run: Run) -> None:
    """Let time move on as it should after the last batch, as far as it has not been done."""
    for passed in run.idles_after(live._state.batch)[live._state.idle :]:
        live.advance_clock(passed)


class Killed(BaseException):
    pass


def run(
    folder: Path,
    run: Run,
    commits: Callable[[int], bool] = lambda batch: True,
    from_batch: int = 0,
    rng: random.Random | None = None,
) -> Any:
    """All batches from one on, as Spark would run them; a process that does not live to commit a batch is Killed.

    With ``rng``, rows of a batch come in any order and in any pieces, each time that it is done.
    """
    live = start(folder, run.spec)
    for batch, rows in enumerate(run.batches[from_batch:], from_batch):
        live.process(batch, table(rows, run.spec) if rng is None else any_way(rows, run.spec, rng))
        if not commits(batch):
            raise Killed
        (folder / "committed").write_text(str(batch))
        commits_of_spark = opened(folder / "commits")
        commits_of_spark._system.write(f"{commits_of_spark.path}/{batch}", b"")  # Spark's own, so not a change that is counted
        idle(live, run)
        if batch in run.ends:
            live.finish()
            (folder / "ended").write_text(str(batch))
            live = start(folder, run.spec)
    live.finish()
    return live


def files_written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all files that are written from here on, but for final ones, which are no small files."""
    names: list[str] = []
    for way in ("write", "create"):
        real: Callable[..., Any] = getattr(Folder, way)

        def noted(self: Folder, name: str, data: Any, real: Callable[..., Any] = real) -> Any:
            names.append(name)
            return real(self, name, data)

        monkeypatch.setattr(Folder, way, noted)
    monkeypatch.setattr(folders, "PATIENCE", 1e9)
    monkeypatch.setattr(folders, "YOUNG", 1e9)
    return names


def claimed(live: Any) -> Any:
    """A stream whose folders are claimed before its first batch, as on Spark."""
    for output in (live._changes, live._late, live._rejected):
        output.files.claim(-1)
    return live


@contextmanager
def small(limit: int | None) -> Iterator[None]:
    """What is put together at once has so many bytes at most, offsets of 32 bits so many at most, and chunks too."""
    with pytest.MonkeyPatch.context() as patch:
        if limit is not None:
            patch.setattr(pieces, "LIMIT", limit)
            patch.setattr(payloads, "LIMIT", limit)
            patch.setattr(columns, "SMALL", 2 * limit)
            patch.setattr(chunks, "LARGEST", 3 * limit)
            patch.setattr(chunks, "MERGED", 3)
            patch.setattr(checkpoint, "SMALL", 10 * limit)
        yield


limits = st.sampled_from([None, 1, 60, 200, 1000])


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def run_again(folder: Path, case: Run, commits: Callable[[int], bool], rng: random.Random | None = None) -> Any:
    for _ in range(200):
        batch, ended = (int(file.read_text()) if file.exists() else -1 for file in (folder / "committed", folder / "ended"))
        try:
            live = start(folder, case.spec)
            if batch == live._state.batch:
                idle(live, case)
            if batch in case.ends and batch != ended:
                live.finish()
                (folder / "ended").write_text(str(batch))
            return run(folder, case, commits, batch + 1, rng)
        except Killed:
            continue
    raise AssertionError("it never ends")


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
