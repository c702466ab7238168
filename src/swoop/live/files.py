"""Folders on any file system that Arrow knows: this machine's, HDFS, S3 and others."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress

import pyarrow as pa
from pyarrow import fs

SETTLING = 1.0  # seconds until two writers of one file on a store without exclusive files see the same one


class Folder:
    """A folder in which files appear whole or not at all."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        if text.startswith("file:"):  # Hadoop writes file:/folder where others write file:///folder
            text = "/" + text.removeprefix("file:").lstrip("/")
        elif "://" not in text:
            text = os.path.abspath(text)
        self._system, self.path = fs.FileSystem.from_uri(text.replace("s3a://", "s3://", 1))
        self._address = text.rstrip("/")

    def inner(self, name: str) -> Folder:
        """A folder in this one."""
        found = Folder.__new__(Folder)
        found._system, found.path = self._system, f"{self.path}/{name}"
        found._address = self.address(name)
        return found

    def address(self, name: str) -> str:
        """A file of this folder as others find it."""
        return f"{self._address}/{name}"

    def names(self) -> list[str]:
        """The files of this folder, in order; none if it does not exist."""
        selected = fs.FileSelector(self.path, allow_not_found=True)
        try:
            found = self._system.get_file_info(selected)
        except FileNotFoundError:  # it has come into being between two looks of Arrow's
            found = self._system.get_file_info(selected)
        return sorted(info.base_name for info in found if info.is_file)

    def read(self, name: str) -> pa.Buffer:
        with self._system.open_input_file(f"{self.path}/{name}") as file:
            return file.read_buffer()

    def open(self) -> pa.NativeFile:
        """The bytes of the file that this path is, as a stream, packed as they are."""
        return self._system.open_input_stream(self.path, compression=None)

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write a file, or put it in the place of the one that has this name."""
        part = f"{self.path}/.{name}.part"
        self._system.create_dir(self.path)
        with self._system.open_output_stream(part) as file:
            file.write(data)
        self._system.move(part, f"{self.path}/{name}")

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless there is one with this name: whether it was written. Of several writers, one succeeds."""
        self._system.create_dir(self.path)
        if isinstance(self._system, fs.LocalFileSystem):
            return self._create_here(f"{self.path}/{name}", data)
        if name in self.names():
            return False
        self.write(name, data)
        time.sleep(SETTLING)
        return bool(self.read(name).to_pybytes() == data)

    def _create_here(self, path: str, data: bytes) -> bool:
        part = f"{os.path.dirname(path)}/.{uuid.uuid4().hex}.part"
        with open(part, "xb") as file:
            file.write(data)
        try:
            os.link(part, path)  # fails if the name is taken
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            try:
                with open(path, "xb") as file:
                    file.write(data)
            except FileExistsError:
                return False
        finally:
            os.unlink(part)
        return True

    def delete(self, name: str) -> None:
        """Delete a file if it is there."""
        with suppress(FileNotFoundError):
            self._system.delete_file(f"{self.path}/{name}")
