"""Live joins in a process that kills itself: python -m tests.support.killed_driver FOLDER=MOMENT=BATCH ...

Each folder has a join of its own, which stops where its batch comes to its moment. When all are there, the process dies. So one
process serves for many moments.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from swoop.live.checkpoint import ChunkFolder
from swoop.live.files import Folder
from swoop.live.live_stream import LiveStream
from swoop.live.outputs import FolderOutput
from swoop.spark import StreamHandle, session, timestamps, topk_stream, words

MOMENTS: dict[str, tuple[Any, str, str]] = {
    "before the rows are written": (ChunkFolder, "write_small", "before"),
    "after the rows are written": (ChunkFolder, "write_small", "after"),
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


def die(moments: Mapping[str, tuple[str, int]]) -> Callable[[str], None]:
    """Kill this process when the join of each checkpoint has come to its moment of its batch.

    Of what is no live join, the function that is given back tells that it has come there.
    """
    left, lock = set(moments), threading.Lock()
    here = threading.local()  # what the thread of a join is at
    process = LiveStream.process

    def arrive(checkpoint: str) -> None:
        with lock:
            left.discard(checkpoint)
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    def stop() -> None:
        arrive(here.checkpoint)
        threading.Event().wait()

    def stopping(moment: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            is_now = getattr(here, "moment", None) == moment
            if is_now and MOMENTS[moment][2] == "before":
                stop()
            found = real(*arguments)
            if is_now:
                stop()
            return found

        return call

    def counting(self: LiveStream, number: int, *rest: Any) -> None:
        here.checkpoint = self._checkpoint.path.rpartition("/")[0]
        moment, batch = moments.get(here.checkpoint, ("", -1))
        here.moment = moment if number == batch else None
        patched(self, number, *rest)

    patched: Callable[..., Any] = process
    for moment in {moment for moment, _ in moments.values()} & MOMENTS.keys():
        owner, name, _ = MOMENTS[moment]
        if owner is LiveStream:
            patched = stopping(moment, patched)
        else:
            setattr(owner, name, stopping(moment, getattr(owner, name)))
    LiveStream.process = counting  # type: ignore[method-assign]
    return arrive


if __name__ == "__main__":
    runs = [run.split("=") for run in sys.argv[1:]]
    die({f"{folder}/checkpoint": (moment, int(batch)) for folder, moment, batch in runs})
    spark = session("local[2]", spark_sql_shuffle_partitions=2)
    for handle in [start(spark, Path(folder)) for folder, *_ in runs]:
        assert handle.await_termination(240)
