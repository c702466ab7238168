"""The package that ``make wheel`` builds, as people install it: into an empty environment, without this repository."""

from __future__ import annotations

import io
import os
import pickle
import re
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


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env={**environment, **more}, capture_output=True, text=True, timeout=300)
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Path:
    return build(tmp_path_factory.mktemp("dist"), SWOOP_MACHINE_CODE=str(code))


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
