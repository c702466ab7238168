"""Arrays that grow without being copied, where the system can do that.

A large array is mapped memory. Linux extends such memory by moving its pages to other addresses, which takes microseconds; to
copy hundreds of megabytes would be a pause in the middle of a stream.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

LARGE = 1 << 25  # bytes; less is copied in a few milliseconds, and memory that was used before costs less than new


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
