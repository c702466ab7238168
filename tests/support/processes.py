"""Modules of these tests in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress


def drive(module: str, *arguments: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
    """Run a module in a process group of its own, which is ended as a whole: Spark's Java outlives its Python for a while."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, stdin=subprocess.DEVNULL
    ) as process:
        try:
            process.wait(seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
        out, err = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, err)
