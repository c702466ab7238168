"""Saved joins: a zip archive of the settings (JSON) and of the window and the pending changes (Arrow). See docs/file-format.md.

The state of the engine is a function of the valid sets, so the window is all that is saved of it; loading lets its sets arrive.
Nothing is unpickled; every member of the archive carries a checksum.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from swoop.engine.engine import Contents
from swoop.engine.layout import CHANGE
from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidFile
from swoop.join.feed import Rows
from swoop.results import Id
from swoop.similarity import USER, Similarity
from swoop.times import WindowSpec

if TYPE_CHECKING:
    from swoop.join.topk_join import TopKJoin

Join = TypeVar("Join", bound="TopKJoin")

FORMAT = "swoop join"
VERSION = 1
_SETTINGS, _WINDOW, _CHANGES = "settings.json", "window.arrow", "changes.arrow"


def save(join: TopKJoin, path: str | os.PathLike[str]) -> None:
    """Write the join to a file beside the target, then put it in its place."""
    join._engine.settle()  # what was interrupted is in the feed
    join._feed.take(join._engine, join._ids)
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(_SETTINGS, json.dumps(_settings(join), indent=1))
            archive.writestr(_WINDOW, _arrow(_window_table(join)))
            archive.writestr(_CHANGES, _arrow(_changes_table(join)))
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):  # interrupted when it was in its place already
            os.unlink(name)
        raise


def _settings(join: TopKJoin) -> dict[str, Any]:
    engine, clock = join._engine, join._clock
    return {
        "format": FORMAT,
        "version": VERSION,
        "k": join.k,
        "window": {"kind": join.window.kind, "length": join.window.duration},
        "similarity": join.similarity.name,
        "user_defined": join.similarity.kind == USER,
        "two_streams": join.two_streams,
        "min_similarity": join.min_similarity,
        "track_changes": join.track_changes,
        "algorithm": join.algorithm,
        "time_kind": clock.kind,
        "now": clock.now,
        "index_time": engine.now,
        "first": engine.oldest,
        "counters": engine.counters,
    }


def _window_table(join: TopKJoin) -> pa.Table:
    contents = join._engine.contents()
    size = len(contents.times)
    tokens = contents.tokens
    columns = {
        "time": pa.array(contents.times),
        "side": pa.array(contents.sides if join.two_streams else np.zeros(size, np.int8)),
        **_id_columns("id", join._ids.given(contents.first, contents.first + size)),
    }
    for kind, name in enumerate(("integers", "strings", "bytes")):
        part = tokens.part(kind)
        values = pa.array(part, pa.int64()) if kind == 0 else pa.array(part.to_list(), pa.large_binary())
        if tokens.kinds is None:
            ends = contents.offsets if len(values) else np.zeros(size + 1, np.int64)
        else:
            ends = np.concatenate(([0], np.cumsum(tokens.kinds == kind)))[contents.offsets]
        columns[name] = pa.LargeListArray.from_arrays(pa.array(ends), values)
    return pa.table(columns)


def _changes_table(join: TopKJoin) -> pa.Table:
    pending = join._feed.waiting()
    return pa.table(
        {
            **{name: pa.array(np.ascontiguousarray(pending.rows[name])) for name in CHANGE.names or ()},
            **_id_columns("newer_id", list(pending.newer)),
            **_id_columns("older_id", list(pending.older)),
        }
    )


def _id_columns(name: str, ids: list[Id | None]) -> dict[str, pa.Array]:
    """Ids by type; where all three are null, none was given."""
    texts = [i.encode("utf-8", "surrogatepass") if isinstance(i, str) else None for i in ids]
    integers = [str(i).encode() if isinstance(i, int) else None for i in ids]
    return {
        f"{name}_integer": pa.array(integers, pa.large_binary()),  # decimal, of any size
        f"{name}_string": pa.array(texts, pa.large_binary()),
        f"{name}_bytes": pa.array([i if isinstance(i, bytes) else None for i in ids], pa.large_binary()),
    }


def _read_ids(table: pa.Table, name: str) -> list[Any]:
    columns = (table.column(f"{name}_{kind}").to_pylist() for kind in ("integer", "string", "bytes"))
    return [
        int(integer) if integer is not None else text.decode("utf-8", "surrogatepass") if text is not None else data
        for integer, text, data in zip(*columns, strict=True)
    ]


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def load(cls: type[Join], path: str | os.PathLike[str], similarity: Similarity | None) -> Join:
    try:
        with zipfile.ZipFile(path) as archive:
            settings = json.loads(archive.read(_SETTINGS))
            _check_settings(settings, path)
            window = pa.ipc.open_stream(archive.read(_WINDOW)).read_all()
            changes = pa.ipc.open_stream(archive.read(_CHANGES)).read_all()
        join = _make(cls, settings, similarity)
        _restore(join, settings, window, changes)
    except (InvalidFile, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # whatever is wrong with the bytes, it is the file's fault
        raise InvalidFile(f"{os.fspath(path)!r} is not a saved join, or it is damaged: {error}") from error
    return join


def _check_settings(settings: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise InvalidFile(f"{os.fspath(path)!r} is not a saved join")
    if settings["version"] > VERSION:
        raise InvalidFile(
            f"{os.fspath(path)!r} was saved in format version {settings['version']} by a newer release; "
            f"this one reads versions up to {VERSION}. Upgrade with: pip install --upgrade swoop-join"
        )


def _make(cls: type[Join], settings: dict[str, Any], similarity: Similarity | None) -> Join:
    name = settings["similarity"]
    if settings["user_defined"]:
        if similarity is None:
            raise InvalidFile(
                f"the join was saved with the user-defined similarity {name!r}; give it again with load(path, similarity=...)"
            )
        if similarity.name != name:
            raise InvalidFile(f"the join was saved with the similarity {name!r}, but {similarity.name!r} was given")
    elif similarity is not None:
        raise InvalidFile(f"the join was saved with the similarity {name!r}, which need not be given")
    window = WindowSpec(settings["window"]["kind"], settings["window"]["length"])
    return cls(
        settings["k"],
        None if window.kind == "unbounded" else window,
        similarity or name,
        two_streams=settings["two_streams"],
        min_similarity=settings["min_similarity"],
        track_changes=settings["track_changes"],
        algorithm=settings["algorithm"],
    )


def _restore(join: TopKJoin, settings: dict[str, Any], window: pa.Table, changes: pa.Table) -> None:
    size = window.num_rows
    engine = join._engine
    ids = _read_ids(window, "id")
    offsets, tokens = _read_sets(window)
    sides = window.column("side").to_numpy() if join.two_streams else np.empty(0, np.int8)
    contents = Contents(settings["first"], window.column("time").to_numpy(), sides, offsets, tokens)
    if any(name is not None for name in ids):
        join._ids.add(contents.first, contents.first, ids, size)
    engine.restore(contents, settings["index_time"])
    engine.counters = settings["counters"]
    join._clock.kind = settings["time_kind"]
    join._clock.now = settings["now"]
    waiting = None
    if changes.num_rows:
        rows = np.zeros(changes.num_rows, CHANGE)
        for field in CHANGE.names or ():
            rows[field] = changes.column(field).to_numpy()
        waiting = Rows(rows, _read_ids(changes, "newer_id"), _read_ids(changes, "older_id"))
    if join.track_changes:
        join._feed.restore(waiting, engine.topk())


def _read_sets(window: pa.Table) -> tuple[np.ndarray, Tokens]:
    """Sets have no order, so each becomes its integers, then its strings, then its byte strings."""
    lists = [window.column(name).combine_chunks() for name in ("integers", "strings", "bytes")]
    lists = [part.chunk(0) if isinstance(part, pa.ChunkedArray) else part for part in lists]
    ends = [part.offsets.to_numpy() if len(part) else np.zeros(1, np.int64) for part in lists]
    sizes = np.stack([np.diff(end) for end in ends], axis=1)
    integers = lists[0].values.to_numpy(zero_copy_only=False).astype(np.int64)
    strings, byte_strings = (Texts.of(part.values.to_pylist()) for part in lists[1:])
    kinds = np.repeat(np.tile(np.arange(3, dtype=np.int8), len(sizes)), sizes.ravel())
    mixed = sum(len(part) > 0 for part in (integers, strings, byte_strings)) > 1
    offsets = np.concatenate(([0], np.cumsum(sizes.sum(axis=1)))).astype(np.int64)
    return offsets, Tokens(integers, strings, byte_strings, kinds if mixed else None)
