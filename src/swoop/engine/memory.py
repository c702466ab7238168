"""The arrays of an engine, and how they are replaced: whatever interrupts that, kernels find whole arrays.

Memory may run out, and Ctrl-C may come, between any two lines of Python. So everything that is to be changed together is noted
first and then done; what was noted and not done is done before the next kernel runs (:meth:`Memory.repair`). Where arrays grow
one by one, the one that kernels look at for its size grows last.

A large array is mapped memory, in huge pages: one of them is there sooner than the 512 small ones that it stands for. Linux
extends such memory by moving its pages to other addresses, which takes microseconds; to copy hundreds of megabytes would be a
pause in the middle of a stream.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from swoop.engine.layout import SLOT, State
from swoop.engine.structures import arrays_of
from swoop.errors import InternalError

_HUGE_PAGE = 1 << 21
_NOTHING: Mapping[str, Any] = {}


class Memory:
    """The owner of a state and its arrays, which are named by their paths, such as ``"stock.pairs"``.

    Attributes
    ----------
    state
        The structures.
    words
        Their memory, which is what kernels get.
    paths
        Of all arrays, by number.
    large
        Bytes from which on an array is mapped memory.
    """

    def __init__(self, layout: type[State], large: int) -> None:
        """All numbers zero, all arrays empty."""
        self.state = layout()
        buffer: Any = self.state
        self.words = np.frombuffer(buffer, np.int64)
        self.large = large
        self._dtypes = arrays_of(layout)
        self.paths = tuple(self._dtypes)
        self._places = {path: self._find(path) for path in self.paths}
        self._arrays: dict[str, np.ndarray] = {}
        self._noted: tuple[Mapping[str, np.ndarray], Mapping[str, int]] | None = None
        self._extending: tuple[str, mmap.mmap, int] | None = None
        self.install({path: np.zeros(0, dtype) for path, dtype in self._dtypes.items()})

    def __getitem__(self, path: str) -> np.ndarray:
        return self._arrays[path]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def _find(self, path: str) -> Any:
        found: Any = self.state
        for name in path.split("."):
            found = getattr(found, name)
        return found

    def install(self, arrays: Mapping[str, np.ndarray], numbers: Mapping[str, int] = _NOTHING) -> None:
        """Replace arrays and numbers of the state, all or none of them."""
        for path, array in arrays.items():
            if array.dtype != self._dtypes[path] or not array.flags.c_contiguous:
                raise InternalError(f"{path} is a contiguous array of {self._dtypes[path]}, not one of {array.dtype}")
        self._noted = arrays, numbers
        self._do_what_is_noted()

    def _do_what_is_noted(self) -> None:
        assert self._noted is not None
        arrays, numbers = self._noted
        self._arrays.update(arrays)
        for path, array in arrays.items():
            place = self._places[path]
            place.address, place.size = array.ctypes.data, array.size
        for path, value in numbers.items():
            structure, _, name = path.rpartition(".")
            setattr(self._find(structure) if structure else self.state, name, value)
        self._noted = None

    def repair(self) -> None:
        """Do what was interrupted. Kernels run, and arrays are read, only after this."""
        if self._noted is not None:
            self._do_what_is_noted()
        if self._extending is not None:
            path, mapping, size = self._extending
            self.install({path: np.frombuffer(mapping, self._dtypes[path], size)})
            self._extending = None

    def replace(self, path: str, array: np.ndarray) -> None:
        self.install({path: array})

    def clear(self, paths: Iterable[str]) -> None:
        """Let arrays be empty."""
        self.install({path: np.zeros(0, self._dtypes[path]) for path in paths})

    def new(self, path: str, size: int) -> np.ndarray:
        """Zeros that can take the place of an array."""
        return allocate(size, self._dtypes[path], self.large)

    def resize(self, paths: Iterable[str], size: int) -> None:
        """Make arrays longer, one after the other, keeping what is in them; what is new is zero. Those long enough stay."""
        for path in paths:
            self._resize(path, size)

    def _resize(self, path: str, size: int) -> None:
        array, dtype = self._arrays[path], self._dtypes[path]
        if size <= array.size:
            return
        mapping = getattr(array.base, "obj", None)
        if not isinstance(mapping, mmap.mmap):
            self._copy(path, size)
            return
        self._extending = path, mapping, array.size
        try:
            del array, self._arrays[path]  # memory that an array looks at is not moved
            if size * dtype.itemsize > len(mapping):
                extend(mapping, _whole_pages(size * dtype.itemsize))
            self._extending = path, mapping, size
        except BufferError:  # somebody looks at it, such as the traceback of an interruption: it stays, and is copied
            self.repair()
            self._copy(path, size)
        finally:
            self.repair()

    def _copy(self, path: str, size: int) -> None:
        array, new = self._arrays[path], self.new(path, size)
        new.view(np.uint8)[: array.nbytes] = array.view(np.uint8)  # numpy would copy records field by field
        self.replace(path, new)

    def grown(self, size: int) -> int:
        """How long an array is made that needs so many elements: little longer, where growing does not mean copying."""
        if size < self.large // SLOT.itemsize:
            return size + size // 2
        return size + min(size // 8, 1 << 16 if sys.platform == "linux" else size)


def allocate(size: int, dtype: np.dtype[Any], large: int) -> np.ndarray:
    """A new array of zeros."""
    needed = size * dtype.itemsize
    if size == 0 or needed < large or sys.platform != "linux":
        return np.zeros(size, dtype)
    try:
        mapping = mmap.mmap(-1, _whole_pages(needed), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there is no memory for {needed:,} bytes") from error
    with suppress(OSError):  # the system has no huge pages
        mapping.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapping, dtype, size)


def extend(mapping: mmap.mmap, size: int) -> None:
    """Make mapped memory longer."""
    try:
        mapping.resize(size)
    except OSError as error:
        raise MemoryError(f"there is no memory for {size:,} bytes") from error


def _whole_pages(size: int) -> int:
    return -(-size // _HUGE_PAGE) * _HUGE_PAGE


def power_of_two(size: int) -> int:
    """The smallest power of two that is at least ``size``, and at least 2."""
    return 1 << max(size - 1, 1).bit_length()
