"""Spark's standalone cluster on this machine: a master and workers, each a process of its own, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyspark

from swoop.spark.java import find_java

HOST = "127.0.0.1"


class Cluster:
    """A master and workers with one core each. Executors are children of their worker."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder, self._count = folder, 0
        self._port = _free_port()
        self.master = f"spark://{HOST}:{self._port}"
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", "--port", str(self._port))
        self._await_port()
        self.workers = [self._start_worker() for _ in range(workers)]

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
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
            )

    def _await_port(self) -> None:
        for _ in range(300):
            with socket.socket() as connection:
                if connection.connect_ex((HOST, self._port)) == 0:
                    return
            assert self._master.poll() is None, (self._folder / "master.log").read_text()
            time.sleep(0.1)
        raise AssertionError("the master does not listen")

    def _start_worker(self) -> subprocess.Popen[bytes]:
        self._count += 1
        name = f"worker{self._count}"
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / name))
        return self._start(name, "org.apache.spark.deploy.worker.Worker", *size, self.master)

    def executor(self, worker: int) -> psutil.Process | None:
        """The executor that a worker runs at the moment."""
        for child in psutil.Process(self.workers[worker].pid).children():
            if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline()):
                return child
        return None

    def kill_executor(self, worker: int) -> None:
        executor = self.executor(worker)
        assert executor is not None
        executor.kill()

    def kill_worker(self, worker: int) -> None:
        self.workers[worker].kill()
        self.workers[worker].wait()

    def stop_worker(self, worker: int) -> None:
        self.workers[worker].terminate()
        self.workers[worker].wait(30)

    def bring_back(self, worker: int) -> None:
        self.workers[worker] = self._start_worker()

    def stop(self) -> None:
        started = [self._master, *self.workers]
        families = [psutil.Process(one.pid) for one in started if one.poll() is None]
        everybody = [process for one in families for process in (*one.children(recursive=True), one)]
        for process in everybody:
            if process.is_running():
                process.kill()
        for one in started:
            one.wait(30)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])
