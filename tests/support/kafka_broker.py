"""A real Kafka broker on loopback, and the jars with which Spark reads topics and Avro, for Swoop's tests of streams."""

from __future__ import annotations

import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import uuid
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import pyspark

from swoop.paper.standalone import end_with_parent
from swoop.spark.java import find_java
from tests.support.maven import cache, copy_jars, filling, leave_to_spark

KAFKA = "4.3.1"
SLF4J = "1.7.36"  # what Kafka was built for
SPARK = pyspark.__version__
MISSING = "Kafka is missing: python -m tests.support.setup fetches it with Maven"
SUBSTITUTES = (
    "4.2.0",
    "4.0.0",
    "4.1.1",
)  # of connector, token provider and Avro, for registries without those of the newest Spark

_PROPERTIES = """
process.roles=broker,controller
node.id=1
listeners=BROKER://127.0.0.1:{port},SECURE://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=BROKER://127.0.0.1:{port},SECURE://127.0.0.1:{secure}
listener.security.protocol.map=BROKER:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.secure.plain.sasl.jaas.config={jaas}
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
controlled.shutdown.enable=false
log.dirs={folder}/logs
log.segment.bytes=16777216
log.index.size.max.bytes=1048576
log.cleaner.enable=false
auto.create.topics.enable=true
num.partitions={partitions}
default.replication.factor=1
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
"""
_FIELD, _NULL, _END = "\x1f", "\x1d", "\x1e"  # separate what the console consumer prints


class Record(NamedTuple):
    key: str | None
    value: str | None


def _folder() -> Path:
    return cache() / f"kafka-{KAFKA}-avro-spark-{SPARK}"


def jars() -> Path | None:
    """The folder of the jars, ``broker`` and ``connector``, if they are there."""
    return _folder() if _folder().exists() else None


def fetch() -> None:
    """Get the jars with Maven."""
    with filling(_folder()) as unfinished:
        _fetch_broker(unfinished / "broker")
        _fetch_connector(unfinished / "connector")


def _fetch_broker(folder: Path) -> None:
    copy_jars(
        folder,
        ("org.apache.kafka", "kafka_2.13", KAFKA, "none"),
        ("org.apache.kafka", "kafka-tools", KAFKA, "*"),
        ("org.slf4j", "slf4j-simple", SLF4J, "none"),
    )


def _fetch_connector(folder: Path) -> None:
    try:
        _copy_connector(folder, SPARK, SPARK, SPARK)
    except RuntimeError as problem:
        if "Could not find artifact org.apache.spark:" not in str(problem):
            raise
        _copy_connector(folder, *SUBSTITUTES)
    leave_to_spark(folder)


def _copy_connector(folder: Path, connector: str, tokens: str, avro: str) -> None:
    copy_jars(
        folder,
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector, "org.apache.hadoop"),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", tokens, "org.apache.hadoop"),
        ("org.apache.spark", "spark-avro_2.13", avro, "org.apache.hadoop"),
    )


def connector_jars() -> str:
    """The jars of Spark's connector and of Avro, for the setting ``spark.jars``; warns if they are not of this very Spark."""
    folder = _folder() / "connector"
    found = sorted(folder.glob("*.jar"))
    others = [jar.name for jar in found if jar.name.startswith("spark-") and not jar.name.endswith(f"-{SPARK}.jar")]
    if others:
        with warnings.catch_warnings():  # to be seen in the summary of a test run, and fail none
            warnings.simplefilter("always")
            warnings.warn(
                f"Maven's registry lacks jars for Kafka and Spark {SPARK}, so {' and '.join(others)} stand in for it; "
                f"remove {folder.parent} to look again",
                stacklevel=2,
            )
    return ",".join(map(str, found))


def _java(main: str, *arguments: str | Path, level: str = "error", memory: str = "128m") -> list[str]:
    return [
        f"{find_java()}/bin/java",
        f"-Xmx{memory}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}",
        "-cp",
        f"{_folder()}/broker/*",
        main,
        *map(str, arguments),
    ]


def _run(command: list[str], *, given: str = "", timeout: float) -> str:
    done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=timeout)
    errors = done.stderr.decode()
    if done.returncode or " ERROR " in errors:
        raise RuntimeError(f"A Kafka tool failed: {errors.strip()[:4000]}")
    return done.stdout.decode()


