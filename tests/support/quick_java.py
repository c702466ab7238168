"""Java that starts quickly: ``python -m tests.support.quick_java`` notes what Spark loads, once for all processes of the tests.

Java of tests lives for seconds, and spends half of them on reading and checking Spark's classes. It maps an archive of them
instead, if there is one for this Java and this Spark; without one, tests only take longer.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import pyspark

from swoop.spark import session, topk_stream
from swoop.spark.java import find_program

FOLDER = Path(__file__).parents[2] / "build" / "java"
# code that is compiled quickly is better than code that is compiled well; the room that Java has for it by default would be
# full after some minutes, and what was thrown out would be compiled again and again
SIMPLE = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
VARIABLES = ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS")


def archives() -> tuple[Path, Path]:
    """Where the classes of this Java, and on top of them those of this Spark, are or would be."""
    java = find_program()
    known = f"{java} {java.stat().st_mtime_ns} {pyspark.__path__[0]} {pyspark.__version__}"
    name = hashlib.sha256(known.encode()).hexdigest()[:16]
    return FOLDER / f"{name}-java.jsa", FOLDER / f"{name}-spark.jsa"


def options() -> str:
    """For processes of Java that live for seconds."""
    below, top = archives()
    return f"{SIMPLE} -XX:SharedArchiveFile={below}:{top} -Xlog:disable" if top.exists() else SIMPLE


def make() -> None:
    """Run what most tests run, in a Java that notes at its end what it has loaded."""
    below, top = archives()
    if top.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([find_program(), "-Xshare:dump", f"-XX:SharedArchiveFile={below}", "-Xlog:disable"], check=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        part = Path(name) / "part.jsa"
        for variable in VARIABLES:
            os.environ[variable] = f"{SIMPLE} -XX:SharedArchiveFile={below} -XX:ArchiveClassesAtExit={part} -Xlog:disable"
        _load(Path(name))
        part.rename(top)


def _load(folder: Path) -> None:
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
