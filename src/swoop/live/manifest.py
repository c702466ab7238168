"""What is in a folder of results, and whose it is, for those who read it and those who write it; and its settings."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from swoop.errors import InvalidArgument, InvalidFile, InvalidType
from swoop.live.files import Folder
from swoop.times import find_lateness, find_window, in_seconds

FORMAT, VERSION = "swoop results", 3
MANIFEST, OPEN = "_swoop.json", "_open"

_MANIFEST = re.compile(r"_swoop(?:-(\d{12})-(\d{6,}))?\.json")  # the first one, and others by lease and number
_STEP = r"(\d{12}(?:-idle-\d{6})?(?:-end)?)"
_NAMED = r"(\d{12}(?:-0|-idle-\d{6}|-end|-idle-\d{6}-end))"  # a batch as such has -0, so that names are in the order of steps
FINAL = re.compile(rf"{_NAMED}_{_NAMED}_(\d+)\.parquet")  # first and last step, and when it was written
OF_BATCH = re.compile(rf"{_STEP}\.parquet")  # as earlier releases wrote them, one per batch
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """An open file: the steps whose results it has, and when the first of them were written.

    ``of_last`` is how many rows at its end are of the last step, should that be done again, and ``former`` is the step before
    that, if there is one; since version 3, in which the last step may be in one file with earlier ones.
    """

    name: str
    first: str
    last: str
    level: int
    size: int
    written: float
    of_last: int = 0
    former: str = ""

    def has_before(self, step: str) -> bool:
        """Whether all its steps but the last are up to a step."""
        return bool(self.former) and self.former <= step


@dataclass(frozen=True)
class Manifest:
    """Whose a folder is, and what is in it.

    Attributes
    ----------
    run, holds, checkpoint
        The stream, which of its outputs this is, and where its checkpoint was.
    created
        When, in seconds since 1970.
    final
        All results up to this step are in final files; later files do not count yet.
    parts
        The open files that count, in order.
    """

    run: str
    holds: str
    checkpoint: str
    created: float
    final: str = ""
    parts: tuple[Part, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def read(cls, folder: Folder) -> Manifest | None:
        """That of a folder, if it has one."""
        for attempt in range(20):
            if not (found := manifests(folder.names())):
                return None
            with suppress(FileNotFoundError):  # there is a later one by now
                return cls._parsed(folder, folder.read(found[-1][1]).to_pybytes())
            time.sleep(0.01 * attempt)
        raise InvalidFile(f"{MANIFEST} of the folder {folder.path!r} vanishes as soon as it is listed; try again")

    @classmethod
    def _parsed(cls, folder: Folder, data: bytes) -> Manifest:
        try:
            found = json.loads(data)
            version = found.pop("version")
            if found.pop("format") != FORMAT:
                raise ValueError("it says nothing about results")
            if version <= VERSION:
                return cls(**{**found, "parts": tuple(Part(**part) for part in found["parts"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidFile(
                f"{MANIFEST} of the folder {folder.path!r} cannot be read: {error}. Restore it from a copy, or use "
                "another folder"
            ) from error
        raise InvalidFile(
            f"the folder {folder.path!r} has format version {version}, made by a newer release; this one reads versions up to "
            f"{VERSION}. Upgrade Swoop"
        )


Version: TypeAlias = "tuple[int, int]"
"""Which of the manifests of a folder: the number of the lease of the driver that wrote it, and its own."""


def manifests(names: Iterable[str]) -> list[tuple[Version, str]]:
    """The manifests among the files of a folder, in order: the last one counts.

    The first one is that of the stream which has claimed the folder. Each later one is a file of its own, so there is one that
    counts at any moment; and a driver that has lost its lease, and does not know it yet, changes nothing.

    >>> manifests(["_swoop-000000000012-000003.json", "_swoop.json", "other.json"])
    [((0, 0), '_swoop.json'), ((12, 3), '_swoop-000000000012-000003.json')]
    """
    found = (_MANIFEST.fullmatch(name) for name in names)
    return sorted(((int(match[1] or 0), int(match[2] or 0)), match[0]) for match in found if match)


def manifest_name(version: Version) -> str:
    """What a manifest is called.

    >>> manifest_name((12, 3))
    '_swoop-000000000012-000003.json'
    """
    return "_swoop-{:012}-{:06}.json".format(*version)


@dataclass(frozen=True)
class FolderSettings:
    """A folder for results; :func:`folder` makes it."""

    path: str
    target_size: int
    final_after: float | None
    retention: float | None


def folder(
    path: str | os.PathLike[str],
    *,
    target_size: int | str = "64 MB",
    final_after: str | dt.timedelta | None = None,
    retention: str | dt.timedelta | None = None,
) -> FolderSettings:
    """A folder for the results of a stream, with settings.

    Parameters
    ----------
    path
        The folder. It must be new, empty, or that of this very output when the stream is resumed.
    target_size
        When the results that have come since the last final file have this size, they become one.
    final_after
        They also do so when the first of them is as old as this. None: a tenth of the age of the folder, ten minutes at most.
    retention
        Final files are deleted when they are older than this, by the time at which they were written. None: never.

    Examples
    --------
    ::

        stream.start("state", changes=folder("changes", target_size="256 MB", retention="30 days"))

    >>> folder("changes", target_size="256 MB", retention="30 days").retention
    2592000.0
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidType(f"a folder for results must be a path, not {path!r}")
    waits, kept = _seconds(final_after, "final_after"), _seconds(retention, "retention")
    return FolderSettings(os.fspath(path), find_size(target_size), waits, kept)


