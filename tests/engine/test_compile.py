"""Compilation in practice: lazy imports, the cache on disk, notices. Each in a process of its own."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import swoop

NOTICE = "swoop: compiling the engine for this machine, once"
RUN = "import swoop; j = swoop.TopKJoin(k=1, window=2); j.insert([1], 1); j.insert([1], 2); print(len(j.topk()))"


def python(code: str, cache: Path | str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "COV"))}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    done = python("import swoop; swoop.warmup()", cache)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith(NOTICE)
    assert lines[1].startswith("swoop: the engine is compiled and ready (")
    assert len(lines) == 2
    return cache


def test_importing_swoop_imports_nothing_heavy() -> None:
    heavy = "numba numpy pyarrow pandas polars pyspark fastapi altair"
    done = python(f"import swoop, sys; print([m for m in {heavy.split()} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


def test_a_join_imports_no_data_frames(warm_cache: Path) -> None:
    done = python(RUN + "; import sys; print([m for m in ('pandas', 'polars', 'pyspark') if m in sys.modules])", warm_cache)
    assert done.stdout.splitlines() == ["1", "[]"]


def test_a_warm_cache_is_used_without_a_word(warm_cache: Path) -> None:
    done = python(RUN, warm_cache)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")


def test_a_read_only_cache_is_read(warm_cache: Path) -> None:
    directories = [warm_cache, *(p for p in warm_cache.rglob("*") if p.is_dir())]
    for path in directories:
        path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        done = python(RUN, warm_cache)
    finally:
        for path in directories:
            path.chmod(stat.S_IRWXU)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """The cache directory would lie below a file: not even root can write there."""
    (tmp_path / "file").write_text("")
    done = python(RUN, tmp_path / "file" / "cache")
    assert (done.returncode, done.stdout.strip()) == (0, "1")
    assert done.stderr.startswith(NOTICE)


def test_a_damaged_cache_is_compiled_anew(warm_cache: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache, cache)
    damaged = [*cache.rglob("arrival.read_top-*.nbi"), *cache.rglob("vocabulary.intern_integers-*.nbc")]
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    done = python(RUN, cache)
    assert (done.returncode, done.stdout.strip()) == (0, "1")
    assert done.stderr.startswith(NOTICE)
    assert all(path.stat().st_size > 20 for path in damaged)
    assert python(RUN, cache).stderr == ""


def test_a_change_in_any_kernel_makes_the_cache_stale() -> None:
    from swoop.engine import compile as _jit

    assert len(_jit._source_stamp()) == 64
    directory = Path(_jit.__file__).parent
    assert {"stock.py", "index.py", "arrival.py"} <= {path.name for path in directory.glob("*.py")}


def test_a_change_beside_a_kernel_makes_the_cache_stale(tmp_path: Path) -> None:
    from swoop.engine import compile as _jit

    stamps = {_jit._source_stamp()}
    for text in ("one", "two"):
        (tmp_path / "helper.py").write_text(text)
        _jit._source_stamp.cache_clear()
        stamps.add(_jit._source_stamp(tmp_path))
    assert len(stamps) == 3
    assert _jit._Locator(lambda: None, str(tmp_path / "kernel.py")).get_source_stamp() in stamps


def test_the_cache_lies_beside_the_source_or_with_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import config

    from swoop.engine.compile import _cache_directory

    monkeypatch.setattr(config, "CACHE_DIR", "")
    source = str(tmp_path / "module.py")
    assert _cache_directory(source) == str(tmp_path / "__pycache__")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "numba" in _cache_directory(source)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kernel.nbi").write_bytes(b"")
    assert _cache_directory(source) == str(tmp_path / "__pycache__")


def test_warmup_can_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert swoop.warmup(quiet=True) > 0
    assert "ready" not in capsys.readouterr().err
