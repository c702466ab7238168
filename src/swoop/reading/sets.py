"""How rows become sets: what is asked for, and what a sample shows. Arrow and Spark read by the same description."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from shlex import quote
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidFile
from swoop.reading.columns import Columns, Kind, check_kept, check_named, infer, kinds_of, path_of
from swoop.reading.date_columns import count_readable
from swoop.reading.dates import EPOCHS, ISO, TimeFormat, find_time_format, read_time
from swoop.reading.files import Files, beginning
from swoop.reading.guesses import Ambiguous, choose, guess_time_format
from swoop.reading.tables import column_of, more_than_one, repeated_names
from swoop.text.functions import TokenFunction, char_ngrams, word_ngrams, words
from swoop.times import WindowSpec

INTEGER = r"^\s*[+-]?[0-9]{1,18}\s*$"
LOOKED_AT = 200  # texts that show what a column is

CountReadable = Callable[[str, TimeFormat], int]
"""How many values of a column, of all rows, can be read as times of a format."""


def find_tokenizer(text: str) -> TokenFunction:
    """The token function that a name stands for.

    >>> find_tokenizer("words").n, find_tokenizer("3-chars").n
    (1, 3)
    """
    match = re.fullmatch(r"(?:([1-9][0-9]?)-)?(words?|chars?)", text)
    if not match or (match[1] is None and match[2].startswith("char")):
        raise InvalidArgument(f"unknown tokenizer {text!r}; use words, 2-words, 3-chars or similar")
    n = int(match[1] or 1)
    if match[2].startswith("char"):
        return char_ngrams("text", n=n)
    return words("text") if n == 1 else word_ngrams("text", n=n)


@dataclass(frozen=True)
class ReadingOptions:
    """What a person says about rows; the rest is found out."""

    columns: Columns = field(default_factory=Columns)
    tokenizer: TokenFunction = field(default_factory=lambda: find_tokenizer("words"))
    time_format: TimeFormat | None = None
    min_tokens: int = 0

    @classmethod
    def find(
        cls, columns: Columns, tokenizer: str, time_unit: str | None, time_format: str | None, min_tokens: int
    ) -> ReadingOptions:
        if min_tokens < 0:
            raise InvalidArgument(f"--min-tokens must be at least 0, not {min_tokens}")
        return cls(columns, find_tokenizer(tokenizer), find_time_format(time_format, time_unit), min_tokens)


@dataclass(frozen=True)
class Reading:
    """How rows become sets with the columns id, time, tokens or text, and stream.

    Attributes
    ----------
    columns
        Which column is which. Without an id, rows are numbered.
    time
        How times are written; None where the column has times, or integers.
    integers
        Times are integers, as the window is.
    function
        Makes tokens of the column ``text``; None where rows have tokens.
    min_tokens
        Sets with fewer tokens are rejected.
    nanoseconds
        Times are counted in nanoseconds, with a zone or without one; None if they are not.
    notes
        What was found out, for people.
    """

    columns: Columns
    time: TimeFormat | None
    integers: bool
    function: TokenFunction | None
    min_tokens: int = 0
    nanoseconds: Literal["naive", "aware"] | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def used(self) -> list[str]:
        """The columns that are read."""
        return self.columns.used

    @property
    def stream(self) -> str | None:
        """What a join takes as the column of sides."""
        return "stream" if self.columns.stream is not None else None

    @property
    def tokens(self) -> str | TokenFunction:
        """What a join takes as tokens."""
        return "tokens" if self.function is None else self.function


def decide(
    options: ReadingOptions,
    sample: pa.Table,
    window: WindowSpec | None,
    count: CountReadable | None = None,
    files: Files | None = None,
) -> Reading:
    """The whole description, from what is asked for and sample rows, of these files.

    Without a window, any times will do. ``count`` is asked where a sample does not tell the day from the month.
    """
    if not sample.column_names:
        raise _no_columns(files)
    repeated = repeated_names(files) if files is not None else ()
    try:
        check_named(options.columns, kinds_of(sample.schema))  # before values are looked at, which takes longer
        columns = infer(options.columns, find_kinds(sample))
    except InvalidArgument as error:
        raise InvalidArgument(f"{error}{_of_encoding(sample)}") from None
    if columns.group_by is not None and (columns.text or columns.tokens is None):
        raise InvalidArgument(
            "with --group-by, sets consist of the values of a column: name it with --tokens, and leave out --text"
        )
    check_kept(columns)
    for name in (path_of(name, sample.column_names)[0] for name in columns.used):
        if name in repeated or sample.column_names.count(name) > 1:
            raise more_than_one(name)
    time = str(columns.time)
    values = column_of(sample, time)
    integers = window is not None and window.kind == "integer"
    notes = list(columns.notes)
    written = None
    if integers:
        if not pa.types.is_integer(values.type) and not _share_of_integers(values) > 0.5:
            raise InvalidArgument(
                f"the window is the number {window}, but the times in column {time!r} are not integers ({values.type}); "
                "use a duration such as --window '1 hour'"
            )
    elif window is None and not _holds_text(values.type) and options.time_format is None:
        pass  # whatever they are, they have an order
    elif not pa.types.is_timestamp(values.type) and not pa.types.is_date(values.type):
        written = options.time_format or _guess(values, time, count)
        zone = "; UTC where no time zone is given" if written.unit is None else ""
        kind = "text" if _holds_text(values.type) else "numbers"
        notes.append(f"reading the {kind} in {time!r} as {written}{zone}{_for_example(values, written)}")
    notes += _repeated(columns, sample)
    function = options.tokenizer if columns.tokens is None else None
    nanoseconds: Literal["naive", "aware"] | None = None
    if is_in_nanoseconds(values.type):
        nanoseconds = "aware" if values.type.tz else "naive"
    return Reading(columns, written, integers, function, options.min_tokens, nanoseconds, tuple(notes))


def _no_columns(files: Files | None) -> InvalidFile:
    name = "the input" if files is None else files.name
    if files is not None and (files.format == "csv" or (files.paths and not any(map(beginning, files.paths)))):
        return InvalidFile(f"{name} has no columns, because it is empty")
    return InvalidFile(f"{name} has no columns: it is empty, or has no JSON object; --format says what else it is")


def _of_encoding(sample: pa.Table) -> str:
    """A word about the encoding, where names or values have signs that it is another one."""
    texts = (column for column in sample.columns if _holds_text(column.type))
    looked_at = (text for column in texts for text in column.slice(0, LOOKED_AT).cast(pa.string()).to_pylist() if text)
    found = "".join((*sample.column_names, *looked_at))
    if "\0" in found:
        return ". It has bytes that texts in UTF-8 do not have: perhaps it is UTF-16, try --encoding utf-16-le or utf-16-be"
    if "\N{REPLACEMENT CHARACTER}" in found:
        return ". It is not UTF-8: say what it is with --encoding, for example --encoding cp1252"
    return ""


def _for_example(values: pa.ChunkedArray, written: TimeFormat) -> str:
    """What a guess makes of a value, where that is not plain to see."""
    read = ((value, read_time(value, written)) for value in values.drop_null().slice(0, LOOKED_AT).to_pylist())
    value, when = next(((value, when) for value, when in read if when is not None), (None, None))
    return "" if written == ISO or when is None else f" ({value} is {when:%Y-%m-%d %H:%M:%S})"


def _repeated(columns: Columns, sample: pa.Table) -> list[str]:
    """A word about ids that stand in several rows."""
    if columns.id is None or columns.group_by is not None or len(sample) == 0:
        return []
    ids = column_of(sample, columns.id)
    different = len(pc.unique(ids))
    if different > 0.9 * len(ids):
        return []
    where = f"{columns.id!r} repeats ({different:,} different ids in {len(ids):,} rows)"
    return [f"{where}; if such rows are one set, use --group-by {quote(columns.id)} and --tokens"]


def find_kinds(sample: pa.Table) -> dict[str, Kind]:
    """What columns can be used for, by their types, and of texts, as CSV has nothing else, by what they look like."""
    kinds = kinds_of(sample.schema)
    looked_at = sample.slice(0, LOOKED_AT)
    columns = dict(zip(looked_at.column_names, looked_at.columns, strict=True))
    for name in [name for name, kind in kinds.items() if kind == "string"]:
        values = (columns[name] if name in columns else column_of(looked_at, name)).cast(pa.string()).drop_null()
        if len(values) == 0 or not all(map(_is_short, values.to_pylist())):
            continue
        if _share_of_integers(values) == 1:
            kinds[name] = "integer"
        elif _are_dates(values):
            kinds[name] = "timestamp"
    return kinds


def _are_dates(texts: pa.ChunkedArray) -> bool:
    """Whether nearly all of some texts are dates of one format, and not just numbers."""
    found = guess_time_format(texts)
    first = found.candidates[0] if isinstance(found, Ambiguous) else found
    return first is not None and first.unit is None and count_readable(texts, first) > 0.9 * len(texts)


def _is_short(text: str) -> bool:
    return len(text) < 40  # as times are


def _guess(values: pa.ChunkedArray, name: str, count: CountReadable | None) -> TimeFormat:
    found = guess_time_format(values.drop_null().slice(0, 10 * LOOKED_AT))
    if isinstance(found, Ambiguous):
        return choose(found, [count(name, candidate) if count else 0 for candidate in found.candidates])
    if found is not None:
        return found
    example = next((value for value in values.to_pylist() if value is not None), None)
    if len(values) == 0:  # nothing is there yet
        return ISO if _holds_text(values.type) else EPOCHS["s"]
    if example is None:
        raise InvalidArgument(f"the column {name!r} has no times in its first rows; name another with --time")
    raise InvalidArgument(
        f'cannot read the times in column {name!r}, such as "{str(example)[:60]}"; say how they are written, for example '
        "--time-format 'dd/MM/yyyy HH:mm', or name another column with --time"
    )


def is_in_nanoseconds(kind: pa.DataType) -> bool:
    """Whether these are times that Spark reads as integers."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _holds_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_one(inner) for is_one in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _share_of_integers(values: pa.ChunkedArray) -> float:
    """How many of some texts, as CSV has them, could be integers."""
    texts = values.drop_null().cast(pa.string()).to_pylist() if _holds_text(values.type) else []
    return sum(re.match(INTEGER, text) is not None for text in texts) / max(len(texts), 1)
