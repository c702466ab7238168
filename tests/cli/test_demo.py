"""The demonstration runs by itself, ends by itself, and leaves a page."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from swoop.cli.app import app


def test_it_ends_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    report = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["demo", "--seconds", "8", "--report", str(report)])
    assert done.exit_code == 0, done.output
    assert re.search(r"live page: http://127.0.0.1:\d+/", done.stderr)
    assert re.search(r"In \d+ seconds [\d,]+ posts arrived", done.stdout)
    assert "\x1b" not in done.stdout
    page = report.read_text(encoding="utf-8")
    assert "The most similar posts" in page
    assert "Families over time" in page


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "swoop.cli", "demo", "--forever", "--no-page", "--report", str(tmp_path / "page.html")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "in the window" in line:
                    break
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, rest
    assert "posts arrived" in rest
    assert "Traceback" not in rest
