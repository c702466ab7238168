"""Files of rows: which ones are meant, their format, and how their bytes are to be read."""

from __future__ import annotations

import bz2
import codecs
import csv
import glob
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swoop.addresses import is_remote, local_path
from swoop.errors import InvalidArgument, InvalidFile
from swoop.reading.headers import column_names, has_header

FORMATS = {
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".orc": "orc",
}  # fmt: skip
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File}  # type: ignore[dict-item]
SEPARATORS = (",", ";", "\t", "|")
BEGINNING = 1 << 20  # bytes of a file that are looked at to find out how it is written
PARTITION = re.compile(r"[^=/]+=[^=/]*")  # a folder that holds a column: day=2024-05-01


@dataclass(frozen=True)
class Dialect:
    """How the bytes of files become rows.

    Attributes
    ----------
    encoding
        The encoding of texts.
    separator, names, header_lines
        Of CSV: what stands between values, the names of the columns, and how many lines are before the first row.
    repeated
        Names that several columns of CSV have; in ``names``, all but the first are numbered.
    is_array
        The rows of a JSON file are the elements of one array, not lines.
    """

    encoding: str = "utf-8"
    separator: str = ","
    names: tuple[str, ...] = ()
    header_lines: int = 0
    is_array: bool = False
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Files:
    """Files of one format. ``inputs`` are what was given, for Spark; ``paths`` are the local files that are meant."""

    inputs: tuple[str, ...]
    paths: tuple[str, ...]
    format: str
    dialect: Dialect = Dialect()
    notes: tuple[str, ...] = ()

    @property
    def why_spark(self) -> str | None:
        """Why only Spark can read them; None if Arrow can."""
        remote = next(filter(is_remote, self.inputs), None)
        if remote is not None:
            return f"{remote} is not on this machine"
        if self.format == "orc":
            return "of ORC"
        inner = next((path for path in self.paths if any(map(PARTITION.fullmatch, _below(path, self.inputs)))), None)
        return None if inner is None else f"folders hold columns ({inner})"

    @property
    def name(self) -> str:
        """What people call them: by the first that was given."""
        return self.inputs[0] if len(self.inputs) == 1 else f"{self.inputs[0]} and so on"

    @property
    def size(self) -> int:
        """Bytes of all local files."""
        return sum(Path(path).stat().st_size for path in self.paths)


def _below(path: str, inputs: Sequence[str]) -> tuple[str, ...]:
    """The folders of a path below the folder that was given."""
    given = next((name for name in inputs if Path(name).is_dir() and Path(path).is_relative_to(name)), None)
    return () if given is None else Path(path).relative_to(given).parts[:-1]


def find_files(
    inputs: Sequence[str], format: str | None = None, *, encoding: str | None = None, separator: str | None = None
) -> Files:
    """The files meant by paths, folders, globs and addresses. All must be of one format.

    How they are written is found out from the first, unless it is given.
    """
    if format is not None and format not in FORMATS.values():
        raise InvalidArgument(f"unknown format {format!r}; it must be json, csv, parquet or orc")
    inputs = [_here(name) for name in inputs]
    names = [path for name in inputs for path in _expand(name)]
    left_out: tuple[str, ...] = ()
    if format is None and len(names) > 1 and any(map(Path.is_dir, map(Path, inputs))):
        foreign = [name for name in names if format_of(name) is None]
        if 0 < len(foreign) < len(names):
            names = [name for name in names if name not in foreign]
            left_out = (
                f"leaving out {', '.join(foreign[:3])}{', ...' if len(foreign) > 3 else ''}: not JSON, CSV or Parquet by name",
            )
    formats = {name: format or format_of(name) for name in names}
    unknown = [name for name, kind in formats.items() if kind is None]
    if unknown:
        if unknown[0].lower().endswith(SPREADSHEETS):
            raise InvalidArgument(f"{unknown[0]!r} is a spreadsheet; save it as CSV first, and read that")
        raise InvalidArgument(
            f"cannot infer the format of {unknown[0]!r} from its name; use --format json, csv or parquet "
            f"(known endings: {', '.join(FORMATS)}, optionally followed by .gz or .bz2)"
        )
    if len(set(formats.values())) > 1:
        first, other = (
            next(n for n, kind in formats.items() if kind == f) for f in sorted(set(map(str, formats.values())))[:2]
        )
        raise InvalidArgument(
            f"all files must be of one format, but there are {first!r} and {other!r}; select them with a glob"
        )
    chosen = str(formats[names[0]])
    paths = tuple(name for name in names if not is_remote(name))
    # a folder is left to Spark as such, a glob is not: its own are different
    given = tuple(path for name in inputs for path in ([name] if is_remote(name) or Path(name).is_dir() else _expand(name)))
    first, data = next(((name, data) for name in names if (data := beginning(name))), (names[0], b""))
    if chosen != "parquet" and data.startswith(b"PAR1"):
        raise InvalidFile(f"{first} is a Parquet file, whatever its name says; use --format parquet")
    if data.startswith(b"PK\x03\x04"):
        raise InvalidFile(
            f"{first} is a spreadsheet or a zip file, whatever its name says; save it as CSV, or unpack it, first"
        )
    with damaged(first):
        dialect, notes = find_dialect(chosen, data, encoding, separator)
    return Files(given, paths, chosen, dialect, (*left_out, *notes))


