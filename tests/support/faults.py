"""What can go wrong in the middle: memory runs out at any allocation, Ctrl-C comes at any line; memory that notices misuse."""

from __future__ import annotations

import ctypes
import mmap
import sys
import weakref
from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import swoop
from swoop.engine import memory

_ENGINE, _JOIN = Path(swoop.__file__).parent / "engine", Path(swoop.__file__).parent / "join"
INTERRUPTED = {str(_ENGINE / name) for name in ("engine.py", "family_engine.py", "interning.py", "memory.py")} | {
    str(_JOIN / name) for name in ("arrivals.py", "families.py", "family_feed.py", "feed.py", "ids.py", "topk_join.py")
}
"""Files at whose lines Ctrl-C may come."""


class Fault:
    """Something that happens once, at the n-th occasion; never if n is 0. ``seen`` counts the occasions."""

    def __init__(self, n: int, error: type[BaseException]) -> None:
        self.n, self.error, self.seen = n, error, 0

    def occasion(self) -> None:
        self.seen += 1
        if self.seen == self.n:
            raise self.error("injected")

    def attempt(self, occasions: Callable[[Fault], AbstractContextManager[None]], action: Callable[[], Any]) -> bool:
        """Whether something was done, while it could go wrong."""
        try:
            with occasions(self):
                action()
        except self.error as error:
            if "injected" not in str(error):
                raise
            return False
        return True


@contextmanager
def failing_allocations(fault: Fault) -> Iterator[None]:
    """Every time the engine asks for memory is an occasion."""
    allocate, extend = memory.allocate, memory.extend

    def failing_allocate(size: int, dtype: np.dtype[Any], large: int) -> np.ndarray:
        fault.occasion()
        return allocate(size, dtype, large)

    def failing_extend(mapping: mmap.mmap, size: int) -> None:
        fault.occasion()
        extend(mapping, size)

    memory.allocate, memory.extend = failing_allocate, failing_extend
    try:
        yield
    finally:
        memory.allocate, memory.extend = allocate, extend


@contextmanager
def interrupted_lines(fault: Fault, files: Set[str] = frozenset(INTERRUPTED)) -> Iterator[None]:
    """Every line of some files, those of engine and join, is an occasion."""

    def at_line(frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            fault.occasion()
        return at_line

    def at_call(frame: Any, event: str, argument: Any) -> Any:
        return at_line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def guarded(size: int, dtype: np.dtype[Any], large: int) -> np.ndarray:
    """An array that ends at the end of a page, behind which nothing may be touched; nor may it be, once it is freed."""
    page = mmap.PAGESIZE
    needed = size * dtype.itemsize
    whole = -(-needed // page) * page
    if needed == 0:
        return np.zeros(0, dtype)
    start = _libc.mmap(None, whole + page, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert start not in (None, ctypes.c_void_p(-1).value), "no memory to guard"
    assert _libc.mprotect(start + whole, page, 0) == 0
    buffer = (ctypes.c_char * needed).from_address(start + whole - needed)
    weakref.finalize(buffer, _libc.munmap, start, whole + page)
    return np.frombuffer(buffer, dtype)


@contextmanager
def guarded_memory() -> Iterator[None]:
    """Arrays of engines are guarded. Whoever leaves one dies of it, so this is for a process of its own."""
    allocate = memory.allocate
    memory.allocate = guarded
    try:
        yield
    finally:
        memory.allocate = allocate
