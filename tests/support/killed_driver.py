"""A live join in a process of its own, which kills itself: python -m tests.support.killed_driver FOLDER [MOMENT BATCH]."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from swoop.live import chunks
from swoop.live.files import Folder
from swoop.live.live_stream import LiveStream
from swoop.live.outputs import FolderOutput
from swoop.spark import StreamHandle, session, timestamps, topk_stream, words

MOMENTS: dict[str, tuple[Any, str, str]] = {
    "before the rows are written": (chunks, "write_chunk", "before"),
    "after the rows are written": (chunks, "write_chunk", "after"),
    "before the results": (FolderOutput, "put", "before"),
    "before the commit": (LiveStream, "process", "after"),
    "during pruning": (Folder, "delete", "after"),
}


def start(spark: SparkSession, folder: Path) -> StreamHandle:
    posts = spark.readStream.schema("id long, time string, text string").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    sets = posts.select("id", "text", timestamps("time").alias("time"), words("text").column().alias("tokens"))
    return topk_stream(sets, 4, "40 seconds", lateness="6 seconds").start(
        folder / "checkpoint",
        changes=folder / "changes",
        late=folder / "late",
        rejected=folder / "rejected",
        available_now=True,
    )


def die(moment: str, batch: int) -> None:
    """Kill this process at a moment of a batch."""
    owner, name, when = MOMENTS[moment]
    real, process = getattr(owner, name), LiveStream.process
    now: list[int] = []

    def dying(*arguments: Any) -> Any:
        if when == "before" and now == [batch]:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*arguments)
        if now == [batch]:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def counting(self: LiveStream, number: int, *rest: Any) -> None:
        now[:] = [number]
        (dying if owner is LiveStream else process)(self, number, *rest)

    setattr(owner, name, dying)
    LiveStream.process = counting  # type: ignore[method-assign]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        die(sys.argv[2], int(sys.argv[3]))
    handle = start(session("local[2]"), Path(sys.argv[1]))
    handle.await_termination(120)
    print(repr(list(handle.topk())))
    print(handle.stats)
