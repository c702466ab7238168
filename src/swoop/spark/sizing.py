"""How many cells a stream needs: a small model of what they cost; ``docs/scaling.md`` explains it, with measurements."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.live.grid import Grid

DRIVER_RATE = 100_000  # sets per second that one engine in the driver keeps up with, reading and preparing included
CELL_RATE = 50_000  # sets per second that go through the cells of one core, reading and preparing included
BYTES = 1000  # of memory per set of the window, where it is: engine, and what a cell knows of its sets; 13 tokens a set
MOST = 40  # groups
JAVA_SIZE = re.compile(r"(\d+)([kmgtKMGT])[bB]?")


@dataclass(frozen=True)
class Machines:
    """What there is: memory of the driver's machine, cores of all executors, and memory that the cells of one core may take."""

    driver_bytes: int
    cores: int
    core_bytes: int

    @classmethod
    def of(cls, spark: SparkSession) -> Machines:
        """Those of a session. A cell may take as much memory, outside of Java, as the executor has for Java."""
        context = spark.sparkContext
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        cores = context.defaultParallelism
        if str(context.master).startswith("local"):
            return cls(memory, cores, memory // 2 // cores)
        size = JAVA_SIZE.fullmatch(context.getConf().get("spark.executor.memory") or "1g")
        executor = int(size[1]) << {"k": 10, "m": 20, "g": 30, "t": 40}[size[2].lower()] if size else 1 << 30
        return cls(memory, cores, executor // int(context.getConf().get("spark.executor.cores") or 1))


def choose_cells(rate: float, window: float, machines: Machines) -> int:
    """The fewest cells that keep up with a rate and have room for the window.

    Parameters
    ----------
    rate
        Sets per unit of time.
    window
        Its length in that unit.
    machines
        What there is.

    Examples
    --------
    >>> choose_cells(1000, 3600, Machines(driver_bytes=16 << 30, cores=8, core_bytes=2 << 30))
    1
    >>> choose_cells(5800, 6 * 3600, Machines(driver_bytes=64 << 30, cores=10, core_bytes=64 << 30))
    10
    """
    size = rate * window * BYTES
    if rate <= DRIVER_RATE and size <= machines.driver_bytes / 2:
        return 1
    for groups in range(2, MOST + 1):
        cells = len(Grid(groups).cells)
        share = 2 / groups * -(-cells // machines.cores)  # of the stream and of the window, for one core
        if share * rate <= CELL_RATE and share * size <= machines.core_bytes:
            return cells
    raise InvalidArgument(
        f"{rate:,.0f} sets per unit of time and a window of {rate * window:,.0f} sets ({size / 2**30:,.1f} GiB) are more than "
        f"{machines.cores} cores with {machines.core_bytes / 2**30:.1f} GiB each can do; use more executors, or set cells=..."
    )
