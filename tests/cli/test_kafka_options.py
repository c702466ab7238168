"""Settings of Kafka: as people have them, for all topics, and nowhere to be seen. Tests of swoop.cli.kafka_options."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from swoop.cli import console
from swoop.cli.console import info
from swoop.cli.guard import WrongUsage
from swoop.cli.kafka_options import find_options
from swoop.cli.sources import TopicSource, settings_for
from swoop.cli.stream import StreamOptions, quiet_log

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="hush-hush";'


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_secrets", set())


def test_a_file_as_kafkas_own_tools_take_it(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        f"# how to log in\n! really\n\nsecurity.protocol = SASL_SSL\nsasl.jaas.config={JAAS[:40]}\\\n  {JAAS[40:]}\n"
    )
    found = find_options(["kafka.security.protocol=SSL", "ssl.truststore.location=/a=b"], str(file))
    assert found == {
        "kafka.security.protocol": "SSL",
        "kafka.sasl.jaas.config": JAAS,
        "kafka.ssl.truststore.location": "/a=b",
    }


def test_topics_get_them() -> None:
    options = StreamOptions("kafka://a:1/in", changes="kafka://b:2/out", late="late", kafka={"kafka.x": "secret"})
    source = options.find_source(None)
    assert isinstance(source, TopicSource)
    assert source.options == {"kafka.x": "secret"}
    outputs = options.outputs()
    assert outputs["changes"].options == {"kafka.x": "secret"}
    assert outputs["rejected"] is None
    assert "secret" not in f"{source!r} {outputs!r}"
    assert "kafka" in settings_for(["kafka://a:1/in"], None)["spark_sql_redaction_options_regex"]


def test_all_secrets_of_a_login_are_hidden(capfd: pytest.CaptureFixture[str]) -> None:
    login = 'required clientId="me" clientSecret="s3cr3t-value" password="a\\"b-rest" token=abcdef;'
    find_options([f"sasl.jaas.config={login}", "ssl.private.key.passphrase=mellon"], None)
    capfd.readouterr()
    info('shown: me; hidden: s3cr3t-value, a\\"b-rest, abcdef, mellon')
    said = capfd.readouterr().err
    assert "me;" in said
    for secret in ("s3cr3t-value", "b-rest", "abcdef", "mellon"):
        assert secret not in said


def test_secrets_are_in_no_message(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    find_options([f"sasl.jaas.config={JAAS}", "ssl.key.password=s3cr3t", "ssl.keystore.key=MIIEvQ", "client.id=swoop"], None)
    warned = " ".join(capfd.readouterr().err.split())
    assert "others on this machine may see sasl.jaas.config in the list of processes; use --kafka-options FILE" in warned
    assert "client.id" not in warned
    with quiet_log():
        for name in ("swoop.live", "swoop.spark"):
            logging.getLogger(name).error("no login with %s", JAAS)
    info(f"no login with {JAAS} or hush-hush or s3cr3t or MIIEvQ, says swoop")
    said = capfd.readouterr().err + caplog.text + warned
    assert "says swoop" in " ".join(said.split())
    for secret in ("hush-hush", "s3cr3t", "MIIEvQ"):
        assert secret not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hush-hush", "such as security.protocol=SASL_SSL"),
        ("=hush-hush", "such as security.protocol=SASL_SSL"),
        ("pass word=hush-hush", "such as security.protocol=SASL_SSL"),
        ("bootstrap.servers=hush-hush", "leave out bootstrap.servers"),
    ],
)
def test_wrong_ones_are_refused_without_their_values(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "options"
    file.write_text(f"client.id=1\n{text}\n")
    for given, where in ((([text], None), "--kafka-option"), (([], str(file)), f"--kafka-options {file}, line 2")):
        with pytest.raises(WrongUsage, match=says) as refused:
            find_options(*given)
        assert where in str(refused.value)
        assert "hush" not in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="none cannot be read: No such file or directory"):
        find_options([], str(tmp_path / "none"))


def test_jars_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(b"")
    assert settings_for(["kafka://a:1/in"], f"{tmp_path}/a.jar")["spark_jars"] == f"{tmp_path}/a.jar"
    with pytest.raises(WrongUsage, match=r"--jars: there is no file '.*/b\.jar'"):
        settings_for(["kafka://a:1/in"], f"{tmp_path}/a.jar,{tmp_path}/b.jar")
