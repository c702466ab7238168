"""From the tables and settings of a saved join to a join that goes on: everything is checked that others rely on.

The columns are there and have the right types, and their buffers are whole; what they hold may be anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from swoop.engine.contents import MAX_COUNT, Contents, Names, check_window
from swoop.engine.layout import CHANGE, SEEN, TOLD
from swoop.engine.tokens import Texts, Tokens
from swoop.join.feed import KINDS, Rows
from swoop.results import Id
from swoop.similarity import COSINE, DICE, JACCARD, MAX_SET_SIZE
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST, TimeKind

if TYPE_CHECKING:
    from swoop.engine.engine import Engine
    from swoop.join.arrivals import Arrivals
    from swoop.join.topk_join import TopKJoin

_INTEGER = re.compile(rb"-?[0-9]{1,4300}")


def demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def restore(join: TopKJoin, settings: dict[str, Any], window: pa.Table, changes: pa.Table) -> None:
    """Let a new join be as the settings and tables of a file say. Raises ValueError if they cannot be right."""
    size, engine, first = window.num_rows, join._engine, settings["first"]
    ids = read_ids(window, "id")
    offsets, tokens = read_sets(window)
    sides = read_numbers(window, "side") if join.two_streams else np.empty(0, np.int8)
    times = read_numbers(window, "time")
    contents = Contents(first, times, sides, offsets, tokens, _read_names(join, window, times, first))
    check_window(first, contents.times, settings["index_time"], join.window.duration)
    restore_clock(join, settings, contents)
    if any(name is not None for name in ids):
        join._ids.add(first, first, ids, size)
    if contents.names is not None:
        join._ids.keep(contents.names.identities.tolist(), read_ids(window, "record_id"))
    engine.restore(contents, settings["index_time"])
    if contents.names is not None:
        _check_names(contents.names, engine)
    engine.counters = read_counters(settings["counters"], engine.counters)
    demand(join.track_changes or not changes.num_rows, "there are changes, but they are not to be tracked")
    if join.track_changes:
        top = engine.topk()
        join._feed.restore(_read_changes(join, changes, top) if changes.num_rows else None, top)


def _read_names(join: TopKJoin, window: pa.Table, times: np.ndarray, first: int) -> Names | None:
    """The names of records. A record that was first seen in the window is called after its first set."""
    if join.copies == "each":
        return None
    names = Names(read_numbers(window, "identity"), read_numbers(window, "first_seen"))
    arrivals = np.arange(first, first + len(times))
    demand(bool(((names.identities >= 0) & (names.identities <= arrivals)).all()), "an identity is not that of an earlier set")
    known = names.identities >= first
    first_sets = np.where(known, names.identities - first, 0)
    is_right = ~known | (names.identities[first_sets] == names.identities)
    demand(bool(is_right.all()), "a record is called after a set of another one")
    is_right = (names.first_seen == np.where(known, times[first_sets], names.first_seen)) & (names.first_seen <= times)
    in_order = names.first_seen[np.argsort(names.identities, kind="stable")]
    is_right &= (names.first_seen > -LATEST) & bool((in_order[1:] >= in_order[:-1]).all())
    demand(bool(is_right.all()), "a record was not first seen when its first set arrived")
    return names


def _check_names(names: Names, engine: Engine) -> None:
    """Raise ValueError unless equal sets are called the same, and others differently."""
    found = engine.names()
    is_right = np.array_equal(found.identities, names.identities) and np.array_equal(found.first_seen, names.first_seen)
    demand(is_right and bool((np.diff(engine.identities()) > 0).all()), "records are not called as they should be")


def restore_clock(join: Arrivals, settings: dict[str, Any], contents: Contents) -> None:
    """The times of the caller, which go with those of the engine."""
    clock, kind, now, index_time = join._clock, settings["time_kind"], settings["now"], settings["index_time"]
    arrivals = contents.first + len(contents.times)
    if kind is None:
        demand(arrivals == 0 and now is None, "there are sets, but no time was given")
        return
    demand(kind in get_args(TimeKind), f"there are no times of the kind {kind!r:.60}")
    demand(now is not None and -LATEST < now < LATEST, f"the time is {now!r:.60}, which is out of range")
    clock.check_kind(kind, kind)
    if (
        kind == "none" or join.window.kind == "count"
    ):  # times of the engine are arrival numbers; one arrival may have been given up
        is_right = arrivals - 1 <= index_time <= arrivals
        is_right &= np.array_equal(contents.times, np.arange(contents.first, arrivals))
        demand(is_right and (now == 0 or kind != "none"), "times are not those of the sets' arrivals")
    else:
        demand(now == index_time, f"the time is {now}, but the index time is {index_time}")
    clock.advance(kind, now)
    is_datetime = kind in ("naive", "aware")
    demand(not is_datetime or FIRST_DATETIME <= now <= LAST_DATETIME, f"the time is {now}, which is no date")
    firsts = contents.times if contents.names is None else np.concatenate((contents.times, contents.names.first_seen))
    demand(bool((firsts >= clock.bounds[0]).all()), "a set has a time that is no date")


def read_counters(given: dict[str, Any], known: dict[str, int]) -> dict[str, int]:
    for name in known:
        value = given.get(name)
        demand(type(value) is int and 0 <= value < MAX_COUNT, f"the counter {name} is {value!r:.60}, which is out of range")
    return {name: given[name] for name in known}


def read_numbers(table: pa.Table, name: str) -> np.ndarray:
    column = table.column(name)
    demand(column.null_count == 0, f"column {name!r} has nulls")
    numbers: np.ndarray = column.to_numpy()
    return numbers


def id_columns(name: str) -> tuple[str, str, str]:
    """The columns of ids: of those that are integers, strings and byte strings."""
    return f"{name}_integer", f"{name}_string", f"{name}_bytes"


def read_ids(table: pa.Table, name: str) -> list[Any]:
    integers, texts, byte_strings = (table.column(column).to_pylist() for column in id_columns(name))
    return [_read_id(integer, text, data) for integer, text, data in zip(integers, texts, byte_strings, strict=True)]


def _read_id(integer: bytes | None, text: bytes | None, data: bytes | None) -> Id | None:
    demand((integer is None) + (text is None) + (data is None) >= 2, "a set has several ids")
    if integer is not None:
        demand(_INTEGER.fullmatch(integer) is not None, f"an id is {integer!r:.60}, which is not an integer")
        return int(integer)
    return data if text is None else text.decode("utf-8", "surrogatepass")


def read_sets(window: pa.Table) -> tuple[np.ndarray, Tokens]:
    """Sets have no order, so each becomes its integers, then its strings, then its byte strings."""
    lists = [window.column(name).combine_chunks() for name in ("integers", "strings", "bytes")]
    sizes = np.zeros((window.num_rows, 3), np.int64)
    for kind, part in enumerate(lists):
        demand(part.null_count == 0 and part.values.null_count == 0, f"there are nulls instead of {part.type}")
        sizes[:, kind] = np.diff(part.offsets.to_numpy()) if len(part) else 0
    integers = lists[0].flatten().to_numpy()
    strings, byte_strings = (Texts.of(part.flatten().to_pylist()) for part in lists[1:])
    for text in strings.to_list():
        text.decode("utf-8", "surrogatepass")
    kinds = np.repeat(np.tile(np.arange(3, dtype=np.int8), len(sizes)), sizes.ravel())
    mixed = sum(len(part) > 0 for part in (integers, strings, byte_strings)) > 1
    offsets = np.concatenate(([0], np.cumsum(sizes.sum(axis=1)))).astype(np.int64)
    return offsets, Tokens(integers, strings, byte_strings, kinds if mixed else None)


def _read_changes(join: TopKJoin, changes: pa.Table, top: np.ndarray) -> Rows:
    """Changes that could have been, the last of which have led to the top-k of now."""
    rows = np.zeros(changes.num_rows, CHANGE)
    rows["by"] = -1
    for field in TOLD:
        rows[field] = read_numbers(changes, field)
    bounded = join.similarity.kind in (JACCARD, COSINE, DICE)
    first, last = join._clock.bounds
    ranges: dict[str, tuple[float, float]] = {
        "time": (first, join._engine.now),
        "kind": (0, len(KINDS) - 1),
        "key": (0.0, 1.0) if bounded else (-np.finfo(np.float64).max, np.finfo(np.float64).max),
        "newer": (1, join._engine.arrivals - 1),
        "older": (0, join._engine.arrivals - 2),
        "overlap": (1, MAX_SET_SIZE),
        "start": (first, last),
        "end": (-2 * LATEST + 1, 2 * LATEST - 1),
        "newer_side": (0, 1 if join.two_streams else 0),
    }
    for field, (least, most) in ranges.items():
        column = rows[field]
        demand(bool(((column >= least) & (column <= most)).all()), f"{field} of a change is not from {least} to {most}")
    demand(bool((rows["newer"] > rows["older"]).all()), "the newer set of a change is not the newer one")
    demand(bool((rows["time"][1:] >= rows["time"][:-1]).all()), "times of changes fall")
    newer, older = read_ids(changes, "newer_id"), read_ids(changes, "older_id")
    demand(None not in newer and None not in older, "a set of a change has no id")
    _check_changes(rows, top, join.k)
    return Rows(rows, newer, older, _read_seen(changes, (first, last)) if join.copies == "once" else None)


def _read_seen(changes: pa.Table, bounds: tuple[int, int]) -> np.ndarray:
    seen = np.zeros(changes.num_rows, SEEN)
    for field in SEEN.names or ():
        column = seen[field] = read_numbers(changes, field)
        least, most = (0, MAX_COUNT) if field.endswith("copies") else bounds
        demand(bool(((column >= least) & (column <= most)).all()), f"{field} of a change is not from {least} to {most}")
    return seen


def _check_changes(rows: np.ndarray, top: np.ndarray, k: int | None) -> None:
    """Take the changes back, from the last to the first: what has entered must be in the top-k, and what has left must not."""
    there = set(zip(top["newer"].tolist(), top["older"].tolist(), strict=True))
    for kind, newer, older in zip(*(rows[name][::-1].tolist() for name in ("kind", "newer", "older")), strict=True):
        has_entered = KINDS[kind] == "enter"
        demand(((newer, older) in there) == has_entered, "the changes do not lead to the top-k")
        if has_entered:
            there.remove((newer, older))
        else:
            there.add((newer, older))
    demand(k is None or len(there) <= k, "the changes do not lead to the top-k")
