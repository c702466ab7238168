"""The arrays of an engine, and how they grow: without being copied, where the system can do that.

A large array is mapped memory. Linux extends such memory by moving its pages to other addresses, which takes microseconds; to
copy hundreds of megabytes would be a pause in the middle of a stream.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

from swoop.engine import state as st

LARGE = 1 << 23  # bytes; less is copied in a few milliseconds, and memory that was used before costs less than new


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
            mapping.resize(needed)
            length = size
        finally:
            arrays[name] = np.frombuffer(mapping, dtype, length)
        return
    new = np.frombuffer(_map(needed), dtype) if sys.platform == "linux" and needed >= LARGE else np.zeros(size, dtype)
    new.view(np.uint8)[: arrays[name].nbytes] = arrays[name].view(np.uint8)  # numpy would copy records field by field
    arrays[name] = new


def _map(size: int) -> mmap.mmap:
    mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapping.madvise(mmap.MADV_HUGEPAGE)
    return mapping


def grown(size: int) -> int:
    """How long an array is made of which so many elements are needed: little longer, where growing does not mean copying."""
    if size < LARGE // st.SLOT.itemsize:
        return size + size // 2
    return size + min(size // 8, 1 << 16 if sys.platform == "linux" else size)


def power_of_two(size: int) -> int:
    """The smallest that is no smaller."""
    return 1 << max(size - 1, 1).bit_length()
