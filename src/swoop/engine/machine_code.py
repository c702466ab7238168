"""Where the machine code of kernels is: in a cache on disk, or in the package as it was installed.

Numba's own cache looks at one source file only, so a kernel would stay stale after a change in a helper's file or of a
constant that was imported; ours is stamped with all files of the engine, with the kernel's own, and with all modules of this
package that these import. A cache directory that cannot be written to is read from and otherwise left alone.

A package that was built for a platform brings machine code along, in folders ``prebuilt`` beside the sources. It is for a level
of processors that is common, and is taken where the processor has that level and the cache has nothing; its key in the index is
Numba's, with the level in place of a processor's name. ``python -m swoop.engine.machine_code`` prints the settings with which
Numba compiles for the level.

Of several processes that need the same kernel at once, one compiles it; the others wait, and load it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, ClassVar

import llvmlite.binding as llvm
import numba
from numba.core import caching, config

PREBUILT = "prebuilt"
LEVELS = {"x86_64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"))}
"""By the machine: the name of its level, and features that a processor of the level has."""

LONGEST = 180.0
"""Seconds for which the machine code of another process is waited for. It may have been stopped in the middle."""

LARGE = "insert_sets"
"""The kernel that most of the engine is compiled into, of each way to join: without it, compiling takes seconds."""

_noticed: set[bool] = set()  # whether it was told that compiling takes long, or that it does not

_ENGINE = Path(__file__).parent
_PACKAGE = _ENGINE.parent
_IMPORT = re.compile(
    rf"^(?:from ({_PACKAGE.name}(?:\.\w+)*) import (?:\(([^)]*)\)|(.*))|import ({_PACKAGE.name}(?:\.\w+)*))", re.MULTILINE
)
"""An import of this package at the top of a file: the module, and the names if there are any."""


@cache
def source_stamp(source: Path = Path(__file__)) -> str:
    """Of everything that a kernel in the given file can freeze: the engine, the file, and what they import of this package."""
    reached = {*_ENGINE.glob("*.py"), source}
    waiting = sorted(reached)
    while waiting:
        imported = _read_source(waiting.pop())[1] - reached
        reached |= imported
        waiting += imported
    digest = hashlib.sha256()
    for path in sorted(reached):
        digest.update(path.name.encode() + b"\0" + _read_source(path)[0])
    return digest.hexdigest()


@cache
def _read_source(path: Path) -> tuple[bytes, frozenset[Path]]:
    """The digest of a source file, and the files of this package that it imports. By pattern: parsing would take too long."""
    content = path.read_bytes()
    imported: set[Path] = set()
    for module, listed, names, whole in _IMPORT.findall(content.decode()):
        found = _files_of_module(module or whole)
        imported |= found
        if any(path.name == "__init__.py" for path in found):  # names may be modules
            for name in re.findall(r"\w+", listed or names):
                imported |= _files_of_module(f"{module}.{name}")
    return hashlib.sha256(content).digest(), frozenset(imported)


@cache
def _files_of_module(name: str) -> frozenset[Path]:
    place = _PACKAGE.parent.joinpath(*name.split("."))
    return frozenset(path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())


def cache_directory(source: str) -> str:
    """The directory asked for by NUMBA_CACHE_DIR, else beside the source if it is there or can be made, else the user's."""
    if config.CACHE_DIR:
        return str(caching.UserProvidedCacheLocator(cache_directory, source).get_cache_path())
    beside = os.path.join(os.path.dirname(source), "__pycache__")
    writable = os.access(beside if os.path.isdir(beside) else os.path.dirname(source), os.W_OK)
    if writable or any(Path(beside).glob("*.nbi")):
        return beside
    return str(caching.UserWideCacheLocator(cache_directory, source).get_cache_path())


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._source = Path(source)

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> _Locator:
        return cls(function, source)

    def get_cache_path(self) -> str:
        return cache_directory(str(self._source))

    def get_source_stamp(self) -> str:
        return source_stamp(self._source)

    def get_disambiguator(self) -> str:
        return "swoop"


class _PrebuiltLocator(_Locator):
    def get_cache_path(self) -> str:
        return str(self._source.parent / PREBUILT)


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar = [_Locator]


