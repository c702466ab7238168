"""The arrays of an engine, and how they are replaced: whatever interrupts that, kernels find whole arrays.

Memory may run out, and Ctrl-C may come, between any two lines of Python. So everything that is to be changed together is noted
first and then done; what was noted and not done is done before the next kernel runs (:meth:`Arrays._repair`). Where arrays grow
one by one, the one that kernels look at for its size grows last.

A large array is mapped memory, in huge pages: one of them is there sooner than the 512 small ones that it stands for. Linux
extends such memory by moving its pages to other addresses, which takes microseconds; to copy hundreds of megabytes would be a
pause in the middle of a stream.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from swoop.engine import layout as st
from swoop.engine.thresholds import Thresholds

_HUGE_PAGE = 1 << 21
_NOTHING: Mapping[str, Any] = {}
_AT = {name: st.STATE.fields[name][1] // 8 for name in st.ARRAYS}  # type: ignore[index]
EMPTY = {name: np.zeros(0, dtype) for name, dtype in st.ARRAYS.items()}


class Arrays:
    """The owner of a state and its arrays."""

    thresholds: Thresholds

    def _start_arrays(self) -> None:
        """All arrays, empty."""
        self._memory = np.zeros(st.STATE.itemsize // 8, np.int64)
        self._state = self._memory.view(st.STATE)[0]
        self._arrays: dict[str, np.ndarray] = {}
        self._noted: tuple[Mapping[str, np.ndarray], Mapping[str, int], Mapping[str, Any]] | None = None
        self._extending: tuple[str, mmap.mmap, int] | None = None
        self._install(EMPTY)

    def _install(
        self,
        arrays: Mapping[str, np.ndarray],
        numbers: Mapping[str, int] = _NOTHING,
        attributes: Mapping[str, Any] = _NOTHING,
    ) -> None:
        """Replace arrays, numbers of the state and attributes of this object, all or none of them."""
        self._noted = arrays, numbers, attributes
        self._do_what_is_noted()

    def _do_what_is_noted(self) -> None:
        assert self._noted is not None
        arrays, numbers, attributes = self._noted
        self._arrays.update(arrays)
        for name, array in arrays.items():
            at = _AT[name]
            self._memory[at : at + 2] = array.ctypes.data, array.size
        for name, value in numbers.items():
            self._state[name] = value
        self.__dict__.update(attributes)
        self._noted = None

    def _repair(self) -> None:
        """Do what was interrupted. Kernels run, and arrays are read, only after this."""
        if self._noted is not None:
            self._do_what_is_noted()
        if self._extending is not None:
            name, mapping, length = self._extending
            self._install({name: np.frombuffer(mapping, st.ARRAYS[name], length)}, attributes={"_extending": None})

    def _replace(self, name: str, array: np.ndarray) -> None:
        self._install({name: array})

    def _resize(self, name: str, size: int) -> None:
        """Make an array longer, keeping what is in it; what is new is zero. One that is long enough stays."""
        array, dtype = self._arrays[name], st.ARRAYS[name]
        if size <= array.size:
            return
        mapping = getattr(array.base, "obj", None)
        if not isinstance(mapping, mmap.mmap):
            self._copy(name, size)
            return
        self._extending = name, mapping, array.size
        try:
            del array, self._arrays[name]  # memory that an array looks at is not moved
            if size * dtype.itemsize > len(mapping):
                extend(mapping, _whole_pages(size * dtype.itemsize))
            self._extending = name, mapping, size
        except BufferError:  # somebody looks at it, such as the traceback of an interruption: it stays, and is copied
            self._repair()
            self._copy(name, size)
        finally:
            self._repair()

    def _copy(self, name: str, size: int) -> None:
        array, new = self._arrays[name], self._zeros(size, st.ARRAYS[name])
        new.view(np.uint8)[: array.nbytes] = array.view(np.uint8)  # numpy would copy records field by field
        self._replace(name, new)

    def _zeros(self, size: int, dtype: np.dtype[Any]) -> np.ndarray:
        """A new array."""
        return allocate(size, dtype, self.thresholds.large)

    def _grown(self, size: int) -> int:
        """How long an array is made that needs so many elements: little longer, where growing does not mean copying."""
        if size < self.thresholds.large // st.SLOT.itemsize:
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
    """The next power of two that is no smaller, and 2 at least."""
    return 1 << max(size - 1, 1).bit_length()
