"""The program as a whole: quick help, the version, the doctor, and commands that pass on to others.

Tests of swoop.cli.__main__, swoop.cli.console, swoop.cli.doctor, swoop.cli.guard, swoop.cli.help, swoop.cli.options.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest
from typer.testing import CliRunner

from swoop import __version__
from swoop.cli import doctor
from swoop.cli.guard import guarded
from swoop.installing import how_to_install
from tests.support.command_line import run

HEAVY = ("pyspark", "numba", "pandas", "pyarrow", "numpy", "fastapi")


def loaded_by(*arguments: object) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """A command in a process of its own, and the modules that it has loaded."""
    code = """
import sys
from swoop.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, set(done.stderr.splitlines()[-1].split())


def test_help_is_quick() -> None:
    done, loaded = loaded_by("run", "--help")
    assert done.returncode == 0, done.stderr
    assert "Examples" in done.stdout
    assert not loaded & set(HEAVY)
    assert len(loaded) < 500  # it is what takes the time


def test_a_wrong_column_is_told_at_once(tmp_path: Path) -> None:
    """Before the engine and Spark are loaded, which take longer than all the rest."""
    path = tmp_path / "posts.csv"
    path.write_text("id,time,text\n1,2024-05-01,win a phone\n")
    done, loaded = loaded_by("run", path, "--text", "txt")
    assert done.returncode == 2, done.stderr
    assert "there is no column 'txt' for --text" in done.stderr
    assert not loaded & {"numba", "pandas", "pyspark", "swoop.engine"}


@pytest.mark.parametrize("command", ["run", "stream", "explain", "demo", "doctor"])
def test_help_has_examples(command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"swoop {command}" in done.output.split("Examples")[1]


def test_version_and_wrong_usage() -> None:
    assert run("--version").output == f"swoop {__version__}\n"
    assert run("fly").exit_code == 2
    assert run("run").exit_code == 2
    module = subprocess.run([sys.executable, "-m", "swoop.cli", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == f"swoop {__version__}\n"


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("doctor", "--json")
    assert done.exit_code == 0, done.output
    found = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert {"Python", "numba", "Numba cache", "Java", "memory", "cores", "disk"} <= found.keys()
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "pyspark" else real(package))
    without = run("doctor")  # as README installs the library alone
    assert without.exit_code == 0, without.output
    assert re.search("advice +extra spark", without.stdout)
    assert "(only for Spark: swoop stream" in " ".join(without.stdout.split())
    assert "pip install " in without.stdout
    assert "everything required is present" in without.stderr
    sick = run("doctor", "--spark")
    assert sick.exit_code == 1
    assert "missing  extra spark" in sick.stdout
    assert "something required is missing" in sick.stderr
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "pandas" else real(package))
    assert run("doctor").exit_code == 1  # a Spark that does not work


@pytest.mark.parametrize(
    ("version", "state", "found", "advice"),
    [
        ("4.0.0", "ok", "4.0.0 (supported: 4.0 to 4.", ""),
        ("3.5.9", "missing", "3.5.9, older than 4.0", how_to_install("spark")),
        ("4.99.1", "advice", "4.99.1, newer than 4.", "Swoop was tested with 4.0 to 4."),
    ],
)
def test_doctor_knows_which_spark_is_supported(
    version: str, state: str, found: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: version if package == "pyspark" else real(package))
    done = run("doctor", "--json")
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    told = findings["Spark version"]
    assert told["state"] == state
    assert told["found"].startswith(found)
    assert told["advice"].startswith(advice)
    assert ("Java" in findings) == (done.exit_code == 0) == (state != "missing")


@pytest.mark.parametrize(
    ("requirement", "kernels", "state", "found"),
    [
        ("numba==0.70.0", 20, "ok", "20 compiled kernels came with the package, and are in use"),
        ("numba==0.1.2", 0, "advice", "made for Numba 0.1.2, and you have 0."),
        (f"numba=={numba.__version__}", 0, "advice", "other processors"),
        ("numba>=0.62", 0, None, ""),
    ],
)
def test_doctor_says_whether_machine_code_came_with_the_package_and_is_in_use(
    requirement: str, kernels: int, state: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: ["rich>=13", requirement])
    monkeypatch.setattr("swoop.engine.machine_code.prebuilt_kernels", lambda: kernels)
    told = doctor.prebuilt_code()
    assert (told and told.state) == state
    assert told is None or found in told.found


def test_bench_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from swoop.paper import __main__ as bench

    seen: list[list[str]] = []
    monkeypatch.setattr(bench, "main", seen.append)
    assert run("bench", "--sets", "20", "--help").exit_code == 0
    assert seen == [["--sets", "20", "--help"]]


def test_demo_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from swoop.cli import demo

    seen: list[tuple[float | None, int | None]] = []
    monkeypatch.setattr(demo, "demo", lambda seconds, port, *_: seen.append((seconds, port)))
    assert run("demo", "--seconds", "5", "--port", "8000").exit_code == 0
    assert run("demo", "--forever", "--no-page").exit_code == 0
    assert seen == [(5.0, 8000), (None, None)]


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (ModuleNotFoundError("no", name="pyspark"), 1, "'pyspark' is missing"),
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied"),
    ],
)
def test_ends(error: BaseException, code: int, message: str) -> None:
    import typer

    one = typer.Typer()
    one.command()(guarded(raising(error)))
    done = CliRunner().invoke(one, [])
    assert done.exit_code == code
    assert message in done.stderr
    assert "Traceback" not in done.output