def _here(name: str) -> str:
    """A name, but of what is on this machine so that nobody takes it for an address: posts:1.csv becomes ./posts:1.csv."""
    if name.startswith("file:"):
        return local_path(name)
    return f"./{name}" if is_remote(name) and (Path(name).exists() or glob.glob(name)) else name


def _expand(name: str) -> list[str]:
    """The files that a name means."""
    if is_remote(name):
        return [name]
    if Path(name).is_dir():
        files = files_in(name)
        if not files:
            raise InvalidArgument(f"the folder {name!r} is empty; there is nothing to read")
        return files
    if Path(name).is_file():
        return [name]
    matches = sorted(_here(path) for path in glob.glob(name, recursive=True) if Path(path).is_file())
    if not matches:
        what = "no file matches" if glob.has_magic(name) else "there is no file or folder"
        raise InvalidArgument(f"{what} {name!r} (in {Path.cwd()})")
    return matches


def files_in(folder: str) -> list[str]:
    """The data files below a folder, sorted by name, without hidden ones and Spark's markers."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    hidden = (".", "_")
    return sorted(str(path) for path in paths if not any(part.startswith(hidden) for part in path.relative_to(folder).parts))


def format_of(name: str) -> str | None:
    """The format that a file name stands for, by its ending.

    >>> format_of("posts.jsonl.gz"), format_of("s3a://bucket/day=1/*.parquet"), format_of("notes.txt")
    ('json', 'parquet', None)
    """
    path = Path(name.rstrip("/"))
    suffix = path.with_suffix("").suffix if path.suffix.lower() in COMPRESSED else path.suffix
    return FORMATS.get(suffix.lower())


def format_of_bytes(data: bytes) -> str:
    """The format of rows without a file name, by how they begin."""
    if data.startswith(b"PAR1"):
        return "parquet"
    return "json" if data.lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:1] in (b"{", b"[") else "csv"


def find_dialect(
    format: str, data: bytes, encoding: str | None = None, separator: str | None = None
) -> tuple[Dialect, tuple[str, ...]]:
    """How files are written that begin like this, and what is to be told about it."""
    if separator is not None and (format != "csv" or len(separator) != 1 or not separator.isascii()):
        what = (
            f"must be one ASCII character, not {separator!r}" if format == "csv" else f"is for CSV, and the files are {format}"
        )
        raise InvalidArgument(f"--separator {what}")
    if format in ("parquet", "orc"):
        if encoding is not None:
            raise InvalidArgument(f"--encoding is for CSV and JSON, and the files are {format}")
        return Dialect(), ()
    notes = []
    found, chosen = _first_bytes(data), None if encoding is None else find_encoding(encoding)
    if chosen is None or (chosen in ("utf-16", "utf-32") and found not in (None, "utf-8")):
        chosen = found  # Python reads these only with a mark
    if chosen is None:
        chosen, wrong = "utf-8", _not_utf8(data)
        if wrong is not None:
            notes.append(
                f"the input is not UTF-8 (byte {data[wrong]:#04x} at {wrong:,}): rows with such bytes are rejected. "
                "If it was written on Windows, try --encoding cp1252"
            )
    elif encoding is None and chosen != "utf-8":
        notes.append(f"reading the input as {chosen}")
    text = data.decode(chosen, "replace").removeprefix("\ufeff")
    if format == "json":
        return Dialect(chosen, is_array=text.lstrip().startswith("[")), tuple(notes)
    # the last line may be cut off
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if len(data) >= BEGINNING and len(lines) > 1 else lines
    separator = separator or _separator(lines)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO("".join(lines[:1000]), newline=""), delimiter=separator)
    rows, header_lines = [], 0
    for row in reader:
        if row:
            rows.append(row)
            header_lines = header_lines or reader.line_num
    if not rows:
        return Dialect(chosen, separator), tuple(notes)
    if has_header(rows):
        counts = Counter(name.strip() for name in rows[0])
        repeated = tuple(name for name, count in counts.items() if name and count > 1)
        return Dialect(chosen, separator, unique(rows[0]), header_lines, repeated=repeated), tuple(notes)
    names = tuple(column_names(len(rows[0])))
    notes.append(f"there is no header: columns are called {names[0]} to {names[-1]}")
    return Dialect(chosen, separator, names), tuple(notes)


def find_encoding(name: str) -> str:
    try:
        "a,1".encode(name).decode(name)
        return codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        raise InvalidArgument(
            f"unknown encoding {name!r}; use utf-8, latin-1, cp1252, utf-16 or another that Python knows"
        ) from None


def _first_bytes(data: bytes) -> str | None:
    """The encoding that the first bytes show: a mark, or two characters of ASCII, of which half or more bytes are zero."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the former begins with that of UTF-16
        return "utf-32"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return _ZEROS.get(tuple(byte == 0 for byte in data[:4]))


