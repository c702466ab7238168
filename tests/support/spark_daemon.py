"""Spark's daemon of Python workers, for tests: what workers need is imported once and not by each of them.

Spark's own imports nothing before it forks, because some packages start threads, which a fork leaves behind. NumPy and Arrow,
whose threads are the only ones here, start them anew.
"""

from __future__ import annotations

import gc

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import swoop.spark.cells
import swoop.spark.slices  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # after each task a worker collects garbage
    manager()
