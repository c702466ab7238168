"""Folders in which files appear whole or not at all, on this machine's disks or on any file system that somebody brings.

A file system replaces a file in one step, or else only whole ones are replaced by their writer. What must not be mixed up by
two writers is not left to that: such files are created under names that nobody else takes.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import pyarrow as pa

from swoop.addresses import local_path

PATIENCE = 15.0  # seconds after which somebody who wanted to create a file, and has not, is taken for dead


class FileSystem(Protocol):
    """What a folder needs of a file system. Errors are OSErrors, and FileNotFoundError is what it says."""

    def names(self, folder: str) -> list[str]:
        """The files of a folder, in any order; none if it does not exist. Shows all that was written before."""
        ...

    def read(self, path: str) -> pa.Buffer: ...

    def write(self, path: str, data: Any) -> None:
        """Write a file, or put it in the place of the one that is there. Nobody ever sees half of it."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless there is one: whether it was written. Of several writers, one succeeds."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        ...

    def remove(self, folder: str) -> None:
        """Delete a folder and all that is in it."""
        ...


class Folder:
    """A folder in which files appear whole or not at all.

    Parameters
    ----------
    path
        Where it is: without a file system, a path of this machine.
    system
        The file system that knows the path.
    address
        The folder as others find it; by default that is its path.
    """

    def __init__(self, path: str | os.PathLike[str], system: FileSystem | None = None, address: str | None = None) -> None:
        self.path = local_path(path) if system is None else os.fspath(path).rstrip("/")
        self._system = system or LOCAL
        self._address = address or self.path

    def inner(self, name: str) -> Folder:
        """A folder in this one."""
        return Folder(f"{self.path}/{name}", self._system, self.address(name))

    def address(self, name: str) -> str:
        """A file of this folder as others find it."""
        return f"{self._address}/{name}"

    def names(self) -> list[str]:
        """The files of this folder, in order; none if it does not exist."""
        return sorted(self._system.names(self.path))

    def read(self, name: str) -> pa.Buffer:
        return self._system.read(f"{self.path}/{name}")

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write a file, or put it in the place of the one that has this name."""
        self._system.write(f"{self.path}/{name}", data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless there is one with this name: whether it was written. Of several writers, one succeeds."""
        return self._system.create(f"{self.path}/{name}", data)

    def delete(self, name: str) -> None:
        """Delete a file if it is there."""
        self._system.delete(f"{self.path}/{name}")

    def remove(self) -> None:
        """Delete this folder and all that is in it."""
        self._system.remove(self.path)


class LocalFileSystem:
    """The disks of this machine, and what is mounted there."""

    def names(self, folder: str) -> list[str]:
        try:
            with os.scandir(folder) as found:
                return [entry.name for entry in found if entry.is_file()]
        except FileNotFoundError:
            return []

    def read(self, path: str) -> pa.Buffer:
        with pa.OSFile(path) as file:
            return file.read_buffer()

    def write(self, path: str, data: Any) -> None:
        part = self._write_part(path, data)
        os.replace(part, path)

    def create(self, path: str, data: bytes) -> bool:
        part = self._write_part(path, data)
        try:
            os.link(part, path)  # fails if the name is taken
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            return create_by_listing(self, path, data)
        finally:
            os.unlink(part)
        return True

    def _write_part(self, path: str, data: Any) -> str:
        """Data beside the path, under a name that no other writer has."""
        part = part_of(path)
        try:
            file = open(part, "xb")  # noqa: SIM115
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = open(part, "xb")  # noqa: SIM115
        try:
            with file:
                file.write(data)
        except BaseException:  # a full disk, say, which is not to be filled by what is left over
            self.delete(part)
            raise
        return part

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    def remove(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)


LOCAL = LocalFileSystem()


def part_of(path: str) -> str:
    """Where a file is written before it gets its name."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.{uuid.uuid4().hex[:12]}.part"


def create_by_listing(system: FileSystem, path: str, data: bytes, put: Callable[[str, bytes], object] | None = None) -> bool:
    """Create a file where a file system cannot do that exclusively, as :meth:`FileSystem.create` does.

    ``put`` is how it is written, if there is a way that is more careful than :meth:`FileSystem.write`.

    Whoever wants to create it says so in a file of his own, and then looks at who else does. All files are seen that were
    written before, so of several at most one finds himself alone, and he creates it. If nobody is alone, all try again after a
    while. Somebody who has died meanwhile is waited for, but not for ever.
    """
    folder, _, name = path.rpartition("/")
    claim = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.claim")
    first_seen: dict[str, float] = {}  # those who live come back with another name each time
    while True:
        mine = f".{name}.{uuid.uuid4().hex[:12]}.claim"
        system.write(f"{folder}/{mine}", b"")
        try:
            names = system.names(folder)
            if name in names:
                return False
            now = time.monotonic()
            first_seen = {other: first_seen.get(other, now) for other in names if claim.fullmatch(other) and other != mine}
            dead = [other for other, since in first_seen.items() if now - since >= PATIENCE]
            for other in dead:
                system.delete(f"{folder}/{other}")
            if len(dead) == len(first_seen):
                (put or system.write)(path, data)
                return True
        finally:
            system.delete(f"{folder}/{mine}")
        time.sleep(random.uniform(0.05, 0.5))  # noqa: S311
