"""Sources of a stream: a folder that receives files, or a Kafka topic."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swoop.cli.guard import WrongUsage
from swoop.cli.inputs import InputFiles, files_in, find_files, options_for
from swoop.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE = 1000  # messages to infer a schema from
BYTES, MESSAGES = "128 MB", "200000"  # maximum size of a batch


def is_topic(address: str | None) -> bool:
    """Whether this is the address of a Kafka topic."""
    return address is not None and address.startswith("kafka:")


def settings_for(addresses: list[str | None], jars: str | None) -> dict[str, Any]:
    """What Spark needs for these addresses: the Kafka connector, downloaded unless its jars are given."""
    if jars:
        return {"spark_jars": jars}
    if any(map(is_topic, addresses)):
        return {"spark_jars_packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"}
    return {}


@dataclass(frozen=True)
class FolderSource:
    """The files of a folder, present and future."""

    folder: str
    files: InputFiles
    first: str | None

    @classmethod
    def find(cls, folder: str, format: str | None, schema: str | None) -> FolderSource:
        if "://" not in folder and not Path(folder).is_dir():
            raise WrongUsage(
                f"there is no folder {folder!r} (in {Path.cwd()}); the source must be a folder or kafka://host:port/topic"
            )
        names = [] if "://" in folder else files_in(folder)
        if names:
            return cls(folder, find_files([names[0]], format), names[0])
        if format is None or schema is None:
            raise WrongUsage(
                f"there is no file in {folder!r} yet to infer the schema from; add one, or use --format and --schema"
            )
        return cls(folder, InputFiles((folder,), format, options_for(format, folder)), None)

    def sample(self, spark: SparkSession, schema: str | None) -> DataFrame:
        """The rows of the first file; none if there is none yet."""
        return spark.createDataFrame([], str(schema)) if self.first is None else self.files.read(spark, schema)

    def rows(self, spark: SparkSession, sample: DataFrame, most: str | None = None) -> DataFrame:
        """The stream, with files of at most so many bytes in a batch, but at least one file."""
        from swoop.live.manifest import find_size

        reader = spark.readStream.format(self.files.format).options(**self.files.options).schema(sample.schema)
        return reader.option("maxBytesPerTrigger", find_size(most or BYTES)).load(self.folder)


@dataclass(frozen=True)
class TopicSource:
    """JSON messages of a topic."""

    servers: str
    topic: str
    starting_offsets: str = "earliest"

    @classmethod
    def find(cls, address: str, starting_offsets: str) -> TopicSource:
        from swoop.spark.topics import find_topic

        try:
            servers, topic = find_topic(address)
        except InvalidArgument as error:
            raise WrongUsage(str(error)) from None
        if starting_offsets not in ("earliest", "latest"):
            raise WrongUsage(f"--from must be earliest or latest, not {starting_offsets!r}")
        return cls(servers, topic, starting_offsets)

    def _load(self, reader: Any, starting_offsets: str) -> Any:
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.servers).option("subscribe", self.topic)
        return reader.option("startingOffsets", starting_offsets).load()

    def sample(self, spark: SparkSession, schema: str | None) -> DataFrame:
        """Rows of existing messages, to infer the schema from."""
        if schema is not None:
            return spark.createDataFrame([], schema)
        try:
            messages = self._load(spark.read, "earliest").selectExpr("cast(value as string) as value").limit(SAMPLE).collect()
        except Exception as error:
            if "UnknownTopicOrPartition" not in str(error):
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
        with tempfile.TemporaryDirectory(prefix="swoop-sample-") as folder:
            path = Path(folder) / "sample.jsonl"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            rows = spark.read.json(path.as_uri())
            return spark.createDataFrame(rows.toArrow(), rows.schema)

    def rows(self, spark: SparkSession, sample: DataFrame, most: str | None = None) -> DataFrame:
        """The stream, with at most so many messages in a batch. A message that is not JSON becomes a row of nulls."""
        from pyspark.sql import functions as F  # noqa: N812

        value = F.from_json(F.col("value").cast("string"), sample.schema)
        reader = spark.readStream.option("maxOffsetsPerTrigger", most or MESSAGES)
        rows: DataFrame = self._load(reader, self.starting_offsets).select(value.alias("value")).select("value.*")
        return rows