class Broker:
    """One Kafka node, which is broker and controller at once, for the time of a ``with`` block.

    It ends with the thread that started it, so that a test run that dies leaves none behind.
    """

    servers: str
    secure: str
    """The same broker for those who have a password and trust who signed its certificate; ``authority`` is that."""
    user = "swoop"

    def __init__(self, *, partitions: int = 1, patience: float = 60) -> None:
        self.partitions = partitions
        self.password = secrets.token_hex()
        self.patience = patience

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="swoop-kafka-"))
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        self._port, controller, secure = _free_ports(3)
        self.servers, self.secure = f"127.0.0.1:{self._port}", f"127.0.0.1:{secure}"
        _sign(self._folder)
        jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{self.user}="{self.password}";'
        settings = self._folder / "server.properties"
        settings.write_text(
            _PROPERTIES.format(
                port=self._port,
                secure=secure,
                controller=controller,
                folder=self._folder,
                partitions=self.partitions,
                jaas=jaas,
            )
        )
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        _run(_java("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", settings), timeout=self.patience)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                _java("kafka.Kafka", settings, level="warn", memory="256m"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                preexec_fn=end_with_parent,
            )
        end = time.monotonic() + self.patience
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError(f"Kafka ended with {self._process.returncode}: {self.log()}")
            if time.monotonic() > end:
                raise RuntimeError(f"Kafka did not answer within {self.patience:g} s: {self.log()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        """Whether the broker lists itself in its metadata, asked for in the oldest form of Kafka's protocol."""
        metadata, version, correlation, no_name, no_topics = 3, 0, 1, -1, 0
        question = struct.pack(">hhihi", metadata, version, correlation, no_name, no_topics)
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
                connection.sendall(struct.pack(">i", len(question)) + question)
                answer = connection.recv(12)
        except OSError:
            return False
        return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0

    @property
    def authority(self) -> Path:
        return self._folder / "ca.pem"

    @property
    def _log(self) -> Path:
        return self._folder / "kafka.log"

    def log(self, characters: int = 8000) -> str:
        """The last of what Kafka logged."""
        return self._log.read_text(errors="replace")[-characters:]

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _sign(folder: Path) -> None:
    """Make an authority, ``ca.pem``, and a key of the broker with a certificate that it signed, ``server.pem``."""
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2"]
    authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    for command in (
        [*new, "-subj", "/CN=Swoop's tests", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", "/CN=localhost", *authority, "-keyout", "server.key", "-out", "server.crt"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    (folder / "server.pem").write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())


def _free_ports(count: int) -> list[int]:
    """Ports below those that systems give to outgoing connections, so that none takes them before Kafka does."""
    found: set[int] = set()
    while len(found) < count:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return list(found)


def produce(servers: str, topic: str, lines: Iterable[str], *, keys: Iterable[str] | None = None, timeout: float = 60) -> None:
    """Send every line as the value of a record, from another process."""
    command = _java("org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", servers, "--topic", topic)
    records = list(lines)
    if keys is not None:
        command += ["--reader-property", "parse.key=true", "--reader-property", f"key.separator={_FIELD}"]
        records = [f"{key}{_FIELD}{line}" for key, line in zip(keys, records, strict=True)]
    if any(separator in record for record in records for separator in "\r\n"):
        raise ValueError("The console producer ends a record at the end of a line, so that no record can have two lines")
    _run(command, given="".join(f"{record}\n" for record in records), timeout=timeout)


def consume(servers: str, topic: str, count: int | None = None, *, timeout: float = 60) -> list[Record]:
    """The records of a topic from its start: the first that arrive up to a count, or all that there are by now.

    The order is that of the topic only within a partition. Fails if the count is not reached in time.
    """
    where = ("--bootstrap-server", servers, "--topic", topic)
    if count is None:
        offsets = _run(_java("org.apache.kafka.tools.GetOffsetShell", *where), timeout=timeout)
        ends = (line.split(":") for line in offsets.splitlines())  # the tool takes the topic for a pattern
        count = sum(int(end) for name, _, end in ends if name == topic)
    if not count:
        return []
    limits = ("--from-beginning", "--max-messages", str(count), "--timeout-ms", str(int(timeout * 1000)))
    form = ("print.key=true", f"key.separator={_FIELD}", f"null.literal={_NULL}", f"line.separator={_END}")
    options = [option for setting in form for option in ("--formatter-property", setting)]
    found = _run(_java("org.apache.kafka.tools.consumer.ConsoleConsumer", *where, *limits, *options), timeout=timeout + 30)
    return [Record(*(None if field == _NULL else field for field in line.split(_FIELD, 1))) for line in found.split(_END)[:-1]]
