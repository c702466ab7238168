"""``swoop run --families``: groups of near copies in a whole history."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from swoop.cli.console import name_of, print_json, results
from swoop.cli.family_render import FamilyTable, ShownFamily
from swoop.cli.guard import WrongUsage
from swoop.cli.history import History, JoinOptions, RunOptions
from swoop.cli.in_process import describe, records_of
from swoop.cli.output import write_rejected, write_table
from swoop.cli.progress import Steps
from swoop.cli.render import Side
from swoop.cli.where import why_spark
from swoop.reading.files import Files
from swoop.reading.sets import Reading, ReadingOptions
from swoop.times import find_window


def find_families(
    files: Files, options: ReadingOptions, join: JoinOptions, least: float, run: RunOptions
) -> tuple[History, list[ShownFamily]]:
    """All families of a history, the largest shown, all written to ``out``."""
    began = time.monotonic()
    with Steps() as steps:
        steps.step("reading the input")
        reading, schema = describe(files, options, find_window(join.window))
        if reading.stream is not None:
            raise WrongUsage("families are of one stream; leave out --stream")
        from swoop.reading.arrow import read_sets  # with the engine below it, which takes its time

        sets = read_sets(files, reading, schema)
        steps.step("finding families")
        import swoop

        found = swoop.families_history(sets.table, least, join.window, join.similarity, tokens=reading.tokens)
        table = found.to_arrow().drop_columns(["size"])
        if run.out is not None:
            steps.step(f"writing {run.out}")
            write_table(table, run.out)
        if run.rejected is not None:
            write_rejected(sets.rejected_rows, run.rejected)
        largest = table.sort_by([("total", "descending"), ("first_seen", "ascending")]).slice(0, run.show)
        shown = show(largest, found.rows(), sets.table, reading) if run.show else []
    return History([], sets.rows, table.num_rows, sets.rejected, time.monotonic() - began), shown


def show(families: pa.Table, rows: pa.Table, sets: pa.Table, reading: Reading) -> list[ShownFamily]:
    """Families with what is in them."""
    members = rows.filter(pc.is_in(rows.column("family"), families.column("id").combine_chunks()))
    records = records_of(sets.filter(pc.is_in(sets.column("id"), members.column("id").combine_chunks())), reading)
    ids: dict[str, list[Any]] = {}
    for row in members.to_pylist():
        ids.setdefault(name_of(row["family"]), []).append(row["id"])
    shown = []
    for family in families.to_pylist():
        found: dict[Any, Side] = {}
        counts: Counter[Any] = Counter()
        for name in ids[name_of(family["id"])]:
            side = records[name_of(name)][0]
            key = side.text if side.words else side.tokens
            found.setdefault(key, side)
            counts[key] += 1
        contents = [(found[key], count) for key, count in counts.most_common()]
        times = family["first_seen"], family["last_seen"]
        shown.append(ShownFamily(family["id"], family["total"], *times, contents, family["total"]))
    return shown


def run_families(files: Files, reading: ReadingOptions, join: JoinOptions, least: float, options: RunOptions) -> History:
    """Find the families and show them."""
    options.check_files(files.paths)
    if why_spark(files, options.spark, options.master):
        raise WrongUsage("families of a history are found in this process; leave out --spark and --master, and use local files")
    history, shown = find_families(files, reading, join, least, options)
    if options.as_json:
        print_json(_in_json(history, shown, join, least), indent=2)
    elif shown:
        results().print(FamilyTable(shown))
    return history


def _in_json(history: History, shown: list[ShownFamily], join: JoinOptions, least: float) -> dict[str, Any]:
    return {
        "min_similarity": least,
        "window": join.window,
        "similarity": join.similarity,
        "rows": history.rows,
        "families": history.stays,
        "seconds": round(history.seconds, 3),
        "largest": [
            {
                "id": family.id,
                "total": family.size,
                "first_seen": family.first_seen,
                "last_seen": family.last_seen,
                "contents": [
                    {"count": count, **({"text": side.text} if side.words else {"tokens": sorted(side.tokens, key=str)})}
                    for side, count in family.contents
                ],
            }
            for family in shown
        ],
    }
