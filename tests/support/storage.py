"""Real stores on loopback for Swoop's tests: Hadoop's own mini cluster of HDFS, and a server that speaks S3 (moto).

Each runs in a process of its own for the time of a ``with`` block, and ends with the process that started it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from swoop.paper.standalone import end_with_parent
from swoop.spark.java import find_java
from tests.support.maven import SPARK_JARS, cache, copy_jars, filling, leave_to_spark
from tests.support.quick_java import SIMPLE

HADOOP = next(re.findall(r"(\d.*)\.jar", jar.name)[0] for jar in SPARK_JARS.glob("hadoop-client-api-*.jar"))
AWS = {"3.4.1": "2.25.53", "3.4.2": "2.29.52"}.get(HADOOP, "2.35.4")  # 3.4.1 was built with 2.24.6, which is gone
ACCELERATOR = "1.3.1"
MISSING = "HDFS and S3A are missing: python -m tests.support.setup fetches them with Maven"
KEYS = {"access": "reader", "secret": "writer"}  # moto takes any
BUCKET = "swoop-tests"


def _folder() -> Path:
    return cache() / f"hadoop-{HADOOP}-aws-{AWS}"


def jars() -> Path | None:
    """The folder of the jars, ``hdfs`` and ``s3a``, if they are there."""
    return _folder() if _folder().exists() else None


def fetch() -> None:
    """Get the jars with Maven. Of Amazon's SDK only what S3A needs: all of it together has 700 MB."""
    with filling(_folder()) as unfinished:
        copy_jars(unfinished / "hdfs", ("org.apache.hadoop", "hadoop-client-minicluster", HADOOP, "*"))
        sdk = "software.amazon.awssdk"
        copy_jars(
            unfinished / "s3a",
            ("org.apache.hadoop", "hadoop-aws", HADOOP, "*"),
            ("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", ACCELERATOR, "*"),
            *((sdk, name, AWS, "none") for name in ("s3-transfer-manager", "sts", "apache-client", "netty-nio-client")),
        )
        leave_to_spark(unfinished / "s3a")


@contextmanager
def hdfs() -> Iterator[str]:
    """The address of a file system with one node for names and one for data."""
    folder = Path(tempfile.mkdtemp(prefix="swoop-hdfs-"))
    (py4j,) = SPARK_JARS.glob("py4j-*.jar")
    try:
        with (folder / "log").open("w") as log:
            port, process = launch_gateway(
                classpath=f"{_folder()}/hdfs/*:{SPARK_JARS}/*",
                jarpath=str(py4j),
                java_path=f"{find_java()}/bin/java",
                javaopts=["-Xmx256m", *SIMPLE.split(), "-Djava.net.preferIPv4Stack=true"],
                redirect_stdout=log,
                redirect_stderr=log,
                die_on_exit=True,
                create_new_process_group=True,
                return_proc=True,
            )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        try:
            yield str(_name_node(gateway.jvm, folder).getURI().toString()).replace("localhost", "127.0.0.1")
        finally:
            gateway.close()
            process.stdin.close()  # it ends with this
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _name_node(jvm: Any, folder: Path) -> Any:
    settings = jvm.org.apache.hadoop.hdfs.HdfsConfiguration()
    settings.set("hdfs.minidfs.basedir", str(folder))
    settings.set("dfs.permissions.enabled", "false")
    settings.set("dfs.namenode.replication.min", "1")
    return getattr(jvm.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")(settings).numDataNodes(1).build()


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """Spark's settings for a server with an empty bucket."""
    command = [sys.executable, "-m", "tests.support.storage"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError("the S3 server did not start")
            yield s3_settings(address)
        finally:
            process.terminate()


def s3_settings(address: str) -> dict[str, str]:
    """What a session needs for S3: the jars, and where the server is."""
    options = {
        "endpoint": address,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": KEYS["access"],
        "secret.key": KEYS["secret"],
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}


def s3_jars() -> str:
    """The jars of S3A, for the setting ``spark.jars``: with another class path, Java could not use the archive of classes."""
    return ",".join(sorted(map(str, _folder().glob("s3a/*.jar"))))


def serve() -> None:
    """Be the server: one request at a time, so that a put with a condition is one step, as it is on Amazon's."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def run_wsgi(self) -> None:
            del self.headers["Expect"]  # asked before all of a body is sent; Amazon's client takes the answer for the last one
            super().run_wsgi()

        def log(self, type: str, message: str, *args: Any) -> None:
            pass

    lock = threading.Lock()
    application = DomainDispatcherApplication(create_backend_app)

    def one_at_a_time(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with lock:
            return [b"".join(application(environ, start_response))]

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    import urllib.request

    request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
    request.add_header("Authorization", f"AWS4-HMAC-SHA256 Credential={KEYS['access']}/20260101/us-east-1/s3/aws4_request")
    with urllib.request.urlopen(request):
        print(address, flush=True)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    serve()
