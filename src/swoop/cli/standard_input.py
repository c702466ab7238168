"""Rows from standard input: as a file for a whole history, as files of a folder for a stream."""

from __future__ import annotations

import os
import select
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from swoop.cli.console import info
from swoop.cli.guard import WrongUsage
from swoop.reading.files import BEGINNING, beginning, find_dialect, format_of_bytes

STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
INTERVAL = 0.5  # seconds between two files of a stream
MOST = 16 << 20  # bytes of such a file
LONGEST = 1 << 20  # bytes of a row with quotes


@contextmanager
def with_standard_input(inputs: Sequence[str], format: str | None) -> Iterator[tuple[list[str], str | None]]:
    """The inputs, and their format, with a temporary file in the place of ``-``."""
    if STANDARD_INPUT not in inputs:
        yield list(inputs), format
        return
    if len(inputs) > 1:
        raise WrongUsage("standard input (-) cannot be read together with files")
    announce()
    with tempfile.TemporaryDirectory(prefix="swoop-input-") as folder:
        first = sys.stdin.buffer.read(BEGINNING)
        path = Path(folder) / ("standard input.gz" if first.startswith(GZIP) else "standard input")
        with path.open("wb") as file:
            file.write(first)
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path)], format or format_of_bytes(beginning(str(path)))


def announce() -> None:
    """Tell somebody at a terminal what is waited for."""
    if sys.stdin is None:
        raise WrongUsage("standard input is closed")
    if sys.stdin.isatty():
        info("reading rows from the keyboard; Ctrl-D ends them", style="dim")


class Pipe:
    """Standard input as a folder of files, each of whole lines, that grows while rows come in."""

    def __init__(
        self, format: str | None = None, encoding: str | None = None, separator: str | None = None, input: int | None = None
    ) -> None:
        if input is None:
            announce()
        self.ended = threading.Event()
        self._input = sys.stdin.fileno() if input is None else input
        self._count, self._header = 0, b""
        self._closed = threading.Event()
        first = self._read_first()
        self.format = format or format_of_bytes(first)
        if self.format not in ("json", "csv"):
            raise WrongUsage(f"a stream from standard input must be JSON lines or CSV, not {self.format}")
        dialect, _ = find_dialect(self.format, first, encoding, separator if self.format == "csv" else None)
        if dialect.encoding.startswith(("utf-16", "utf-32")):
            raise WrongUsage(f"a stream from standard input cannot be {dialect.encoding}; convert it, for example with iconv")
        if self.format == "csv":
            self._header = b"".join(first.splitlines(keepends=True)[: dialect.header_lines])
        if not first.strip():
            raise WrongUsage("there are no rows on standard input")
        self.folder = tempfile.mkdtemp(prefix="swoop-input-")
        self._thread = threading.Thread(target=self._copy, args=(first,), name="swoop input", daemon=True)
        self._thread.start()
        while not self._count and not self.ended.wait(0.01):  # there is something to look at
            pass

    def close(self) -> None:
        """Forget what was read."""
        self._closed.set()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read_first(self) -> bytes:
        """What comes at once, but at least a line, and of CSV two, so that a header has a row below it."""
        data = b""
        while data.count(b"\n") < (1 if format_of_bytes(data) == "json" else 2) and (part := os.read(self._input, 1 << 16)):
            data += part
        return data

    def _copy(self, data: bytes) -> None:
        """Write whole lines into files until the end, or until nobody wants them."""
        since, is_open = time.monotonic(), True
        while is_open and not self._closed.is_set():
            if select.select([self._input], [], [], INTERVAL / 5)[0]:
                part = os.read(self._input, 1 << 16)
                is_open, data = bool(part), data + part
            now = time.monotonic()
            if now - since >= INTERVAL or len(data) >= MOST or not is_open or not self._count:
                data, since = self._write(data, is_open), now
        self.ended.set()

    def _write(self, data: bytes, more: bool) -> bytes:
        """Write the whole lines of some bytes. Returns the rest."""
        end = len(data) if not more else self._end_of_lines(data)
        if data[:end].strip():
            header = self._header if self._count else b""
            waiting = os.path.join(self.folder, f".{self._count:09}")
            with open(waiting, "wb") as file:
                file.write(header + data[:end])
            self._count += 1
            os.rename(waiting, os.path.join(self.folder, f"{self._count:09}.{self.format}"))
        return data[end:]

    def _end_of_lines(self, data: bytes) -> int:
        """Where the last whole row ends: with CSV, lines inside of quotes do not end one."""
        last = data.rfind(b"\n") + 1
        if self.format == "json" or b'"' not in data:
            return last
        end, at, is_open = 0, 0, False
        for line in data[:last].splitlines(keepends=True):
            at += len(line)
            is_open ^= line.count(b'"') % 2 == 1
            end = end if is_open else at
        return last if end == 0 and last > LONGEST else end  # a quote that nobody closes is none
