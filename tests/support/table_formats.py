"""Changes that go into a table of Delta or Iceberg, in a process: python -m tests.support.table_formats FORMAT FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from swoop.spark import session, topk_changes, words
from swoop.spark.versions import minor_version
from tests.support.changes import posts, source
from tests.support.maven import cache, copy_jars, filling, leave_to_spark
from tests.support.streams import write_files

SPARK = ".".join(map(str, minor_version()))
VERSIONS = {"delta": {"4.0": "4.4.0", "4.1": "4.4.0", "4.2": "4.4.0"}, "iceberg": {"4.0": "1.11.0", "4.1": "1.12.0"}}
"""Those that Maven's registry has, by format and version of Spark."""

ARTIFACTS = {"delta": ("io.delta", "delta-spark_{}_2.13"), "iceberg": ("org.apache.iceberg", "iceberg-spark-runtime-{}_2.13")}

SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}


def available() -> list[str]:
    """The formats that there are for this version of Spark."""
    return [name for name, versions in VERSIONS.items() if SPARK in versions]


def fetch(name: str) -> str:
    """The jars of a format, for the setting ``spark.jars``."""
    version = VERSIONS[name][SPARK]
    folder = cache() / f"{name}-{version}-spark-{SPARK}"
    if not folder.exists():
        group, artifact = ARTIFACTS[name]
        with filling(folder) as unfinished:
            copy_jars(unfinished, (group, artifact.format(SPARK), version, "org.apache.spark"))
            leave_to_spark(unfinished)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))


def run(rows: DataFrame, checkpoint: Path, name: str, table: str) -> None:
    """Let what is there go to a table, or to a folder if the name has none."""
    writer = rows.writeStream.format(name).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start(table) if name == "parquet" else writer.toTable(table)
    assert query.awaitTermination(240)


def main(name: str, folder: Path) -> None:
    """The same changes in the table as in plain files, although the query is started a second time."""
    settings: dict[str, Any] = {**SETTINGS[name], "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    if name == "iceberg":
        settings["spark.sql.catalog.lake.warehouse"] = f"file:{folder}/warehouse"
    spark = session("local[2]", spark_sql_shuffle_partitions=2, spark_jars=fetch(name), **settings)
    table = "lake.changes" if name == "iceberg" else "changes"
    rows = posts(200)
    for first in (0, 100):
        write_files(folder / "in", rows[first : first + 100], 2, first=first // 50)
        for sink, where in ((name, table), ("parquet", f"{folder}/out")):
            changes = topk_changes(source(spark, folder / "in"), 3, "20 seconds", tokens=words("text"), max_ahead="1 hour")
            if sink == "iceberg" and not first:
                spark.createDataFrame([], changes.schema).writeTo(where).using("iceberg").create()
            run(changes, folder / f"state-{sink}", sink, where)
    in_table, in_files = (
        sorted(map(str, found.collect())) for found in (spark.table(table), spark.read.parquet(f"{folder}/out"))
    )
    differing = [pair for pair in zip(in_table, in_files, strict=False) if pair[0] != pair[1]][:2]
    print(json.dumps({"changes": len(in_files), "rows": len(in_table), "differing": differing}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
