"""Writing results: one file, in the format of its ending, or a folder written by Spark."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swoop.cli.console import in_json
from swoop.cli.guard import WrongUsage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENDINGS = (".parquet", ".csv", ".json", ".jsonl", ".ndjson")
ORDER = ("enter", "similarity", "newer", "older")


def check_out(out: str | None) -> None:
    """Refuse an unusable --out before hours of work, not after."""
    if out is None:
        return
    if out.endswith("/"):
        if "://" not in out and Path(out).is_dir() and any(Path(out).iterdir()):
            raise WrongUsage(f"the folder {out!r} already exists and is not empty; choose another --out")
        return
    if "://" in out:
        raise WrongUsage(f"{out!r} is on another file system, where only folders can be written; end it with /")
    if Path(out).suffix.lower() not in ENDINGS:
        raise WrongUsage(f"--out {out!r} must end with {', '.join(ENDINGS)}, or with / for a folder")
    if Path(out).is_dir() or not Path(out).absolute().parent.is_dir():
        raise WrongUsage(f"--out {out!r} cannot be written: it is a folder, or its parent folder does not exist")


def write(stays: DataFrame, out: str) -> None:
    """Write the stays: one file, ordered by time, from this process; a folder from Spark's tasks."""
    if out.endswith("/"):
        stays.write.parquet(out)
        return
    handle, name = tempfile.mkstemp(dir=Path(out).absolute().parent, prefix=".swoop-")
    os.close(handle)
    try:
        _write_table(stays.orderBy(*ORDER).toArrow(), Path(out).suffix.lower(), name)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, out)
    except BaseException:
        os.unlink(name)
        raise


def _write_table(table: Any, ending: str, name: str) -> None:
    if ending == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, name)
    elif ending == ".csv":
        from pyarrow import csv

        csv.write_csv(table, name)
    else:
        with open(name, "w", encoding="utf-8") as file:
            for batch in table.to_batches():
                file.writelines(json.dumps(row, default=in_json, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
