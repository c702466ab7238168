"""Java that starts quickly: ``python -m tests.support.quick_java`` notes what Spark loads, once for all processes of the tests.

Java of tests lives for seconds, and spends half of them on reading and checking Spark's classes. It maps an archive of them
instead, if there is one for this Java and this Spark; without one, tests only take longer.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pyspark

FOLDER = Path(__file__).parents[2] / "build" / "java"
# code that is compiled quickly is better than code that is compiled well
SIMPLE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
VARIABLES = ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS")


def archive() -> Path:
    """Where the archive of this Java and this Spark is, or would be."""
    from swoop.spark.java import find_program

    java = find_program()
    known = f"{java} {java.stat().st_mtime_ns} {pyspark.__path__[0]} {pyspark.__version__}"
    return FOLDER / f"{hashlib.sha256(known.encode()).hexdigest()[:16]}.jsa"


def options() -> str:
    """For processes of Java that live for seconds."""
    found = archive()
    return f"{SIMPLE} -XX:SharedArchiveFile={found} -Xlog:disable" if found.exists() else SIMPLE


def make() -> None:
    """Run what most tests run, in a Java that notes at its end what it has loaded."""
    found = archive()
    if found.exists():
        return
    found.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=found.parent) as name:
        part = Path(name) / "classes.jsa"
        for variable in VARIABLES:
            os.environ[variable] = f"{SIMPLE} -XX:ArchiveClassesAtExit={part} -Xlog:disable"
        _load(Path(name))
        if part.exists():  # not every Java can
            part.rename(found)


def _load(folder: Path) -> None:
    from swoop.spark import session, topk_stream

    spark = session("local[2]", spark_sql_shuffle_partitions=2)
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    rows = spark.createDataFrame([(n, n, ["a", "b"]) for n in range(9)], "id long, time long, tokens array<string>")
    rows.groupBy("time").applyInArrow(lambda table: table, rows.schema).orderBy("id").write.json(str(folder / "in"))
    stream = topk_stream(spark.readStream.schema(rows.schema).json(str(folder / "in")), 2, 5, lateness=0)
    handle = stream.start(folder / "checkpoint", changes=folder / "changes", available_now=True)
    assert handle.await_termination(120)
    assert spark.read.parquet(str(folder / "changes")).count()
    spark.stop()
    java.stdin.close()
    java.wait(120)


if __name__ == "__main__":
    make()
