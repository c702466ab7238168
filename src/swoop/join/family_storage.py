"""Saved families: an archive like that of a saved join, with a table of the families. See docs/file-format.md.

Families outlive their first sets, so they are not a function of the window. They are saved with it; whether they can be those
of the window is checked when they are loaded: linked sets must be of one family.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from swoop.engine.contents import MAX_COUNT, Contents, check_window
from swoop.engine.family_engine import Known
from swoop.engine.kinship import FAMILY, FAMILY_CHANGE
from swoop.join.family_feed import KINDS, FamilyRows
from swoop.join.feed import no_records
from swoop.join.kept import whole
from swoop.join.kept_storage import SETS, read_kept, restored
from swoop.join.restoring import demand, read_counters, read_ids, read_numbers, read_sets, restore_clock
from swoop.join.storage import (
    COMMON_TYPES,
    SET_TYPES,
    VERSION,
    Format,
    check_given,
    common_settings,
    id_types,
    id_values,
    read_member,
    reading,
    saved_similarity,
    saved_window,
    set_columns,
    write_archive,
)
from swoop.similarity import Similarity
from swoop.times import LATEST

if TYPE_CHECKING:
    from swoop.join.families import Families

Saved = TypeVar("Saved", bound="Families")

FORMAT = Format(
    "swoop families", "a file of saved families", "families", VERSION, COMMON_TYPES | {"min_similarity": (float, int)}, {}
)
_EARLIER = 2  # where no columns are kept
_WINDOW, _FAMILIES, _CHANGES = "window.arrow", "families.arrow", "changes.arrow"
_KEPT_NEWEST = "kept_newest.arrow"

_WINDOW_TYPES = {**SET_TYPES, "family": pa.int32()}
_FAMILY_TYPES = {"first": pa.int64(), "first_seen": pa.int64(), "total": pa.int64(), **id_types("id")}
_NUMBERS = FAMILY_CHANGE.names or ()
_FIRST_NUMBERS = _NUMBERS[:4]
"""What version 1 has of a change."""

_CHANGES_TYPES = {
    **dict.fromkeys(_NUMBERS, pa.int64()),
    **id_types("family_id"),
    **id_types("into_id"),
    **id_types("newest_id"),
}
_FIRST_CHANGES_TYPES = {
    name: kind for name, kind in _CHANGES_TYPES.items() if name in _FIRST_NUMBERS or name.startswith(("family_", "into_"))
}


def save(families: Families, path: str | os.PathLike[str]) -> None:
    """Write the families to a file beside the target, then put it in its place."""
    engine, ids = families._engine, families._ids
    families._take_changes()
    contents, known, waiting = engine.contents(), engine.known(), families._feed.waiting()
    given = ids.given(contents.first, contents.first + len(contents.times))
    window = {**set_columns(contents, given), "family": pa.array(known.members, pa.int32())}
    rows = {name: pa.array(np.ascontiguousarray(known.families[name])) for name in ("first", "first_seen", "total")}
    rows |= id_values("id", ids.kept(known.families["first"].tolist()))
    changes = {name: pa.array(np.ascontiguousarray(waiting.rows[name])) for name in _NUMBERS}
    changes |= {**id_values("family_id", list(waiting.families)), **id_values("into_id", waiting.into)}
    changes |= id_values("newest_id", waiting.representatives)
    version = FORMAT.version if families._kept is not None else _EARLIER
    settings = {"format": FORMAT.name, "version": version, **common_settings(families)}
    tables = {_WINDOW: pa.table(window), _FAMILIES: pa.table(rows), _CHANGES: pa.table(changes)}
    if families._kept is not None:
        records = no_records(len(waiting.rows)) if waiting.records is None else waiting.records
        tables[SETS] = families._kept.take(np.arange(contents.first, engine.arrivals))
        tables[_KEPT_NEWEST] = whole(records, families._kept.schema)
    write_archive(path, settings, tables)


def load(cls: type[Saved], path: str | os.PathLike[str], similarity: Similarity | None) -> Saved:
    check_given(similarity)
    with reading(path, FORMAT) as (archive, settings):
        window = read_member(archive, _WINDOW, FORMAT, _WINDOW_TYPES)
        rows = read_member(archive, _FAMILIES, FORMAT, _FAMILY_TYPES)
        types = _FIRST_CHANGES_TYPES if settings["version"] == 1 else _CHANGES_TYPES
        changes = read_member(archive, _CHANGES, FORMAT, types)
        counts = {SETS: window.num_rows, _KEPT_NEWEST: changes.num_rows}
        kept = read_kept(archive, FORMAT, settings["version"], counts)
        families = cls(
            settings["min_similarity"],
            saved_window(settings["window"]),
            saved_similarity(settings, similarity),
            track_changes=settings["track_changes"],
        )
        _restore(families, settings, window, rows, changes)
        if kept is not None:
            families._kept = restored(settings["first"], kept[SETS])
            families._feed.add_records(kept[_KEPT_NEWEST])
    return families


def _restore(families: Families, settings: dict[str, Any], window: pa.Table, rows: pa.Table, changes: pa.Table) -> None:
    """Let new families be as the settings and tables of a file say. Raises ValueError if they cannot be right."""
    engine, first = families._engine, settings["first"]
    offsets, tokens = read_sets(window)
    contents = Contents(first, read_numbers(window, "time"), np.empty(0, np.int8), offsets, tokens)
    check_window(first, contents.times, settings["index_time"], families.window.duration)
    restore_clock(families, settings, contents)
    known = _read_families(window, rows, contents)
    earliest = families._clock.bounds[0]
    demand(bool((known.families["first_seen"] >= earliest).all()), "a family was first seen at a time that is no date")
    ids = read_ids(window, "id")
    if any(name is not None for name in ids):
        families._ids.add(first, first, ids, len(ids))
    names, firsts = read_ids(rows, "id"), known.families["first"].tolist()
    for name, arrival in zip(names, firsts, strict=True):
        if arrival >= first:
            demand(name in (ids[arrival - first], None), "a family does not have the id of its first set")
    families._ids.keep(firsts, names)
    engine.restore_families(contents, known, settings["index_time"], is_verified=True)
    engine.counters = read_counters(settings["counters"], engine.counters)
    demand(families.track_changes or not changes.num_rows, "there are changes, but they are not to be tracked")
    if families.track_changes:
        there = engine.families()[1]["first"].tolist()
        families._feed.restore(_read_changes(changes, engine, there, earliest) if changes.num_rows else None, there)


def _read_families(window: pa.Table, table: pa.Table, contents: Contents) -> Known:
    """The families, and which is that of each set. Their first sets, totals and times must be possible."""
    members, rows = read_numbers(window, "family").astype(np.int64), np.zeros(table.num_rows, FAMILY)
    for name in ("first", "first_seen", "total"):
        rows[name] = read_numbers(table, name)
    demand(bool(((members >= -1) & (members < len(rows))).all()), "a set is of a family that is not there")
    demand(
        np.array_equal(members < 0, np.diff(contents.offsets) == 0), "a set has tokens and no family, or a family and no tokens"
    )
    known = Known(rows, members)
    check_families(known, contents.first, contents.times)
    return known


def check_families(known: Known, first: int, times: np.ndarray) -> None:
    """Raise ValueError unless these can be the families of sets with these times, the first of which has this number."""
    rows, members, count = known.families, known.members, len(known.families)
    held = members[members >= 0]
    sizes = np.bincount(held, minlength=count)
    demand(bool((sizes > 0).all()), "a family has no set")
    oldest = np.full(count, len(members), np.int64)
    np.minimum.at(oldest, held, np.flatnonzero(members >= 0))
    is_old = rows["first"] < first
    is_right = np.where(is_old, rows["first"] >= 0, rows["first"] == first + oldest)
    demand(bool(is_right.all()) and len(np.unique(rows["first"])) == count, "a family is not called after its first set")
    is_right = (rows["total"] >= sizes + is_old) & (rows["total"] < MAX_COUNT)
    demand(bool(is_right.all()), "a family has fewer sets in total than in the window, or too many")
    if count:
        first_times = times[oldest]
        is_right = np.where(is_old, rows["first_seen"] <= times[0], rows["first_seen"] == first_times)
        demand(bool((is_right & (rows["first_seen"] > -LATEST)).all()), "a family was not first seen when its first set came")


def _read_changes(table: pa.Table, engine: Any, there: list[int], earliest: int) -> FamilyRows:
    """Changes that could have been, the last of which have led to the families of now."""
    rows = np.zeros(table.num_rows, FAMILY_CHANGE)
    rows["size"] = -1
    for name in _NUMBERS:
        if name in table.column_names:
            rows[name] = read_numbers(table, name)
    ranges = {
        "time": (earliest, engine.now),
        "kind": (0, len(KINDS) - 1),
        "family": (0, engine.arrivals - 1),
        "into": (-1, engine.arrivals - 1),
        "size": (-1, engine.arrivals),
    }
    for name, (least, most) in ranges.items():
        column = rows[name]
        demand(bool(((column >= least) & (column <= most)).all()), f"{name} of a change is not from {least} to {most}")
    demand(bool((rows["time"][1:] >= rows["time"][:-1]).all()), "times of changes fall")
    families, into = read_ids(table, "family_id"), read_ids(table, "into_id")
    merged = rows["kind"] == KINDS.index("merged")
    demand(np.array_equal(rows["into"] >= 0, merged), "a family that merged has no other, or one that did not has")
    demand(None not in families, "a family of a change has no id")
    demand(np.array_equal([name is not None for name in into], merged), "a family of a change has no id")
    representatives = read_ids(table, "newest_id") if "newest" in table.column_names else [None] * len(rows)
    found = set(there)
    for kind, family in zip(rows["kind"][::-1].tolist(), rows["family"][::-1].tolist(), strict=True):
        stays = KINDS[kind] in ("born", "grew")
        demand((family in found) == stays, "the changes do not lead to the families")
        if KINDS[kind] == "born":
            found.remove(family)
        else:
            found.add(family)
    _check_told(rows, representatives, engine, earliest)
    return FamilyRows(rows, families, into, representatives)


def _check_told(rows: np.ndarray, representatives: list[Any], engine: Any, earliest: int) -> None:
    """Raise ValueError unless families can have been what changes tell of them; with a size of -1, they tell nothing."""
    is_told = rows["size"] >= 0
    demand(np.array_equal([name is not None for name in representatives], is_told), "a newest set of a change has no id")
    told = rows[is_told]
    ended = told["kind"] == KINDS.index("ended")
    is_right = (told["size"] == 0) == ended
    is_right &= (told["total"] >= np.maximum(told["size"], 2)) & (told["total"] <= engine.arrivals)
    demand(bool(is_right.all()), "a family of a change has a size or a total that it cannot have")
    is_right = (told["first_seen"] >= earliest) & (told["first_seen"] <= told["time"])
    is_right &= (told["newest"] > told["family"]) & (told["newest"] < engine.arrivals)
    demand(bool(is_right.all()), "a family of a change has a first or a newest set that it cannot have")
