"""Writing results: one file, in the format of its ending, or a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pyarrow as pa

from swoop.addresses import is_remote, local_path
from swoop.cli.guard import WrongUsage
from swoop.messages import to_json
from swoop.readable import readable, rows_of
from swoop.spreadsheets import for_spreadsheets

Order = tuple[tuple[str, Literal["ascending", "descending"]], ...]
"""Columns, and which way they go. Nulls come last."""

STAYS: Order = (
    ("enter", "ascending"),
    ("similarity", "descending"),
    ("newer", "ascending"),
    ("older", "ascending"),
    ("overlap", "ascending"),
    ("leave", "ascending"),
)
"""The order of stays where they are written."""

REJECTED = pa.schema(dict.fromkeys(("reason", "row", "file"), pa.string()))
"""What is written of rejected rows."""

ENDINGS = (".parquet", ".csv", ".json", ".jsonl", ".ndjson")


def check_out(out: str | None, option: str = "--out") -> None:
    """Refuse a file that cannot be written before hours of work, not after."""
    if out is None:
        return
    if is_remote(out):
        if not out.endswith("/"):
            raise WrongUsage(
                f"{option} {out!r} is on another file system, where only folders can be written; end it with /. If it is a "
                f"file of this machine, write ./{out}"
            )
        return
    path = Path(local_path(out))
    if out.endswith("/"):
        if path.is_dir() and any(path.iterdir()):
            raise WrongUsage(f"the folder {out!r} already exists and is not empty; choose another {option}")
        return
    if path.suffix.lower() not in ENDINGS:
        raise WrongUsage(f"{option} {out!r} must end with {', '.join(ENDINGS)}, or with / for a folder")
    if path.is_dir() or not path.parent.is_dir():
        raise WrongUsage(f"{option} {out!r} cannot be written: it is a folder, or its parent folder does not exist")


def write_file(table: pa.Table, out: str) -> None:
    """Write a table as one file, which is there as a whole or not at all."""
    path = Path(local_path(out))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".swoop-")
    os.close(handle)
    try:
        _write_table(table, path.suffix.lower(), name)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_table(table: pa.Table, out: str) -> None:
    """Write a table as one file, or as the only file of a folder."""
    if out.endswith("/"):
        Path(local_path(out)).mkdir(parents=True, exist_ok=True)
        write_file(table, f"{out}part-0.parquet")
    else:
        write_file(table, out)


def write_rejected(rows: Iterable[tuple[str, str]], reasons: pa.ChunkedArray, groups: pa.Table | None, out: str) -> None:
    """Write rejected rows with their reasons: each with its file, in JSON, or as the line that it is; and groups of rows."""
    told = list(rows)
    files: list[str | None] = [file for file, _ in told]
    texts = [text for _, text in told]
    for group in [] if groups is None else rows_of(readable(groups.drop_columns("reason"), "backslashreplace")):
        files.append(None)
        texts.append(to_json(group))
    found = [*reasons.to_pylist(), *([] if groups is None else groups.column("reason").to_pylist())]
    write_table(pa.table({"reason": found, "row": texts, "file": files}, REJECTED), out)


def _write_table(table: pa.Table, ending: str, name: str) -> None:
    if ending == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, name)
    elif ending == ".csv":
        from pyarrow import csv

        csv.write_csv(for_spreadsheets(table), name)
    else:
        with open(name, "w", encoding="utf-8") as file:
            for batch in table.to_batches():
                file.writelines(to_json(row) + "\n" for row in rows_of(batch))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
