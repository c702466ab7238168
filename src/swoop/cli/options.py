"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from swoop.cli.guard import WrongUsage
from swoop.errors import SwoopError

if TYPE_CHECKING:
    from swoop.reading.sets import ReadingOptions
    from swoop.spec import FamilySpec, JoinSpec
    from swoop.times import WindowSpec

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs or folders of JSON lines, CSV or Parquet; - is standard input.", show_default=False, metavar="INPUT"
    ),
]

COLUMNS, JOIN, EXECUTION = "Columns (inferred where unambiguous)", "Join", "Execution"
ALERTS = "Alerts"


def _option(*names: str, help: str, panel: str, metavar: str | None = None, default: bool = False) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=default)


def _column(name: str, help: str, metavar: str = "COL", default: bool = False) -> Any:
    return _option(name, help=help, panel=COLUMNS, metavar=metavar, default=default)


Id = Annotated[str | None, _column("--id", "Column of ids.")]
Time = Annotated[str | None, _column("--time", "Column of times.")]
Text = Annotated[
    list[str] | None, _column("--text", "Column of text; repeat it to combine several. Beside --tokens, it is only shown.")
]
Tokens = Annotated[str | None, _column("--tokens", "Column with arrays of tokens; with --group-by, of single ones.")]
GroupBy = Annotated[
    str | None, _column("--group-by", "Rows with the same value here are one set: the line items of an invoice.")
]
MinTokens = Annotated[int, _column("--min-tokens", "Reject sets of fewer tokens.", "N")]
Stream = Annotated[
    str | None, _column("--stream", "Column that says 'left' or 'right'; only pairs across the two sides count.")
]
Keep = Annotated[
    list[str] | None, _column("--keep", "Columns that results show besides ids: author,url; or repeat it.", "COLS")
]
Tokenize = Annotated[
    str, _column("--tokenizer", "How texts are split into tokens: words, 2-words, 3-chars, ...", "NAME", default=True)
]
TimeUnit = Annotated[str | None, _column("--time-unit", "Unit of numeric times since 1970: s, ms, us or ns.", "UNIT")]
TimeFormat = Annotated[
    str | None,
    _column("--time-format", "How times are written: 'dd/MM/yyyy HH:mm', '%d.%m.%Y', iso, rfc2822, twitter.", "PATTERN"),
]
Encoding = Annotated[str | None, _column("--encoding", "Encoding of CSV and JSON, such as cp1252; by default UTF-8.", "NAME")]
Separator = Annotated[
    str | None, _column("--separator", "What stands between the values of CSV; by default found out.", "CHAR")
]
Format = Annotated[str | None, _column("--format", "json, csv or parquet; by default inferred from file names.", "FORMAT")]

WindowOption = Annotated[
    str,
    _option(
        "--window",
        "-w",
        help="Duration of the window: '1h', '7 days', ...; a number for integer times.",
        panel=JOIN,
        metavar="DURATION",
        default=True,
    ),
]
K = Annotated[
    str,
    _option(
        "-k",
        "--k",
        help="Number of pairs in the top-k, or all: every pair from --min-similarity on.",
        panel=JOIN,
        metavar="N",
        default=True,
    ),
]
SimilarityOption = Annotated[
    str,
    _option("--similarity", "-s", help="jaccard, cosine, dice, overlap or hamming.", panel=JOIN, metavar="NAME", default=True),
]
MinSimilarity = Annotated[
    float | None, _option("--min-similarity", help="Ignore pairs that are less similar.", panel=JOIN, metavar="X")
]
FamiliesOption = Annotated[
    float | None,
    _option(
        "--families",
        help="Find groups of near copies instead of pairs: records are linked from this similarity on.",
        panel=JOIN,
        metavar="X",
    ),
]
CopiesOption = Annotated[
    str,
    _option("--copies", help="once: equal sets count as one; each: every one counts.", panel=JOIN, metavar="HOW", default=True),
]

Equal = Annotated[bool, typer.Option("--equal/--no-equal", help="Show pairs of equal sets, or not; files have them.")]
Spark = Annotated[bool, _option("--spark", help="Use Spark, on all local cores unless --master says where.", panel=EXECUTION)]
Master = Annotated[
    str | None,
    _option(
        "--master",
        help="Spark master: local[4], spark://host:7077, sc://host, ...",
        panel=EXECUTION,
        metavar="URL",
    ),
]
Memory = Annotated[str, _option("--memory", help="Memory of the Spark driver.", panel=EXECUTION, metavar="SIZE", default=True)]
Json = Annotated[bool, typer.Option("--json", help="Write results as JSON, for scripts.")]


def reading_options(
    id: str | None,
    time: str | None,
    text: list[str] | None,
    tokens: str | None,
    stream: str | None,
    group_by: str | None,
    tokenizer: str,
    time_unit: str | None,
    time_format: str | None,
    min_tokens: int,
    keep: list[str] | None = None,
) -> ReadingOptions:
    """The options that say how rows are read, checked."""
    from swoop.reading.columns import Columns
    from swoop.reading.sets import ReadingOptions

    kept = tuple(name.strip() for names in keep or () for name in names.split(",") if name.strip())
    columns = Columns(id, time, tuple(text or ()), tokens, stream, group_by, keep=kept)
    return ReadingOptions.find(columns, tokenizer, time_unit, time_format, min_tokens)


def pairs_wanted(value: str) -> int | None:
    """A number of pairs, or None for all."""
    if value.strip().lower() == "all":
        return None
    try:
        return int(value)
    except ValueError:
        raise WrongUsage(f"-k must be a number of pairs, or all, not {value!r}") from None


PAIRS_ONLY = {"k": "-k", "min_similarity": "--min-similarity", "copies": "--copies", "equal": "--no-equal"}
"""Options that are about pairs."""


def join_spec(
    context: typer.Context,
    k: str,
    window: str,
    similarity: str,
    min_similarity: float | None,
    copies: str,
    families: float | None,
) -> JoinSpec | FamilySpec:
    """The options that say what is asked for, pairs or families, checked."""
    if families is not None:
        return _family_spec(context, families, window, similarity)
    return _pair_spec(k, window, similarity, min_similarity, copies)


def _pair_spec(k: str, window: str, similarity: str, min_similarity: float | None, copies: Any) -> JoinSpec:
    from swoop.spec import JoinSpec

    pairs = pairs_wanted(k)
    if pairs is None and min_similarity is None:
        raise WrongUsage("-k all needs --min-similarity: how similar pairs have to be")
    if pairs is not None and pairs < 1:
        raise WrongUsage(f"-k must be at least 1, not {pairs}")
    return JoinSpec(pairs, _window_wanted(window), similarity, min_similarity=min_similarity, copies=copies)


def _family_spec(context: typer.Context, least: float, window: str, similarity: str) -> FamilySpec:
    from swoop.spec import FamilySpec

    duration = _window_wanted(window)
    try:
        spec = FamilySpec(least, duration, similarity)
    except SwoopError as error:
        raise WrongUsage(f"--families: {error}") from None
    for name, option in PAIRS_ONLY.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise WrongUsage(f"--families {least:g} finds groups from this similarity on, not pairs; leave out {option}")
    return spec


def _window_wanted(value: str) -> WindowSpec:
    from swoop.times import find_window

    window = number_or_text(value)
    if isinstance(window, int) and window < 1:
        raise WrongUsage(f"a window must be longer than 0: give another --window than {window}")
    return find_window(window)


def number_or_text(value: str) -> int | str:
    """An integer if it is one, for windows over integer times."""
    return int(value) if value.strip().lstrip("-").isdecimal() else value
