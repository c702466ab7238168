"""A live join from topic to topics in a process: python -m tests.support.kafka_driver FOLDER [MOMENT BATCH].

What it runs is the program of the Kafka guide, which finds servers, user and password in its environment.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

from swoop.live.outputs import Results
from swoop.spark import session
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


def guide() -> str:
    """The program of the Kafka guide as it stands, but for a window and batches that suit 200 posts."""
    text = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    (code,) = [code for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if "SASL_SSL" in code]
    for theirs, ours in (('"1 hour"', '"40 seconds"'), ("200_000", "50")):
        assert theirs in code
        code = code.replace(theirs, ours)
    return code


def main(folder: str) -> None:
    session("local[2]", spark_jars=connector_jars())
    os.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(guide(), "docs/spark.md", "exec"), names)
    print(repr(names["login"]["kafka.sasl.jaas.config"] in repr(names["handle"].__dict__)))
    print(repr(list(names["handle"].topk())))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        batch, checkpoint = int(sys.argv[3]), str(Path(sys.argv[1]) / "state")
        die_half_way(batch) if sys.argv[2] == HALF else killed_driver.die({checkpoint: (sys.argv[2], batch)})
    main(sys.argv[1])
