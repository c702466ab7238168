"""File systems in memory that behave as object stores do: no rename, puts of whole files, with conditional puts or without."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from swoop.live.files import create_by_listing


class ObjectStore:
    """Files by their keys. A put shows at once or not at all; a listing shows all that were put before.

    Parameters
    ----------
    is_conditional
        Whether a put can be refused where there is a file already.
    slow
        How many seconds a call takes at most.
    before
        Called before each call that changes something, with its name and the path: may raise.
    after
        The same after it has happened: an answer that was lost.
    """

    def __init__(
        self,
        is_conditional: bool = True,
        slow: float = 0.0,
        before: Callable[[str, str], None] = lambda what, path: None,
        after: Callable[[str, str], None] = lambda what, path: None,
    ) -> None:
        self.files: dict[str, bytes] = {}
        self.is_conditional, self.slow, self.before, self.after = is_conditional, slow, before, after
        self.puts: list[str] = []
        self._lock = threading.Lock()

    def _wait(self) -> None:
        if self.slow:
            time.sleep(random.uniform(0, self.slow))

    def names(self, folder: str) -> list[str]:
        self._wait()
        with self._lock:
            found = [path.removeprefix(f"{folder}/") for path in self.files if path.startswith(f"{folder}/")]
        self._wait()
        return [name for name in found if "/" not in name]

    def read(self, path: str) -> pa.Buffer:
        self._wait()
        with self._lock:
            if path not in self.files:
                raise FileNotFoundError(path)
            return pa.py_buffer(self.files[path])

    def _put(self, what: str, path: str, data: Any, is_free: bool) -> bool:
        self.before(what, path)
        self._wait()
        with self._lock:
            if is_free and path in self.files:
                return False
            self.files[path] = bytes(data)
            self.puts.append(path)
        self._wait()
        self.after(what, path)
        return True

    def write(self, path: str, data: Any) -> None:
        self._put("write", path, data, False)

    def create(self, path: str, data: bytes) -> bool:
        return self._put("create", path, data, True) if self.is_conditional else create_by_listing(self, path, data)

    def delete(self, path: str) -> None:
        self.before("delete", path)
        self._wait()
        with self._lock:
            self.files.pop(path, None)
        self.after("delete", path)

    def remove(self, folder: str) -> None:
        with self._lock:
            self.files = {path: data for path, data in self.files.items() if not path.startswith(f"{folder}/")}


class MemoryStore:
    """A store in memory."""

    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.text: str | None = None

    def read(self, name: str) -> bytes:
        return self.chunks[name]

    def write(self, name: str, data: pa.Buffer) -> None:
        self.chunks[name] = data.to_pybytes()

    def delete(self, name: str) -> None:
        del self.chunks[name]

    def state(self) -> str | None:
        return self.text

    def write_state(self, state: str) -> None:
        self.text = state
