"""The data sets of the paper's evaluation (section 7) as sets on Spark: publications, mails, tweets, photos, workflows.

A loader takes a session and a path (a file, a folder or a pattern, on any file system that Spark and Arrow support) and returns
one row per set: ``id``, ``time`` (timestamp), ``tokens`` (array of strings) and, if there is one, ``text``. Values that cannot
be parsed are null, so that :func:`swoop.spark.topk_history` and :func:`swoop.spark.topk_stream` reject and count the row::

    sets = dblp(session(), "dblp.xml.gz")
    topk_history(sets, k=10, window="7 days").show()
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa  # the annotations of a task's function must be available when it runs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.paper.data_sets import DataSet
from swoop.paper.mails import Row, read_mail
from swoop.paper.xml_files import Events, Kind, Publications, parse
from swoop.spark import timestamps, transitions, words
from swoop.spark.rows import Names, ticks, time_kind, why_unusable

AnyPath = str | os.PathLike[str]

BATCH = 5_000  # rows per batch for Spark
TASKS = 64  # for a folder of small files; Spark would make one task for every 32 of them


def dblp(spark: SparkSession, path: AnyPath) -> DataFrame:
    """The publications of DBLP, from its XML file, plain or ``.gz``.

    A set is the words of the authors and the title; its id is the key, its time the day of the last change (``mdate``, UTC).
    Every child of the root is a publication: articles, proceedings, theses, home pages, ...

    The file is parsed incrementally by our own parser, in the memory of one batch of rows: Spark's XML reader handles one kind
    of element at a time, and fails on the whole file at ``&uuml;``, because it does not read DBLP's DTD. Neither do we: nothing
    is downloaded, entities are those of HTML, and a file that declares its own is refused.
    """
    rows = _xml(spark, os.fspath(path), Publications)
    return _sets(rows, F.col("id"), timestamps(F.concat("day", F.lit("T00:00:00Z"))), F.col("text"))


def enron(spark: SparkSession, path: AnyPath) -> DataFrame:
    """The mails of Enron, from a tree of folders with a file for each, or from a CSV file with the columns file and message.

    A set is the words of subject and body; its id is the mail's ``Message-ID`` (without one, its file), its time the date
    it was sent. Many mails occur more than once, in the folders of all recipients; the paper counts them once:
    ``enron(...).dropDuplicates(["time", "text"])``.
    """
    path = os.fspath(path)
    if re.search(r"\.csv(\.\w+)?$", path):
        rows = _csv(spark, path, {"file": "file", "message": "message"}, multiLine=True)
        mails = rows.select(F.col("file").alias("path"), F.col("message").cast("binary").alias("content"))
    else:
        mails = _files(spark, path).select("path", "content").coalesce(TASKS)
    rows = mails.mapInArrow(_read_mails, "id string, time string, text string")
    return _sets(rows, F.col("id"), timestamps("time"), F.col("text"))


def tweets(spark: SparkSession, path: AnyPath) -> DataFrame:
    """Tweets, from JSON lines in either of Twitter's formats, plain, ``.gz`` or ``.bz2``.

    A set is the words of the tweet. Lines that are not tweets, such as deletion notices, become rows of nulls.
    """
    tweet = "created_at string, text string, id string"
    schema = f"{tweet}, id_str string, full_text string, extended_tweet struct<full_text string>, data struct<{tweet}>"
    with _plain_errors(path):
        rows = spark.read.schema(schema).option("recursiveFileLookup", True).json(os.fspath(path))
        assert rows.columns
    posted = F.coalesce("created_at", "data.created_at")
    classic = timestamps(F.regexp_replace(posted, r"^[A-Z][a-z]{2} ", ""), format="MMM d HH:mm:ss Z yyyy")
    text = F.coalesce("full_text", "extended_tweet.full_text", "text", "data.text")
    return _sets(rows, F.coalesce("id_str", "id", "data.id"), F.coalesce(classic, timestamps(posted)), text)


def flickr(
    spark: SparkSession,
    path: AnyPath,
    *,
    id: int | str = 0,
    text: int | str | Sequence[int | str] | None = None,
    separator: str | None = None,
    seed: int = 7,
) -> DataFrame:
    """Photos with their tags or titles, from lines of columns.

    A set is the words of the text. Times are random, within 10,000 seconds from 1970, as in the paper; they are derived from
    the id and the seed, so they are the same in every run.

    Parameters
    ----------
    spark, path
        The session, and a file, a folder or a pattern.
    id, text
        The columns: positions from 0, or names from the header. By default, ``text`` is all columns except the id.
    separator
        The separator of columns; by default a tab if the first line has one, otherwise a comma.
    seed
        Seed of the times.
    """
    path = os.fspath(path)
    texts = [] if text is None else [text] if isinstance(text, int | str) else list(text)
    with _plain_errors(path):
        lines = spark.read.option("recursiveFileLookup", True).text(path)
        first = lines.first()
    if first is None:
        raise InvalidFile(f"{path} has no lines")
    sep = separator or ("\t" if "\t" in first[0] else ",")
    if all(isinstance(name, str) for name in (id, *texts)):
        rows = _csv(spark, path, {"id": str(id)} | {f"text ({name!r})": str(name) for name in texts}, sep=sep)
        own, others = F.col(f"`{id}`"), [F.col(f"`{name}`") for name in texts or rows.columns if name != id]
    elif all(isinstance(place, int) and place >= 0 for place in (id, *texts)):
        there = len(first[0].split(sep))
        if beyond := [place for place in (id, *texts) if int(place) >= there]:
            raise InvalidData(
                f"the first line of {path} has {there} columns separated by {sep!r}, from 0 on, and no column {beyond[0]}; "
                "choose columns with id=, text= and separator="
            )
        rows, parts = lines, F.split("value", rf"\Q{sep}\E", -1)
        own = F.nullif(F.get(parts, F.lit(id)), F.lit(""))
        rest = F.array_join(F.filter(parts, lambda _, place: place != F.lit(id)), " ")
        others = [F.get(parts, F.lit(place)) for place in texts] or [rest]
    else:
        raise InvalidArgument(f"id and text must be positions from 0, or names, not {id!r} and {text!r}")
    time = F.timestamp_micros(F.pmod(F.xxhash64(F.lit(seed), own), F.lit(10_000_000_000)))
    return _sets(rows, own, time, F.when(F.coalesce(*others).isNotNull(), F.concat_ws(" ", *others)))


def event_log(
    spark: SparkSession,
    path: AnyPath,
    *,
    case: str = "case",
    activity: str = "activity",
    time: str = "time",
    separator: str = ",",
    format: str | None = None,
) -> DataFrame:
    """The cases of an event log, from XES (``.xes`` or ``.xml``, plain or ``.gz``) or from CSV with a line of names.

    A set is the pairs of subsequent activities of a case, by :func:`swoop.spark.transitions`; its time is that of the last one.
    Activities with equal times are taken in the order of their names. A case with an activity whose name or time is missing
    has no time. There is no column ``text``.

    Parameters
    ----------
    spark, path
        The session, and a file, a folder or a pattern.
    case, activity, time, separator
        The columns of a CSV file, and what is between them.
    format
        How its times are written, as in :func:`swoop.spark.timestamps`.
    """
    path = os.fspath(path)
    if re.search(r"\.(xes|xml)(\.gz)?$", path):
        events, written = _xml(spark, path, Events), None
    else:
        columns, written = {"case": case, "activity": activity, "time": time}, format
        rows = _csv(spark, path, columns, sep=separator)
        events = rows.select(*(F.col(f"`{name}`").alias(alias) for alias, name in columns.items()))
    last = F.lit("9999-12-31T23:59:59.999999Z").cast(
        "timestamp"
    )  # stands for what is missing: null would be taken as the first
    when = F.when(F.col("activity").isNotNull(), timestamps("time", format=written))
    cases = transitions(events.withColumn("time", F.coalesce(when, last)), "case", "activity", "time")
    return cases.withColumn("time", F.when(F.col("time") < last, F.col("time")))


LOADERS: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "dblp": dblp,
    "enron": enron,
    "tweet": tweets,
    "flickr": flickr,
    "industry": event_log,
}


def _hashed(sets: DataFrame) -> Column:
    """Tokens as 64-bit integers: integers unchanged, all others hashed."""
    found = sets.schema["tokens"].dataType
    if isinstance(found, T.ArrayType) and isinstance(found.elementType, T.IntegralType):
        return F.col("tokens").cast("array<bigint>")
    return F.transform("tokens", lambda token: F.xxhash64(token))


def to_data_set(name: str, sets: DataFrame) -> DataSet:
    """Sets as a data set for benchmarks: ordered by time and id, token ids by first appearance, times in microseconds.

    Unusable rows are left out with a warning that counts them. Spark reads, hashes and sorts; the driver gets eight bytes per
    token.
    """
    names = Names("id", "time", "tokens", None)
    names.check(sets)
    kind = time_kind(sets, "time")
    usable = why_unusable(sets, names, kind).isNull()
    prepared = sets.select(
        "id",
        F.when(usable, ticks("time", kind)).alias("time"),
        F.when(usable, F.array_distinct(_hashed(sets))).alias("tokens"),
    ).persist()  # a sort reads its input twice, but files should be parsed once
    try:
        with _plain_errors(name):
            table = prepared.orderBy("time", "id", "tokens").select("time", "tokens").toArrow()
    finally:
        prepared.unpersist()
    kept = table.filter(table["time"].is_valid())
    unusable = table.num_rows - kept.num_rows
    if not kept.num_rows:
        raise InvalidData(
            f"all {unusable} rows of {name} are unusable; swoop.spark.rejected(sets) returns them with the reasons"
        )
    if unusable:
        warnings.warn(
            f"{unusable} rows of {name} are unusable and left out; swoop.spark.rejected(sets) returns them with the reasons",
            stacklevel=2,
        )
    tokens = kept["tokens"].combine_chunks()
    offsets = np.concatenate(([0], np.cumsum(tokens.value_lengths().to_numpy(zero_copy_only=False), dtype=np.int64)))
    token_ids = tokens.flatten().dictionary_encode().indices  # a dictionary is in the order of first appearance
    return DataSet(name, kept["time"].to_numpy(), offsets, token_ids.to_numpy().astype(np.int64))


# what all loaders share


def _sets(rows: DataFrame, id: Column, time: Column, text: Column) -> DataFrame:
    found = rows.select(id.alias("id"), time.alias("time"), text.alias("text"))
    return found.select("id", "time", words("text").column().alias("tokens"), "text")


@contextmanager
def _plain_errors(path: AnyPath) -> Iterator[None]:
    """Turn Spark's errors about a wrong file into errors of this package."""
    try:
        yield
    except PySparkException as error:
        condition, parameters = error.getCondition(), error.getMessageParameters() or {}
        if condition == "PATH_NOT_FOUND":
            raise InvalidArgument(f"there is no file or folder {os.fspath(path)!r}; pass a path that Spark can read") from None
        if condition == "USER_RAISED_EXCEPTION":  # by _xml
            raise InvalidFile(parameters["errorMessage"]) from None
        raise
    except Py4JJavaError as error:  # what reads Arrow passes on nothing but the text of Spark's own errors
        if truncated := re.search(r"\[FAILED_READ_FILE.*? reading file (.+)\. ", str(error)):
            raise InvalidFile(f"{truncated[1]} is truncated; download it again") from None
        raise


