"""Sources of a stream: a folder that receives files, or a Kafka topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from swoop.addresses import is_remote
from swoop.cli.avro import Avro
from swoop.cli.guard import WrongUsage
from swoop.errors import InvalidArgument
from swoop.reading.files import Files, files_in, find_dialect, find_files, format_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE = 1000  # messages to infer a schema from
BYTES, MESSAGES = "128 MB", "200000"  # maximum size of a batch


HIDING = {"spark_sql_redaction_options_regex": r"(?i)url|^kafka[.]"}
"""Spark shows no settings of Kafka's where it shows plans."""


def is_topic(address: str | None) -> bool:
    """Whether this is the address of a Kafka topic."""
    return address is not None and address.startswith("kafka:")


def settings_for(topics: Sequence[str | None], jars: str | None, avro: bool = False) -> dict[str, Any]:
    """What Spark needs for these topics: the Kafka connector and what reads Avro, downloaded unless jars are given."""
    if jars:
        for jar in jars.split(","):
            if not is_remote(jar) and not Path(jar).is_file():
                raise WrongUsage(f"--jars: there is no file {jar!r} (in {Path.cwd()})")
        return {"spark_jars": jars, **HIDING}
    if topics:
        packages = ("spark-sql-kafka-0-10_2.13", *(["spark-avro_2.13"] if avro else []))
        return {"spark_jars_packages": ",".join(f"org.apache.spark:{name}:{version('pyspark')}" for name in packages), **HIDING}
    return {}


@dataclass(frozen=True)
class FolderSource:
    """The files of a folder, present and future."""

    files: Files
    schema: str | None

    @classmethod
    def find(
        cls, folder: str, format: str | None, schema: str | None, encoding: str | None = None, separator: str | None = None
    ) -> FolderSource:
        if is_remote(folder):
            if (format or format_of(folder)) is None:
                raise WrongUsage(f"the format of the files in {folder} is not known before they are read; use --format")
            return cls(find_files([folder], format, encoding=encoding, separator=separator), schema)
        if Path(folder).is_file():
            raise WrongUsage(
                f"{folder!r} is a file; a stream reads the files of a folder, kafka://host:port/topic or -. "
                "Name its folder, or use swoop run, which reads files"
            )
        if not Path(folder).is_dir():
            raise WrongUsage(
                f"there is no folder {folder!r} (in {Path.cwd()}); the source must be a folder, kafka://host:port/topic or -"
            )
        names = files_in(folder)
        if names:
            return cls(replace(find_files(names[:1], format, encoding=encoding, separator=separator), inputs=(folder,)), schema)
        if format is None or schema is None:
            raise WrongUsage(
                f"there is no file in {folder!r} yet to infer the schema from; add one, or use --format and --schema"
            )
        return cls(Files((folder,), (), format, find_dialect(format, b"", encoding, separator)[0]), schema)

    def rows(self, spark: SparkSession, most: str | None = None, cells: int = 1) -> tuple[DataFrame, pa.Table, Files]:
        """The stream, with files of at most so many bytes in a batch, but at least one file; and a sample of its rows."""
        from swoop.live.manifest import find_size
        from swoop.spark.reading import look, stream_rows

        files, sample = self.files, None if self.schema is None else _empty(self.schema)
        if sample is None:
            files, sample = look(spark, files)
        elif files.format == "csv":
            files = replace(
                files, dialect=replace(files.dialect, names=tuple(sample.column_names), header_lines=1, repeated=())
            )
        return stream_rows(spark, files, sample.schema, find_size(most or BYTES), cells > 1), sample, files


