"""Topics of Kafka as an output of a live join."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument
from swoop.live.checkpoint import State
from swoop.live.outputs import Results, numbered

CLOCKS = 60  # seconds by which the clocks of machines may differ


def find_topic(url: str) -> tuple[str, str]:
    """The servers and the topic that an address of Kafka names."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise InvalidArgument(f"{url!r} names no topic; write kafka://host:port/topic")
    return parts.netloc, topic


def keyed(results: pa.Table, prefix: str, there: AbstractSet[str]) -> pa.Table:
    """The results that the topic does not have, with their keys."""
    keys = [f"{prefix}{number:06}" for number in range(results.num_rows)]
    missing = [number for number, key in enumerate(keys) if key not in there]
    return results.append_column("key", pa.array(keys, pa.string())).take(pa.array(missing, pa.int64()))


class KafkaOutput:
    """A topic of Kafka: one message per result, in JSON, under a key that no other result has."""

    def __init__(self, url: str, spark: SparkSession, run: str) -> None:
        self._servers, self._name = find_topic(url)
        self._spark, self._run = spark, run
        self.topic = f"{self._servers}/{self._name}"

    def put(self, state: State, results: Results, first: int, since: float | None) -> None:
        if not len(results):
            return
        prefix = f"{self._run}/{state.step}/"
        there = set() if since is None else self._keys(prefix, since)
        table = keyed(numbered(state, results, first), prefix, there)
        if table.num_rows:
            rows = self._spark.createDataFrame(table)
            value = F.to_json(F.struct(*[c for c in rows.columns if c != "key"]), {"ignoreNullFields": "false"})
            to = rows.select("key", value.alias("value")).coalesce(1).write.format("kafka")
            to.option("kafka.bootstrap.servers", self._servers).option("topic", self._name).save()

    def _keys(self, prefix: str, since: float) -> set[str]:
        """The keys of this batch that the topic has."""
        milliseconds = max(0, int((since - CLOCKS) * 1000))
        source = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._servers)
        source = source.option("subscribe", self._name).option("startingTimestamp", str(milliseconds))
        source = source.option("startingOffsetsByTimestampStrategy", "latest")
        try:
            found = source.load().select(F.col("key").cast("string")).filter(F.col("key").startswith(prefix)).collect()
        except Exception as error:  # Java's, in one wrapping or another
            if "UnknownTopicOrPartition" in str(error):
                return set()
            raise
        return {row.key for row in found}
