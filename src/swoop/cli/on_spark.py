"""Histories and records on Spark, from wherever it can read."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from swoop.addresses import is_remote, spark_address
from swoop.cli.compiling import begin_to_compile
from swoop.cli.console import name_of
from swoop.cli.history import (
    BEST,
    BEST_FIRST,
    EQUAL,
    LARGEST_FIRST,
    PAIR,
    CopyCount,
    FoundFamilies,
    History,
    RunOptions,
    check_one_stream,
    counted_copies,
    described,
    ids_of,
    kernels_for,
    members_of,
    records_of,
    shown_ids,
    shown_pairs,
)
from swoop.cli.output import REJECTED, STAYS, Order, write_file
from swoop.cli.progress import Steps, tasks_of
from swoop.cli.render import ShownPair, Side
from swoop.cli.session import spark_session
from swoop.errors import UnusableRows
from swoop.reading.files import Files
from swoop.reading.sets import Reading, ReadingOptions
from swoop.reasons import Reasons
from swoop.spec import FamilySpec, JoinSpec
from swoop.times import WindowSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDERS: tuple[Order, ...] = (
    STAYS,
    (("first_seen", "ascending"), ("id", "ascending")),
    (("reason", "ascending"), ("row", "ascending")),
)
"""Of stays, families, and rejected rows, where they are written to one file."""


def describe(
    spark: SparkSession, files: Files, options: ReadingOptions, window: WindowSpec | None, with_files: bool = False
) -> tuple[DataFrame, Reading]:
    """The rows, and how they become sets, told to whoever looks; with the names of their files, if asked for."""
    from swoop.spark.reading import count_readable, look, read_rows

    files, sample = look(spark, files)
    rows = read_rows(spark, files, sample.schema, with_files=with_files)
    reading = described(files, options, sample, window, count_readable(rows))
    if reading.columns.id is None:
        rows = read_rows(spark, files, sample.schema, numbered=True, with_files=with_files)
    return rows, reading


@dataclass(frozen=True)
class _Input:
    """The rows, the lines that they are, and the sets that lines are grouped to; or the lines once more."""

    spark: SparkSession
    rows: DataFrame
    lines: DataFrame
    sets: DataFrame
    reading: Reading

    def count_rejected(self) -> Reasons:
        """Why rows were rejected, before or when they became sets, and how many they were."""
        from pyspark.sql import functions as F  # noqa: N812

        from swoop.spark import rejected

        found = rejected(self.sets, tokens=self.reading.tokens, stream=self.reading.stream, reason="reason")
        if self.lines is self.sets:
            return _counted(found.select("reason", F.lit(1).alias("rows")))
        bad = self.lines.filter(F.col("reason").isNotNull()).select("reason", F.lit(1))
        return _counted(found.select("reason", F.col("items").alias("rows")).union(bad))

    def whole_rejected(self) -> DataFrame:
        """The same rows with all of their columns, in JSON, and groups of rows."""
        from pyspark.sql import functions as F  # noqa: N812

        from swoop.spark import rejected
        from swoop.spark.reading import FILE, prepare
        from swoop.spark.rows import row_in_json

        lines, how = prepare(self.rows, self.reading, whole=True), (self.reading.tokens, self.reading.stream)
        if self.lines is self.sets:
            found = rejected(lines, tokens=how[0], stream=how[1], reason="reason")
            return found.select("reason", "row", FILE).toDF(*REJECTED.names)
        bad = lines.filter(F.col("reason").isNotNull())
        found = rejected(self.sets, tokens=how[0], stream=how[1], reason="reason")
        row = F.struct(*(name for name in self.sets.columns if name not in ("reason", "text")))
        groups = found.select("reason", F.to_json(row, {"ignoreNullFields": "false"}), F.lit(None))
        return bad.select("reason", row_in_json(bad, bad.columns), FILE).union(groups).toDF(*REJECTED.names)


@contextmanager
def _opened(
    files: Files, options: ReadingOptions, join: JoinSpec | FamilySpec, run: RunOptions, steps: Steps
) -> Iterator[_Input]:
    """The sets of a history. Unusable rows are not warned of: they are counted, and written if asked for."""
    steps.step("starting Spark")
    kernels = kernels_for(join)
    kernels["families"] |= isinstance(join, JoinSpec) and join.copies == "once"  # which are counted as families
    finish_compiling = begin_to_compile(run.master, False, **kernels)
    with spark_session(run.master, run.memory) as spark, warnings.catch_warnings():
        from swoop.spark.hadoop import check_new
        from swoop.spark.reading import group, prepare

        for out in (run.out, run.rejected):
            if out is not None and is_remote(out):
                check_new(spark, out)
        warnings.simplefilter("ignore", UnusableRows)
        steps.step("reading the input", tasks_of(spark))
        rows, reading = describe(spark, files, options, join.window, run.rejected is not None)
        lines = prepare(rows, reading)
        sets = lines if reading.columns.group_by is None else group(lines, reading).persist()
        finish_compiling(steps)
        try:
            yield _Input(spark, rows, lines, sets, reading)
        finally:
            if sets is not lines:
                sets.unpersist()
        steps.step("stopping Spark")


def find_history(files: Files, options: ReadingOptions, join: JoinSpec, run: RunOptions, steps: Steps) -> History:
    """The history of the top-k: its best pairs, with all stays written to ``out``."""
    began = time.monotonic()
    with _opened(files, options, join, run, steps) as history_input:
        from swoop.spark.history import find_stays
        from swoop.spark.rows import Names

        steps.step("finding similar pairs", tasks_of(history_input.spark))
        reading = history_input.reading
        names = Names("id", "time", reading.tokens, reading.stream, reason="reason", keep=tuple(reading.columns.keep))
        found = find_stays(history_input.sets, join, names).persist()
        try:
            count, stays = found.count(), found.stays
            shown = stays if run.equal else stays.filter(stays["similarity"] < EQUAL[join.similarity.name])
            pairs = best(shown, history_input.sets, reading, run.show) if run.show else []
            history = _history(history_input, pairs, count)
            if join.copies == "once" and reading.stream is None:
                steps.step("counting copies", tasks_of(history_input.spark))
                history = _with_copies(history, history_input, join.window)
            _write_all(history_input, stays, run, steps)
        finally:
            found.unpersist()
    return replace(history, seconds=time.monotonic() - began)


def find_families(files: Files, options: ReadingOptions, join: FamilySpec, run: RunOptions, steps: Steps) -> FoundFamilies:
    """The families of a history: the largest, with all written to ``out``."""
    from pyspark.sql import functions as F  # noqa: N812

    began = time.monotonic()
    with _opened(files, options, join, run, steps) as history_input:
        from swoop.spark.families import find_links

        check_one_stream(history_input.reading)
        steps.step("finding families", tasks_of(history_input.spark))
        links = find_links(
            history_input.sets,
            join.min_similarity,
            join.window,
            join.similarity,
            tokens=history_input.reading.tokens,
            reason="reason",
            keep=history_input.reading.columns.keep,
        ).persist()
        try:
            families = links.families().drop("size")
            largest = _in_order(families, LARGEST_FIRST).limit(run.show).toArrow()
            members = links.members().filter(F.col("family").isin(largest.column("id").to_pylist()))
            members = members.select("id", "family", "time").orderBy("time", "id")
            named = history_input.sets.join(
                members.select(F.col("id").alias("_id")).distinct(), F.col("id") == F.col("_id"), "semi"
            )
            found = FoundFamilies(
                _history(history_input, [], families.count()),
                *(members_of(largest, "id", members.toArrow(), "family") if largest.num_rows else ([], [])),
                records_of(named.drop("reason").toArrow(), history_input.reading) if largest.num_rows else {},
            )
            _write_all(history_input, families, run, steps)
        finally:
            links.unpersist()
    return replace(found, history=replace(found.history, seconds=time.monotonic() - began))


def _history(history_input: _Input, pairs: list[ShownPair], results: int) -> History:
    from pyspark.sql import functions as F  # noqa: N812

    groups = None if history_input.sets is history_input.lines else history_input.sets.filter(F.col("reason").isNull()).count()
    return History(pairs, history_input.rows.count(), results, history_input.count_rejected(), 0.0, groups=groups)


def _with_copies(history: History, history_input: _Input, window: WindowSpec) -> History:
    """The same with how many copies there are in all, and of the records of pairs: records are families of equal sets."""
    from pyspark.sql import functions as F  # noqa: N812

    from swoop.spark.families import find_links

    links = find_links(history_input.sets, 1.0, window, tokens=history_input.reading.tokens, reason="reason").persist()
    try:
        families = links.families()
        rows, most = families.agg(F.sum(F.col("total") - 1), F.max("total")).collect()[0]
        named = families.filter(F.col("id").isin([*shown_ids(history.pairs)])).toArrow().to_pylist() if rows else []
    finally:
        links.unpersist()
    return replace(history, pairs=counted_copies(history.pairs, named), copies=CopyCount(rows or 0, most or 1))


def _write_all(history_input: _Input, results: DataFrame, run: RunOptions, steps: Steps) -> None:
    if run.out is not None:
        steps.step(f"writing {run.out}", tasks_of(history_input.spark))
        _write(results, run.out)
    if run.rejected is not None:
        _write(history_input.whole_rejected(), run.rejected)


def _write(table: DataFrame, out: str) -> None:
    """One file, in the order of time, from this process; a folder from Spark's tasks."""
    if out.endswith("/"):
        table.write.parquet(spark_address(out))
        return
    (order,) = (order for order in ORDERS if order[0][0] in table.columns)
    write_file(_in_order(table, order).toArrow(), out)


