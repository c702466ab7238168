"""Changes as JSON, for programs that read the output of the command line, and for alerts."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swoop.results import Change, FamilyChange

PAIR = ("similarity", "overlap", "newer", "older", "start", "end")
COPIES = ("newer_copies", "newer_first_seen", "newer_last_seen", "older_copies", "older_first_seen", "older_last_seen")
FAMILY = ("time", "kind", "family", "into", "size", "total", "first_seen", "representative")


def message(change: Change | FamilyChange, texts: tuple[str | None, str | None]) -> dict[str, Any]:
    """A change with the texts of the newer and the older record, or of the first and the newest one of a family, and with their
    kept columns.

    >>> from swoop.results import FamilyChange
    >>> message(FamilyChange(9, "born", 1, None, 2, 2, 7, 3), ("win a phone", "win a car"))["text"]
    'win a car'
    """
    pair = getattr(change, "pair", None)
    if pair is None:
        names = FAMILY if getattr(change, "record", None) is None else (*FAMILY, "record")
        return {**{name: getattr(change, name) for name in names}, "text": texts[1]}
    copies = COPIES if pair.newer_copies is not None else ()
    records = ("newer_record", "older_record") if pair.newer_record is not None else ()
    return {
        "time": change.time,
        "kind": change.kind,
        **{name: getattr(pair, name) for name in PAIR},
        "newer_text": texts[0],
        "older_text": texts[1],
        **{name: getattr(pair, name) for name in (*copies, *records)},
    }


def to_json(value: Any, indent: int | None = None, ascii: bool = False) -> str:
    """A value as JSON that every reader accepts: numbers that JSON does not have are null.

    >>> to_json({"price": float("nan"), "time": dt.date(2024, 5, 1)})
    '{"price": null, "time": "2024-05-01"}'
    """
    try:
        return json.dumps(value, default=in_json, ensure_ascii=ascii, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=in_json, ensure_ascii=ascii, indent=indent)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def in_json(value: Any) -> Any:
    """Values that JSON has no type for."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)
