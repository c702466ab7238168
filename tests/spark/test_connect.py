"""Spark Connect: a server on loopback, a client in a process of its own, and the same results.

The client is another process because a Python process is either a client or has a Spark of its own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import swoop
from swoop.errors import InvalidArgument, InvalidFile, UnusableRows
from swoop.live.stream_spec import StreamSpec
from swoop.spark import (
    at_least_once,
    every,
    explain,
    families_changes,
    families_history,
    families_stream,
    family_members,
    register,
    rejected,
    result_files,
    session,
    timestamps,
    topk_changes,
    topk_history,
    topk_stream,
    words,
)
from swoop.spark.java import find_java
from swoop.spark.versions import minor_version
from swoop.spec import JoinSpec
from tests.conftest import QUICK_SPARK
from tests.support.changes import posts, source
from tests.support.frames import SCHEMA, collected, frame, history
from tests.support.judge import judge
from tests.support.live_cases import Row, Run, families
from tests.support.live_judge import arrivals, expected
from tests.support.slices import stays_of
from tests.support.streams import write_files

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
HISTORIES: dict[str, dict[str, Any]] = {
    "one stream": {"seed": 0, "two_streams": False, "slices": None},
    "one stream in slices": {"seed": 1, "two_streams": False, "slices": 3},
    "two streams": {"seed": 2, "two_streams": True, "slices": None},
    "two streams in slices": {"seed": 3, "two_streams": True, "slices": 3},
    "one stream in slices of a length": {"seed": 4, "two_streams": False, "slices": every(20)},
}
STAY = ("newer", "older", "similarity", "overlap", "enter", "leave")
ROWS = [
    (1, "2024-01-01T12:00:00Z", "free phone", "left"),
    (2, "2024-01-01T14:10:00+02:00", "Free PHONE!", "left"),
    (3, "some day", "free phone", "left"),
    (None, "2024-01-01T12:00:00Z", "free phone", "left"),
    (4, "2024-01-01T15:00:00Z", None, "left"),
    (5, "2024-01-01T15:00:00Z", "good morning", "left"),
]


def environment(**more: str) -> dict[str, str]:
    """Without what would make a process a client."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return {**kept, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": QUICK_SPARK, **more}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a client's environment needs to know of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    token = secrets.token_hex()
    log = tmp_path / "log"
    options = [f"--conf={key}={value}" for key, value in {**SETTINGS, "spark.connect.grpc.binding.port": port}.items()]
    known = {"JAVA_HOME": find_java(), "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                home / "bin" / "spark-submit",
                "--master=local[2]",
                "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
                *options,
                "spark-internal",
            ],
            env=environment(**known, SPARK_CONNECT_AUTHENTICATE_TOKEN=token),
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(port, process, log)
        yield {"SPARK_REMOTE": f"sc://localhost:{port}", "SPARK_CONNECT_AUTHENTICATE_TOKEN": token}
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    last = time.monotonic() + 240
    while time.monotonic() < last and process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"the server does not answer:\n{log.read_text()[-5000:]}")


