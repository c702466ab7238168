"""Topics of Kafka as an output of a live join."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument, InvalidType
from swoop.live.checkpoint import State
from swoop.live.outputs import Results, TopicSettings, numbered

CLOCKS = 60  # seconds by which the clocks of machines may differ


def find_topic(url: str) -> tuple[str, str]:
    """The servers and the topic that an address of Kafka names."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise InvalidArgument(f"{url!r} names no topic; write kafka://host:port/topic")
    return parts.netloc, topic


def is_topic_missing(error: Exception) -> bool:
    """Whether Spark could not read a topic because there is none.

    Spark gives no condition for it, and over Spark Connect no cause either: what is left of Kafka's exception is its name, in
    the text.
    """
    return "UnknownTopicOrPartitionException" in str(error)


def topic(url: str, options: Mapping[str, str] = MappingProxyType({})) -> TopicSettings:
    """A topic of Kafka as an output of a live stream, with what Kafka needs to know beside its address.

    Parameters
    ----------
    url
        ``kafka://host:port/topic``; several servers are separated by commas.
    options
        Settings of Kafka's clients as Spark names them, such as ``kafka.security.protocol``. They hold for writing results and
        for looking up what the topic has already. Values are never shown.

    Examples
    --------
    >>> topic("kafka://broker:9093/changes", {"kafka.sasl.jaas.config": "... password='secret';"})
    topic('kafka://broker:9093/changes', options: kafka.sasl.jaas.config)
    """
    find_topic(url)
    for name, value in options.items():
        if not isinstance(name, str) or not name.startswith("kafka.") or name == "kafka.bootstrap.servers":
            raise InvalidArgument(
                f"options of a topic are Kafka's, such as 'kafka.security.protocol'; {name!r:.60} is not one of them"
                + ("; the address names the servers" if name == "kafka.bootstrap.servers" else "")
            )
        if not isinstance(value, str):
            raise InvalidType(f"option {name!r} must be a string, not {type(value).__name__}")
    return TopicSettings(url, MappingProxyType(dict(options)))


def keyed(results: pa.Table, prefix: str, there: AbstractSet[str]) -> pa.Table:
    """The results that the topic does not have, with their keys."""
    keys = [f"{prefix}{number:06}" for number in range(results.num_rows)]
    missing = [number for number, key in enumerate(keys) if key not in there]
    return results.append_column("key", pa.array(keys, pa.string())).take(pa.array(missing, pa.int64()))


class KafkaOutput:
    """A topic of Kafka: one message per result, in JSON, under a key that no other result has."""

    def __init__(self, given: str | TopicSettings, spark: SparkSession, run: str) -> None:
        settings = given if isinstance(given, TopicSettings) else topic(given)
        self._servers, self._name = find_topic(settings.url)
        self._options = {**settings.options, "kafka.bootstrap.servers": self._servers}
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
            to.options(**self._options).option("topic", self._name).save()

    def _keys(self, prefix: str, since: float) -> set[str]:
        """The keys of this batch that the topic has."""
        milliseconds = max(0, int((since - CLOCKS) * 1000))
        source = self._spark.read.format("kafka").options(**self._options)
        source = source.option("subscribe", self._name).option("startingTimestamp", str(milliseconds))
        source = source.option("startingOffsetsByTimestampStrategy", "latest")
        try:
            found = source.load().select(F.col("key").cast("string")).filter(F.col("key").startswith(prefix)).collect()
        except Exception as error:
            if is_topic_missing(error):
                return set()
            raise
        return {row.key for row in found}
