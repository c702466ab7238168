"""CSV without the lines in which a quote is opened that is never closed: it would swallow the rows behind it.

Arrow takes all that follows such a quote as one value, up to the next quote or the end of the file. So these lines are taken
out before, and told of. Values of several lines stay, whatever their lines look like, and so do quotes within values that are
not quoted: a quote was not closed where the next one is followed by more of a value, and a line in between is a row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import IO, Any

READ = 1 << 20  # bytes that are read at once


class WholeRows(io.RawIOBase):
    """The bytes of a CSV file in UTF-8 without such lines.

    Parameters
    ----------
    file
        The file.
    separator
        What stands between values.
    width
        How many values a row has.
    longest
        Bytes of the longest value that is believed.
    refuse
        Takes the lines that are left out.
    """

    def __init__(self, file: IO[bytes], separator: str, width: int, longest: int, refuse: Callable[[str], None]) -> None:
        self._file = file
        self._separator, self._width, self._longest, self._refuse = separator, width, longest, refuse
        ends = re.escape(separator.encode()) + rb"\r\n"
        self._ends = (separator.encode(), b"\r", b"\n")
        value = rb'"[^"]*+(?:""[^"]*+)*+"'
        self._value = re.compile(value)
        # group 1: the last end of a line that is not within quotes
        self._good = re.compile(rb'(?:[^"\n]++|(?<=[%b])%b(?=[%b])|(?<![%b])"|(\n))*+' % (ends, value, ends, ends))
        self._parts = self._read_parts()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        given, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _read_parts(self) -> Iterator[bytes]:
        data, at, end = b"\n", 1, False  # it begins with the end of the line before
        while not end:
            block = self._file.read(READ)
            data, end = data + block, not block
            given = row = 1
            while at < len(data):
                found = self._good.match(data, at)
                assert found is not None
                at, row = found.end(), max(row, found.end(1))
                if at == len(data):
                    break
                stop = self._judge(data, at, end)
                if stop is None:
                    break
                if stop < 0:  # the quote is not closed
                    yield data[given:row]
                    line = data.find(b"\n", at)
                    self._refuse(data[row:line].decode("utf-8", "backslashreplace").rstrip("\r"))
                    given = row = stop = line + 1
                at = stop
            if end:
                row = len(data)
            yield data[given:row]
            data, at = data[row - 1 :], at - row + 1

    def _judge(self, data: bytes, at: int, end: bool) -> int | None:
        """Where a value ends that begins with a quote; -1 if the quote is never closed; None if more must be read to know."""
        value = self._value.match(data, at)
        if value is None or value.end() == len(data):
            if not end and len(data) - at < self._longest:
                return None
            is_closed = value is not None or not data[data.find(b"\n", at) + 1 :].strip()
            return len(data) if is_closed or data.find(b"\n", at) < 0 else -1
        if data[value.end() : value.end() + 1] in self._ends:
            return value.end()
        line = data.find(b"\n", at, value.end()) + 1
        while line:
            stop = data.find(b"\n", line)
            if stop < 0 and not end and len(data) - at < self._longest:
                return None
            if self._is_row(data[line : len(data) if stop < 0 else stop]):
                return -1
            line = data.find(b"\n", line, value.end()) + 1
        return value.end()

    def _is_row(self, line: bytes) -> bool:
        """Whether a line is a whole row by itself, or begins one with a value of several lines."""
        text = line.decode("utf-8", "replace")
        try:
            values = next(csv.reader([text], delimiter=self._separator), [])
        except csv.Error:  # ends of lines of other systems, in its midst
            return False
        if len(values) == self._width:
            return True
        try:
            next(csv.reader([text], delimiter=self._separator, strict=True), [])
        except csv.Error as error:
            return 1 < len(values) < self._width and "end of data" in str(error)
        return False
