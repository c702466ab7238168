"""Measurements from text to result in one process: rates on one core and two, memory, and the time of a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq

import swoop
from swoop.paper.data_sets import generate
from swoop.paper.posts import about, make_posts, read_posts, window_of

K = 10
WINDOW = 10_000  # sets, on average
ROUNDS = 3
SMALL = 10_000  # rows of a file for the command line


def report(rows: int, info: Callable[[str], None], texts: Path | None = None) -> list[str]:
    """The section of the report about histories in process. ``texts`` is a file of real posts."""
    lines = [
        "",
        "## In process",
        "",
        f"`swoop.history` from a Parquet file to stays, with `words`, k = {K}, windows of {WINDOW:,} sets on average; the",
        "best of several runs. Memory is what the process takes beyond what it had before it read anything.",
        *([] if texts is None else [about(texts)]),
        "",
        "| what | rows/s | rows per CPU second |",
        "|---|--:|--:|",
    ]
    more = ["", "| what | measured |", "|---|--:|"]
    with tempfile.TemporaryDirectory() as name:
        sources: dict[str, Any] = {f"{rows:,} generated posts (tweet shape)": make_posts(generate("tweet", rows))}
        if texts is not None:
            sources[f"{rows:,} real posts ({texts.stem})"] = read_posts(texts, rows)
        for place, (what, posts) in enumerate(sources.items()):
            path = Path(name) / f"{place}.parquet"
            pq.write_table(posts, path)
            window = window_of(posts, WINDOW) // swoop.times.MICROSECOND
            for threads in (1, 2):
                best = min((_run(path, window, threads) for _ in range(ROUNDS)), key=lambda found: found["wall"])
                cores = "one core" if threads == 1 else "two cores"
                lines.append(f"| {what}, {cores} | {rows / best['wall']:,.0f} | {rows / best['cpu']:,.0f} |")
                info(lines[-1])
            more.append(f"| {what}: memory beside the columns in Arrow | {best['memory'] / best['columns']:.2f} times them |")
            info(more[-1])
        small = Path(name) / "small.parquet"
        pq.write_table(posts.slice(0, SMALL), small)
        for what, options in (("", ()), (", with a wrong column name", ("--text", "txt"))):
            seconds = min(_command(small, *options) for _ in range(ROUNDS))
            more.append(f"| `swoop run` on a file of {SMALL:,} rows{what} | {seconds:.2f} s |")
            info(more[-1])
    return lines + more


def _run(path: Path, window: int, threads: int) -> dict[str, float]:
    """A history in a process of its own, which uses as many cores as threads."""
    command = [sys.executable, "-m", "swoop.paper.in_process", str(path), str(window), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _command(path: Path, *options: str) -> float:
    """Seconds of ``swoop run``, which refuses a wrong column name."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "swoop.cli", "run", str(path), *options], capture_output=True, check=False)
    assert done.returncode == (2 if options else 0), done.stderr.decode()
    return time.perf_counter() - began


def _resident() -> int:
    """The most memory that this process has had so far, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _measure(path: Path, window: int, threads: int) -> dict[str, float]:
    import datetime as dt

    duration = dt.timedelta(microseconds=window)
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]))
    source = ds.dataset(path)
    first = source.head(1000)
    swoop.history(first, K, duration, tokens=swoop.words("text"), threads=threads)  # code is loaded
    before, began, cpu = _resident(), time.perf_counter(), time.process_time()
    stays = swoop.history(source, K, duration, tokens=swoop.words("text"), threads=threads).to_arrow()
    found = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "memory": _resident() - before}
    return {**found, "columns": source.to_table(columns=["id", "time", "text"]).nbytes, "stays": stays.num_rows}


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
