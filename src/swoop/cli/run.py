"""``swoop run``: the most similar pairs of a whole history."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from swoop.cli.console import counted, info, print_json, results
from swoop.cli.guard import FAILURE
from swoop.cli.history import EQUAL, EQUAL_LEFT_OUT, EQUAL_NOT_SHOWN, History, RunOptions
from swoop.cli.progress import Steps
from swoop.cli.render import Pairs, Side
from swoop.cli.where import HINTS, tell_most_unusable, why_spark
from swoop.errors import CapacityExceeded
from swoop.look import ORANGE, RED
from swoop.reading.files import Files
from swoop.reading.sets import ReadingOptions
from swoop.spec import FamilySpec, JoinSpec


def run(files: Files, reading: ReadingOptions, join: JoinSpec | FamilySpec, options: RunOptions) -> int:
    """Find the pairs and show them, or the families. The options are checked. Returns the exit code."""
    if isinstance(join, FamilySpec):
        from swoop.cli.families import run_families

        return _summarise(run_families(files, reading, join, options), join, options)
    options.check_files(files.paths)
    history = find(files, reading, join, options)
    if options.as_json:
        print_json(_in_json(history, join, options), indent=2)
    elif history.pairs:
        results().print(Pairs(history.pairs, join.k, join.similarity.name))
    return _summarise(history, join, options)


def find(files: Files, reading: ReadingOptions, join: JoinSpec, options: RunOptions) -> History:
    """The history of the top-k, in process or on Spark: its best pairs, with all stays written to a file if asked for."""
    with Steps() as steps:
        try:
            if why_spark(files, options.spark, options.master, options.out, options.rejected):
                from swoop.cli import on_spark

                return on_spark.find_history(files, reading, join, options, steps)
            from swoop.cli import in_process

            return in_process.find_history(files, reading, join, options, steps)
        except CapacityExceeded as error:
            if error.max_pairs is None:
                raise
            raise CapacityExceeded(
                f"at some time there are more than {error.max_pairs:,} pairs {_from_on(join)}; use "
                "a higher --min-similarity, a shorter --window, -k N for the N most similar ones, or --families for groups"
            ) from error


def _in_json(history: History, join: JoinSpec, options: RunOptions) -> dict[str, Any]:
    def side(of: Side) -> dict[str, Any]:
        copies = {} if of.copies == 1 else {"copies": of.copies, "last_seen": of.last_seen}
        content = {"text": of.text} if of.words else {"tokens": sorted(of.tokens, key=str)}
        return {"id": of.id, "time": of.time, **content, **copies, **({"record": of.kept} if of.kept else {})}

    return {
        "k": join.k,
        "window": options.window,
        "similarity": join.similarity.name,
        "rows": history.rows,
        **({} if history.groups is None else {"groups": history.groups}),
        "rejected": history.rejected.told(),
        **({} if history.copies is None else {"copies": asdict(history.copies)}),
        "stays": history.stays,
        "seconds": round(history.seconds, 3),
        "pairs": [
            {
                "similarity": pair.similarity,
                "overlap": pair.overlap,
                "newer": side(pair.newer),
                "older": side(pair.older),
                "enter": pair.enter,
                "leave": pair.leave,
                "stays": pair.stays,
            }
            for pair in history.pairs
        ],
    }


def _summarise(history: History, join: JoinSpec | FamilySpec, options: RunOptions) -> int:
    """Print the last lines. Returns the exit code: it is a failure if all rows are rejected."""
    bad = history.rejected.rows
    if bad:
        where = f", written to {options.rejected}" if options.rejected else "; --rejected FILE writes them"
        info(f"{bad:,} of {history.rows:,} rows cannot be used{where}:", style=ORANGE)
        for line in history.rejected.lines(HINTS):
            info(f"  {line}", style=ORANGE)
    written = f", written to {options.out}" if options.out else "; --out FILE writes them all"
    rows = counted(history.rows, "row", "rows")
    rows += "" if history.groups is None else f" in {counted(history.groups, 'group', 'groups')}"
    found = _what_was_found(history, join)
    info(f"{rows}, {found} of a window of {options.window}{written} ({history.seconds:.1f} s)")
    if isinstance(join, JoinSpec):
        _tell_equal(history, join, options)
    if not history.rows:
        info("swoop: there are no rows", style=RED)
        return FAILURE
    if not history.stays and not bad:
        _tell_why_nothing(history, join)
    if bad and bad >= history.rows:
        info("swoop: no row can be used; check --id, --time (--time-unit, --time-format) and --text or --tokens", style=RED)
        return FAILURE
    tell_most_unusable(bad, history.rows)
    return 0


def _what_was_found(history: History, join: JoinSpec | FamilySpec) -> str:
    if isinstance(join, FamilySpec):
        return f"{counted(history.stays, 'family', 'families')} {_from_on(join)}"
    where = f"all pairs {_from_on(join)}" if join.k is None else f"the top {join.k}"
    return f"{counted(history.stays, 'stay', 'stays')} in {where}"


def _tell_why_nothing(history: History, join: JoinSpec | FamilySpec) -> None:
    """Say why nothing was found, and what may help. Where all that is similar is equal, no other window does."""
    what = f"no two {_what_was_missing(join)}"
    once, least = isinstance(join, JoinSpec) and join.copies == "once", join.min_similarity
    if once and least is not None and least >= EQUAL.get(join.similarity.name, math.inf):
        info(f"{what}, as only equal ones do; use --copies each")
    elif once and history.copies is not None and history.copies.rows:
        info(f"{what}: all that is similar is equal; use --copies each")
    else:
        info(f"{what}; try a longer --window or another --tokenizer")


def _what_was_missing(join: JoinSpec | FamilySpec) -> str:
    if isinstance(join, FamilySpec):
        return f"records in a window are {join.similarity.name} {join.min_similarity:g} similar"
    records = "different records" if join.copies == "once" else "records"
    least = "share a token" if join.min_similarity is None else f"reach --min-similarity {join.min_similarity:g}"
    return f"{records} in a window {least}"


def _from_on(join: JoinSpec | FamilySpec) -> str:
    return f"from {join.similarity.name} {join.min_similarity:g} on"


def _tell_equal(history: History, join: JoinSpec, options: RunOptions) -> None:
    """Say where pairs of equal sets are, and what else there may be."""
    if join.copies == "once":
        _tell_copies(history)
    if len(history.pairs) > 1 and all(pair.similarity == EQUAL.get(join.similarity.name) for pair in history.pairs):
        more = ", and a larger -k finds more pairs" if join.k is not None else ""
        info(f"all pairs shown are of equal sets; --no-equal hides them{more}")
    if not options.equal and history.stays and join.copies == "each":
        info(EQUAL_NOT_SHOWN if join.k is None else EQUAL_LEFT_OUT.format(k=join.k))


def _tell_copies(history: History) -> None:
    """Say what does not show because it counts once: it may be what somebody is looking for."""
    more = "--copies each shows them as pairs, --families 1 as groups"
    if history.copies is None and not history.stays:
        info(f"equal sets count as one; {more}")
    elif history.copies is not None and history.copies.rows:
        one, many = ("row", "rows") if history.groups is None else ("group", "groups")
        found = counted(history.copies.rows, f"{one} is a copy of another", f"{many} are copies of others")
        often = f", one set {history.copies.most:,} times" if history.copies.most > 2 else ""
        info(f"{found} in the window and not counted{often}; {more}")
