"""What was measured, kept in Parquet files, so that an interrupted evaluation goes on where it was."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Hashable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

import swoop

PACKAGE = Path(swoop.__file__).parent
MEASURED = ("engine", "baselines", "join", "bench/streams.py")  # a change here makes other figures


class Row(Protocol):
    """A dataclass of what was seen; ``case`` says of what."""

    @property
    def case(self) -> Hashable: ...


Kind = TypeVar("Kind", bound=Row)


def commit() -> str:
    """The commit of Swoop's sources, or nothing if they are not in a repository."""
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
    """Which Swoop this is: its version, its commit, and a digest of the sources that are measured."""
    return " ".join(part for part in (swoop.__version__, commit(), digest_of(*MEASURED)) if part)


def digest_of(*names: str) -> str:
    """Of files and folders of Swoop's sources."""
    digest = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


class Kept(Generic[Kind]):
    """Rows of one kind, by case, in a file. Rows of another version of Swoop stay in the file, and are not looked at."""

    def __init__(self, path: Path, kind: type[Kind], of: str | None = None) -> None:
        self._path = path
        self._version = version() if of is None else of
        self._rows: dict[Hashable, Kind] = {}
        self._others: list[dict[str, Any]] = []
        for row in pq.read_table(path).to_pylist() if path.exists() else ():
            if row["version"] == self._version:
                found = kind(**{name: value for name, value in row.items() if name != "version"})
                self._rows[found.case] = found
            else:
                self._others.append(row)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._rows.values())

    def get(self, case: Hashable) -> Kind | None:
        return self._rows.get(case)

    def add(self, row: Kind) -> None:
        """Keep a row, on disk as well."""
        self._rows[row.case] = row
        rows = self._others + [{"version": self._version, **asdict(found)} for found in self]  # type: ignore[call-overload]
        new = self._path.with_suffix(".new")
        pq.write_table(pa.Table.from_pylist(rows), new)
        new.replace(self._path)
