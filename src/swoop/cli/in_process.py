"""Histories and records of local files, read with Arrow, without Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from swoop.cli.history import (
    BEST,
    BEST_FIRST,
    EQUAL,
    LARGEST_FIRST,
    PAIR,
    CopyCount,
    FoundFamilies,
    History,
    RunOptions,
    check_one_stream,
    counted_copies,
    described,
    ids_of,
    members_of,
    records_of,
    shown_ids,
    shown_pairs,
)
from swoop.cli.output import STAYS, write_rejected, write_table
from swoop.cli.progress import Steps
from swoop.cli.render import ShownPair, Side
from swoop.reading.files import COMPRESSED, Files
from swoop.reading.sets import Reading, ReadingOptions
from swoop.reading.tables import count_readable, read_batches, read_sample, schema_for
from swoop.spec import FamilySpec, JoinSpec
from swoop.times import WindowSpec

if TYPE_CHECKING:
    from swoop.reading.arrow import Sets

GROWTH = {"parquet": 6, "csv": 2, "json": 2}  # memory that a byte of a file takes, about
COMPRESSION = 5


def why_not(files: Files) -> str | None:
    """Why local files are not read in process; None if they are."""
    packed = COMPRESSION if any(Path(path).suffix.lower() in COMPRESSED for path in files.paths) else 1
    needed, there = files.size * GROWTH.get(files.format, 2) * packed, _memory()
    return (
        None if needed < there else f"the files may need {needed / 2**30:.0f} GB of memory, and {there / 2**30:.0f} GB are free"
    )


def _memory() -> int:
    """Bytes of memory that could be used."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def describe(files: Files, options: ReadingOptions, window: WindowSpec | None) -> tuple[Reading, pa.Schema]:
    """How the files are read, told to whoever looks."""
    sample = read_sample(files)
    return described(files, options, sample, window, lambda *asked: count_readable(files, sample.schema, *asked)), sample.schema


def _read(files: Files, options: ReadingOptions, window: WindowSpec, steps: Steps) -> tuple[Sets, Reading, pa.Schema]:
    """The sets of a history, how they were read, and all columns that there are."""
    steps.step("reading the input")
    reading, schema = describe(files, options, window)
    count = [0]

    def done(rows: int) -> None:
        count[0] = rows

    from swoop.reading.arrow import read_sets  # with the engine below it, which takes its time

    steps.step("reading the input", lambda: (count[0], 0), "rows")
    return read_sets(files, reading, schema, done), reading, schema


def _write_rejected(files: Files, sets: Sets, schema: pa.Schema, run: RunOptions, steps: Steps) -> None:
    """Write rejected rows with all of their columns, if asked for."""
    if run.rejected is None:
        return
    from swoop.reading.whole import whole_rows

    steps.step(f"writing {run.rejected}")
    bad = sets.rejected_rows
    rows = whole_rows(files, schema, bad.column("number").to_numpy())
    write_rejected(rows, bad.column("reason"), sets.rejected_groups, run.rejected)


def find_history(files: Files, options: ReadingOptions, join: JoinSpec, run: RunOptions, steps: Steps) -> History:
    """The history of the top-k: its best pairs, with all stays written to ``out``."""
    began = time.monotonic()
    sets, reading, schema = _read(files, options, join.window, steps)
    steps.step("finding similar pairs")
    import swoop

    stays = swoop.history(
        sets.table,
        join.k,
        join.window,
        join.similarity,
        tokens=reading.tokens,
        stream=reading.stream,
        min_similarity=join.min_similarity,
        max_pairs=join.max_pairs,
        copies=join.copies,
        keep=reading.columns.keep,
    ).to_arrow()
    stays = stays.sort_by(list(STAYS))
    if run.out is not None:
        steps.step(f"writing {run.out}")
        write_table(stays, run.out)
    _write_rejected(files, sets, schema, run, steps)
    shown = stays if run.equal else stays.filter(pc.less(stays.column("similarity"), EQUAL[join.similarity.name]))
    pairs = best(shown, sets.table, reading, run.show) if run.show else []
    copies = None
    if join.copies == "once" and reading.stream is None:
        steps.step("counting copies")
        pairs, copies = with_copies(pairs, sets.table, reading, join.window)
    return History(pairs, sets.rows, stays.num_rows, sets.rejected, time.monotonic() - began, copies, _groups(sets, reading))


