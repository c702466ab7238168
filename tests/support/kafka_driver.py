"""A live join from topic to topics in a process: python -m tests.support.kafka_driver SERVERS FOLDER [MOMENT BATCH]."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from swoop.live.outputs import Results
from swoop.spark import session, timestamps, topk_stream, words
from swoop.spark.topics import KafkaOutput
from tests.support import killed_driver
from tests.support.kafka_broker import connector_jars

HALF = "with half of the results in the topic"


def die_half_way(batch: int) -> None:
    real = KafkaOutput.put

    def put(self: KafkaOutput, state: Any, results: Results, first: int, since: float | None) -> None:
        table = results.to_arrow() if hasattr(results, "to_arrow") else results
        if state.batch == batch and table.num_rows > 1:
            real(self, state, table.slice(0, table.num_rows // 2), first, since)
            os.kill(os.getpid(), signal.SIGKILL)
        real(self, state, results, first, since)

    KafkaOutput.put = put  # type: ignore[method-assign]


def main(servers: str, folder: str) -> None:
    spark = session("local[2]", spark_jars=connector_jars())
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "posts")
    rows = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 50).load()
    posts = rows.select(F.from_json(F.col("value").cast("string"), "id long, time string, text string").alias("post")).select(
        "post.*"
    )
    sets = posts.select("id", timestamps("time").alias("time"), words("text").column().alias("tokens"))
    handle = topk_stream(sets, 4, "40 seconds", lateness="6 seconds").start(
        folder,
        changes=f"kafka://{servers}/changes",
        rejected=f"kafka://{servers}/rejected",
        available_now=True,
    )
    handle.await_termination(120)
    print(repr(list(handle.topk())))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        batch = int(sys.argv[4])
        die_half_way(batch) if sys.argv[3] == HALF else killed_driver.die({sys.argv[2]: (sys.argv[3], batch)})
    main(*sys.argv[1:3])