def _in_order(table: DataFrame, order: Order) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    ways = {"ascending": F.asc_nulls_last, "descending": F.desc_nulls_last}
    return table.orderBy(*(ways[way](name) for name, way in order))


def best(stays: DataFrame, sets: DataFrame, reading: Reading, most: int) -> list[ShownPair]:
    """The most similar distinct pairs over all stays."""
    from pyspark.sql import functions as F  # noqa: N812

    told = (getattr(F, how)(column).alias(name) for name, (column, how) in BEST.items())
    pairs = _in_order(stays.groupBy(*PAIR).agg(*told), BEST_FIRST).limit(most).toArrow().to_pylist()
    names = {name_of(name) for name in ids_of(pairs)}
    return shown_pairs(records_named(sets.filter(F.col("time").isNotNull()), reading, names), pairs)


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
        return records_named(sets if reading.columns.group_by is None else group(sets, reading), reading, names)


def records_named(sets: DataFrame, reading: Reading, names: set[str]) -> dict[str, list[Side]]:
    """The records with these ids, sorted by time; those without a time come first."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    binary = isinstance(sets.schema["id"].dataType, T.BinaryType)
    name = F.lower(F.hex("id")) if binary else F.col("id").cast("string")
    return records_of(sets.filter(name.isin(list(names))).drop("reason").toArrow(), reading)


def _counted(rejected: DataFrame) -> Reasons:
    """Reasons with how many rows each has."""
    from pyspark.sql import functions as F  # noqa: N812

    kind = F.regexp_replace("reason", ' ".*"', "")
    counted = rejected.groupBy(kind).agg(F.min("reason"), F.sum("rows").alias("rows")).collect()
    reasons = Reasons()
    for _, example, rows in sorted(counted, key=lambda row: -row["rows"]):
        reasons.count(example, rows)
    return reasons
