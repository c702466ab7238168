"""Compilation in practice: lazy imports, the cache on disk, notices. Each in a process of its own.

Tests of swoop.engine.compile, swoop.engine.machine_code, swoop.join.warmup.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import swoop

LONG = "swoop: compiling the engine for this machine, once; this takes about a minute ..."
NOTICE = "swoop: compiling a small part of the engine for this machine, once; this takes a few seconds ..."
RUN = "import swoop; j = swoop.TopKJoin(k=1, window=2); j.insert([1], 1); j.insert([1], 2); print(len(j.topk()))"
SMALL = """
from swoop.engine.compile import kernel

@kernel
def add(a, b):
    return a + b

@kernel
def negate(a):
    return -a

print(add(negate(1), 2))
"""
"""What the engine is in large: kernels that are cached. Its own take most of a minute to compile."""


def python(code: str | Path, cache: Path | str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "COV"))}
    environment |= more
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = ["-c", code] if isinstance(code, str) else [str(code)]
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300, check=False)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("kernels") / "small.py"
    file.write_text(SMALL)
    return file


@pytest.fixture(scope="module")
def warm_cache(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    done = python(small, cache)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(NOTICE)
    return cache


def test_importing_swoop_imports_nothing_heavy() -> None:
    heavy = "numba numpy pyarrow pandas polars pyspark fastapi altair"
    done = python(f"import swoop, sys; print([m for m in {heavy.split()} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


def test_a_join_imports_no_data_frames() -> None:
    done = python(RUN + "; import sys; print([m for m in ('pandas', 'polars', 'pyspark') if m in sys.modules])")
    assert done.stdout.splitlines() == ["1", "[]"]


WARM = """
import swoop
from swoop.engine.machine_code import KernelCache

asked, load = [], KernelCache.load_overload
KernelCache.load_overload = lambda self, *given: asked.append(self) or load(self, *given)
swoop.warmup()
warm = len(asked)
RUN
print(warm, len(asked))
"""


def test_nothing_is_left_to_compile_after_a_warmup() -> None:
    """Whatever a join needs, the warm-up has asked the cache for it."""
    done = python(WARM.replace("RUN", RUN))
    assert done.stdout.splitlines()[0] == "1", done.stderr
    warm, asked = map(int, done.stdout.splitlines()[1].split())
    assert warm == asked > 5
    assert done.stderr.splitlines()[-1].startswith("swoop: the engine is compiled and ready (")
    assert python(RUN).stderr == ""


EVERYTHING = """
import importlib, pkgutil, swoop, swoop.engine, swoop.text
from swoop.engine.machine_code import KernelCache

swoop.warmup(families=True, all_pairs=True)
for package in (swoop.engine, swoop.text):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for function in vars(importlib.import_module(module.name)).values():
            if isinstance(getattr(function, "_cache", None), KernelCache):
                print(function.py_func.__module__, function.__name__, len(function.signatures))
"""


def test_a_warmup_can_be_of_everything() -> None:
    """As for a wheel: one compiled form of each kernel, but for one that only checks need."""
    done = python(EVERYTHING)
    kernels = {name: int(forms) for name, forms in (line.rsplit(" ", 1) for line in done.stdout.splitlines())}
    assert kernels.pop("swoop.engine.arrival settle_spare") == 0, done.stderr
    assert len(kernels) > 20
    assert set(kernels.values()) == {1}


IN_TURN = """
import sys
from swoop.engine.compile import kernel

@kernel
def insert_sets(a):
    return a + 1

@kernel
def add(a, b):
    return a + b

for name in sys.argv[1:]:
    globals()[name](*range(2 if name == "add" else 1))
