"""From a topic to topics, with a real broker and Spark's own connector: killed on the way, and from the command line.

Tests of swoop.spark.topics.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import swoop
from swoop import oracle
from swoop.errors import SwoopError
from swoop.live.outputs import Owner, find_output
from swoop.oracle import Record
from swoop.spark import topic
from swoop.spark.topics import KafkaOutput
from tests.support.kafka_broker import MISSING, Broker, connector_jars, consume, jars, produce
from tests.support.kafka_driver import HALF
from tests.support.processes import drive
from tests.support.setup import lacking
from tests.support.streams import posts


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One for all tests; each has its own topics."""
    if jars() is None:
        lacking(MISSING)
    with Broker() as found:
        yield found


def test_from_topic_to_topic(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's program, with SASL and TLS: every change is in the topic once and in order, though one process died while it
    wrote and one before the commit.
    """
    for name, value in {
        "KAFKA_SERVERS": broker.secure,
        "KAFKA_USER": broker.user,
        "KAFKA_PASSWORD": broker.password,
        "KAFKA_CA": str(broker.authority),
    }.items():
        monkeypatch.setenv(name, value)
    rows = posts(200, seed=3)
    join = swoop.TopKJoin(10, "40 seconds", track_changes=True)
    for time, name, tokens in sorted((dt.datetime.fromisoformat(row["time"]), row["id"], row["text"].split()) for row in rows):
        join.insert(tokens, time, name)
    expected = [
        (change.kind, change.time, change.pair.newer, change.pair.older, change.pair.similarity) for change in join.changes()
    ]
    lines = [json.dumps(row) for row in rows]
    produce(broker.servers, "posts", [*lines[:100], "{this is no post", *lines[100:]])
    runs = [
        drive("tests.support.kafka_driver", str(tmp_path), *death) for death in ((HALF, "0"), ("before the commit", "3"), ())
    ]
    assert [run.returncode for run in runs] == [-9, -9, 0], [run.stderr[-2000:] for run in runs]
    assert not any(broker.password in run.stdout + run.stderr for run in runs)
    ended = runs[-1]
    found = consume(broker.servers, "changes")
    rejected = consume(broker.servers, "rejected")
    assert ended.stdout.splitlines()[-1] == repr(list(join.topk()))
    changes = [json.loads(record.value or "") for record in found]
    assert [
        (c["kind"], dt.datetime.fromisoformat(c["time"]), c["newer"], c["older"], c["similarity"]) for c in changes
    ] == expected
    assert len({record.key for record in found}) == len(found) > 100
    assert [change["sequence"] for change in changes] == list(range(len(found)))
    (one,) = rejected
    assert json.loads(one.value or "")["reason"] == "the id is null"


DOCS = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def documented(having: str, instead: dict[str, str]) -> list[str]:
    """The words of a command of the documentation, with other words instead of some."""
    (line,) = [line for line in DOCS.splitlines() if line.startswith("    swoop stream kafka://") and having in line]
    words = line.partition("#")[0].split()[1:]
    for theirs, ours in instead.items():
        assert theirs in words
        words[words.index(theirs)] = ours
    return words


def client_properties(broker: Broker) -> str:
    """The file of settings of the documentation, with this broker's password and authority."""
    (text,) = re.findall(r"^    (security\.protocol=.*?)\n\n", DOCS, re.MULTILINE | re.DOTALL)
    for theirs, ours in (
        ('username="swoop" password="..."', f'username="{broker.user}" password="{broker.password}"'),
        ("/etc/ssl/broker.pem", str(broker.authority)),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    return textwrap.dedent(f"    {text}\n")


def _avro(broker: Broker, rows: list[dict[str, Any]], connector: str, folder: Path) -> tuple[str, ...]:
    """The command for the same rows in Avro, with what a registry's serializer writes before each, and for one that is not.

    The producer sends lines, so numbers are such that none is written as the end of a line.
    """
    names = {"id": "long", "time": "string", "text": ["null", "string"]}
    schema = folder / "post.avsc"
    schema.write_text(
        json.dumps({"type": "record", "name": "Post", "fields": [{"name": n, "type": t} for n, t in names.items()]})
    )
    written = [
        "".join(
            (
                "\0\0\0\0\x07",
                chr(2 * row["id"]),
                chr(2 * len(row["time"])),
                row["time"],
                "\x02",
                chr(2 * len(row["text"])),
                row["text"],
            )
        )
        for row in ({**row, "id": row["id"] + 6 if row["id"] < 58 else row["id"] - 58} for row in rows)
    ]
    produce(broker.servers, "avro", [*written, "this is no post"])
    there = {"kafka://broker:9092/posts": f"kafka://{broker.servers}/avro", "post.avsc": str(schema)}
    options = ("--keep", "text", "--jars", connector, "--master", "local[2]")
    return (*documented("--avro-skip", there), "--once", "--json", "-k", "3", "--window", "20s", *options)


def test_options_of_a_topic(spark: SparkSession) -> None:
    """They are checked, and their values are never shown."""
    login = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.jaas.config": 'password="hush";'}
    found = topic("kafka://one:1,two:2/changes", login)
    output = KafkaOutput(found, spark, "run")
    assert output.topic == "one:1,two:2/changes"
    assert repr(found) == "topic('kafka://one:1,two:2/changes', options: kafka.security.protocol, kafka.sasl.jaas.config)"
    assert "hush" not in f"{found} {output} {output!r}"
    assert output._options == {**login, "kafka.bootstrap.servers": "one:1,two:2"}
    (there,) = find_output(found, Owner(), lambda given: KafkaOutput(given, spark, "run"), pytest.fail).outputs
    assert isinstance(there, KafkaOutput)
    for url, options, said in (
        ("kafka://one:1", {}, "names no topic"),
        (
            "kafka://one:1/changes",
            {"security.protocol": "hush"},
            "such as 'kafka.security.protocol'; 'security.protocol' is not",
        ),
        ("kafka://one:1/changes", {"kafka.bootstrap.servers": "hush"}, "the address names the servers"),
        ("kafka://one:1/changes", {"kafka.sasl.jaas.config": b"hush"}, "must be a string, not bytes"),
    ):
        with pytest.raises(SwoopError, match=said) as refused:
            topic(url, options)  # type: ignore[arg-type]
        assert "hush" not in str(refused.value)


def test_from_the_command_line(broker: Broker, tmp_path: Path) -> None:
    """With SASL and TLS: columns are learned from the messages; changes come out of standard output and out of a topic."""
    rows = posts(60, seed=5, disorder=1)
    records = [Record(row["text"].split(), dt.datetime.fromisoformat(row["time"]), row["id"]) for row in rows]
    expected = [
        (change.kind, change.pair.newer, change.pair.older, change.pair.similarity)
        for change in oracle.changes(records, k=3, window="20 seconds", copies="once")
    ]
    connector = connector_jars()
    produce(broker.servers, "messages", [*map(json.dumps, rows), "{this is no post"])
    source, out = (f"kafka://{broker.secure}/{topic}" for topic in ("messages", "found"))
    login = tmp_path / "client.properties"
    login.write_text("# as Kafka's own tools take them\n" + client_properties(broker).replace("sasl.mechanism=PLAIN\n", ""))
    options = ("--once", "--json", "-k", "3", "--window", "20s", "--jars", connector, "--master", "local[2]")
    options = (*options, "--keep", "text", "--kafka-option", "sasl.mechanism=PLAIN", "--checkpoint", str(tmp_path / "state"))
    there = {"kafka://broker:9093/posts": source, "kafka://broker:9093/changes": out, "client.properties": str(login)}
    first = (*documented("--kafka-options", there), *options)
    none = ("stream", f"kafka://{broker.servers}/none", "--once", "--jars", connector)
    ended = drive("tests.support.commands", json.dumps([first, _avro(broker, rows, connector, tmp_path), none]))
    assert ended.returncode == 2, ended.stderr[-2000:]
    assert broker.password not in ended.stdout + ended.stderr
    kept = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    assert not any(broker.password.encode() in data for data in kept)
    found = consume(broker.servers, "found", len(expected))
    printed, in_avro = ended.stdout.splitlines()[: len(expected)], ended.stdout.splitlines()[len(expected) :]
    assert [json.loads(change)["newer_record"] for change in in_avro] == [
        json.loads(change)["newer_record"] for change in printed
    ]
    for changes in (printed, [record.value or "" for record in found]):
        read = map(json.loads, changes)
        assert [(c["kind"], c["newer"], c["older"], c["similarity"]) for c in read] == expected
    texts = {row["id"]: row["text"] for row in rows}
    for change in (json.loads(record.value or "") for record in found):
        assert [change["newer_text"], change["older_text"]] == [texts[change["newer"]], texts[change["older"]]]
    assert "using 'id' as id; using 'time' as time; using 'text' as text" in ended.stderr
    assert "61 rows in" in ended.stderr
    assert "0 late, 1 rejected" in ended.stderr
    assert 'row: cannot read "7468697320' in ended.stderr  # as hexadecimal digits
    assert "there is no topic 'none' at 127.0.0.1:" in ended.stderr.partition("61 rows in")[2]