@dataclass(frozen=True)
class TopicSource:
    """Messages of a topic, in JSON or Avro."""

    servers: str
    topic: str
    starting_offsets: str = "earliest"
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    avro: Avro | None = None

    @classmethod
    def find(
        cls,
        address: str,
        starting_offsets: str,
        schema: str | None = None,
        options: Mapping[str, str] | None = None,
        avro: Avro | None = None,
    ) -> TopicSource:
        from swoop.spark.topics import find_topic

        try:
            servers, topic = find_topic(address)
        except InvalidArgument as error:
            raise WrongUsage(str(error)) from None
        if starting_offsets not in ("earliest", "latest"):
            raise WrongUsage(f"--from must be earliest or latest, not {starting_offsets!r}")
        if avro is not None and schema is not None:
            raise WrongUsage("--schema and --avro-schema are mutually exclusive")
        return cls(servers, topic, starting_offsets, schema, options or {}, avro)

    def _load(self, reader: Any, starting_offsets: str) -> Any:
        reader = (
            reader.format("kafka")
            .options(**self.options)
            .option("kafka.bootstrap.servers", self.servers)
            .option("subscribe", self.topic)
        )
        return reader.option("startingOffsets", starting_offsets).load()

    def _sample(self, spark: SparkSession, files: Files) -> pa.Table:
        """Rows of existing messages, to infer the schema from."""
        if self.schema is not None:
            return _empty(self.schema)
        from swoop.spark.reading import from_lines
        from swoop.spark.topics import is_topic_missing

        try:
            messages = self._load(spark.read, "earliest").selectExpr("cast(value as string) as value").limit(SAMPLE).collect()
        except Exception as error:
            if not is_topic_missing(error):
                raise
            raise WrongUsage(
                f"there is no topic {self.topic!r} at {self.servers} yet to infer the schema from; use --schema"
            ) from error
        lines = [row["value"].replace("\n", " ") for row in messages if row["value"]]
        if not lines:
            raise WrongUsage(
                f"there is no message in the topic {self.topic!r} yet to infer the schema from; use --schema, for example "
                "--schema 'id long, time string, text string'"
            )
        return from_lines(files, lines)[1]

    def rows(self, spark: SparkSession, most: str | None = None, cells: int = 1) -> tuple[DataFrame, pa.Table, Files]:
        """The stream, with at most so many messages in a batch, and a sample. A message that cannot be read is rejected."""
        if self.avro is not None:
            return self._avro_rows(spark, self.avro, most)
        from pyspark.sql import functions as F  # noqa: N812

        from swoop.spark.reading import CORRUPT, spark_schema

        files = Files((f"kafka://{self.servers}/{self.topic}",), (), "json")
        sample = self._sample(spark, files)
        schema = spark_schema(sample.schema).add(CORRUPT, "string")
        value = F.from_json(F.col("value").cast("string"), schema, {"columnNameOfCorruptRecord": CORRUPT})
        rows: DataFrame = self._messages(spark, most).select(value.alias("value")).select("value.*")
        return rows, sample, files

    def _messages(self, spark: SparkSession, most: str | None) -> Any:
        return self._load(spark.readStream.option("maxOffsetsPerTrigger", most or MESSAGES), self.starting_offsets)

    def _avro_rows(self, spark: SparkSession, avro: Avro, most: str | None) -> tuple[DataFrame, pa.Table, Files]:
        """The same in Avro. The schema of a sample is known without messages, but not how texts of times are written."""
        from swoop.spark.reading import CORRUPT
        from swoop.spark.topics import is_topic_missing
        from swoop.spark.versions import arrow_schema

        there = avro.read(self._load(spark.read, "earliest"), CORRUPT)
        try:
            sample = there.where(f"{CORRUPT} IS NULL").drop(CORRUPT).limit(SAMPLE).toArrow()
        except Exception as error:
            if not is_topic_missing(error):
                raise
            sample = arrow_schema(there.drop(CORRUPT).schema).empty_table()
        files = Files((f"kafka://{self.servers}/{self.topic}",), (), "avro")
        return avro.read(self._messages(spark, most), CORRUPT), sample, files


def _empty(schema: str) -> pa.Table:
    """No rows with the columns of a schema of Spark."""
    from pyspark.errors import ParseException
    from pyspark.sql.types import StructType

    from swoop.spark.versions import arrow_schema

    try:
        found = StructType.fromDDL(schema)
        assert isinstance(found, StructType)
        return arrow_schema(found).empty_table()
    except ParseException as error:
        raise WrongUsage(f"--schema {schema!r} is not a list of columns such as 'id long, time string, text string'") from error
