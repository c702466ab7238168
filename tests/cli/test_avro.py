"""What a file of a schema may be; that messages are read with it is in tests/spark/test_kafka.py. Tests of swoop.cli.avro."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swoop.cli.avro import Avro
from swoop.cli.guard import WrongUsage
from swoop.cli.sources import TopicSource, settings_for
from swoop.cli.stream import StreamOptions

SCHEMA = {"type": "record", "name": "Post", "fields": [{"name": "id", "type": "long"}]}


def test_a_schema_is_of_a_record(tmp_path: Path) -> None:
    file = tmp_path / "post.avsc"
    assert Avro.find(None, 0) is None
    file.write_text(json.dumps(SCHEMA))
    found = Avro.find(str(file), 5)
    assert found is not None
    assert (json.loads(found.schema), found.skip) == (SCHEMA, 5)
    for content, skip, said in (
        ("{", 0, "is not JSON"),
        ('"string"', 0, "is not the schema of a record"),
        (json.dumps({**SCHEMA, "fields": []}), 0, "is not the schema of a record"),
        (json.dumps(SCHEMA), -1, "a number of bytes, not -1"),
    ):
        file.write_text(content)
        with pytest.raises(WrongUsage, match=said):
            Avro.find(str(file), skip)
    with pytest.raises(WrongUsage, match="No such file"):
        Avro.find(str(tmp_path / "none"), 0)
    with pytest.raises(WrongUsage, match="goes with --avro-schema"):
        Avro.find(None, 5)


def test_it_is_for_topics_and_needs_a_package(tmp_path: Path) -> None:
    avro = Avro(json.dumps(SCHEMA))
    found = StreamOptions("kafka://a:1/in", avro=avro).find_source(None)
    assert isinstance(found, TopicSource)
    assert found.avro is avro
    with pytest.raises(WrongUsage, match="for a source that is a topic"):
        StreamOptions(str(tmp_path), avro=avro).find_source(None)
    with pytest.raises(WrongUsage, match="mutually exclusive"):
        StreamOptions("kafka://a:1/in", avro=avro, schema="id long").find_source(None)
    packages = settings_for(["kafka://a:1/in"], None, True)["spark_jars_packages"]
    assert [one.split(":")[1] for one in packages.split(",")] == ["spark-sql-kafka-0-10_2.13", "spark-avro_2.13"]