def _seconds(given: Any, what: str) -> float | None:
    if given is None:
        return None
    if not isinstance(given, str | dt.timedelta):
        raise InvalidType(f"{what} must be a duration such as '10 minutes', not {given!r}")
    return in_seconds(find_lateness(given, find_window("1 s"), what))


def find_size(given: int | str) -> int:
    """A number of bytes.

    >>> find_size("128 MB"), find_size("1.5g"), find_size(10)
    (134217728, 1610612736, 10)
    """
    found = _SIZE.fullmatch(str(given).strip()) if isinstance(given, int | str) else None
    size = int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " ")) if found else 0
    if size <= 0:
        raise InvalidArgument(f"cannot parse the size {given!r}; write for example '128 MB' or a number of bytes")
    return size


def result_files(where: str | os.PathLike[str] | Folder) -> list[str]:
    """The files that hold all current results of an output folder, each row once.

    Listing the folder gives the final files only. These are also those that the stream has written since, so that nothing is
    missing; they can be read for ten minutes at least, whatever the stream does meanwhile.
    """
    where = where if isinstance(where, Folder) else Folder(where)
    manifest = Manifest.read(where)  # first: final files of later steps do not count then
    names = where.names()
    if manifest is None:
        return [where.address(name) for _, name in sorted((steps_of(name), name) for name in names if OF_BATCH.fullmatch(name))]
    final = sorted((steps, name) for name in names if (steps := steps_of(name))[1] and steps[1] <= manifest.final)
    opened = where.inner(OPEN)
    return [where.address(name) for _, name in final] + [opened.address(part.name) for part in manifest.parts]


def steps_of(name: str) -> tuple[str, str]:
    """The first and the last step of a final file; nothing if it is none."""
    if found := FINAL.fullmatch(name):
        return found[1].removesuffix("-0"), found[2].removesuffix("-0")
    found = OF_BATCH.fullmatch(name)
    return (found[1], found[1]) if found else ("", "")


def final_name(first: str, last: str, written: float) -> str:
    """What a final file with the results of these steps is called. Sorted by name, files are in the order of their results.

    >>> sorted(final_name(step, step, 0) for step in ("000000000007-end", "000000000007", "000000000007-idle-000001"))
    ['000000000007-0_000000000007-0_0.parquet', '000000000007-end_000000000007-end_0.parquet',
     '000000000007-idle-000001_000000000007-idle-000001_0.parquet']
    """
    first, last = (f"{step}-0" if step.isdecimal() else step for step in (first, last))
    return f"{first}_{last}_{int(written)}.parquet"
