"""``swoop run``: the most similar pairs of a whole history."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from swoop.cli.console import counted, info, print_json, results
from swoop.cli.guard import FAILURE
from swoop.cli.history import EQUAL, EQUAL_LEFT_OUT, EQUAL_NOT_SHOWN, History, JoinOptions, RunOptions
from swoop.cli.progress import Steps
from swoop.cli.render import Pairs, Side
from swoop.cli.where import HINTS, tell_most_unusable, why_spark
from swoop.errors import TOO_MANY_PAIRS, CapacityExceeded
from swoop.look import ORANGE, RED
from swoop.reading.files import Files
from swoop.reading.sets import ReadingOptions
from swoop.spec import MAX_PAIRS


def run(files: Files, reading: ReadingOptions, join: JoinOptions, options: RunOptions, families: float | None = None) -> int:
    """Find the pairs and show them, or the families. The options are checked. Returns the exit code."""
    if families is not None:
        from swoop.cli.families import run_families

        return _summarise(run_families(files, reading, join, families, options), join, options, families)
    options.check_files(files.paths)
    history = find(files, reading, join, options)
    if options.as_json:
        print_json(_in_json(history, join), indent=2)
    elif history.pairs:
        results().print(Pairs(history.pairs, join.k, join.similarity))
    return _summarise(history, join, options)


def find(files: Files, reading: ReadingOptions, join: JoinOptions, options: RunOptions) -> History:
    """The history of the top-k, in process or on Spark: its best pairs, with all stays written to a file if asked for."""
    with Steps() as steps:
        try:
            if why_spark(files, options.spark, options.master, options.out, options.rejected):
                from swoop.cli import on_spark

                return on_spark.find_history(files, reading, join, options, steps)
            from swoop.cli import in_process

            return in_process.find_history(files, reading, join, options, steps)
        except Exception as error:
            # an error of one of Spark's tasks has what was raised there in its text only
            if join.k is not None or TOO_MANY_PAIRS not in str(error):
                raise
            raise CapacityExceeded(
                f"at some time there are more than {MAX_PAIRS:,} pairs from {join.similarity} {join.min_similarity:g} on; use "
                "a higher --min-similarity, a shorter --window, -k N for the N most similar ones, or --families for groups"
            ) from error


def _in_json(history: History, join: JoinOptions) -> dict[str, Any]:
    def side(of: Side) -> dict[str, Any]:
        copies = {} if of.copies == 1 else {"copies": of.copies, "last_seen": of.last_seen}
        content = {"text": of.text} if of.words else {"tokens": sorted(of.tokens, key=str)}
        return {"id": of.id, "time": of.time, **content, **copies, **({"record": of.kept} if of.kept else {})}

    return {
        "k": join.k,
        "window": join.window,
        "similarity": join.similarity,
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


def _summarise(history: History, join: JoinOptions, options: RunOptions, families: float | None = None) -> int:
    """Print the last lines. Returns the exit code: it is a failure if all rows are rejected."""
    bad = history.rejected.rows
    if bad:
        where = f", written to {options.rejected}" if options.rejected else "; --rejected FILE writes them"
        info(f"{bad:,} of {history.rows:,} rows cannot be used{where}:", style=ORANGE)
        for line in history.rejected.lines(HINTS):
            info(f"  {line}", style=ORANGE)
    written = f", written to {options.out}" if options.out else "; --out FILE writes them all"
    found = (
        f"{counted(history.stays, 'stay', 'stays')} in {join.result}"
        if families is None
        else f"{counted(history.stays, 'family', 'families')} from {join.similarity} {families:g} on"
    )
    rows = counted(history.rows, "row", "rows")
    rows += "" if history.groups is None else f" in {counted(history.groups, 'group', 'groups')}"
    info(f"{rows}, {found} of a window of {join.window}{written} ({history.seconds:.1f} s)")
    if families is None and join.copies == "once":
        _tell_copies(history)
    if len(history.pairs) > 1 and all(pair.similarity == EQUAL.get(join.similarity) for pair in history.pairs):
        more = ", and a larger -k finds more pairs" if join.k is not None else ""
        info(f"all pairs shown are of equal sets; --no-equal hides them{more}")
    if not options.equal and history.stays and join.copies == "each":
        info(EQUAL_NOT_SHOWN if join.k is None else EQUAL_LEFT_OUT.format(k=join.k))
    if not history.rows:
        info("swoop: there are no rows", style=RED)
        return FAILURE
    if not history.stays and not bad:
        _tell_why_nothing(history, join, families)
    if bad and bad >= history.rows:
        info("swoop: no row can be used; check --id, --time (--time-unit, --time-format) and --text or --tokens", style=RED)
        return FAILURE
    tell_most_unusable(bad, history.rows)
    return 0


def _tell_why_nothing(history: History, join: JoinOptions, families: float | None) -> None:
    """Say why nothing was found, and what may help. Where all that is similar is equal, no other window does."""
    once = families is None and join.copies == "once"
    least = "share a token" if join.min_similarity is None else f"reach --min-similarity {join.min_similarity:g}"
    least = least if families is None else f"are {join.similarity} {families:g} similar"
    what = f"no two {'different records' if once else 'records'} in a window {least}"
    if once and join.min_similarity is not None and join.min_similarity >= EQUAL.get(join.similarity, math.inf):
        info(f"{what}, as only equal ones do; use --copies each")
    elif once and history.copies is not None and history.copies.rows:
        info(f"{what}: all that is similar is equal; use --copies each")
    else:
        info(f"{what}; try a longer --window or another --tokenizer")


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
