"""Where the rows of a stream come from: a folder that files are put into, or a topic of Kafka."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swoop.cli.guard import WrongUsage
from swoop.cli.inputs import Source, files_in, find_source, options_for
from swoop.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE = 1000  # messages that a schema is learned from
BYTES, MESSAGES = "128 MB", "200000"  # of files, or of a topic, in a batch at most


def is_topic(address: str | None) -> bool:
    """Whether this is a topic of Kafka."""
    return address is not None and address.startswith("kafka:")


def settings_for(addresses: list[str | None], jars: str | None) -> dict[str, Any]:
    """What Spark needs for these addresses: Kafka's connector, fetched unless it is given."""
    if jars:
        return {"spark_jars": jars}
    if any(map(is_topic, addresses)):
        return {"spark_jars_packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"}
    return {}


@dataclass(frozen=True)
class FolderStream:
    """Files that are there and those that come."""

    folder: str
    source: Source
    first: str | None

    @classmethod
    def find(cls, folder: str, format: str | None, schema: str | None) -> FolderStream:
        if "://" not in folder and not Path(folder).is_dir():
            raise WrongUsage(
                f"there is no folder {folder!r} (looked from {Path.cwd()}); a stream is a folder or kafka://host:port/topic"
            )
        files = [] if "://" in folder else files_in(folder)
        if files:
            return cls(folder, find_source([files[0]], format), files[0])
        if format is None or schema is None:
            raise WrongUsage(f"there is no file in {folder!r} yet to learn from; put one there, or give --format and --schema")
        return cls(folder, Source((folder,), format, options_for(format, folder)), None)

    def sample(self, spark: SparkSession, schema: str | None) -> DataFrame:
        """The rows of the first file; none if there is none yet."""
        return spark.createDataFrame([], str(schema)) if self.first is None else self.source.read(spark, schema)

    def rows(self, spark: SparkSession, sample: DataFrame, most: str | None = None) -> DataFrame:
        """The stream, with files of so many bytes in a batch at most, but for a single file that is larger."""
        from swoop.live.manifest import find_size

        reader = spark.readStream.format(self.source.format).options(**self.source.options).schema(sample.schema)
        return reader.option("maxBytesPerTrigger", find_size(most or BYTES)).load(self.folder)


@dataclass(frozen=True)
class TopicStream:
    """JSON messages of a topic."""

    servers: str
    topic: str
    begin: str = "earliest"

    @classmethod
    def find(cls, address: str, begin: str) -> TopicStream:
        from swoop.spark.topics import find_topic

        try:
            servers, topic = find_topic(address)
        except InvalidArgument as error:
            raise WrongUsage(str(error)) from None
        if begin not in ("earliest", "latest"):
            raise WrongUsage(f"--from must be earliest or latest, not {begin!r}")
        return cls(servers, topic, begin)

    def _load(self, reader: Any, begin: str) -> Any:
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.servers).option("subscribe", self.topic)
        return reader.option("startingOffsets", begin).load()

    def sample(self, spark: SparkSession, schema: str | None) -> DataFrame:
        """Rows of messages that are there."""
        if schema is not None:
            return spark.createDataFrame([], schema)
        try:
            messages = self._load(spark.read, "earliest").selectExpr("cast(value as string) as value").limit(SAMPLE).collect()
        except Exception as error:
            if "UnknownTopicOrPartition" not in str(error):
                raise
            raise WrongUsage(f"there is no topic {self.topic!r} at {self.servers} yet to learn from; give --schema") from error
        lines = [row["value"].replace("\n", " ") for row in messages if row["value"]]
        if not lines:
            raise WrongUsage(
                f"there is no message in the topic {self.topic!r} yet to learn from; give --schema, such as "
                "--schema 'id long, time string, text string'"
            )
        with tempfile.TemporaryDirectory(prefix="swoop-sample-") as folder:
            path = Path(folder) / "sample.jsonl"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            found = spark.read.json(path.as_uri())
            return spark.createDataFrame(found.toArrow(), found.schema)

    def rows(self, spark: SparkSession, sample: DataFrame, most: str | None = None) -> DataFrame:
        """The stream, with so many messages in a batch at most. A message that is no JSON is a row of nulls."""
        from pyspark.sql import functions as F  # noqa: N812

        value = F.from_json(F.col("value").cast("string"), sample.schema)
        reader = spark.readStream.option("maxOffsetsPerTrigger", most or MESSAGES)
        rows: DataFrame = self._load(reader, self.begin).select(value.alias("value")).select("value.*")
        return rows
