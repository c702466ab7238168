"""The command line in this process, the files that it is given, and what it should find in them."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from swoop.cli.app import app
from swoop.oracle import Record

Swoop = Callable[..., Result]
"""A command, done in one of the ways."""
WORDS = ["win", "free", "phone", "car", "fire", "police", "court", "storm", "rain", "match", "goal", "team"]
BEGIN = dt.datetime(2024, 5, 1, 12)
EXPECTED = {"k": 3, "window": "20 s", "similarity": "jaccard", "copies": "once"}
"""What most commands here ask for."""


def run(*arguments: object, input: bytes | None = None) -> Result:
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    return runner.invoke(app, [str(argument) for argument in arguments], input=input)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value

    return sorted((tuple(map(plain, row.values())) for row in table.to_pylist()), key=repr)


def history(size: int = 60, seed: int = 1) -> list[Record]:
    """Short texts, some at the same time, in the order of time and id."""
    rng = random.Random(seed)
    seconds = sorted(rng.choices(range(size), k=size))
    return [
        Record(rng.sample(WORDS, rng.randint(1, 5)), BEGIN + dt.timedelta(seconds=second), number)
        for number, second in enumerate(seconds)
    ]


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def posts(records: list[Record]) -> list[dict[str, object]]:
    return [{"id": r.id, "time": str(r.time), "text": " ".join(map(str, r.tokens)).capitalize() + "!"} for r in records]