"""


def test_the_notice_says_how_long_it_takes(tmp_path: Path) -> None:
    """A minute where a large kernel is missing, or will be; where it is there, seconds. Nobody is told twice."""

    def said(cache: str, *names: str) -> list[str]:
        code = f"import runpy, sys; sys.argv = {['', *names]!r}; runpy.run_path({str(tmp_path / 'in_turn.py')!r})"
        done = python(code, tmp_path / cache)
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()

    (tmp_path / "in_turn.py").write_text(IN_TURN)
    assert said("one", "add", "insert_sets") == [LONG]
    assert said("other", "insert_sets") == [LONG]
    assert said("other", "insert_sets", "add") == [NOTICE]
    assert said("other", "add", "insert_sets") == []


def test_a_warm_cache_is_used_without_a_word(small: Path, warm_cache: Path) -> None:
    done = python(small, warm_cache)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")


def test_a_read_only_cache_is_read(small: Path, warm_cache: Path) -> None:
    directories = [warm_cache, *(p for p in warm_cache.rglob("*") if p.is_dir())]
    for path in directories:
        path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        done = python(small, warm_cache)
    finally:
        for path in directories:
            path.chmod(stat.S_IRWXU)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")


def test_a_cache_that_cannot_be_made_is_done_without(small: Path, tmp_path: Path) -> None:
    """The cache directory would lie below a file: not even root can write there."""
    (tmp_path / "file").write_text("")
    done = python(small, tmp_path / "file" / "cache")
    assert (done.returncode, done.stdout.strip()) == (0, "1")
    assert done.stderr.startswith(NOTICE)


def test_a_damaged_cache_is_compiled_anew(small: Path, warm_cache: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache, cache)
    damaged = [*cache.rglob("small.add-*.nbi"), *cache.rglob("small.negate-*.nbc")]
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    done = python(small, cache)
    assert (done.returncode, done.stdout.strip()) == (0, "1")
    assert done.stderr.startswith(NOTICE)
    assert all(path.stat().st_size > 20 for path in damaged)
    assert python(small, cache).stderr == ""


def test_machine_code_that_came_with_the_package(small: Path, tmp_path: Path) -> None:
    """It is taken where the cache has nothing and the processor has the level; what is of no use is left alone."""
    settings = python("import runpy; runpy.run_module('swoop.engine.machine_code', run_name='__main__')").stdout.split()
    assert python(small, tmp_path / "level", **dict(setting.split("=") for setting in settings)).returncode == 0
    module, folder = tmp_path / "small.py", tmp_path / "prebuilt"
    module.write_text(SMALL)
    folder.mkdir()
    for file in (tmp_path / "level").rglob("*.nb[ci]"):
        shutil.copy(file, folder)
    before = sorted((file, file.read_bytes()) for file in folder.iterdir())
    assert len(before) == 4
    done = python(module, tmp_path / "cache")
    assert (done.stdout.strip(), done.stderr) == ("1", "")
    other = "from swoop.engine import machine_code; machine_code.LEVELS.clear(); import runpy; "
    done = python(f"{other} runpy.run_path({str(module)!r})", tmp_path / "another")
    assert done.stdout.strip() == "1"
    assert done.stderr.startswith(NOTICE)
    assert sorted((file, file.read_bytes()) for file in folder.iterdir()) == before
    for file in folder.glob("small.add-*.nbc"):
        file.write_bytes(b"damaged")
    done = python(module, tmp_path / "yet another")
    assert done.stdout.strip() == "1"
    assert done.stderr.startswith(NOTICE)


def test_a_stamp_covers_the_engine_and_what_a_kernel_imports(tmp_path: Path) -> None:
    from swoop.engine import machine_code

    kernel = tmp_path / "kernel.py"
    kernel.write_text("import swoop.charts\nfrom swoop.paper import (\n    data_sets,\n)\n")
    names = {path.name for path in machine_code._read_source(kernel)[1]}
    assert names == {"charts.py", "data_sets.py", "__init__.py"}
    engine = Path(machine_code.__file__).parent
    assert engine.parent / "similarity.py" in machine_code._read_source(engine / "rank.py")[1]
    assert machine_code.source_stamp(engine / "arrival.py") == machine_code.source_stamp() != machine_code.source_stamp(kernel)


KERNEL = """
from swoop.engine.compile import kernel
from swoop.engine.rank import above

from swoop.similarity import COSINE

@kernel
def constant():
    return COSINE

print(constant())
"""


def test_a_constant_that_changes_is_compiled_anew(tmp_path: Path) -> None:
    """Kernels freeze constants of other modules: run in a copy of the package, before and after one of them changes."""
    package = tmp_path / "swoop"
    shutil.copytree(Path(swoop.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    (tmp_path / "frozen.py").write_text(KERNEL)
    run = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import frozen"
    cache = tmp_path / "cache"
    first, second = python(run, cache), python(run, cache)
    assert first.stdout.strip() == second.stdout.strip() == "1", first.stderr + second.stderr
    assert second.stderr == ""
    similarity = package / "similarity.py"
    text = similarity.read_text()
    changed = text.replace("JACCARD, COSINE, DICE", "COSINE, JACCARD, DICE")
    assert changed != text
    similarity.write_text(changed)
    third = python(run, cache)
    assert third.stdout.strip() == "0", third.stderr
    assert third.stderr.startswith(NOTICE)


def test_the_cache_lies_beside_the_source_or_with_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import config

    from swoop.engine.machine_code import cache_directory

    monkeypatch.setattr(config, "CACHE_DIR", "")
    source = str(tmp_path / "module.py")
    assert cache_directory(source) == str(tmp_path / "__pycache__")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "numba" in cache_directory(source)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kernel.nbi").write_bytes(b"")
    assert cache_directory(source) == str(tmp_path / "__pycache__")


def test_warmup_can_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert swoop.warmup(quiet=True) > 0
    assert "ready" not in capsys.readouterr().err


SLOW = """
import runpy, sys, time
from pathlib import Path
from swoop.engine import machine_code

save = machine_code.KernelCache.save_overload

def slowly(self, *given):
    while not Path(sys.argv[2]).exists():
        time.sleep(0.01)
    print("compiled")
    save(self, *given)

machine_code.KernelCache.save_overload = slowly
runpy.run_path(sys.argv[1])
"""


def test_one_process_compiles_and_the_others_wait(tmp_path: Path) -> None:
    """Whatever they begin with: here the first has compiled a kernel, and not yet saved it, when the second needs it."""
    module, go = tmp_path / "small.py", tmp_path / "go"
    module.write_text(SMALL)
    code = tmp_path / "slow.py"
    code.write_text(SLOW)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def start() -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [sys.executable, str(code), str(module), str(go)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert started.stderr is not None
        assert started.stderr.readline().startswith(NOTICE)
        return started

    first = start()
    second = start()
    go.touch()
    assert first.communicate(timeout=60)[0].split() == ["compiled", "compiled", "1"]
    assert second.communicate(timeout=60)[0].split() == ["1"]


def test_who_was_stopped_while_compiling_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from swoop.engine import machine_code

    monkeypatch.setattr(machine_code, "LONGEST", 0.1)
    first, second = (machine_code.Turn(tmp_path / "new" / "kernel.lock") for _ in range(2))
    assert first.take()
    assert not second.take()
    first.give_back()
    assert second.take()
    nowhere = machine_code.Turn(tmp_path / "new" / "kernel.lock" / "below")
    assert not nowhere.take()
