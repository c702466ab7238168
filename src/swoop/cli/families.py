"""``swoop run --families``: groups of near copies in a whole history."""

from __future__ import annotations

from collections import Counter
from typing import Any

from swoop.cli.console import name_of, print_json, results
from swoop.cli.family_render import FamilyTable, ShownFamily
from swoop.cli.history import FoundFamilies, History, RunOptions
from swoop.cli.progress import Steps
from swoop.cli.render import Side
from swoop.cli.where import why_spark
from swoop.reading.files import Files
from swoop.reading.sets import ReadingOptions
from swoop.spec import FamilySpec


def find(files: Files, reading: ReadingOptions, join: FamilySpec, options: RunOptions) -> FoundFamilies:
    """All families of a history, in process or on Spark: the largest, with all written to a file if asked for."""
    with Steps() as steps:
        if why_spark(files, options.spark, options.master, options.out, options.rejected):
            from swoop.cli import on_spark

            return on_spark.find_families(files, reading, join, options, steps)
        from swoop.cli import in_process

        return in_process.find_families(files, reading, join, options, steps)


def shown_families(found: FoundFamilies) -> list[ShownFamily]:
    """Families with what is in them."""
    shown = []
    for family, members in zip(found.largest, found.members, strict=True):
        sides: dict[Any, Side] = {}
        counts: Counter[Any] = Counter()
        for name in members:
            side = found.records[name_of(name)][0]
            key = side.text if side.words else side.tokens
            sides.setdefault(key, side)
            counts[key] += 1
        contents = [(sides[key], count) for key, count in counts.most_common()]
        times = family["first_seen"], family["last_seen"]
        shown.append(ShownFamily(family["id"], family["total"], *times, contents, family["total"]))
    return shown


def run_families(files: Files, reading: ReadingOptions, join: FamilySpec, options: RunOptions) -> History:
    """Find the families and show them."""
    options.check_files(files.paths)
    found = find(files, reading, join, options)
    shown = shown_families(found)
    if options.as_json:
        print_json(_in_json(found.history, shown, join, options), indent=2)
    elif shown:
        results().print(FamilyTable(shown))
    return found.history


def _in_json(history: History, shown: list[ShownFamily], join: FamilySpec, options: RunOptions) -> dict[str, Any]:
    return {
        "min_similarity": join.min_similarity,
        "window": options.window,
        "similarity": join.similarity.name,
        "rows": history.rows,
        **({} if history.groups is None else {"groups": history.groups}),
        "rejected": history.rejected.told(),
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