def _files(spark: SparkSession, path: str) -> DataFrame:
    with _plain_errors(path):
        files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
        assert files.columns
    return files


def _csv(spark: SparkSession, path: str, wanted: dict[str, str], **options: Any) -> DataFrame:
    """The rows of a CSV file with these columns in its header, by the arguments that name them."""
    with _plain_errors(path):
        rows = spark.read.options(header=True, recursiveFileLookup=True, escape='"', **options).csv(path)
        there = rows.columns
    for argument, name in wanted.items():
        if name not in there:
            raise InvalidData(f"{path} has no column {name!r} for {argument}; its columns are {', '.join(map(repr, there))}")
    return rows


def _batches(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    rows = iter(rows)
    while some := list(islice(rows, BATCH)):
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in zip(*some, strict=True)], schema=schema)


# files that Spark does not read itself


def _xml(spark: SparkSession, path: str, kind: Kind) -> DataFrame:
    """The rows of XML files, one task per file. The beginning of the first one is checked right away."""
    files = _files(spark, path).select("path")
    columns = (*kind.columns, "problem")

    def parsed(file: str) -> Iterator[Row]:
        """The rows of a file; its problem, if there is one, is a row of its own, since an exception would arrive as a text."""
        try:
            for row in parse(file, kind):
                yield *row, None
        except InvalidFile as error:
            yield *(None for _ in kind.columns), str(error)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _batches(columns, (row for file in _paths(batches) for row in parsed(file)))

    def begin(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _batches(["problem"], (next(parsed(file), (None,))[-1:] for file in _paths(batches)))

    first = files.limit(1).mapInArrow(begin, "problem string").first()
    if first is None:
        raise InvalidArgument(f"there is no file in the folder {path!r}")
    if first.problem is not None:
        raise InvalidFile(first.problem)
    rows = files.mapInArrow(read, ", ".join(f"{name} string" for name in columns))
    problem = F.col("problem")
    return rows.where(F.assert_true(problem.isNull(), problem).isNull()).drop(problem)


def _paths(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from batch.column("path").to_pylist()


def _read_mails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pairs = (pair for batch in batches for pair in zip(batch.column("path"), batch.column("content"), strict=True))
    mails = (read_mail(path.as_py(), content.as_py()) for path, content in pairs)
    yield from _batches(("id", "time", "text"), mails)
