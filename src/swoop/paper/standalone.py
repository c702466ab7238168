"""Spark's standalone cluster on this machine: a master and workers with one core, each a process of its own, on loopback."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HOST = "127.0.0.1"


class Cluster:
    """A master and workers, as included in PySpark.

    Attributes
    ----------
    master
        The address for :func:`swoop.spark.session`.
    workers
        The processes of the workers. Executors are their children.
    """

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g") -> None:
        self._folder, self._memory, self._count = folder, memory, 0
        port = _free_port()
        self.master = f"spark://{HOST}:{port}"
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", "--port", str(port))
        self._await(port)
        self.workers = [self._start_worker() for _ in range(workers)]

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        import pyspark

        from swoop.spark.java import find_java

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "JAVA_HOME": find_java(),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [home / "bin/spark-class", main, "--host", HOST, "--webui-port", "0", *arguments],
                env=environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def _await(self, port: int) -> None:
        for _ in range(300):
            with socket.socket() as connection:
                if connection.connect_ex((HOST, port)) == 0:
                    return
            if self._master.poll() is not None:
                break
            time.sleep(0.1)
        self._end(self._master)
        raise RuntimeError(
            f"the Spark master does not listen; its log ends with: {(self._folder / 'master.log').read_text()[-2000:]}"
        )

    def _start_worker(self) -> subprocess.Popen[bytes]:
        self._count += 1
        name = f"worker{self._count}"
        size = ("--cores", "1", "--memory", self._memory, "--work-dir", str(self._folder / name))
        return self._start(name, "org.apache.spark.deploy.worker.Worker", *size, self.master)

    def stop(self) -> None:
        """End the processes that were started, and all their children."""
        for process in (*self.workers, self._master):
            self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # each has a group of its own
        process.wait(30)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """For a child before it runs its program: Linux kills it when the thread that started it ends, however it ends."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        _LIBC.prctl(set_parent_death_signal, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])
