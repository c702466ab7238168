"""``swoop explain``: why two records are similar."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from swoop.cli.console import has_colour, info, print_json, results, shown_name, shown_similarity
from swoop.cli.guard import FAILURE
from swoop.cli.progress import Steps
from swoop.cli.render import NEWER, OLDER, Side, side_by_side
from swoop.cli.where import why_spark
from swoop.look import ORANGE, RED
from swoop.reading.files import Files
from swoop.reading.sets import ReadingOptions
from swoop.similarity import BUILT_IN


def explain(
    first: str,
    second: str,
    files: Files,
    options: ReadingOptions,
    *,
    as_json: bool = False,
    spark: bool = False,
    master: str | None = None,
    memory: str = "2g",
) -> int:
    """Look up both records and show them. Returns the exit code."""
    with Steps() as steps:
        if why_spark(files, spark, master):
            from swoop.cli import on_spark

            records = on_spark.find_records(files, options, {first, second}, master, memory, steps)
        else:
            from swoop.cli import in_process

            steps.step("looking up the records")
            records = in_process.find_records(files, options, {first, second})
    missing = [name for name in (first, second) if not records.get(name)]
    if missing:
        info(f"swoop: there is no record with the id {' or '.join(map(repr, missing))}", style=RED)
        return FAILURE
    for name in (first, second):
        if len(records[name]) > 1 and first != second:
            info(f"{len(records[name])} records have the id {name!r}; using the latest", style=ORANGE)
    sides = (records[second][-1], records[first][-1]) if first != second else tuple(records[first][-2:]) * 2
    older, newer = sorted(sides[:2], key=lambda side: (side.time is not None, side.time))
    if as_json:
        print_json(_in_json(newer, older), indent=2)
    else:
        _print(newer, older, results())
    return 0


def similarities(newer: Side, older: Side) -> dict[str, float]:
    """Every built-in similarity of two sets."""
    sizes = len(newer.tokens), len(older.tokens), len(newer.tokens & older.tokens)
    return {name: measure(*sizes) if min(sizes[:2]) else 0.0 for name, measure in BUILT_IN.items()}


def _parts(newer: Side, older: Side) -> dict[str, list[Any]]:
    parts = {
        "shared": newer.tokens & older.tokens,
        "only newer": newer.tokens - older.tokens,
        "only older": older.tokens - newer.tokens,
    }
    return {name: sorted(tokens, key=str) for name, tokens in parts.items()}


def _print(newer: Side, older: Side, console: Console) -> None:
    console.print(side_by_side(newer, older, console))
    console.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    colour = has_colour(console)
    for (name, tokens), style in zip(_parts(newer, older).items(), ("", NEWER, OLDER), strict=True):
        table.add_row(name, str(len(tokens)), Text(" ".join(map(_shown, tokens)), style if colour else ""))
    console.print(table)
    console.print()
    values = [(name, shown_similarity(value, name)) for name, value in similarities(newer, older).items()]
    console.print(Text("   ").join(Text.assemble(f"{name} ", (value, "bold")) for name, value in values))


def _shown(token: Any) -> str:
    text = shown_name(token)
    return f"'{text}'" if " " in text else text


def _in_json(newer: Side, older: Side) -> dict[str, Any]:
    def side(of: Side) -> dict[str, Any]:
        return {"id": of.id, "time": of.time, "text": of.text, "size": len(of.tokens)}

    parts = {name.replace(" ", "_"): tokens for name, tokens in _parts(newer, older).items()}
    return {"newer": side(newer), "older": side(older), **parts, "similarities": similarities(newer, older)}
