"""What the driver of a stream with cells knew, read from a checkpoint: what is wrong with it is told here, before it counts.

Who can change a checkpoint can make its checksums right. What passes cannot make a later batch fail by a value that is missing
or of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from swoop.join.columns import is_text, large_type
from swoop.join.restoring import demand

IsType = Callable[[pa.DataType], bool]

_INTEGER: IsType = pa.types.is_integer


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_id(kind: pa.DataType) -> bool:
    return bool(_INTEGER(kind) or is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_content(kind: pa.DataType) -> bool:
    """Tokens, or the text that they are made of."""
    return _is_list(kind) or is_text(kind)


_KEYS: dict[str, IsType] = {"time": _INTEGER, "id": _is_id, "copy": _INTEGER, "tokens": _is_content, "stream": is_text}


def check_columns(union: pa.Table, needed: dict[str, IsType], shown: Iterable[str]) -> None:
    """Raise ValueError unless these columns are there, with such types and without nulls; and, if they are, texts to show."""
    demand(len({*union.column_names}) == union.num_columns, "two columns have the same name")
    for name, is_right in needed.items():
        demand(name in union.column_names, f"there is no column {name!r}")
        column = union[name]
        demand(is_right(column.type), f"the column {name!r} has the type {column.type}")
        demand(not column.null_count, f"the column {name!r} has nulls")
        if _is_list(column.type):
            demand(not pc.list_flatten(column).null_count, f"the column {name!r} has nulls")
    for name in shown:
        if name in union.column_names:
            kind = union[name].type
            demand(is_text(kind) or pa.types.is_null(kind), f"the column {name!r} has the type {kind}")


def check_pairs(
    union: pa.Table, tiebreak: Iterable[str], two_streams: bool, shares: Iterable[str], are_kept: bool = False
) -> None:
    """Raise ValueError unless rows can be pairs of cells. What orders sets is their times and ``tiebreak``.

    ``are_kept``: columns of sets are.
    """
    needed: dict[str, IsType] = {"similarity": pa.types.is_float64, "overlap": pa.types.is_integer}
    names = {"time", *tiebreak, *(["stream"] if two_streams else [])}
    needed |= {f"{which}_{name}": _KEYS[name] for which in ("newer", "older") for name in names}
    needed |= {f"{which}_record": pa.types.is_struct for which in ("newer", "older") if are_kept}
    check_columns(union, needed, ("newer_text", "older_text"))
    for name in names:
        kinds = [union[f"{which}_{name}"].type for which in ("newer", "older")]
        is_same = large_type(kinds[0]) == large_type(kinds[1])
        demand(is_same, f"{name} of newer and of older sets have the types {kinds[0]} and {kinds[1]}")
    for name in shares:
        demand(name in union.column_names, f"there is no column {name!r}")
        kind = union[name].type
        demand(_is_list(kind) or pa.types.is_null(kind), f"the column {name!r} has the type {kind}")
    if two_streams:
        sides = {side for which in ("newer", "older") for side in union[f"{which}_stream"].unique().to_pylist()}
        demand(sides <= {"left", "right"}, f"streams are {sorted(sides)!r:.60}")


def check_families(union: pa.Table, key: tuple[str, ...], valid: range, are_kept: bool = False) -> None:
    """Raise ValueError unless rows can be the sets of families, with times that are ``valid``.

    What is known of a family is with one of its sets.
    """
    needed = {name: _KEYS[name] for name in key}
    check_columns(union, {**needed, "family": _INTEGER}, ("text",))
    told = union.filter(pc.is_valid(union["total"])) if "total" in union.column_names else union.slice(0, 0)
    told_of: dict[str, IsType] = {**{f"first_{name}": kind for name, kind in needed.items()}, "total": _INTEGER}
    check_columns(told, {**told_of, "record": pa.types.is_struct} if are_kept else told_of, ())
    demand(large_type(union["id"].type) == large_type(told["first_id"].type), "ids have different types")
    demand(all(time in valid for time in union["time"].unique().to_pylist()), "a set is not in the window")
    keys = {*zip(*(union[name].to_pylist() for name in key), strict=True)}
    demand(len(keys) == union.num_rows, "a set is in two families")
    sizes: dict[int, int] = {}
    oldest: dict[int, Any] = {}
    for family, *own in zip(*(union[name].to_pylist() for name in ("family", *key)), strict=True):
        sizes[family] = sizes.get(family, 0) + 1
        oldest[family] = min(oldest.get(family, own), own)
    demand(min(sizes, default=0) >= 0, "the number of a family is negative")
    families = told["family"].to_pylist()
    demand(len(families) == len({*families}) and {*families} == {*sizes}, "families are not told once each")
    firsts = [list(first) for first in zip(*(told[f"first_{name}"].to_pylist() for name in key), strict=True)]
    for family, total, first in zip(families, told["total"].to_pylist(), firsts, strict=True):
        demand(total >= max(2, sizes[family]), "a family has fewer sets in total than in the window")
        demand(first <= oldest[family], "a family is not called after its first set")
    demand(len({tuple(first) for first in firsts}) == len(firsts), "two families have the same first set")


def unified(known: pa.Schema, told: pa.Schema) -> pa.Schema:
    """The columns of what was known and of what cells tell. Raises ValueError if they cannot be put together."""
    try:
        return pa.unify_schemas([known, told], promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"what cells tell has other types: {error}") from error
