"""Input files: which ones are meant, their format, and how Spark reads them."""

from __future__ import annotations

import bz2
import glob
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from swoop.cli.guard import WrongUsage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = {
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File}  # type: ignore[dict-item]


@dataclass(frozen=True)
class InputFiles:
    """Files of one format, and the options to read them with."""

    paths: tuple[str, ...]
    format: str
    options: dict[str, Any] = field(default_factory=dict)

    def read(self, spark: SparkSession, schema: str | None = None) -> DataFrame:
        """All rows."""
        reader = spark.read.format(self.format).options(**self.options)
        return (reader.schema(schema) if schema else reader).load(list(self.paths))


def find_files(inputs: Sequence[str], format: str | None = None) -> InputFiles:
    """The files meant by paths, folders, globs and URLs. All must be of one format.

    Folders and URLs of other file systems (``s3a://...``) are left to Spark.
    """
    if format is not None and format not in FORMATS.values():
        raise WrongUsage(f"unknown format {format!r}; it must be json, csv or parquet")
    paths: list[str] = []
    samples: list[str] = []
    for name in inputs:
        expanded, files = _expand(name)
        paths += expanded
        samples += files
    formats = {name: format or format_of(name) for name in samples}
    unknown = [name for name, kind in formats.items() if kind is None]
    if unknown:
        raise WrongUsage(
            f"cannot infer the format of {unknown[0]!r} from its name; use --format json, csv or parquet "
            f"(known endings: {', '.join(FORMATS)}, optionally followed by .gz or .bz2)"
        )
    if len(set(formats.values())) > 1:
        first, other = (
            next(n for n, kind in formats.items() if kind == f) for f in sorted(set(map(str, formats.values())))[:2]
        )
        raise WrongUsage(f"all files must be of one format, but there are {first!r} and {other!r}; select them with a glob")
    chosen = str(formats[samples[0]])
    return InputFiles(tuple(paths), chosen, options_for(chosen, samples[0]))


def _expand(name: str) -> tuple[list[str], list[str]]:
    """The paths for Spark, and the names of files to infer the format from."""
    if "://" in name:
        return [name], [name]
    if Path(name).is_dir():
        files = files_in(name)
        if not files:
            raise WrongUsage(f"the folder {name!r} is empty; there is nothing to read")
        return [name], files
    if Path(name).is_file():
        return [name], [name]
    matches = sorted(path for path in glob.glob(name, recursive=True) if Path(path).is_file())
    if not matches:
        what = "no file matches" if glob.has_magic(name) else "there is no file or folder"
        raise WrongUsage(f"{what} {name!r} (in {Path.cwd()})")
    return matches, matches


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


def options_for(format: str, sample: str) -> dict[str, Any]:
    """Options for Spark to read files like this one."""
    if format == "json":
        return {"multiLine": True} if _beginning(sample).lstrip().startswith("[") else {}
    if format == "csv":
        first = _beginning(sample).splitlines()[:1] or [""]
        separator = max([",", ";", "\t", "|"], key=first[0].count)
        return {"header": True, "inferSchema": True, "escape": '"', "multiLine": True, "sep": separator}
    return {}


def _beginning(name: str) -> str:
    """The beginning of a local file as text; empty for any other."""
    if "://" in name or not Path(name).is_file():
        return ""
    opened: Callable[..., IO[bytes]] = COMPRESSED.get(Path(name).suffix.lower(), open)
    with opened(name, "rb") as file:
        return file.read(65536).decode("utf-8-sig", "replace")