_ZEROS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
"""Which of the first four bytes are zero."""


def _not_utf8(data: bytes) -> int | None:
    """Where the first byte is that is not UTF-8. A character that is cut off at the end is none."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) < BEGINNING)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _separator(lines: Sequence[str]) -> str:
    """The one that divides most lines into as many parts as the first, which has it, outside of quotes."""

    def parts(line: str, mark: str) -> int:
        return re.sub(r'"[^"]*"?', "", line).count(mark)

    def fits(mark: str) -> tuple[int, int]:
        first = parts(lines[0], mark) if lines else 0
        return (sum(parts(line, mark) == first for line in lines[:100]) if first else 0, first)

    return max(SEPARATORS, key=fits)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once: empty and repeated ones are numbered.

    >>> unique(["id", "text", "", "text"])
    ('id', 'text', 'column3', 'text (2)')
    """
    found: dict[str, None] = {}
    copies: Counter[str] = Counter()
    for place, name in enumerate(names, 1):
        wanted = chosen = name.strip() or f"column{place}"
        while chosen in found:
            copies[wanted] += 1
            chosen = f"{wanted} ({copies[wanted] + 1})"
        found[chosen] = None
    return tuple(found)


def open_file(path: str) -> IO[bytes]:
    """The bytes of a local file, decompressed."""
    opened: Callable[..., IO[bytes]] = COMPRESSED.get(Path(path).suffix.lower(), open)
    return opened(path, "rb")


def beginning(name: str) -> bytes:
    """The first bytes of a local file; none of any other."""
    if is_remote(name):
        return b""
    with damaged(name), open_file(name) as file:
        return file.read(BEGINNING)


@contextmanager
def damaged(path: str) -> Iterator[None]:
    """Name the file whose bytes cannot be read."""
    try:
        yield
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the file system, which names the file
            raise
        raise InvalidFile(
            f"{path} is damaged, or not compressed as its name says: {error}; get it again, or leave it out"
        ) from None
    except csv.Error as error:
        raise InvalidFile(f"{path} cannot be read as CSV: {error}; --format says what else it is") from None
    except UnicodeError as error:
        which = " (without such a mark, utf-16-le or utf-16-be)" if "BOM" in str(error) else ""
        raise InvalidFile(f"{path} cannot be read: {error}; --encoding says in which encoding it is{which}") from None