def answers_of_a_client(server: dict[str, str]) -> dict[str, Any]:
    """What a client gives out that has no Java."""
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import client; client()"],
        env=environment(**server, JAVA_HOME="/nowhere"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def client() -> None:
    """Runs in a process of its own."""
    piped = tempfile.TemporaryDirectory()
    with redirect_stdout(sys.stderr):
        run_pipeline(Path(piped.name))
    spark = session()
    found: dict[str, Any] = {"session": type(spark).__module__, "pipeline": in_pipeline(spark)}
    piped.cleanup()
    for name, options in HISTORIES.items():
        found[name] = collected(over_connect(spark, **options))
    raw = spark.createDataFrame(ROWS, "name int, at string, text string, side string")
    sets = raw.select("name", timestamps("at").alias("when"), words("text").column().alias("items"), "side")
    found["words"] = [row["items"] for row in sets.orderBy("name").collect()]
    names = {"id": "name", "time": "when", "tokens": "items"}
    found["rejected"] = sorted((row["name"] or 0) for row in rejected(sets, **names).collect())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        stays = topk_history(sets, 3, "1 hour", **names)
    found["warned"] = [str(warning.message) for warning in warned if warning.category is UnusableRows]
    found["timestamps"] = collected(stays.selectExpr("newer", "older", "cast(enter as string)", "cast(leave as string)"))
    records = history(60, 9)
    pairs = at_least_once(topk_history(frame(spark, records), 2, 5))
    found["at least once"] = [[row["newer"], row["older"], row["stays"]] for row in pairs.collect()]
    found["defined"] = defined(spark)
    found["no rows"] = collected(topk_history(spark.createDataFrame([], SCHEMA), 3, 10))
    found["by key"] = by_key(spark)
    found["changes"] = changes_over_connect(spark)
    found["sql"] = in_sql(spark)
    spark.stop()
    print(json.dumps(found))


def defined(spark: SparkSession) -> list[str]:
    """What happens when a history is defined of rows that nobody can read: nothing, or what reading them says."""
    sets = frame(spark, history(20, 1)).withColumn(
        "time", F.when(F.col("id") >= 0, F.raise_error(F.lit("was read")).cast("long"))
    )
    said = []
    for slices in (every(20), 3):
        try:
            topk_history(sets, 2, 5, slices=slices, by="stream").createOrReplaceTempView("defined")
            said.append("nothing")
        except Exception as error:
            said.append("was read" if "was read" in str(error) else repr(error))
    return said


def in_sql(spark: SparkSession) -> dict[str, Any]:
    """What SQL gives for two tenants, and for words; and what is refused when it is analysed."""
    register(spark)
    sets = frame(spark, history(100, 4)).selectExpr("*", "id % 2 AS tenant").repartition(3)
    sets.createOrReplaceTempView("sets")
    stays = spark.sql("SELECT * FROM swoop_topk(TABLE(sets), k => 4, window => 9, by => 'tenant')")
    kin = spark.sql("SELECT * FROM swoop_families(TABLE(sets), min_similarity => 0.5, window => 9, by => 'tenant')")
    asked = "SELECT swoop_words('Free PHONE') w, swoop_similarity('dice', array('a', 'a'), array('a', 'b')) s"
    scalars = spark.sql(asked).collect()[0]
    try:
        refused = str(spark.sql("SELECT * FROM swoop_topk(TABLE(sets), k => 0, window => 9, by => 'tenant')").collect())
    except Exception as error:  # whatever it is, it comes over the line
        refused = str(error)
    found = {"stays": collected(stays), "families": collected(kin), "refused": refused}
    return {**found, "words": scalars["w"], "similarity": scalars["s"]}


def check_sql(found: dict[str, Any]) -> None:
    records = history(100, 4)
    for tenant in (0, 1):
        mine = [replace(record, id=n) for n, record in enumerate(records) if n % 2 == tenant]
        expected = stays_of(mine, k=4, window=9)
        assert [tuple(stay[1:]) for stay in found["stays"] if stay[0] == tenant] == expected
        assert len(expected) > 10
        columns = {
            "id": [r.id for r in mine],
            "time": [r.time for r in mine],
            "tokens": [list(map(str, r.tokens)) for r in mine],
        }
        kin = swoop.families_history(columns, 0.5, 9).to_arrow().to_pylist()
        assert [tuple(family[1:]) for family in found["families"] if family[0] == tenant] == sorted(
            (tuple(family.values()) for family in kin), key=repr
        )
        assert len(kin) > 1
    assert (found["words"], found["similarity"]) == (["free", "phone"], 2 / 3)
    assert "k must be at least 1, not 0" in found["refused"]


def by_key(spark: SparkSession) -> list[Any]:
    """Stays of records of two tenants, where copies count once, with what is kept and what is shared; and families."""
    sets = frame(spark, history(100, 4)).selectExpr("*", "id % 2 AS tenant", "concat('set ', id) AS name").repartition(3)
    stays = topk_history(sets, 4, 9, by="tenant", keep="name", copies="once", slices=3)
    columns = ["tenant", *STAY, "newer_name", "older_name"]
    shared = explain(topk_history(sets, 4, 9, slices=every(20)), sets).selectExpr("newer", "older", "size(shared)", "overlap")
    options: dict[str, Any] = {"by": "tenant", "slices": every(20)}
    kin = families_history(sets, 0.5, 9, keep="name", **options).drop("first_seen", "last_seen")
    members = family_members(sets, 0.5, 9, **options).select("tenant", "id", "family")
    return [collected(found) for found in (stays.select(columns), shared, kin, members)]


def check_by_key(found: list[Any]) -> None:
    stays, shared, kin, members = found
    records = history(100, 4)
    for tenant in (0, 1):
        mine = [record for n, record in enumerate(records) if n % 2 == tenant]
        columns = {
            "id": [2 * n + tenant for n in range(len(mine))],
            "time": [record.time for record in mine],
            "tokens": [list(map(str, record.tokens)) for record in mine],
        }
        once = swoop.history(columns, 4, 9, copies="once").to_arrow().to_pylist()
        expected = [[*(stay[name] for name in STAY), f"set {stay['newer']}", f"set {stay['older']}"] for stay in once]
        assert sorted((stay[1:] for stay in stays if stay[0] == tenant), key=repr) == sorted(expected, key=repr)
        families = swoop.families_history(columns, 0.5, 9)
        told = [[row["id"], row["size"], row["total"], row["representative"]] for row in families.to_arrow().to_pylist()]
        assert sorted(row[1:-1] for row in kin if row[0] == tenant) == sorted(told)
        assert sum(row[0] == tenant for row in members) == sum(row[2] for row in told)
    assert all(row[-1] == f"set {row[-2]}" for row in kin)
    assert all(size == overlap for _, _, size, overlap in shared)
    assert min(len(stays), len(shared), len(kin), len(members)) > 5


POSTS = ["win a free phone", "lovely morning", "win a free car", "coffee first", "late train"]


def run_pipeline(folder: Path) -> None:
    """Run the pipeline that docs/spark.md shows, by what the command spark-pipelines runs."""
    if minor_version() < (4, 1):
        return
    from pyspark.pipelines import cli

    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8").partition("### In a declarative pipeline")[2]
    code, settings = (re.findall(rf"(?ms)^```{kind}\n(.+?)^```$", page)[0] for kind in ("python", "yaml"))
    for name in ("posts", "transformations"):
        (folder / name).mkdir()
    rows = [{"id": n, "time": f"2024-05-01T12:{n:02}:00", "text": text} for n, text in enumerate(POSTS)]
    (folder / "posts" / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "transformations" / "posts.py").write_text(code.replace('"posts"', f'"{folder}/posts"'))
    spec = folder / "spark-pipeline.yaml"
    spec.write_text(settings.replace("/data/pipeline", f"{folder}/pipeline"))
    cli.run(spec, full_refresh=[], full_refresh_all=False, refresh=[], dry=False)


def in_pipeline(spark: SparkSession) -> list[Any]:
    """The tables that the pipeline has made."""
    if minor_version() < (4, 1):
        return []
    changes = spark.table("changes").selectExpr("kind", "rank", "newer", "older")
    return [collected(changes), collected(spark.table("stays").select("newer", "older", "overlap"))]


def over_connect(spark: SparkSession, seed: int, two_streams: bool, slices: Any) -> Any:
    sets = frame(spark, history(120, seed, two_streams), seed).repartition(3)
    return topk_history(sets, 4, 9, "cosine", stream="stream" if two_streams else None, slices=slices)


LIVE: dict[str, Any] = {"window": 15, "time": "tick", "lateness": 2}


def live_rows() -> list[dict[str, Any]]:
    return [row for row in posts(100) if row["tick"] < 10**9]


def changes_over_connect(spark: SparkSession) -> dict[str, Any]:
    """Changes of live streams, whose queries the server runs; and what is said of those that it cannot."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name) / "in", live_rows(), 2)
        sets = source(spark, Path(name) / "in")
        for what, changes in defined_changes(sets, found).items():
            writer = changes.writeStream.format("parquet").option("checkpointLocation", f"{name}/{what}-state")
            writer.trigger(availableNow=True).start(f"{name}/{what}").awaitTermination(120)
            rows = spark.read.parquet(f"{name}/{what}").where("reason is null").orderBy("sequence")
            found[what] = collected(rows.drop("sequence", "reason", "row"))
        calls: dict[str, Callable[[], Any]] = {
            "topk_stream": lambda: topk_stream(sets, 3, **LIVE),
            "families_stream": lambda: families_stream(sets, 0.6, **LIVE),
            "result_files": lambda: result_files("s3a://bucket/changes"),
            "result_files of a session": lambda: result_files("s3a://bucket/changes", spark),
            "result_files here": lambda: result_files(name),
        }
        for what, call in calls.items():
            try:
                found[what] = f"gives {call()}"
            except (InvalidArgument, InvalidFile) as error:
                found[what] = str(error)
    return found


def defined_changes(sets: DataFrame, found: dict[str, Any]) -> dict[str, DataFrame]:
    """Changes as DataFrames, where Spark has what they need; else what is said of that."""
    try:
        return {"pairs": topk_changes(sets, 3, **LIVE), "families": families_changes(sets, 0.6, **LIVE)}
    except InvalidArgument as error:
        found["changes"] = str(error)
        return {}


def check_changes(found: dict[str, Any]) -> None:
    assert "use topk_changes, which gives the same changes" in found["topk_stream"]
    assert "use families_changes, which gives the same changes" in found["families_stream"]
    for what in ("result_files", "result_files of a session"):
        assert "use spark.read.parquet with the folder" in found[what]
    assert found["result_files here"] == "gives []"
    if minor_version() < (4, 1):
        assert "over Spark Connect, topk_changes needs Spark 4.1 or newer" in found["changes"]
        return
    rows = [Row(row["id"], row["tick"], tuple(row["tokens"])) for row in live_rows()]
    half = -(-len(rows) // 2)
    spec = StreamSpec(JoinSpec(3, LIVE["window"]), lateness=LIVE["lateness"], time_kind="integer")
    case = Run([rows[:half], rows[half:]], frozenset(), spec)
    judged = judge(arrivals(case, flushed=False)[0], **case.options())
    pairs = [
        [c.time, c.kind, rank, c.pair.similarity, c.pair.newer, c.pair.older, c.pair.overlap, c.pair.start, c.pair.end]
        for c, rank in zip(judged.changes, judged.ranks, strict=True)
    ]
    assert sorted(found["pairs"], key=repr) == sorted(pairs, key=repr)
    of_families = expected(replace(case, spec=families(spec, 0.6)), flushed=False)[0]
    assert sorted(found["families"], key=repr) == sorted(map(list, of_families), key=repr)
    assert min(len(pairs), len(of_families)) > 30


def test_over_connect(server: dict[str, str]) -> None:
    """One test, so that tests in parallel need one server."""
    answers = answers_of_a_client(server)
    assert answers["session"] == "pyspark.sql.connect.session"

    for name, options in HISTORIES.items():
        seed, two_streams = options["seed"], options["two_streams"]
        expected = stays_of(history(120, seed, two_streams), k=4, window=9, similarity="cosine", two_streams=two_streams)
        assert [tuple(stay) for stay in answers[name]] == expected, name
        assert len(expected) > 50

    phone, morning = ["free", "phone"], ["good", "morning"]
    assert answers["words"] == [phone, phone, phone, phone, None, morning]
    assert answers["timestamps"] == [[2, 1, "2024-01-01 12:10:00", "2024-01-01 13:00:00"]]

    assert answers["rejected"] == [0, 3, 4]
    (message,) = answers["warned"]
    assert message.startswith("3 rows are unusable")
    assert answers["no rows"] == []
    assert answers["defined"] == ["nothing", "was read"]

    check_sql(answers["sql"])
    check_by_key(answers["by key"])
    assert answers["pipeline"] == ([] if minor_version() < (4, 1) else [[["enter", 1, 2, 0]], [[2, 0, 3]]])
    stays: dict[Any, int] = {}
    for stay in stays_of(history(60, 9), k=2, window=5):
        stays[stay[:2]] = stays.get(stay[:2], 0) + 1
    assert {(newer, older): count for newer, older, count in answers["at least once"]} == stays

    check_changes(answers["changes"])
