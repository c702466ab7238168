"""The package that ``make wheel`` builds, as people install it: into an empty environment, without this repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "swoop"
UV = Path(sys.executable).parent / "uv"
CONSTRAINTS = ROOT / "constraints.txt"


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env={**environment, **more}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--quiet", "--wheel", "--build-constraint", CONSTRAINTS, "--out-dir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Also those that are no Python, such as the files of the live page."""
    kept = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    expected = {name for name in kept if "__pycache__" not in name}
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert found == expected


def test_the_first_example_of_the_readme_runs_where_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    run(UV, "venv", "--quiet", "--python", sys.executable, "empty", cwd=tmp_path)
    home = tmp_path / "empty"
    run(UV, "pip", "install", "--quiet", "--constraint", CONSTRAINTS, wheel, cwd=tmp_path, VIRTUAL_ENV=str(home))
    (package,) = home.glob("lib/python*/site-packages/swoop")
    for compiled in PACKAGE.rglob("*.nb[ci]"):  # what was compiled before the tests is valid wherever the same source lies
        target = package / compiled.relative_to(PACKAGE)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(compiled, target)
    (block, *_) = re.findall(r"```python\n(>>> .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    example = tmp_path / "example.txt"
    example.write_text(block, encoding="utf-8")
    said = run(home / "bin" / "python", "-I", "-m", "doctest", "-v", example, cwd=tmp_path)
    assert "Test passed." in said
    where = run(home / "bin" / "python", "-I", "-c", "import swoop; print(swoop.__file__)", cwd=tmp_path)
    assert Path(where.strip()).parent == package
    assert "most similar" in run(home / "bin" / "swoop", "--help", cwd=tmp_path)
