"""Spark sessions with good settings for Swoop."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkConf
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from swoop.spark.java import find_java
from swoop.spark.versions import ROCKS_DB, STORE

STATE_SETTINGS = {
    STORE: ROCKS_DB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_SETTINGS = {
    **STATE_SETTINGS,
    "spark.driver.maxResultSize": "0",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
}


def session(master: str | None = None, *, name: str = "swoop", memory: str = "2g", **settings: Any) -> SparkSession:
    """The active Spark session, or a new one with good settings.

    Parameters
    ----------
    master
        Where to run: ``"local[4]"``, ``"spark://host:7077"``, ``"sc://host:15002"`` (Spark Connect), ...; by default the
        server that ``SPARK_REMOTE`` names, else all cores of this machine. An active session is used as it is, and a program
        that was started by ``spark-submit`` runs where that says.
    name
        What the session is called in Spark's own pages.
    memory
        Of the driver, which does all the work in local mode.
    settings
        More of Spark's settings, with underscores for dots: ``spark_sql_shuffle_partitions=200``. Names with dots are taken as
        they are: ``**{"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}``.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    given = {key if "." in key else key.replace("_", "."): str(value) for key, value in settings.items()}
    wanted = {**_SETTINGS, **given}
    builder = SparkSession.builder.appName(name)
    if master is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has said where, and how
        submitted = SparkConf()
        wanted = {key: value for key, value in wanted.items() if key in given or not submitted.contains(key)}
    elif (master := master or os.environ.get("SPARK_REMOTE") or "local[*]").startswith("sc://"):
        builder = builder.remote(master)  # a server has its own Java, memory and addresses
        wanted = {key: value for key, value in wanted.items() if key.startswith("spark.sql.")}
    else:
        os.environ["JAVA_HOME"] = find_java()
        if master.startswith(("local", "spark://127.", "spark://localhost:")):  # elsewhere, executors must reach the driver
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            wanted = {**_LOOPBACK, **wanted}
        if master.startswith("local"):  # Spark would take whatever python3 is on the path
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master).config("spark.driver.memory", memory)
        quiet = Path(__file__).with_name("log4j2.properties").as_uri()
        # the stack: Spark looks for a pattern in the message of a batch that is interrupted, which overflows the usual one
        builder = builder.config("spark.driver.extraJavaOptions", f"-Xss16m -Dlog4j2.configurationFile={quiet}")
        builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for key, value in wanted.items():
        builder = builder.config(key, value)
    for what in ("SQL", "DataFrame"):  # they repeat each error that is raised, in one line with all of Java's stack
        PySparkLogger.getLogger(f"{what}QueryContextLogger").setLevel(logging.CRITICAL)
    return builder.getOrCreate()
