"""What ``swoop run`` is asked for and what it finds, whoever does the work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from swoop.addresses import is_remote, local_path
from swoop.cli.console import name_of
from swoop.cli.guard import WrongUsage
from swoop.cli.output import Order, check_out
from swoop.cli.render import ShownPair, Side
from swoop.cli.where import tell
from swoop.readable import readable, rows_of
from swoop.reading.sets import CountReadable, Reading, ReadingOptions, decide
from swoop.reasons import Reasons
from swoop.spec import FamilySpec, JoinSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from swoop.reading.files import Files
    from swoop.times import WindowSpec

MOST_SHOWN = 1000
EQUAL_LEFT_OUT = "pairs of equal sets are not shown, but take their places in the top {k}; a larger -k finds more others"
EQUAL_NOT_SHOWN = "pairs of equal sets are not shown"
EQUAL = {"jaccard": 1.0, "cosine": 1.0, "dice": 1.0, "hamming": 0.0}  # the similarity of equal sets


def check_unequal(measure: str) -> None:
    """Refuse --no-equal with a similarity by which equal sets cannot be told."""
    if measure not in EQUAL:
        raise WrongUsage(f"--no-equal is not available for {measure}, only for {', '.join(EQUAL)}")


def kernels_for(join: JoinSpec | FamilySpec) -> dict[str, bool]:
    """Which kernels a join needs."""
    if isinstance(join, FamilySpec):
        return {"pairs": False, "families": True, "all_pairs": False}
    return {"pairs": join.k is not None, "families": False, "all_pairs": join.k is None}


@dataclass(frozen=True)
class RunOptions:
    """What becomes of the results, and where the work is done. ``window``: as it was written, which results repeat."""

    window: int | str
    out: str | None = None
    rejected: str | None = None
    show: int = 10
    equal: bool = True
    as_json: bool = False
    spark: bool = False
    master: str | None = None
    memory: str = "2g"

    def check(self, join: JoinSpec | FamilySpec) -> None:
        """Refuse wrong values before anything is read."""
        check_out(self.out)
        check_out(self.rejected, "--rejected")
        if self.out is not None and self.rejected is not None and _same(self.out, self.rejected):
            raise WrongUsage(f"--out and --rejected are the same file, {self.out!r}; choose two")
        if not 0 <= self.show <= MOST_SHOWN:
            raise WrongUsage(f"--show must be from 0 to {MOST_SHOWN}, not {self.show}; --out writes all results")
        if not self.equal:
            check_unequal(join.similarity.name)

    def check_files(self, paths: Iterable[str]) -> None:
        """Refuse to write over what is read."""
        for path in paths:
            for option, out in (("--out", self.out), ("--rejected", self.rejected)):
                if out is not None and _same(path, out):
                    raise WrongUsage(f"{option} {out!r} is also read, and would be replaced; choose another file")


def _same(one: str, other: str) -> bool:
    return one == other or (not (is_remote(one) or is_remote(other)) and _real(one) == _real(other))


def _real(path: str) -> str:
    return os.path.realpath(local_path(path))


@dataclass(frozen=True)
class CopyCount:
    """Where copies count once: how many rows are copies of others, and how often the most frequent set is there."""

    rows: int
    most: int


@dataclass(frozen=True)
class History:
    """The results, apart from the output file.

    ``copies`` is None where they were not counted, ``groups`` where each row is a set.
    """

    pairs: list[ShownPair]
    rows: int
    stays: int
    rejected: Reasons
    seconds: float
    copies: CopyCount | None = None
    groups: int | None = None


@dataclass(frozen=True)
class FoundFamilies:
    """The largest families, the ids of the sets of each, and the records of these by name."""

    history: History
    largest: list[dict[str, Any]]
    members: list[list[Any]]
    records: dict[str, list[Side]]


PAIR = ("newer", "older", "similarity", "overlap")
BEST = {"enter": ("enter", "min"), "leave": ("leave", "max"), "left": ("leave", "count"), "stays": ("enter", "count")}
"""What is told of a distinct pair over all its stays: which column, and what is made of its values that are not null."""

BEST_FIRST: Order = (
    ("similarity", "descending"),
    ("overlap", "descending"),
    ("enter", "ascending"),
    ("newer", "ascending"),
    ("older", "ascending"),
)
"""Ties go to pairs that share more, then to the earlier ones."""

LARGEST_FIRST: Order = (("total", "descending"), ("first_seen", "ascending"), ("id", "ascending"))


def described(
    files: Files, options: ReadingOptions, sample: pa.Table, window: WindowSpec | None, count: CountReadable
) -> Reading:
    """How the files are read, by a sample of their rows, told to whoever looks."""
    reading = decide(options, sample, window, count, files)
    tell(files, reading)
    return reading


def check_one_stream(reading: Reading) -> None:
    if reading.stream is not None:
        raise WrongUsage("families are of one stream; leave out --stream")


def members_of(families: pa.Table, key: str, rows: pa.Table, of_rows: str) -> tuple[list[dict[str, Any]], list[list[Any]]]:
    """Families, and the ids of the sets of each: those rows that have in a column what the family has in another."""
    found: dict[Any, list[Any]] = {}
    for row in rows.to_pylist():
        found.setdefault(row[of_rows], []).append(row["id"])
    largest = families.to_pylist()
    return largest, [found[family[key]] for family in largest]


def ids_of(pairs: Iterable[dict[str, Any]]) -> set[Any]:
    """Of the records of pairs."""
    return {pair[side] for pair in pairs for side in ("newer", "older")}


def shown_ids(pairs: Iterable[ShownPair]) -> set[Any]:
    """The same of pairs that are shown."""
    return {side.id for pair in pairs for side in (pair.newer, pair.older)}


def records_of(sets: pa.Table, reading: Reading) -> dict[str, list[Side]]:
    """Sets as records by id, sorted by time; those without a time come first."""
    records: dict[str, list[Side]] = {}
    for row in sorted(rows_of(readable(sets)), key=lambda row: (row["time"] is not None, row["time"])):
        records.setdefault(name_of(row["id"]), []).append(_side(row, reading))
    return records


def _side(row: dict[str, Any], reading: Reading) -> Side:
    if reading.function is not None:
        tokens = frozenset(reading.function(row["text"]) or ())
    else:
        tokens = frozenset(token for token in row["tokens"] or () if token is not None)
    text = row["text"] if reading.columns.text else " ".join(map(name_of, row["tokens"] or ()))
    kept = {name: row[name] for name in reading.columns.keep}
    return Side(row["id"], row["time"], text or "", tokens, words=bool(reading.columns.text), kept=kept)


def counted_copies(pairs: list[ShownPair], families: Iterable[dict[str, Any]]) -> list[ShownPair]:
    """Pairs with how many copies their records have had. A record is a family of equal sets, called after its first set."""
    found = {family["id"]: family for family in families}

    def counted(side: Side) -> Side:
        family = found.get(side.id)
        return side if family is None else replace(side, copies=family["total"], last_seen=family["last_seen"])

    return [replace(pair, newer=counted(pair.newer), older=counted(pair.older)) for pair in pairs]


def shown_pairs(records: dict[str, list[Side]], pairs: Iterable[dict[str, Any]]) -> list[ShownPair]:
    """Pairs with their records."""
    return [_shown_pair(records, pair) for pair in pairs]


def _shown_pair(records: dict[str, list[Side]], pair: dict[str, Any]) -> ShownPair:
    """A pair with its records. If an id is not unique, those that fit the pair."""
    all_newer, all_older = records[name_of(pair["newer"])], records[name_of(pair["older"])]
    candidates = [
        (newer, older)
        for newer in all_newer
        for older in all_older
        if newer is not older and older.time <= newer.time <= pair["enter"]
        if len(newer.tokens & older.tokens) == pair["overlap"]
    ]
    newer, older = candidates[-1] if candidates else (all_newer[-1], all_older[0])
    return ShownPair(
        newer,
        older,
        pair["similarity"],
        pair["overlap"],
        pair["enter"],
        None if pair["left"] < pair["stays"] else pair["leave"],
        pair["stays"],
    )
