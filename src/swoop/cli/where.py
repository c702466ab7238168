"""Where the work is done: in this process, or on Spark if somebody says so or the input needs it."""

from __future__ import annotations

from swoop.addresses import is_remote
from swoop.cli.console import info
from swoop.look import RED
from swoop.reading.files import Files
from swoop.reading.sets import Reading
from swoop.reasons import ID_NOT_UTF8, NOT_JSON, TEXT_NOT_UTF8, TIME_UNREADABLE, TOO_FAR_AHEAD

HINTS = {
    TIME_UNREADABLE: "try --time-format or --time-unit",
    TEXT_NOT_UTF8: "try --encoding cp1252",
    ID_NOT_UTF8: "try --encoding cp1252",
    NOT_JSON: "if its letters are not UTF-8, try --encoding cp1252",
    TOO_FAR_AHEAD: "--max-ahead allows more",
}
"""What may help against reasons."""


def tell_most_unusable(bad: int, rows: int) -> None:
    """Warn where results are of few of the rows. They are right, so this is no failure."""
    if bad > rows - bad:
        info(f"swoop: most rows cannot be used, so the results are those of {rows - bad:,} of {rows:,}; see above", style=RED)


def tell(files: Files, reading: Reading) -> None:
    """Say what was found out about the input."""
    for note in (*files.notes, "; ".join(reading.notes)):
        info(note, style="dim")


def why_spark(files: Files, spark: bool, master: str | None, *outs: str | None) -> str | None:
    """Why Spark does the work, told unless it was asked for; None if this process does it."""
    if spark or master is not None:
        return "it was asked for"
    from swoop.cli.in_process import why_not

    remote = next((out for out in outs if out is not None and is_remote(out)), None)
    why = files.why_spark or why_not(files) or (None if remote is None else f"{remote} is not on this machine")
    if why is not None:
        info(f"using Spark, because {why}", style="dim")
    return why
