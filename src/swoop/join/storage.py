"""Saved joins: a zip archive of the settings (JSON) and of the window and the pending changes (Arrow). See docs/file-format.md.

The state of the engine is a function of the valid sets, so the window is all that is saved of it; loading lets its sets arrive.
Nothing is unpickled; every member of the archive carries a checksum. Whoever can change a file can make its checksums right, so
nothing in it is believed: sizes are checked before memory is asked for, and all types and values before they are used.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, get_args

import numpy as np
import pyarrow as pa

from swoop.engine.contents import Contents
from swoop.engine.layout import CHANGE, SEEN, TOLD
from swoop.errors import CapacityExceeded, InvalidFile, InvalidType
from swoop.join.feed import Rows
from swoop.join.ipc import from_stream, to_stream
from swoop.join.kept_storage import FIRST_SETS, SETS, read_kept, restored
from swoop.join.restoring import demand, id_columns, restore
from swoop.results import Id
from swoop.similarity import USER, Similarity
from swoop.times import LATEST, WindowKind, WindowSpec

if TYPE_CHECKING:
    from swoop.join.families import Families
    from swoop.join.topk_join import TopKJoin

Join = TypeVar("Join", bound="TopKJoin")

FORMAT = "swoop join"
VERSION, EARLIER = 3, 2  # the earlier one where no columns are kept
_SETTINGS, _WINDOW, _CHANGES = "settings.json", "window.arrow", "changes.arrow"
_KEPT_NEWER, _KEPT_OLDER = "kept_newer.arrow", "kept_older.arrow"

Types = dict[str, tuple[type, ...]]

COMMON_TYPES: Types = {
    "version": (int,),
    "window": (dict,),
    "similarity": (str,),
    "user_defined": (bool,),
    "min_similarity": (float, int, type(None)),
    "track_changes": (bool,),
    "time_kind": (str, type(None)),
    "now": (int, type(None)),
    "index_time": (int,),
    "first": (int,),
    "counters": (dict,),
}


@dataclass(frozen=True)
class Format:
    """What a kind of file is called in itself, what it and its contents are called in messages, and what its settings are."""

    name: str
    called: str
    what: str
    version: int
    types: Types
    later: dict[str, tuple[int, Any]]  # keys that came with a later version, and what they were before


_FORMAT = Format(
    FORMAT,
    "a saved join",
    "join",
    VERSION,
    COMMON_TYPES
    | {
        "k": (int, type(None)),
        "two_streams": (bool,),
        "algorithm": (str,),
        "copies": (str,),
        "max_pairs": (int, type(None)),
    },
    {"copies": (2, "each"), "max_pairs": (2, None)},
)


def id_types(name: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(id_columns(name), pa.large_binary())


SET_TYPES = {
    "time": pa.int64(),
    **id_types("id"),
    "integers": pa.large_list(pa.int64()),
    "strings": pa.large_list(pa.large_binary()),
    "bytes": pa.large_list(pa.large_binary()),
}
_WINDOW_TYPES = {"side": pa.int8(), **SET_TYPES}
_RECORD_TYPES = {"identity": pa.int64(), "first_seen": pa.int64(), **id_types("record_id")}
_CHANGES_TYPES = {
    **{name: pa.from_numpy_dtype(CHANGE[name]) for name in TOLD},
    **id_types("newer_id"),
    **id_types("older_id"),
}
_SEEN_TYPES = {name: pa.from_numpy_dtype(SEEN[name]) for name in SEEN.names or ()}
"""What is added where copies count once."""

LARGEST_SETTINGS = 1 << 20  # bytes
MAX_RATIO = 1032  # how much smaller deflate can make something: repetitive windows come near


def save(join: TopKJoin, path: str | os.PathLike[str]) -> None:
    join._engine.settle()  # what was interrupted is in the feed
    join._take_changes()
    waiting = join._waiting_changes(is_taken=False)
    tables = {_WINDOW: _window_table(join), _CHANGES: _changes_table(join, waiting), **_kept_tables(join, waiting)}
    write_archive(path, _settings(join), tables)


def _kept_tables(join: TopKJoin, waiting: Rows) -> dict[str, pa.Table]:
    """What is kept of sets: of those of the window, of those that records are called after, and of those of changes."""
    engine = join._engine
    if join._kept is None or waiting.records is None:
        return {}
    more = dict(zip((_KEPT_NEWER, _KEPT_OLDER), waiting.records(), strict=True))
    if join.copies == "once":
        more[FIRST_SETS] = join._kept.take(engine.names().identities)
    return {SETS: join._kept.take(np.arange(engine.oldest, engine.arrivals)), **more}


def write_archive(path: str | os.PathLike[str], settings: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    """Write settings and tables to a file beside the target, then put it in its place."""
    target = Path(path)
    part = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb", opener=_open_privately) as file:
            _write(file, settings, tables)
        os.replace(part, target)
    except BaseException:
        with suppress(FileNotFoundError):  # interrupted before it was there, or when it was in its place already
            part.unlink()
        raise


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(file: BinaryIO, settings: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    try:
        archive.writestr(_SETTINGS, json.dumps(settings, indent=1))
        for name, table in tables.items():
            archive.writestr(name, to_stream(table))
        archive.close()
    except BaseException:
        archive.fp = None  # to close what is half written would raise an error of its own, in place of this one
        raise


def _settings(join: TopKJoin) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": EARLIER if join._kept is None else VERSION,
        "k": join.k,
        "two_streams": join.two_streams,
        "algorithm": join.algorithm,
        "copies": join.copies,
        "max_pairs": join.max_pairs,
        **common_settings(join),
    }


def common_settings(join: TopKJoin | Families) -> dict[str, Any]:
    """What is saved of joins and families alike."""
    engine, clock = join._engine, join._clock
    return {
        "window": {"kind": join.window.kind, "length": join.window.duration},
        "similarity": join.similarity.name,
        "user_defined": join.similarity.kind == USER,
        "min_similarity": join.min_similarity,
        "track_changes": join.track_changes,
        "time_kind": clock.kind,
        "now": clock.now,
        "index_time": engine.now,
        "first": engine.oldest,
        "counters": engine.counters,
    }


def _window_table(join: TopKJoin) -> pa.Table:
    contents = join._engine.contents()
    size = len(contents.times)
    columns = {
        "side": pa.array(contents.sides if join.two_streams else np.zeros(size, np.int8)),
        **set_columns(contents, join._ids.given(contents.first, contents.first + size)),
    }
    if contents.names is not None:
        identities = contents.names.identities
        columns |= {
            "identity": pa.array(identities),
            "first_seen": pa.array(contents.names.first_seen),
            **id_values("record_id", join._ids.kept(identities.tolist())),
        }
    return pa.table(columns)


def set_columns(contents: Contents, ids: list[Id | None]) -> dict[str, pa.Array]:
    """The sets of a window: times, ids and tokens."""
    size, tokens = len(contents.times), contents.tokens
    columns = {"time": pa.array(contents.times), **id_values("id", ids)}
    for kind, name in enumerate(("integers", "strings", "bytes")):
        part = tokens.part(kind)
        values = pa.array(part, pa.int64()) if kind == 0 else pa.array(part.to_list(), pa.large_binary())
        if tokens.kinds is None:
            ends = contents.offsets if len(values) else np.zeros(size + 1, np.int64)
        else:
            ends = np.concatenate(([0], np.cumsum(tokens.kinds == kind)))[contents.offsets]
        columns[name] = pa.LargeListArray.from_arrays(pa.array(ends), values)
    return columns


def _changes_table(join: TopKJoin, pending: Rows) -> pa.Table:
    columns = {
        **{name: pa.array(np.ascontiguousarray(pending.rows[name])) for name in TOLD},
        **id_values("newer_id", list(pending.newer)),
        **id_values("older_id", list(pending.older)),
    }
    if pending.seen is not None:
        columns |= {name: pa.array(np.ascontiguousarray(pending.seen[name])) for name in SEEN.names or ()}
    return pa.table(columns)


def id_values(name: str, ids: list[Id | None]) -> dict[str, pa.Array]:
    """Ids by type; where all three are null, none was given."""
    texts = [i.encode("utf-8", "surrogatepass") if isinstance(i, str) else None for i in ids]
    integers = [str(i).encode() if isinstance(i, int) else None for i in ids]
    return {
        f"{name}_integer": pa.array(integers, pa.large_binary()),  # decimal, of any size
        f"{name}_string": pa.array(texts, pa.large_binary()),
        f"{name}_bytes": pa.array([i if isinstance(i, bytes) else None for i in ids], pa.large_binary()),
    }


def load(cls: type[Join], path: str | os.PathLike[str], similarity: Similarity | None) -> Join:
    check_given(similarity)
    with reading(path, _FORMAT) as (archive, settings):
        once = settings["copies"] == "once"
        window = read_member(archive, _WINDOW, _FORMAT, _WINDOW_TYPES | (_RECORD_TYPES if once else {}))
        changes = read_member(archive, _CHANGES, _FORMAT, _CHANGES_TYPES | (_SEEN_TYPES if once else {}))
        rows = {SETS: window, _KEPT_NEWER: changes, _KEPT_OLDER: changes, **({FIRST_SETS: window} if once else {})}
        kept = read_kept(archive, _FORMAT, settings["version"], {name: table.num_rows for name, table in rows.items()})
        join = _make(cls, settings, similarity)
        try:
            restore(join, settings, window, changes)
            if kept is not None:
                _restore_kept(join, settings["first"], kept)
        except CapacityExceeded as error:
            raise ValueError(str(error)) from error
    return join


def _restore_kept(join: TopKJoin, first: int, kept: dict[str, pa.Table]) -> None:
    join._kept = restored(first, kept[SETS])
    if join.copies == "once":
        identities, places = np.unique(join._engine.names().identities, return_index=True)
        left = identities < first
        join._kept.name(identities[left], kept[FIRST_SETS].take(places[left]))
    join._feed.add_records(lambda: (kept[_KEPT_NEWER], kept[_KEPT_OLDER]))


@contextmanager
def reading(path: str | os.PathLike[str], form: Format) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """A saved file and its settings. Whatever goes wrong while it is read, it is the file's fault."""
    try:
        with zipfile.ZipFile(path) as archive:
            settings = json.loads(_read(archive, _SETTINGS, form))
            _check_settings(settings, path, form)
            yield archive, settings
    except (InvalidFile, FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:
        raise InvalidFile(
            f"{os.fspath(path)!r} is not {form.called}, or it is damaged: {error}. "
            f"Use a copy of it, or save the {form.what} again"
        ) from error


def read_member(archive: zipfile.ZipFile, name: str, form: Format, types: dict[str, pa.DataType] | None) -> pa.Table:
    """A table, with the columns that it must have, or with any."""
    return from_stream(_read(archive, name, form), types)


def _read(archive: zipfile.ZipFile, name: str, form: Format) -> bytes:
    """A member, if it can be as large as the archive says."""
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        raise InvalidFile(f"{archive.filename!r} is not {form.called}: {name} is compressed by method {member.compress_type}")
    packed, unpacked, there = member.compress_size, member.file_size, os.path.getsize(str(archive.filename))
    if packed > there or unpacked > MAX_RATIO * packed or (name == _SETTINGS and unpacked > LARGEST_SETTINGS):
        raise InvalidFile(
            f"{archive.filename!r} is not {form.called}, or it is damaged: {name} has {packed} bytes, and {unpacked} when "
            f"unpacked, which is too much. Use a copy of it, or save the {form.what} again"
        )
    return archive.read(member)


def _check_settings(settings: Any, path: str | os.PathLike[str], form: Format) -> None:
    if not isinstance(settings, dict) or settings.get("format") != form.name:
        raise InvalidFile(f"{os.fspath(path)!r} is not {form.called}")
    version = settings.get("version")
    if type(version) is int and version > form.version:
        raise InvalidFile(
            f"{os.fspath(path)!r} was saved in format version {version} by a newer release; "
            f"this one reads versions up to {form.version}. Upgrade Swoop"
        )
    for name, (since, before) in form.later.items():
        if type(version) is int and 1 <= version < since:
            demand(name not in settings, f"{_SETTINGS} of version {version} has {name}")
            settings[name] = before
    for name, types in form.types.items():
        demand(name in settings, f"{_SETTINGS} does not have {name}")
        value = settings[name]
        wanted = " or ".join("null" if one is type(None) else one.__name__ for one in types)
        demand(type(value) in types, f"{name} in {_SETTINGS} is {value!r:.60}, but should be {wanted}")
    demand(1 <= settings["version"] <= form.version, f"there is no format version {version}")


def check_given(similarity: object) -> None:
    """Refuse what is no similarity, before the file is blamed."""
    if similarity is not None and not isinstance(similarity, Similarity):
        raise InvalidType(
            f"load takes the swoop.Similarity with which the file was saved, not {similarity!r:.60}; leave it out for one that "
            "is built in"
        )


def saved_similarity(settings: dict[str, Any], similarity: Similarity | None) -> str | Similarity:
    """The similarity with which something was saved; a user-defined one is given again."""
    name: str = settings["similarity"]
    if settings["user_defined"]:
        if similarity is None:
            raise InvalidFile(
                f"it was saved with the user-defined similarity {name!r}; give it again with load(path, similarity=...)"
            )
        if similarity.name != name:
            raise InvalidFile(f"it was saved with the similarity {name!r}, but {similarity.name!r} was given")
    elif similarity is not None:
        raise InvalidFile(f"it was saved with the similarity {name!r}, which need not be given")
    return similarity or name


def _make(cls: type[Join], settings: dict[str, Any], similarity: Similarity | None) -> Join:
    return cls(
        settings["k"],
        saved_window(settings["window"]),
        saved_similarity(settings, similarity),
        two_streams=settings["two_streams"],
        min_similarity=settings["min_similarity"],
        track_changes=settings["track_changes"],
        algorithm=settings["algorithm"],
        copies=settings["copies"],
        max_pairs=settings["max_pairs"],
    )


def saved_window(given: dict[str, Any]) -> WindowSpec:
    kind, length = given.get("kind"), given.get("length")
    demand(kind in get_args(WindowKind), f"there is no window of the kind {kind!r:.60}")
    is_right = type(length) is int and (length == 0 if kind == "unbounded" else 0 < length < LATEST)
    demand(is_right, f"the length of the window is {length!r:.60}, which is out of range")
    return WindowSpec(kind, length)  # type: ignore[arg-type]
