"""The arrays of an engine, and how they grow: without being copied, where the system can do that.

A large array is mapped memory, in huge pages: one of them is there sooner than the 512 small ones that it stands for. Linux
extends such memory by moving its pages to other addresses, which takes microseconds; to copy hundreds of megabytes would be a
pause in the middle of a stream.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from swoop.engine import state as st

LARGE = 1 << 20  # bytes; less is copied in no time
_HUGE_PAGE = 1 << 21


class Arrays:
    """The owner of a state and its arrays."""

    def _start_arrays(self) -> None:
        """All arrays, empty."""
        self._memory = np.zeros(st.STATE.itemsize // 8, np.int64)
        self._state = self._memory.view(st.STATE)[0]
        self._arrays: dict[str, np.ndarray] = {}
        for name in st.ARRAYS:
            self._replace(name, np.zeros(0, st.ARRAYS[name]))

    def _replace(self, name: str, array: np.ndarray) -> None:
        self._arrays[name] = array
        self._state[name] = array.ctypes.data
        self._state[name + "_size"] = array.size

    def _resize(self, name: str, size: int) -> None:
        """Make an array longer, keeping what is in it. One that is long enough stays."""
        if size <= self._arrays[name].size:
            return
        enlarge(self._arrays, name, size, st.ARRAYS[name])
        self._replace(name, self._arrays[name])


def enlarge(arrays: dict[str, np.ndarray], name: str, size: int, dtype: np.dtype[Any]) -> None:
    """Make an array longer, keeping what is in it; what is new is zero."""
    needed = size * dtype.itemsize
    mapping, length = getattr(arrays[name].base, "obj", None), arrays[name].size
    if isinstance(mapping, mmap.mmap):
        del arrays[name]  # memory that an array looks at is not moved
        try:
            if needed > len(mapping):
                mapping.resize(_whole_pages(needed))
            length = size
        finally:
            arrays[name] = np.frombuffer(mapping, dtype, length)
        return
    new = zeros(size, dtype)
    new.view(np.uint8)[: arrays[name].nbytes] = arrays[name].view(np.uint8)  # numpy would copy records field by field
    arrays[name] = new


def zeros(size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A new array."""
    needed = size * dtype.itemsize
    if size == 0 or needed < LARGE or sys.platform != "linux":
        return np.zeros(size, dtype)
    mapping = mmap.mmap(-1, _whole_pages(needed), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # the system has no huge pages
        mapping.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapping, dtype, size)


def _whole_pages(size: int) -> int:
    return -(-size // _HUGE_PAGE) * _HUGE_PAGE


def grown(size: int) -> int:
    """How long an array is made of which so many elements are needed: little longer, where growing does not mean copying."""
    if size < LARGE // st.SLOT.itemsize:
        return size + size // 2
    return size + min(size // 8, 1 << 16 if sys.platform == "linux" else size)


def power_of_two(size: int) -> int:
    """The smallest that is no smaller."""
    return 1 << max(size - 1, 1).bit_length()
