"""The data sets of the paper's evaluation (section 7) as sets on Spark: publications, mails, tweets, photos, workflows.

A loader takes a session and a path (a file, a folder or a pattern, on any file system that Spark and Arrow know) and gives one
row per set: ``id``, ``time`` (timestamp), ``tokens`` (array of strings) and, where there is one, ``text``. What cannot be read
is null, so that :func:`swoop.spark.topk_history` and :func:`swoop.spark.topk_stream` reject the row and count it::

    sets = dblp(session(), "dblp.xml.gz")
    topk_history(sets, k=10, window="7 days").show()
"""

from __future__ import annotations

import datetime as dt
import email
import gzip
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from html.entities import name2codepoint
from itertools import islice
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa  # the annotations of a task's function must be known when it runs
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.bench.streams import Stream
from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.spark import timestamps, transitions, words
from swoop.spark.files import Folder
from swoop.spark.rows import Names, hashed, ticks, tie, time_kind, why_unusable

AnyPath = str | os.PathLike[str]
Row = tuple[str | None, ...]

BATCH = 5_000  # rows that go to Spark together
CHUNK = 1 << 18  # bytes that are parsed together
DEEPEST = 100  # elements within each other; the files that are read here need six
TASKS = 64  # for a folder of small files; Spark would make one of every 32 of them


def dblp(spark: SparkSession, path: AnyPath) -> DataFrame:
    """The publications of DBLP, from its XML file, plain or ``.gz``.

    A set is the words of the authors and the title; its id is the key, its time the day of the last change (``mdate``, UTC).
    Every child of the root is a publication: articles, proceedings, theses, home pages, ...

    The file is read by a parser of our own, as a stream, with the memory of one batch of rows: Spark's reader of XML takes one
    kind of element at a time, and gives up on the whole file at ``&uuml;``, because it does not read DBLP's DTD. Neither do we:
    nothing is fetched, named characters are those of HTML, and a file that declares entities of its own is refused.
    """
    rows = _xml(spark, os.fspath(path), _Publications)
    return _sets(rows, F.col("id"), timestamps(F.concat("day", F.lit("T00:00:00Z"))), F.col("text"))


def enron(spark: SparkSession, path: AnyPath) -> DataFrame:
    """The mails of Enron, from a tree of folders with a file for each, or from a CSV file with the columns file and message.

    A set is the words of subject and body; its id is the mail's ``Message-ID`` (without one, its file), its time the date that
    it was sent. Many mails are there more than once, in the folders of all who got them; the paper counts them once:
    ``enron(...).dropDuplicates(["time", "text"])``.
    """
    path = os.fspath(path)
    if re.search(r"\.csv(\.\w+)?$", path):
        rows = _csv(spark, path, {"file": "file", "message": "message"}, multiLine=True)
        mails = rows.select(F.col("file").alias("path"), F.col("message").cast("binary").alias("content"))
    else:
        mails = _files(spark, path).select("path", "content").coalesce(TASKS)
    found = mails.mapInArrow(_read_mails, "id string, time string, text string")
    return _sets(found, F.col("id"), timestamps("time"), F.col("text"))


