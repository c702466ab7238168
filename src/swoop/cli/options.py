"""Arguments and options that several commands have, and how they are understood."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from swoop.cli.columns import Columns
from swoop.cli.guard import WrongUsage
from swoop.cli.sets import UNITS, Reading, Tokenizer

Inputs = Annotated[
    list[str], typer.Argument(help="Files, globs, folders: JSON lines, CSV or Parquet.", show_default=False, metavar="INPUT")
]

COLUMNS, HOW, WHERE = "Columns (guessed where there is one possibility)", "What is looked for", "How it runs"


def _option(*names: str, help: str, panel: str, metavar: str | None = None, default: bool = False) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=default)


def _column(name: str, help: str, metavar: str = "COL", default: bool = False) -> Any:
    return _option(name, help=help, panel=COLUMNS, metavar=metavar, default=default)


Id = Annotated[str | None, _column("--id", "Column of ids.")]
Time = Annotated[str | None, _column("--time", "Column of times.")]
Text = Annotated[
    list[str] | None, _column("--text", "Column of text; give several to join them. Next to --tokens: only shown.")
]
Tokens = Annotated[str | None, _column("--tokens", "Column of arrays of tokens.")]
Stream = Annotated[str | None, _column("--stream", "Column of 'left' and 'right': only left-right pairs count.")]
Tokenize = Annotated[str, _column("--tokenizer", "How texts become tokens: words, 2-words, 3-chars, ...", "HOW", default=True)]
TimeUnit = Annotated[str | None, _column("--time-unit", "Times are numbers since 1970, in s, ms, us or ns.", "UNIT")]
TimeFormat = Annotated[str | None, _column("--time-format", "Times are texts such as 'dd/MM/yyyy HH:mm'.", "PATTERN")]
Format = Annotated[str | None, _column("--format", "json, csv or parquet; by default from the names of files.", "FORMAT")]

WindowOption = Annotated[
    str,
    _option(
        "--window", "-w", help="'1h', '7 days', ...; a number for integer times.", panel=HOW, metavar="LENGTH", default=True
    ),
]
K = Annotated[int, _option("-k", help="How many pairs the top-k has.", panel=HOW, metavar="N", default=True)]
SimilarityOption = Annotated[
    str,
    _option("--similarity", "-s", help="jaccard, cosine, dice, overlap or hamming.", panel=HOW, metavar="NAME", default=True),
]
MinSimilarity = Annotated[float | None, _option("--min-similarity", help="Pairs below do not count.", panel=HOW, metavar="X")]

Master = Annotated[
    str | None,
    _option(
        "--master",
        help="Where Spark runs: local[4], spark://host:7077, sc://host, ...; by default here.",
        panel=WHERE,
        metavar="WHERE",
    ),
]
Memory = Annotated[str, _option("--memory", help="Memory of Spark's driver.", panel=WHERE, metavar="SIZE", default=True)]
Json = Annotated[bool, typer.Option("--json", help="Results in JSON on standard output, for scripts.")]


def reading(
    id: str | None,
    time: str | None,
    text: list[str] | None,
    tokens: str | None,
    stream: str | None,
    tokenizer: str,
    time_unit: str | None,
    time_format: str | None,
) -> Reading:
    """How rows are to be read, if that makes sense."""
    if time_unit is not None and time_unit not in UNITS:
        raise WrongUsage(f"there is no unit {time_unit!r} of time; --time-unit must be one of {', '.join(UNITS)}")
    if time_unit is not None and time_format is not None:
        raise WrongUsage("give --time-unit for numbers or --time-format for texts, not both")
    return Reading(Columns(id, time, tuple(text or ()), tokens, stream), Tokenizer.read(tokenizer), time_unit, time_format)


def number_or_text(given: str) -> int | str:
    """Integer windows are for integer times."""
    return int(given) if given.strip().lstrip("-").isdecimal() else given
