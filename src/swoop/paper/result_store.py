"""Measurements in Parquet files, so that an interrupted evaluation resumes where it stopped."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Hashable, Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

import swoop

PACKAGE = Path(swoop.__file__).parent
MEASURED = ("engine", "join", "paper/baselines", "paper/data_sets.py")  # a change here invalidates measurements


class Row(Protocol):
    """A dataclass with measurements; ``case`` identifies what was measured."""

    @property
    def case(self) -> Hashable: ...


Kind = TypeVar("Kind", bound=Row)


def commit() -> str:
    """The commit of Swoop's sources; empty if they are not in a repository."""
    for command in (["ls-files", "--error-unmatch", str(PACKAGE / "__init__.py")], ["rev-parse", "--short", "HEAD"]):
        try:
            done = subprocess.run(["git", "-C", str(PACKAGE), *command], capture_output=True, text=True, check=False)  # noqa: S607
        except FileNotFoundError:
            return ""
        if done.returncode:
            return ""
    return done.stdout.strip()


@cache
def version() -> str:
    """Identifies this Swoop: its version, its commit, and a digest of the measured sources."""
    return " ".join(part for part in (swoop.__version__, commit(), digest_of(*MEASURED)) if part)


def digest_of(*names: str) -> str:
    """A digest of files and folders of Swoop's sources."""
    digest = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


class ResultStore(Generic[Kind]):
    """Rows of one kind, by case, in a file. Rows of other versions of Swoop stay in the file but are ignored."""

    def __init__(self, path: Path, kind: type[Kind], of: str | None = None) -> None:
        self._path = path
        self._version = version() if of is None else of
        self._rows: dict[Hashable, Kind] = {}
        self._others: list[dict[str, Any]] = []
        for row in pq.read_table(path).to_pylist() if path.exists() else ():
            if row["version"] == self._version:
                stored = kind(**{field.name: row[field.name] for field in fields(kind)})  # type: ignore[arg-type]
                self._rows[stored.case] = stored
            else:
                self._others.append(row)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._rows.values())

    def get(self, case: Hashable) -> Kind | None:
        return self._rows.get(case)

    def add(self, row: Kind) -> None:
        """Store a row, also on disk."""
        self._rows[row.case] = row
        own = [{"version": self._version, **asdict(stored)} for stored in self]  # type: ignore[call-overload]
        rows = [{**dict.fromkeys(own[0]), **other} for other in self._others] + own  # other versions may lack columns
        new = self._path.with_suffix(".new")
        pq.write_table(pa.Table.from_pylist(rows), new)
        new.replace(self._path)