def _groups(sets: Sets, reading: Reading) -> int | None:
    """How many sets rows were put together to, if they were."""
    return None if reading.columns.group_by is None else sets.table.num_rows


def find_families(files: Files, options: ReadingOptions, join: FamilySpec, run: RunOptions, steps: Steps) -> FoundFamilies:
    """The families of a history: the largest, with all written to ``out``."""
    began = time.monotonic()
    sets, reading, schema = _read(files, options, join.window, steps)
    check_one_stream(reading)
    steps.step("finding families")
    import swoop

    found = swoop.families_history(
        sets.table, join.min_similarity, join.window, join.similarity, tokens=reading.tokens, keep=reading.columns.keep
    )
    table = found.to_arrow().drop_columns(["size"])
    firsts = pa.array([family.arrival for family in found], pa.int64())  # ids may repeat
    if run.out is not None:
        steps.step(f"writing {run.out}")
        write_table(table, run.out)
    _write_rejected(files, sets, schema, run, steps)
    largest = table.append_column("first", firsts).sort_by(list(LARGEST_FIRST)).slice(0, run.show)
    members = found.rows().append_column("first", pa.array(found._firsts))
    members = members.filter(pc.is_in(members.column("first"), largest.column("first").combine_chunks()))
    named = sets.table.filter(pc.is_in(sets.table.column("id"), members.column("id").combine_chunks()))
    seconds, groups = time.monotonic() - began, _groups(sets, reading)
    history = History([], sets.rows, table.num_rows, sets.rejected, seconds, groups=groups)
    return FoundFamilies(history, *members_of(largest, "first", members, "first"), records_of(named, reading))


def best(stays: pa.Table, sets: pa.Table, reading: Reading, most: int) -> list[ShownPair]:
    """The most similar distinct pairs over all stays."""
    found = stays.group_by(list(PAIR)).aggregate(list(BEST.values())).rename_columns([*PAIR, *BEST])
    pairs = found.sort_by(list(BEST_FIRST)).slice(0, most).to_pylist()
    ids = sets.column("id")
    return shown_pairs(records_of(sets.filter(pc.is_in(ids, pa.array(ids_of(pairs), ids.type))), reading), pairs)


def with_copies(
    pairs: list[ShownPair], sets: pa.Table, reading: Reading, window: WindowSpec
) -> tuple[list[ShownPair], CopyCount]:
    """Pairs with how many copies their records have had, and how many there are in all.

    A record is a family of equal sets, called after its first set.
    """
    import swoop

    families = swoop.families_history(sets, 1.0, window, tokens=reading.tokens).to_arrow()
    ids = pa.array(shown_ids(pairs), families.schema.field("id").type)
    found = families.filter(pc.is_in(families.column("id"), ids)).to_pylist()
    totals = families.column("total").to_numpy()
    return counted_copies(pairs, found), CopyCount(int(totals.sum()) - len(totals), int(totals.max(initial=1)))


def find_records(files: Files, options: ReadingOptions, names: set[str]) -> dict[str, list[Side]]:
    """The records with these ids, in the order of time."""
    from swoop.reading.arrow import prepare, read_sets

    reading, schema = describe(files, options, None)
    found, rows = [], 0
    if reading.columns.group_by is not None:
        table = read_sets(files, reading, schema).table
        return records_of(table.filter(_is_named(table, names)), reading)
    for batch in read_batches(files, schema_for(reading.used, schema)):
        sets, _ = prepare(batch, reading, rows)
        rows += len(sets)
        found.append(sets.filter(_is_named(sets, names)))
    return records_of(pa.concat_tables(found, promote_options="permissive"), reading) if found else {}


def _is_named(sets: pa.Table, names: Iterable[str]) -> pa.Array:
    ids = sets.column("id")
    if pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type):
        return pc.is_in(ids, pa.array([value for name in names if (value := _bytes(name)) is not None], ids.type))
    return pc.is_in(ids.cast(pa.string()), pa.array(list(names), pa.string()))


def _bytes(name: str) -> bytes | None:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return None
