"""Make small saved joins with the release that is installed: ``python -m tests.formats.make tests/formats/version-2``; or
small saved families, if the folder is called ``families-2``.

Run once for each version of the format, by the last release that writes it; files that are there are never made again. Only
what is public is used, so that any release can run this.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import sys
from pathlib import Path
from typing import Any

import swoop

BEGIN = dt.datetime(2024, 2, 28, 23, 59, tzinfo=dt.UTC)
SIZE, SAVED = 40, 25
"""Sets of a stream, and how many of them have arrived when it is saved."""


def share(len_r: int, len_s: int, overlap: int) -> float:
    return overlap / max(len_r, len_s)


JOINS: dict[str, dict[str, Any]] = {
    "jaccard": {"k": 4, "window": 9, "track_changes": True},
    "cosine": {"k": 3, "window": 12, "similarity": "cosine", "two_streams": True, "track_changes": True},
    "dice": {"k": 2, "window": {"last": 8}, "similarity": "dice"},
    "overlap": {"k": 5, "window": None, "similarity": "overlap", "track_changes": True},
    "hamming": {"k": 3, "window": "10 s", "similarity": "hamming", "min_similarity": -5, "track_changes": True},
    "share": {"k": 3, "window": 7, "similarity": {"user": "share"}, "algorithm": "swoop-minimal", "track_changes": True},
    "base": {"k": 3, "window": 9, "two_streams": True, "algorithm": "base"},
    "new": {"k": 3, "window": "1 hour", "track_changes": True},
    "once": {"k": 4, "window": 9, "copies": "once", "track_changes": True},
    "all": {"k": None, "window": 9, "min_similarity": 0.25, "track_changes": True},
    "kept": {"k": 4, "window": 9, "track_changes": True},
    "kept-once": {"k": 4, "window": 9, "copies": "once", "track_changes": True},
}


def options_of(known: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a join, from what JSON has of them."""
    options = dict(known)
    if isinstance(options["window"], dict):
        options["window"] = swoop.last(options["window"]["last"])
    if isinstance(options.get("similarity"), dict):
        options["similarity"] = swoop.Similarity(share, "share")
    return options


def record_of(known: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``insert``, from what JSON has of them."""

    def value(found: Any) -> Any:
        return bytes.fromhex(found["bytes"]) if isinstance(found, dict) else found

    time = known["time"]
    return {
        "tokens": [value(token) for token in known["tokens"]],
        "time": dt.datetime.fromisoformat(time) if isinstance(time, str) else time,
        "id": value(known["id"]),
        "stream": known["stream"],
        **({"record": known["record"]} if "record" in known else {}),
    }


def stream(name: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """A stream as JSON has it: mixed tokens, many of them equal, ids of all types, times that repeat."""
    rng = random.Random(name)
    found = []
    for number in range(SIZE):
        tokens = [
            rng.choice([token, str(token), {"bytes": str(token).encode().hex()}])
            for token in rng.choices(range(5), k=rng.randrange(6))
        ]
        time: Any = number // 3
        if options["window"] is None or isinstance(options["window"], dict):
            time = None
        elif isinstance(options["window"], str):
            time = (BEGIN + dt.timedelta(seconds=number // 2)).isoformat()
        names = [None, None, number, f"post {number}", {"bytes": "ff"}, 2**70 + number, "\N{SNOWMAN}"]
        side = rng.choice(["left", "right"]) if options.get("two_streams") else None
        if found and rng.random() < 0.3:
            tokens = rng.choice(found)["tokens"]
        kept = {"record": {"number": number, "text": rng.choice(["x", None])}} if name.startswith("kept") else {}
        found.append({"tokens": tokens, "time": time, "id": rng.choice(names), "stream": side, **kept})
    return found


FAMILIES: dict[str, dict[str, Any]] = {
    "integers": {"min_similarity": 0.5, "window": 4},
    "last": {"min_similarity": 0.6, "window": {"last": 8}, "similarity": "dice"},
    "clock": {"min_similarity": 0.5, "window": "5 s", "similarity": {"user": "share"}},
    "kept": {"min_similarity": 0.5, "window": 4},
}


def make_families(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, options in FAMILIES.items():
        families = swoop.Families(**options_of(options))
        records = stream(name, options)
        read = 0
        for number, record in enumerate(records[:SAVED]):
            families.insert(**{key: value for key, value in record_of(record).items() if key != "stream"})
            if number == 10:
                read = len(families.changes())
        families.save(folder / f"{name}.families")
        known = {"options": options, "saved": SAVED, "changes_read": read, "records": records}
        (folder / f"{name}.json").write_text(json.dumps(known))


def make(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, options in JOINS.items():
        join = swoop.TopKJoin(**options_of(options))
        records = stream(name, options)
        saved = 0 if name == "new" else SAVED
        read = 0
        for number, record in enumerate(records[:saved]):
            join.insert(**record_of(record))
            if number == 10 and options.get("track_changes"):
                read = len(join.changes())
        join.save(folder / f"{name}.swoop")
        known = {"options": options, "saved": saved, "changes_read": read, "records": records}
        (folder / f"{name}.json").write_text(json.dumps(known))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (make_families if target.name.startswith("families") else make)(target)
