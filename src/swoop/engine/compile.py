"""How kernels are compiled, in one place: the decorators, the cache on disk, and the few machine instructions.

The decorators:

``jit``
    for helpers. They are compiled into the kernels that call them and are never cached on their own. ``inline_early`` and
    ``noinline`` are for the few that must be inlined earlier, or not at all.
``kernel``
    for the functions that Python calls. Their machine code is cached on disk. Numba's own cache looks at one source
    file only, so a kernel would stay stale after a change in a helper's file or of a constant that was imported; ours is
    stamped with all files of the engine, with the kernel's own, and with all modules of this package that these import. A
    cache directory that cannot be written to is read from and otherwise left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import caching, config
from numba.extending import intrinsic as _intrinsic

from swoop.engine.structures import element_pointer

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:  # to a type checker, numbers of the machine are ints

    def int64(value: Any) -> int: ...
    def uint64(value: Any) -> int: ...
else:
    int64 = np.int64
    uint64 = np.uint64

OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}

_notice_shown = False


intrinsic = cast(Callable[[Callable[..., Any]], Callable[..., Any]], _intrinsic)


def jit(function: Function) -> Function:
    """Compile a helper; it becomes part of each kernel that calls it."""
    return cast(Function, njit(**OPTIONS, forceinline=True)(function))


def inline_early(function: Function) -> Function:
    """Compile a helper that is called from one place, as if it were written there."""
    return cast(Function, njit(**OPTIONS, inline="always")(function))


def noinline(function: Function) -> Function:
    """Compile a helper that a kernel calls and does not swallow: a large one, or a tight loop that wants all registers.

    The optimiser may swallow it all the same; where that costs, the helper begins with ``forbid_inlining()``.
    """
    return cast(Function, njit(**OPTIONS, forceinline=False)(function))  # if not said, it would be as for the caller


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, at its first call, and keep the machine code on disk."""
    dispatcher = njit(**OPTIONS)(function)
    dispatcher._cache = _KernelCache(function)
    return cast(Function, dispatcher)


_ENGINE = Path(__file__).parent
_PACKAGE = _ENGINE.parent
_IMPORT = re.compile(
    rf"^(?:from ({_PACKAGE.name}(?:\.\w+)*) import (?:\(([^)]*)\)|(.*))|import ({_PACKAGE.name}(?:\.\w+)*))", re.MULTILINE
)
"""An import of this package at the top of a file: the module, and the names if there are any."""


@cache
def _source_stamp(source: Path = Path(__file__)) -> str:
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


def _cache_directory(source: str) -> str:
    """The directory asked for by NUMBA_CACHE_DIR, else beside the source if it is there or can be made, else the user's."""
    if config.CACHE_DIR:
        return str(caching.UserProvidedCacheLocator(_cache_directory, source).get_cache_path())
    beside = os.path.join(os.path.dirname(source), "__pycache__")
    writable = os.access(beside if os.path.isdir(beside) else os.path.dirname(source), os.W_OK)
    if writable or any(Path(beside).glob("*.nbi")):
        return beside
    return str(caching.UserWideCacheLocator(_cache_directory, source).get_cache_path())


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._directory = _cache_directory(source)
        self._source = Path(source)

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> _Locator:
        return cls(function, source)

    def get_cache_path(self) -> str:
        return self._directory

    def get_source_stamp(self) -> str:
        return _source_stamp(self._source)

    def get_disambiguator(self) -> str:
        return "swoop"


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar = [_Locator]


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Implementation

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(signature, target_context)
        except MemoryError:
            raise
        except Exception:  # a cache that cannot be read, whatever is in it, is as good as none
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            _show_notice()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError):  # a read-only cache: compiled for this process only
            super().save_overload(signature, data)


def _show_notice() -> None:
    global _notice_shown
    if not _notice_shown:
        _notice_shown = True
        print("swoop: compiling the engine for this machine, once; this takes some seconds ...", file=sys.stderr)


@intrinsic
def forbid_inlining(typing_context: Any) -> Any:
    """Keep the function that says so out of its callers' code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def count_ones(typing_context: Any, bits: Any) -> Any:
    """The number of one-bits of an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def select(typing_context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """``yes if condition else no``, without a branch: for conditions that cannot be predicted."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chosen = builder.select(*arguments)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return types.int64(types.boolean, types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``, which will be read and written soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = element_pointer(context, builder, *signature.args, *arguments)
        address = builder.bitcast(element, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        instruction = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [address.type],
            ir.FunctionType(ir.VoidType(), [address.type, number, number, number]),
        )
        builder.call(instruction, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def call_similarity(typing_context: Any, address: Any, len_r: Any, len_s: Any, overlap: Any) -> Any:
    """Call the compiled user-defined similarity at ``address``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        function_type = ir.FunctionType(ir.DoubleType(), [number, number, number])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(function, arguments[1:])

    return types.float64(types.int64, types.int64, types.int64, types.int64), generate
