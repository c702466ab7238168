"""Modules of these tests in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress


def drive(module: str, *arguments: str, seconds: float = 240, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run a module in a process group of its own, which is ended as a whole: Spark's Java outlives its Python for a while."""
    command = [python, "-m", module, *arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:  # a pipe that is full would stop it
        with subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True, stdin=subprocess.DEVNULL) as process:
            try:
                process.wait(seconds)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, out.read(), err.read())