def tweets(spark: SparkSession, path: AnyPath) -> DataFrame:
    """Tweets, from lines of JSON in either of Twitter's formats, plain, ``.gz`` or ``.bz2``.

    A set is the words of the tweet. Lines that are no tweets, such as notices of deletion, are rows of nulls.
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

    A set is the words of the text. Times are random, within 10,000 seconds from 1970 on, as in the paper; they follow from the
    id and the seed, so they are the same in every run.

    Parameters
    ----------
    spark, path
        The session, and a file, a folder or a pattern.
    id, text
        The columns: positions from 0 on, or names if the first line has them. Without ``text``, all columns but the id.
    separator
        What is between the columns; by default a tab if the first line has one, else a comma.
    seed
        Of the times.
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
                f"the first line of {path} has {there} columns between {sep!r}, counted from 0, and no column {beyond[0]}; "
                "say which columns there are with id=, text= and separator="
            )
        rows, parts = lines, F.split("value", rf"\Q{sep}\E", -1)
        own = F.nullif(F.get(parts, F.lit(id)), F.lit(""))
        rest = F.array_join(F.filter(parts, lambda _, place: place != F.lit(id)), " ")
        others = [F.get(parts, F.lit(place)) for place in texts] or [rest]
    else:
        raise InvalidArgument(f"id and text are positions from 0 on, or names, not {id!r} and {text!r}")
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
        events, written = _xml(spark, path, _Events), None
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


def to_stream(name: str, sets: DataFrame) -> Stream:
    """Sets as a stream for benchmarks: in the order of time and id, tokens numbered by first appearance, times in microseconds.

    Rows that cannot be used are left out with a warning that counts them. Spark reads, hashes and sorts; the driver gets
    eight bytes per token.
    """
    names = Names("id", "time", "tokens", None)
    names.check(sets)
    kind = time_kind(sets, "time")
    usable = why_unusable(names, kind).isNull()
    prepared = sets.select(
        "id",
        F.when(usable, ticks("time", kind)).alias("time"),
        F.when(usable, F.array_distinct(hashed(sets, "tokens"))).alias("tokens"),
    ).persist()  # a sort looks at its rows twice, and files are to be parsed once
    try:
        with _plain_errors(name):
            table = prepared.orderBy("time", "id", tie(F.col("tokens"), F.lit("left"))).select("time", "tokens").toArrow()
    finally:
        prepared.unpersist()
    kept = table.filter(table["time"].is_valid())
    unusable = table.num_rows - kept.num_rows
    if not kept.num_rows:
        raise InvalidData(
            f"none of the {unusable} rows of {name} can be used; swoop.spark.rejected(sets) gives them and says why"
        )
    if unusable:
        warnings.warn(
            f"{unusable} rows of {name} cannot be used and are left out; swoop.spark.rejected(sets) gives them and says why",
            stacklevel=2,
        )
    tokens = kept["tokens"].combine_chunks()
    offsets = np.concatenate(([0], np.cumsum(tokens.value_lengths().to_numpy(zero_copy_only=False), dtype=np.int64)))
    numbers = tokens.flatten().dictionary_encode().indices  # a dictionary is in the order of first appearance
    return Stream(name, kept["time"].to_numpy(), offsets, numbers.to_numpy().astype(np.int64))


# what all loaders share


def _sets(rows: DataFrame, id: Column, time: Column, text: Column) -> DataFrame:
    found = rows.select(id.alias("id"), time.alias("time"), text.alias("text"))
    return found.select("id", "time", words("text").alias("tokens"), "text")


@contextmanager
def _plain_errors(path: AnyPath) -> Iterator[None]:
    """Errors of Spark that tell of a wrong file, as errors of this package."""
    try:
        yield
    except Exception as error:  # of Java, of a worker or of Connect: what they share is what they say
        said = str(error)
        if "[PATH_NOT_FOUND]" in said:
            raise InvalidArgument(f"there is no file or folder {os.fspath(path)!r}; give a path that Spark can read") from None
        if found := re.search(r"swoop\.errors\.InvalidFile: (.+)", said):
            raise InvalidFile(found[1]) from None
        if found := re.search(r"\[FAILED_READ_FILE.*? reading file (.+)\. ", said):
            raise InvalidFile(f"{found[1]} cannot be read to its end; was it cut off? Get it again") from None
        raise


def _files(spark: SparkSession, path: str) -> DataFrame:
    with _plain_errors(path):
        files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
        assert files.columns
    return files


def _csv(spark: SparkSession, path: str, wanted: dict[str, str], **options: Any) -> DataFrame:
    """The rows of a CSV file whose first line names these columns, by the arguments that name them."""
    with _plain_errors(path):
        rows = spark.read.options(header=True, recursiveFileLookup=True, escape='"', **options).csv(path)
        there = rows.columns
    for argument, name in wanted.items():
        if name not in there:
            raise InvalidData(
                f"{path} has no column {name!r} for {argument}; its first line names {', '.join(map(repr, there))}"
            )
    return rows


def _batches(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    rows = iter(rows)
    while some := list(islice(rows, BATCH)):
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in zip(*some, strict=True)], schema=schema)


# XML


class _Publications:
    """The rows of DBLP: each child of the root, with what its authors and titles say."""

    root, columns, doctype = "dblp", ("id", "day", "text"), True

    def __init__(self, path: str) -> None:
        self.rows: list[Row] = []
        self._parts: list[str] | None = None  # of an author or a title

    def start(self, above: list[str], tag: str, attributes: dict[str, str]) -> None:
        if len(above) == 1:
            self._id, self._day = attributes.get("key"), attributes.get("mdate")
            self._fields: dict[str, list[str]] = {"author": [], "title": []}
        elif len(above) == 2 and tag in self._fields:
            self._parts = []

    def text(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)

    def end(self, above: list[str], tag: str) -> None:
        if len(above) == 2 and self._parts is not None:
            self._fields[tag].append(" ".join("".join(self._parts).split()))
            self._parts = None
        elif len(above) == 1:
            texts = [*self._fields["author"], *self._fields["title"]]
            self.rows.append((self._id, self._day, " ".join(texts) if texts else None))


class _Events:
    """The rows of XES: each event, with the name of its trace; a trace without events is a row of its own."""

    root, columns, doctype = "log", ("case", "activity", "time"), False

    def __init__(self, path: str) -> None:
        self.rows: list[Row] = []
        self._path, self._traces = path, 0

    def start(self, above: list[str], tag: str, attributes: dict[str, str]) -> None:
        if above == ["log"] and tag == "trace":
            self._traces += 1
            self._case = f"{self._path}#{self._traces}"  # a name is not compulsory
            self._events: list[dict[str, str | None]] = []
        elif above == ["log", "trace"] and tag == "event":
            self._events.append({})
        elif above == ["log", "trace"] and attributes.get("key") == "concept:name":
            self._case = attributes.get("value", self._case)
        elif above == ["log", "trace", "event"] and attributes.get("key") in ("concept:name", "time:timestamp"):
            self._events[-1][attributes["key"]] = attributes.get("value")

    def text(self, text: str) -> None:
        """Everything is in attributes."""

    def end(self, above: list[str], tag: str) -> None:
        if above == ["log"] and tag == "trace":
            for event in self._events or [{}]:
                self.rows.append((self._case, event.get("concept:name"), event.get("time:timestamp")))


_Kind = type[_Publications] | type[_Events]


def _xml(spark: SparkSession, path: str, kind: _Kind) -> DataFrame:
    """The rows of XML files, one task for each file. The beginning of the first is looked at right away."""
    files = _files(spark, path).select("path")
    columns = ", ".join(f"{name} string" for name in kind.columns)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _batches(kind.columns, (row for file in _paths(batches) for row in _parse(file, kind)))

    def begin(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file in _paths(batches):
            problem = None
            try:
                next(_parse(file, kind), None)
            except InvalidFile as error:  # not raised: a cluster would try again
                problem = str(error)
            yield pa.record_batch({"problem": pa.array([problem], pa.string())})

    first = files.limit(1).mapInArrow(begin, "problem string").first()
    if first is None:
        raise InvalidArgument(f"there is no file in the folder {path!r}")
    if first.problem is not None:
        raise InvalidFile(first.problem)
    return files.mapInArrow(read, columns)


def _paths(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from batch.column("path").to_pylist()


def _parse(path: str, kind: _Kind) -> Iterator[Row]:
    """The rows of an XML file, as soon as they are there.

    A declared entity may stand for gigabytes, or for a file of this machine. So a file that declares one is refused, and no
    other file is ever opened. With ``doctype``, a name that nobody declared is a character of HTML, or else stays as written.
    """
    found, above = kind(path), list[str]()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not above and tag != kind.root:
            raise InvalidFile(f"{path} is another kind of XML: its root is <{tag}>, not <{kind.root}>")
        if len(above) >= DEEPEST:
            raise InvalidFile(f"{path} has more than {DEEPEST} elements within each other, in line {parser.CurrentLineNumber}")
        found.start(above, tag, attributes)
        above.append(tag)

    def end(tag: str) -> None:
        found.end(above, above.pop())

    def skipped(name: str, of_the_doctype: bool) -> None:
        if not of_the_doctype:
            found.text(chr(name2codepoint[name]) if name in name2codepoint else f"&{name};")

    def declared(name: str, *_: object) -> None:
        raise InvalidFile(
            f"{path} declares the entity {name!r}, which is not safe to read; remove the declarations of its DOCTYPE"
        )

    def has_doctype(name: str, *_: object) -> None:
        raise InvalidFile(f"{path} has a DOCTYPE ({name!r}), and such files have none; remove it")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, found.text
    parser.EntityDeclHandler = declared
    if kind.doctype:
        parser.SkippedEntityHandler = skipped
        parser.UseForeignDTD(True)  # names may be unknown even where there is no DOCTYPE
    else:
        parser.StartDoctypeDeclHandler = has_doctype
    try:
        with _opened(path) as file:
            while chunk := file.read(CHUNK):
                parser.Parse(chunk)
                yield from found.rows
                found.rows.clear()
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InvalidFile(f"{path} is not whole XML: {error}; was it cut off? Get it again") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidFile(f"{path} is not a whole gzip file: {error}; was it cut off? Get it again") from None


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """The bytes of a file, unpacked."""
    where = Folder(path)
    with where._system.open_input_stream(where.path, compression=None) as file:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked
        else:
            yield file


# mails


def _read_mails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pairs = (pair for batch in batches for pair in zip(batch.column("path"), batch.column("content"), strict=True))
    mails = (_mail(path.as_py(), content.as_py()) for path, content in pairs)
    yield from _batches(("id", "time", "text"), mails)


def _mail(path: str | None, content: bytes | None) -> Row:
    if content is None:
        return path, None, None
    try:
        mail = email.message_from_bytes(content)
        texts = [part for part in mail.walk() if part.get_content_maintype() == "text"]
    except RecursionError:  # a thousand mails within each other
        return path, None, None
    subject = _header(mail, "Subject")
    plain = [part for part in texts if part.get_content_subtype() == "plain"] or texts
    text = "\n".join([*([subject] if subject else []), *map(_payload, plain)])
    return _header(mail, "Message-ID") or path, _sent(_header(mail, "Date")), text


def _header(mail: Message, name: str) -> str | None:
    value = mail[name]
    if value is None:
        return None
    with suppress(MessageError, ValueError, LookupError):  # an unknown or wrong encoding: as it is written
        value = make_header(decode_header(value))
    return " ".join(_clean(str(value)).split()) or None


def _payload(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        return _clean(content.decode(part.get_content_charset("utf-8"), "replace"))
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _clean(text: str) -> str:
    """Without the halves of characters that Python's parser leaves where bytes are not what they claim to be."""
    return text.encode("utf-8", "replace").decode()


def _sent(date: str | None) -> str | None:
    try:
        sent = parsedate_to_datetime(date or "")
        return (sent.replace(tzinfo=dt.UTC) if sent.tzinfo is None else sent.astimezone(dt.UTC)).isoformat()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