class _PrebuiltImplementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar = [_PrebuiltLocator]


class _Prebuilt(caching.FunctionCache):  # type: ignore[misc]
    """The machine code that came with the package, if it did and if it is for this processor."""

    _impl_class = _PrebuiltImplementation

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        key = super()._index_key(signature, codegen)
        return (key[0], (key[1][0], level(), ""), *key[2:])


class Turn:
    """Whose turn it is to compile, among the processes of a machine, as far as files can be locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Wait until nobody else has it. Whether that is so: one may wait too long, or be unable to."""
        self.give_back()  # of a compilation that was interrupted
        with suppress(ImportError, OSError):  # there is no such lock on Windows, and no file where nothing can be written
            import fcntl

            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w")
            until = time.monotonic() + LONGEST
            while time.monotonic() < until:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                except BlockingIOError:
                    time.sleep(0.05)
        return False

    def give_back(self) -> None:
        """Let the next one go on."""
        if self._file is not None:
            self._file.close()
            self._file = None


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """The machine code of a kernel on disk."""

    _impl_class = _Implementation
    _large: ClassVar[list[KernelCache]] = []

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._is_large = function.__name__ == LARGE
        if self._is_large:
            self._large.append(self)
        prebuilt = os.path.isdir(os.path.join(os.path.dirname(function.__code__.co_filename), PREBUILT))
        self._prebuilt = _Prebuilt(function) if prebuilt and level() else None
        self._turn = Turn(Path(self._cache_path, f"{self._impl.filename_base}.lock"))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        found = self._find(signature, target_context)
        if found is None:
            _show_notice(self._is_large or self._is_first())
            self._turn.take()
            found = self._find(signature, target_context)  # another process may have compiled it meanwhile
            if found is not None:
                self._turn.give_back()
        return found

    def _find(self, signature: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(signature, target_context)
        except MemoryError:
            raise
        except Exception:  # a cache that cannot be read, whatever is in it, is as good as none
            with suppress(OSError):
                self.flush()
        if found is None and self._prebuilt is not None:
            with suppress(Exception):
                found = self._prebuilt.load_overload(signature, target_context)
        return found

    def is_filled(self) -> bool:
        """Whether there is machine code on disk, for any processor."""
        with suppress(Exception):
            return any(found._cache_file._load_index() for found in (self, self._prebuilt) if found is not None)
        return False

    def _is_first(self) -> bool:
        """Whether no large kernel of this process has machine code yet, so that one will be compiled next."""
        return bool(self._large) and not any(kernel.is_filled() for kernel in self._large)

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError):  # a read-only cache: compiled for this process only
            super().save_overload(signature, data)
        self._turn.give_back()


@cache
def level() -> str | None:
    """The level of this machine's processors for which packages are built, if this processor has it."""
    name, needed = LEVELS.get(platform.machine(), (None, ()))
    features = llvm.get_host_cpu_features() if name else {}
    return name if all(features.get(feature) for feature in needed) else None


def kernels_in(folder: Path) -> int:
    """How many kernels of the engine there are in a folder, as the sources are now."""
    return sum(source_stamp().encode() in index.read_bytes() for index in folder.glob("*.nbi"))


def prebuilt_kernels() -> int:
    """How many kernels of the engine came with the package, for this processor and this Numba."""
    indexes = list((_ENGINE / PREBUILT).glob("*.nbi")) if level() else []
    return kernels_in(_ENGINE / PREBUILT) if indexes and numba.__version__.encode() in indexes[0].read_bytes() else 0


def _show_notice(takes_long: bool) -> None:
    """Tell whoever waits, once. That it takes seconds may be wrong if more is needed, and then it is told anew."""
    if takes_long in _noticed or True in _noticed:
        return
    _noticed.add(takes_long)
    what, time = ("the engine", "about a minute") if takes_long else ("a small part of the engine", "a few seconds")
    print(f"swoop: compiling {what} for this machine, once; this takes {time} ...", file=sys.stderr)


if __name__ == "__main__":
    print(f"NUMBA_CPU_NAME={level()} NUMBA_CPU_FEATURES=" if level() else "")
