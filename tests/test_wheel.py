"""The package that ``make wheel`` builds, as people install it: into an empty environment, without this repository."""

from __future__ import annotations

import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest

from swoop.engine.machine_code import level

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "swoop"
UV = Path(sys.executable).parent / "uv"
CONSTRAINTS = ROOT / "constraints.txt"


def plain_environment() -> dict[str, str]:
    """Without what would lead to this repository, or to the make that runs the tests."""
    own = ("PYTHON", "VIRTUAL_ENV", "NUMBA_", "MAKE", "MFLAGS", "COV")
    return {key: value for key, value in os.environ.items() if not key.startswith(own)}


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    environment = {**plain_environment(), **more}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machine code of the kernels, compiled before the tests and for this processor, and called that of its level."""
    folder = tmp_path_factory.mktemp("code")
    for package in ("engine", "text"):
        (folder / f"{package}_digest").mkdir()
        for file in (PACKAGE / package / "__pycache__").glob("*.nb[ci]"):
            target = folder / f"{package}_digest" / file.name
            target.write_bytes(of_level(file.read_bytes()) if file.suffix == ".nbi" else file.read_bytes())
    return folder


def of_level(index: bytes) -> bytes:
    """An index of Numba's, with a level in place of the processor."""
    read = io.BytesIO(index)
    version, (stamp, names) = pickle.load(read), pickle.load(read)
    names = {(key[0], (key[1][0], level(), ""), *key[2:]): name for key, name in names.items()}
    return pickle.dumps(version) + pickle.dumps((stamp, names))


def build(folder: Path, **settings: str) -> Path:
    run(UV, "build", "--quiet", "--wheel", "--build-constraint", CONSTRAINTS, "--out-dir", folder, ROOT, cwd=folder, **settings)
    (found,) = folder.glob("*.whl")
    return found


FILL = """
import os, shutil, sys
from pathlib import Path
import swoop.engine, swoop.text
from swoop.engine.machine_code import cache_directory, level

assert os.environ["NUMBA_CPU_NAME"] == level()
for package in (swoop.engine, swoop.text):
    there = cache_directory(package.__file__)
    shutil.copytree(Path(sys.argv[1], f"{package.__name__.rpartition('.')[2]}_digest"), there)
"""
"""Fills the cache that kernels are about to be compiled into, as if that had been done."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Path:
    """What ``make wheel`` makes of a copy of this repository. All kernels are there before it compiles them."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    run(UV, "venv", "--quiet", "--python", sys.executable, "environment", cwd=copy)
    (copy / "bin").mkdir()
    (copy / "bin" / "uv").symlink_to(UV)
    (copy / "fill.py").write_text(FILL)
    python = f"PYTHONPATH=src '{sys.executable}'"
    fill = f"case \"$*\" in *warmup*) {python} fill.py '{code}' || exit 1;; esac"
    (copy / "bin" / "python").write_text(f'#!/bin/sh\n{fill}\n{python} "$@"\n')
    (copy / "bin" / "python").chmod(0o755)
    for name in (".swoop", ".ready"):
        (copy / "environment" / name).touch()
    done = subprocess.run(
        ["make", "wheel", "VENV=environment", "BIN=bin"], cwd=copy, env=plain_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "swoop: compiling" not in done.stderr
    assert "swoop: the engine is compiled and ready" in done.stderr
    (found,) = (copy / "dist").glob("*.whl")
    assert done.stdout.split()[-1] == f"dist/{found.name}"
    return found


def files_of(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def metadata_of(wheel: Path) -> str:
    content = zipfile.ZipFile(wheel)
    return content.read(next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))).decode()


def test_the_wheel_has_every_file_of_the_package(wheel: Path, code: Path, tmp_path: Path) -> None:
    """Also those that are no Python, such as the files of the live page; and machine code, if there is some."""
    kept = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    expected = {name for name in kept if "__pycache__" not in name}
    prebuilt = {f"swoop/{file.parent.name.partition('_')[0]}/prebuilt/{file.name}" for file in code.rglob("*.nb[ci]")}
    assert len(prebuilt) > 40
    assert files_of(wheel) == expected | prebuilt
    assert f"-cp3{sys.version_info.minor}-linux_" in wheel.name
    assert f"Requires-Dist: numba=={numba.__version__}\n" in metadata_of(wheel)
    plain = build(tmp_path)
    assert files_of(plain) == expected
    assert plain.name.endswith("-py3-none-any.whl")
    assert "numba==" not in metadata_of(plain)


def test_the_first_example_of_the_readme_runs_where_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    run(UV, "venv", "--quiet", "--python", sys.executable, "empty", cwd=tmp_path)
    home = tmp_path / "empty"
    own = ("numba==", "llvmlite==")  # the wheel says which, so that its machine code is of use to whoever installs it
    others = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if not line.startswith(own)]
    (tmp_path / "others.txt").write_text("\n".join(others), encoding="utf-8")
    run(UV, "pip", "install", "--quiet", "--constraint", "others.txt", wheel, cwd=tmp_path, VIRTUAL_ENV=str(home))
    (package,) = home.glob("lib/python*/site-packages/swoop")
    (block, *_) = re.findall(r"```python\n(>>> .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    example = tmp_path / "example.txt"
    example.write_text(block, encoding="utf-8")
    said = run(home / "bin" / "python", "-I", "-m", "doctest", "-v", example, cwd=tmp_path)
    assert "Test passed." in said
    assert not list(package.rglob("__pycache__/*.nbi"))  # nothing was compiled
    where = run(home / "bin" / "python", "-I", "-c", "import swoop; print(swoop.__file__)", cwd=tmp_path)
    assert Path(where.strip()).parent == package
    count = "from swoop.engine.machine_code import prebuilt_kernels; print(prebuilt_kernels())"
    assert int(run(home / "bin" / "python", "-I", "-c", count, cwd=tmp_path)) >= 20
    assert "most similar" in run(home / "bin" / "swoop", "--help", cwd=tmp_path)
