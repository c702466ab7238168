"""The Makefile takes the newest supported Python that works, and says so if there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make") or "/usr/bin/make"


def python(minor: int, *without: str) -> str:
    """A Python that takes itself for 3.minor, without some modules."""
    modules = dict.fromkeys(without)
    program = f"import sys; sys.version_info = (3, {minor}, 0); sys.modules.update({modules}); exec(sys.argv[1])"
    program = program.replace("'", '"')
    return f"exec '{sys.executable}' -c '{program}' \"$2\""


def dry_run(folder: Path, pythons: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """What make would do where only these Pythons are on the path, which are shell scripts."""
    (folder / "bin").mkdir()
    for name, script in pythons.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    command = [MAKE, "--dry-run", *options, "demo"]
    return subprocess.run(command, cwd=folder, env={"PATH": str(folder / "bin")}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("pythons", "options", "taken"),
    [
        ({"python3.11": "exit 0", "python3.13": "exit 0", "python3.12": "exit 0"}, (), "python3.13"),
        ({"python3.13": "exit 127", "python3.11": "exit 0", "python3": "exit 0"}, (), "python3.11"),  # 3.13 is broken
        ({"python3": python(14), "python": python(12)}, (), "python"),  # python3 is too new
        ({"python3.13": python(13, "ensurepip"), "python3.11": python(11)}, (), "python3.11"),  # Debian without python3-venv
        ({"python3.13": "exit 0", "python3.12": "exit 0"}, ("PYTHON=python3.12",), "python3.12"),
    ],
)
def test_the_newest_python_that_works(tmp_path: Path, pythons: dict[str, str], options: tuple[str, ...], taken: str) -> None:
    done = dry_run(tmp_path, pythons, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"{taken} -m venv .venv"


@pytest.mark.parametrize("almost", [python(14), python(13, "ensurepip"), python(13, "venv")])
def test_no_python(tmp_path: Path, almost: str) -> None:
    done = dry_run(tmp_path, {"python3": python(10), "python": almost})
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "Swoop needs Python 3.11, 3.12 or 3.13 with venv, and none was found on the PATH: install one (on Debian and" in said
    assert "with the package python3-venv), or name it with make PYTHON=/path/to/python" in said
    assert done.stdout == ""


@pytest.mark.parametrize("named", ["python3.10", "/nowhere/python3.12"])
def test_a_python_that_is_named_and_does_not_do(tmp_path: Path, named: str) -> None:
    """It is told before an environment is made, which would stay."""
    done = dry_run(tmp_path, {"python3.10": python(10), "python3.12": "exit 0"}, f"PYTHON={named}")
    assert done.returncode == 2
    assert f"Swoop needs Python 3.11, 3.12 or 3.13 with venv, and {named} is none of these" in " ".join(done.stderr.split())
    assert done.stdout == ""
