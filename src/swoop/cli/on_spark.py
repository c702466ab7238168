"""Histories and records on Spark, from wherever it can read."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

from swoop.cli.console import name_of
from swoop.cli.history import EQUAL, History, JoinOptions, RunOptions, shown_pair
from swoop.cli.output import ORDER, write_file
from swoop.cli.progress import Steps, tasks_of
from swoop.cli.render import ShownPair, Side
from swoop.cli.session import spark_session
from swoop.cli.where import tell
from swoop.errors import UnusableRows
from swoop.reading.files import Files
from swoop.reading.sets import Reading, ReadingOptions, decide
from swoop.reasons import Reasons
from swoop.times import WindowSpec, find_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def describe(
    spark: SparkSession, files: Files, options: ReadingOptions, window: WindowSpec | None
) -> tuple[DataFrame, Reading]:
    """The rows, and how they become sets, told to whoever looks."""
    from swoop.spark.reading import count_readable, look, read_rows

    files, sample = look(spark, files)
    rows = read_rows(spark, files, sample.schema)
    reading = decide(options, sample, window, count_readable(rows))
    tell(files, reading)
    if reading.columns.id is None:
        rows = read_rows(spark, files, sample.schema, numbered=True)
    return rows, reading


def find_history(files: Files, options: ReadingOptions, join: JoinOptions, run: RunOptions, steps: Steps) -> History:
    """The history of the top-k: its best pairs, with all stays written to ``out``."""
    began = time.monotonic()
    steps.step("starting Spark")
    with spark_session(run.master, run.memory) as spark:
        from swoop.spark import topk_history
        from swoop.spark.reading import group, prepare

        steps.step("reading the input", tasks_of(spark))
        rows, reading = describe(spark, files, options, find_window(join.window))
        lines = prepare(rows, reading)
        sets = lines if reading.columns.group_by is None else group(lines, reading).persist()
        steps.step("finding similar pairs", tasks_of(spark))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusableRows)  # they are counted below
            stays = topk_history(
                sets,
                join.k,
                join.window,
                join.similarity,
                tokens=reading.tokens,
                min_similarity=join.min_similarity,
                copies=join.copies,
                stream=reading.stream,
                reason="reason",
            ).persist()
            try:
                shown = stays if run.equal else stays.filter(stays["similarity"] < EQUAL[join.similarity])
                history = History(
                    pairs=best(shown, sets, reading, run.show) if run.show else [],
                    rows=rows.count(),
                    stays=stays.count(),
                    rejected=_count_rejected(sets, lines, reading),
                    seconds=0.0,
                )
                if run.out is not None:
                    steps.step(f"writing {run.out}", tasks_of(spark))
                    _write(stays, run.out)
                if run.rejected is not None:
                    _write(_rejected(sets, lines, reading).drop("rows"), run.rejected)
            finally:
                stays.unpersist()
        steps.step("stopping Spark")
    return History(history.pairs, history.rows, history.stays, history.rejected, time.monotonic() - began)


def _write(table: DataFrame, out: str) -> None:
    """One file, in the order of time, from this process; a folder from Spark's tasks."""
    from pyspark.sql import functions as F  # noqa: N812

    if out.endswith("/"):
        table.write.parquet(out)
        return
    order = [F.desc(name) if name == "similarity" else F.asc_nulls_last(name) for name in ORDER]
    write_file(table.orderBy(*(order if "enter" in table.columns else ("reason", "row"))).toArrow(), out)


def best(stays: DataFrame, sets: DataFrame, reading: Reading, most: int) -> list[ShownPair]:
    """The most similar distinct pairs over all stays; ties go to those that share more, then to the earlier ones."""
    from pyspark.sql import functions as F  # noqa: N812

    pairs = (
        stays.groupBy("newer", "older", "similarity", "overlap")
        .agg(
            F.min("enter").alias("enter"),
            F.max("leave").alias("leave"),
            F.max(F.col("leave").isNull()).alias("open"),
            F.count("*").alias("stays"),
        )
        .orderBy(F.desc("similarity"), F.desc("overlap"), "enter", "newer", "older")
        .limit(most)
        .toArrow()
        .to_pylist()
    )
    names = {name_of(pair[side]) for pair in pairs for side in ("newer", "older")}
    records = records_of(sets.filter(F.col("time").isNotNull()), reading, names)
    return [shown_pair(records, pair) for pair in pairs]


def find_records(
    files: Files, options: ReadingOptions, names: set[str], master: str | None, memory: str, steps: Steps
) -> dict[str, list[Side]]:
    """The records with these ids, in the order of time."""
    from swoop.spark.reading import group, prepare

    steps.step("starting Spark")
    with spark_session(master, memory) as spark:
        steps.step("looking up the records", tasks_of(spark))
        rows, reading = describe(spark, files, options, None)
        sets = prepare(rows, reading)
        return records_of(sets if reading.columns.group_by is None else group(sets, reading), reading, names)


def records_of(sets: DataFrame, reading: Reading, names: set[str]) -> dict[str, list[Side]]:
    """The records with these ids, sorted by time; those without a time come first."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    from swoop.cli.in_process import records_of as arrow_records

    binary = isinstance(sets.schema["id"].dataType, T.BinaryType)
    name = F.lower(F.hex("id")) if binary else F.col("id").cast("string")
    return arrow_records(sets.filter(name.isin(list(names))).drop("reason").toArrow(), reading)


def _rejected(sets: DataFrame, lines: DataFrame, reading: Reading) -> DataFrame:
    """Rows that were rejected before, or when they became sets, and how many they were."""
    from pyspark.sql import functions as F  # noqa: N812

    from swoop.spark import rejected

    found = rejected(sets, tokens=reading.tokens, stream=reading.stream, reason="reason")
    if lines is sets:
        return found.select("reason", "row", F.lit(1).alias("rows"))
    bad = lines.filter(F.col("reason").isNotNull())
    row = F.to_json(F.struct(*(name for name in bad.columns if name != "reason")))
    return found.select("reason", "row", F.col("items").alias("rows")).union(bad.select("reason", row, F.lit(1)))


def _count_rejected(sets: DataFrame, lines: DataFrame, reading: Reading) -> Reasons:
    from pyspark.sql import functions as F  # noqa: N812

    kind = F.regexp_replace("reason", ' ".*"', "")
    counted = _rejected(sets, lines, reading).groupBy(kind).agg(F.min("reason"), F.sum("rows").alias("rows")).collect()
    reasons = Reasons()
    for _, example, rows in sorted(counted, key=lambda row: -row["rows"]):
        reasons.count(example, rows)
    return reasons
