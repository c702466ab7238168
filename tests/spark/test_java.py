"""Java is found, or provided, or asked for in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swoop.spark import java

COUNT = """
import swoop.spark.java as java
java._on_machine = lambda: None
from swoop.spark import session
spark = session("local[1]")
print(spark.range(1000).selectExpr("sum(id) as s").first()["s"], java.find_java())
spark.stop()
"""


def test_versions(tmp_path: Path) -> None:
    program = tmp_path / "java"
    for text, version in (('openjdk version "17.0.2"', 17), ('java version "1.8.0_1"', 8), ("nonsense", None)):
        program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
        program.chmod(0o700)
        assert java.java_version(program) == version
    assert java.java_version(tmp_path / "missing") is None


def test_an_old_java_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "java"
    program.write_text("#!/bin/sh\necho 'version \"11.0.1\"' >&2\n")
    program.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java._on_machine() is None


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_on_machine", lambda: None)
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(java.NoJava, match="Spark needs Java 17 or newer, and there is none; install one with"):
        java.find_java()


def test_spark_runs_on_the_java_from_the_package() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME" and not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=180, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "499500"
    assert "swoop-java" in done.stdout
